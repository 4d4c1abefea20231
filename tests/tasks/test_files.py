"""Files that come with a task."""

from __future__ import annotations

import base64
import os
from pathlib import Path

from synapse.tasks.files import drop_files, keep_files, keep_text
from synapse.tasks.store import TaskStore
from synapse.tasks.task import text_message


def test_what_a_task_brings_goes_when_the_task_goes(tmp_path: Path) -> None:
    store = TaskStore(keep=10)
    store.on_dropped = lambda dropped: drop_files(str(tmp_path), dropped)
    for number in range(30):
        task = store.create(text_message(str(number)))
        keep_text(str(tmp_path), task.id, 0, "long")
        store.update_status(task.id, "completed")
    kept = os.listdir(tmp_path / "files")
    assert len(kept) == store.count() <= 11 and task.id in kept


def test_a_file_keeps_to_its_folder(tmp_path: Path) -> None:
    part = {"type": "file", "name": "../../.evil", "bytes": base64.b64encode(b"x").decode()}
    kept = keep_files(str(tmp_path), "t", {"role": "user", "parts": [part]})["parts"][0]["path"]
    assert kept == str(tmp_path / "files" / "t" / "evil") and Path(kept).stat().st_mode & 0o777 == 0o600


def test_files_of_one_name_are_all_kept_and_a_repeated_message_names_the_same_paths(tmp_path: Path) -> None:
    def part(content: bytes) -> dict[str, str]:
        return {"type": "file", "name": "a.txt", "bytes": base64.b64encode(content).decode()}

    message = {"role": "user", "parts": [part(b"one"), part(b"two"), part(b"one"), part(b"three")]}
    for _ in range(2):
        kept = [Path(found["path"]) for found in keep_files(str(tmp_path), "t", message)["parts"]]
        assert [path.name for path in kept] == ["a.txt", "a-2.txt", "a.txt", "a-3.txt"]
        assert [path.read_bytes() for path in kept] == [b"one", b"two", b"one", b"three"]
