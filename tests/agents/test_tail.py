"""A transcript that somebody else writes, and what can happen to it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synapse.agents import tail
from synapse.agents.tail import JsonlTail


def write(path: Path, *values: object, mode: str = "a") -> None:
    with path.open(mode) as file:
        for value in values:
            file.write(json.dumps(value) + "\n")


def test_new_lines_come_once(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    reader = JsonlTail(str(path))
    assert reader.read_new() == []
    write(path, {"a": 1})
    assert reader.read_new() == [{"a": 1}]
    assert reader.read_new() == []
    write(path, {"b": "日本"}, {"c": 3})
    assert reader.read_new() == [{"b": "日本"}, {"c": 3}]


def test_a_half_written_line_waits_for_its_end(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    reader = JsonlTail(str(path))
    path.write_bytes('{"text": "日'.encode()[:-1])
    assert reader.read_new() == []
    with path.open("ab") as file:
        file.write('日"}\n'.encode()[2:])
    assert len(reader.read_new()) == 1


def test_truncation_rotation_and_disappearance(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    write(path, {"n": 1}, {"n": 2})
    reader = JsonlTail(str(path))
    assert len(reader.read_new()) == 2
    write(path, {"n": 3}, mode="w")
    assert reader.read_new() == [{"n": 3}]
    os.rename(path, tmp_path / "old")
    assert reader.read_new() == []
    write(path, {"n": 4}, {"n": 5})
    assert reader.read_new() == [{"n": 4}, {"n": 5}]
    path.unlink()
    assert reader.read_new() == []


def test_malformed_lines_are_counted_and_left_out(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'{"a": 1}\nnot json\n[1]\n\n\xff\xfe\n{"b": 2}\n' + b"[" * 100_000 + b'\n{"c": 3}\n')
    reader = JsonlTail(str(path))
    assert reader.read_new() == [{"a": 1}, {"b": 2}, {"c": 3}]
    assert reader.skipped == 4


def test_a_huge_line_is_skipped_and_the_next_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail, "LINE_LIMIT", 1000)
    monkeypatch.setattr(tail, "READ_LIMIT", 700)
    path = tmp_path / "t.jsonl"
    write(path, {"image": "x" * 5000}, {"after": True})
    reader = JsonlTail(str(path))
    found: list[object] = []
    for _ in range(20):
        found += reader.read_new()
    assert found == [{"after": True}] and reader.skipped >= 1


def test_from_the_end_on(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    write(path, {"old": True})
    reader = JsonlTail(str(path), from_end=True)
    write(path, {"new": True})
    assert reader.read_new() == [{"new": True}]


@given(st.lists(st.binary(max_size=80), max_size=30))
def test_no_bytes_make_it_fail(chunks: list[bytes]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.jsonl"
        path.touch()
        reader = JsonlTail(str(path))
        for chunk in chunks:
            with path.open("ab") as file:
                file.write(chunk)
            assert all(isinstance(value, dict) for value in reader.read_new())


def test_lines_that_are_not_wanted_are_not_parsed(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"kind":"a"}\n{"kind":"b" and no JSON}\n')
    tail = JsonlTail(str(path), wanted=lambda line: b'"a"' in line)
    assert tail.read_new() == [{"kind": "a"}] and tail.skipped == 0


def test_it_says_when_lines_may_be_lost(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    reader = JsonlTail(str(path))
    assert reader.read_new() == [] and not reader.broken, "it is not there yet"
    write(path, {"n": 1})
    assert len(reader.read_new()) == 1 and not reader.broken
    with path.open("ab") as file:
        file.write(b"half")
    assert reader.read_new() == [] and reader.is_inside_line and not reader.broken
    for damage in ("removed", "replaced", "cut"):
        if damage == "removed":
            path.unlink()
        elif damage == "replaced":
            write(path, {"n": 2})
        else:
            os.truncate(path, 0)
        reader.read_new()
        assert reader.broken, damage
        reader.broken = False


def test_a_program_goes_on_in_a_file_that_was_cut(tmp_path: Path) -> None:
    """It writes where it was, and zero bytes are before that."""
    path = tmp_path / "t.jsonl"
    reader = JsonlTail(str(path))
    with path.open("wb", buffering=0) as file:
        file.write(b'{"n": 1}\n')
        assert reader.read_new() == [{"n": 1}]
        os.truncate(path, 0)
        assert reader.read_new() == []
        file.write(b'{"n": 2}\n')
        assert reader.read_new() == [{"n": 2}]
