"""The journal of a run: nothing that was written is lost, and a line that a kill cut off does no harm."""

from __future__ import annotations

import os
import resource
import signal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synapse.errors import SynapseError, TargetError
from synapse.run.journal import ASKED, DONE, FAILED, TASK, Journal, Record, folder_of, is_running
from tests.support.home import Home


def asked(journal: Journal, key: str, attempt: int = 1, prompt: str = "do it") -> None:
    journal.write(
        ASKED,
        key=key,
        attempt=attempt,
        agent="a",
        address="agent:1",
        request_id=f"{key}/{attempt}",
        prompt_hash=prompt,
        prompt=prompt,
    )


def test_what_was_written_is_read_by_the_next_process(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path))
    asked(journal, "1")
    journal.write(TASK, key="1", task_id="t1")
    journal.write(DONE, key="1", task={"id": "t1", "text": "ja, 完了"}, tokens=7)
    asked(journal, "2")
    journal.write(FAILED, key="2", error="it has ended")
    asked(journal, "2", attempt=2)
    journal.close()
    record = Record.read(str(tmp_path))
    assert [(s.key, s.state, s.attempt) for s in record.steps.values()] == [
        ("1", "completed", 1),
        ("2", "working", 2),
    ]
    assert (record.messages, record.turns, record.tokens) == (3, 1, 7)
    assert os.stat(tmp_path / "journal.jsonl").st_mode & 0o777 == 0o600


@given(st.integers(min_value=0, max_value=10_000))
def test_a_kill_in_the_middle_of_a_line_loses_only_that_line(cut: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(folder)
        for number in range(1, 5):
            asked(journal, str(number))
            journal.write(DONE, key=str(number), task={"id": "t" * number})
        journal.close()
        path = Path(folder) / "journal.jsonl"
        whole = path.read_bytes()
        path.write_bytes(whole[: cut % (len(whole) + 1)])
        complete = path.read_bytes().count(b"\n")
        journal = Journal(folder)
        assert len(path.read_bytes().splitlines()) == complete
        asked(journal, "next")
        journal.close()
        record = Record.read(folder)
        assert record.steps["next"].state == "working" and len(record.steps) == (complete + 1) // 2 + 1


def test_one_process_at_a_time(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path / "review-1"))
    assert is_running(journal.folder)
    with pytest.raises(SynapseError, match=rf"review-1 is being executed \(pid {os.getpid()}\)"):
        Journal(journal.folder)
    journal.close()
    assert not is_running(journal.folder)
    Journal(journal.folder).close()


def test_a_full_disk_is_an_error_and_leaves_whole_lines(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path))
    asked(journal, "1")
    size = os.stat(tmp_path / "journal.jsonl").st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, hard))
    try:
        with pytest.raises(SynapseError, match="make room"):
            journal.write(DONE, key="1", task={"id": "t"})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, ignored)
    assert journal.record.steps["1"].state == "working"
    assert os.stat(tmp_path / "journal.jsonl").st_size == size
    journal.write(DONE, key="1", task={"id": "t"})
    journal.close()
    assert Record.read(str(tmp_path)).steps["1"].state == "completed"


def test_a_run_is_found_by_the_beginning_of_its_id(home: Home) -> None:
    for name in ("review-aa", "review-ab", "plan-1"):
        folder = home.path / "synapse" / "runs" / name
        folder.mkdir(parents=True)
        (folder / "run.json").write_text("{}")
    assert folder_of("plan").endswith("plan-1")
    with pytest.raises(TargetError, match="several runs: review-aa, review-ab"):
        folder_of("rev")
    with pytest.raises(TargetError, match="there is no run 'x'"):
        folder_of("x")


def test_a_line_of_another_version_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "journal.jsonl").write_text('{"type": "asked", "key": "1"}\n{"type": "done", "key": "1"}\n')
    journal = Journal(str(tmp_path))
    asked(journal, "2")
    journal.close()
    assert list(Record.read(str(tmp_path)).steps) == ["2"]


def test_a_journal_that_is_closed_is_not_written(tmp_path: Path) -> None:
    """A thread of the script may still run; its file number may be another file's by then."""
    journal = Journal(str(tmp_path / "r1"))
    journal.close()
    with pytest.raises(SynapseError, match="the run r1 has ended"):
        asked(journal, "1")
