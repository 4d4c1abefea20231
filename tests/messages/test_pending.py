"""What was sent from a terminal, as files."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from synapse.messages.pending import KEPT, PendingMessage, PendingMessages


def test_they_are_there_after_a_restart_in_their_order(tmp_path: Path) -> None:
    folder = tmp_path / "sent"
    messages = PendingMessages(str(folder), "run-1")
    later = PendingMessage("x-2", "b", "second \ud800", sent_at=2.0)
    sooner = PendingMessage("x-1", "b", "first", wait=False, priority=3, timeout=5.0, sent_at=1.0)
    for message in (later, sooner):
        messages.save(message)
    sooner.ended, sooner.reply = True, "done"
    messages.save(sooner)
    again = PendingMessages(str(folder), "run-1")
    assert again.load() == [sooner, PendingMessage("x-2", "b", "second ?", sent_at=2.0)]
    assert again.get("x-1") == sooner and again.get("x-3") is None
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_what_another_run_or_an_accident_has_left_is_dropped(tmp_path: Path) -> None:
    PendingMessages(str(tmp_path), "run-1").save(PendingMessage("old", "b", "hello"))
    messages = PendingMessages(str(tmp_path), "run-2")
    messages.save(PendingMessage("new", "b", "hello"))
    for name, text in (
        ("half.json.new", '{"run": "run-2", "id"'),
        ("damaged.json", "\x00"),
        ("list.json", "[]"),
        ("other.json", json.dumps({"run": "run-2", "id": "new", "target": "b", "message": "m"})),
        ("short.json", json.dumps({"run": "run-2", "id": "short"})),
    ):
        (tmp_path / name).write_text(text)
    assert [message.id for message in PendingMessages(str(tmp_path), "run-2").load()] == ["new"]
    assert [path.name for path in tmp_path.iterdir()] == ["new.json"]


def test_the_oldest_that_are_done_go_and_those_under_way_stay(tmp_path: Path) -> None:
    messages = PendingMessages(str(tmp_path), "run")
    messages.save(PendingMessage("waits", "b", "m"))
    for number in range(KEPT + 5):
        messages.save(PendingMessage(f"done-{number}", "b", "m", sent_at=number, ended=True))
    left = {path.stem for path in tmp_path.iterdir()}
    assert len(left) == KEPT and "waits" in left and "done-0" not in left and f"done-{KEPT + 4}" in left


def test_a_disk_that_takes_nothing(tmp_path: Path) -> None:
    (tmp_path / "sent").write_text("a file")
    messages = PendingMessages(str(tmp_path / "sent"), "run")
    assert messages.load() == []
    with pytest.raises(OSError):
        messages.save(PendingMessage("x", "b", "m"))
    assert messages.get("x") is None
