"""What bench/run shows of what it measured."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "bench"))
import matrix  # noqa: E402
import report  # noqa: E402


def test_a_panel_is_in_order_however_its_rows_were_measured():
    measured = [{"name": row.name, "point": vars(row.point)} for row in matrix.rows_of("settings", [])]
    panels = report.panels_of({"rows": measured}, "settings")
    for along, ascending in (("handlersocket_threads, find", ["1", "2", "4", "16"]),
                             ("sync_binlog", ["0", "1", "100"])):
        rows = next(rows for name, rows in panels.items() if name.startswith(along))
        assert [row["point"]["at"] for row in rows] == ascending
