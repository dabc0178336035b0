"""Tests how bench/run shows its measurements."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "bench"))
import catalogue  # noqa: E402
import report  # noqa: E402


def measured_row(hash_index):
    sample = {
        "rows_per_second": 1000,
        "server_cpu_us": 1,
        "server_cpu_percent": 100,
        "client_cpu_percent": 50,
        "others_cpu_percent": 0,
        "p50_us": 1,
        "p99_us": 1,
        "p999_us": 1,
    }
    return {
        "name": "row",
        "title": "a row",
        "hash_index": hash_index,
        "peers": {peer: report.summary([sample]) for peer in ("null", "original", "ours")},
    }


def test_every_row_shows_the_parts_of_its_hash_index():
    same, apart = measured_row({"original": "1 part", "ours": "1 part"}), measured_row(
        {"original": "8 parts", "ours": "off"}
    )
    lines = report.overview({"rows": [same, apart]}).splitlines()
    assert [line.split("|")[-2].strip() for line in lines[:1] + lines[2:]] == [
        "hash index",
        "1 part",
        "original 8 parts, ours off",
    ]
    told = {
        cells[1].strip(): cells[-2].strip()
        for cells in (line.split("|") for line in report.details(apart).splitlines())
    }
    assert (told["null"], told["original"], told["ours"]) == ("-", "8 parts", "off")
    # Measurements recorded before that field existed can still be shown.
    del same["hash_index"]
    assert report.hash_index_of(same) == "-"


def test_a_panel_is_in_order_however_its_rows_were_measured():
    measured = [{"name": row.name, "point": vars(row.point)} for row in catalogue.rows_of("settings", [])]
    panels = report.panels_of({"rows": measured}, "settings")
    for along, ascending in (
        ("handlersocket_threads, find", ["1", "2", "4", "16"]),
        ("sync_binlog", ["0", "1", "100"]),
    ):
        rows = next(rows for name, rows in panels.items() if name.startswith(along))
        assert [row["point"]["at"] for row in rows] == ascending
