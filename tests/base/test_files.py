"""A file is replaced as a whole, or not at all."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from synapse.base import files

CONTENTS = [bytes([letter]) * 300_000 for letter in b"abcd"]


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "file.json")


@pytest.fixture
def small_files() -> Iterator[None]:
    """A write beyond 1,000 bytes fails, as it does when the disk is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, handler)


def test_only_the_user_can_read_it(path: str) -> None:
    files.replace(path, b"one")
    os.chmod(path, 0o644)
    files.replace(path, b"two")
    assert Path(path).read_bytes() == b"two"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_a_full_disk_leaves_the_old_content_and_nothing_else(path: str, small_files: None) -> None:
    files.replace(path, b"old")
    with pytest.raises(OSError):
        files.replace(path, b"new" * 1000)
    assert Path(path).read_bytes() == b"old"
    assert os.listdir(os.path.dirname(path)) == ["file.json"]


def test_a_target_that_cannot_be_replaced_leaves_nothing_behind(path: str) -> None:
    os.mkdir(path)
    with pytest.raises(IsADirectoryError):
        files.replace(path, b"content")
    assert os.listdir(os.path.dirname(path)) == ["file.json"]


def test_a_folder_that_is_missing_is_an_error(path: str) -> None:
    with pytest.raises(FileNotFoundError):
        files.replace(os.path.join(path, "file"), b"content")


def test_a_name_as_long_as_the_file_system_allows(tmp_path: Path) -> None:
    files.replace(str(tmp_path / ("あ" * 80)), b"content")
    assert (tmp_path / ("あ" * 80)).read_bytes() == b"content"


def write_many(path: str, content: bytes) -> None:
    for _ in range(30):
        files.replace(path, content)


def test_several_writers_at_once_never_mix(path: str) -> None:
    files.replace(path, CONTENTS[0])
    writers = [
        multiprocessing.get_context("spawn").Process(target=write_many, args=(path, content))
        for content in CONTENTS
    ]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        assert Path(path).read_bytes() in CONTENTS
    assert [writer.exitcode for writer in writers] == [0] * len(writers)
    assert os.listdir(os.path.dirname(path)) == ["file.json"]
