"""Tests how bench/counts.py reads callgrind's dumps and reports them."""
import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parent.parent.parent / "bench" / "counts.py"
spec = importlib.util.spec_from_file_location("counts", SCRIPT)
counts = importlib.util.module_from_spec(spec)
spec.loader.exec_module(counts)

DUMP = """# callgrind format
version: 1
creator: callgrind-3.19.0
pid: 1
cmd:  build/bench/counts
part: 3

desc: Timerange: Basic block 0 - 29297
desc: Trigger: Client Request: parse-find 10

positions: line
events: Ir
summary: 260


ob=/usr/lib/libc.so.6
fl=./string/memchr.S
fn=__memchr_avx2
68 20
70 40

ob=/somewhere/build/bench/counts
fl=/source/parser.cc
fn=parse(char*, char*)
16 100
fi=/source/token.h
20 50
cob=/usr/lib/libc.so.6
cfi=./string/memchr.S
cfn=__memchr_avx2
calls=10 16
17 60
fe=/source/parser.cc
21 30

fn=natural(std::string_view)
7 20

totals: 260
"""


def test_self_cost_is_added_up_by_object_and_function():
    count = counts.parse_dump(DUMP, "counts")
    assert (count.path, count.ours, count.elsewhere) == ("parse-find", 20.0, 6.0)
    assert count.functions == {"parse(char*, char*)": 18.0, "natural(std::string_view)": 2.0}


def test_a_dump_of_no_path_is_left_out():
    assert counts.parse_dump(DUMP.replace("Client Request", "Program termination"), "counts") is None


def test_a_dump_that_does_not_add_up_is_an_error():
    with pytest.raises(counts.Failure, match="not understood"):
        counts.parse_dump(DUMP.replace("7 20", "7 21"), "counts")


def test_a_dump_without_our_code_is_an_error():
    with pytest.raises(counts.Failure, match="no instruction of postern.so"):
        counts.parse_dump(DUMP, "postern.so")


def test_dumps_are_read_in_their_order(tmp_path):
    for number in (10, 9, 1):
        (tmp_path / f"dump.{number}").write_text(DUMP.replace("parse-find", f"path{number}"))
    (tmp_path / "dump").write_text("the whole program")
    assert [count.path for count in counts.read_dumps(tmp_path, "counts")] == ["path1", "path9", "path10"]


def of(path, ours):
    return counts.Count(path, ours, 5.0, {})


def test_five_percent_more_fails_and_says_what_to_do():
    lines, good = counts.compare([of("a", 104.9), of("b", 105.1)], {"a": 100.0, "b": 100.0})
    assert not good
    assert "FAILED" not in lines[0]
    assert all(word in lines[1] for word in ("b executes 105.1", "is 100.0", "--functions b", "make counts ACCEPT=1"))


def test_a_lower_count_is_reported_and_does_not_fail():
    lines, good = counts.compare([of("a", 94.0), of("b", 96.0)], {"a": 100.0, "b": 100.0})
    assert good and "better" in lines[0] and "better" not in lines[1]


def test_paths_must_be_those_of_the_baseline():
    assert not counts.compare([of("a", 1.0), of("new", 1.0)], {"a": 1.0})[1]
    assert not counts.compare([of("a", 1.0)], {"a": 1.0, "gone": 1.0})[1]


def test_a_baseline_is_read_as_it_was_written():
    text = counts.baseline_text("g++ 12 x86_64", [of("a", 12.25), of("a-path-of-a-rather-long-name", 1000.0)])
    assert counts.parse_baseline(text) == ("g++ 12 x86_64", {"a": 12.2, "a-path-of-a-rather-long-name": 1000.0})


def test_the_committed_baseline_can_be_read():
    assert len(counts.parse_baseline(counts.BASELINE.read_text())[1]) >= 10
