"""A database file on a bad day."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import time
from pathlib import Path

import pytest

from synapse.tasks import database
from synapse.tasks.database import Database, Statement
from tests.support.patience import PATIENCE

SCHEMA = "CREATE TABLE IF NOT EXISTS notes (number INTEGER PRIMARY KEY, text TEXT UNIQUE);"


def add(text: str) -> Statement:
    return "INSERT INTO notes (text) VALUES (?)", (text,)


def notes(db: Database) -> list[str]:
    return [row[0] for row in db.read("SELECT text FROM notes ORDER BY number")]


@pytest.fixture(autouse=True)
def _no_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "REST", 0.0)
    monkeypatch.setattr(database, "PATIENCE", 0.01)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "notes.db")


def set_aside(path: str) -> list[str]:
    name = os.path.basename(path)
    return sorted(
        found
        for found in os.listdir(os.path.dirname(path))
        if found.startswith(name + ".damaged-") and not found.endswith(("-wal", "-shm"))
    )


def test_what_is_written_is_there_for_the_next_one(path: str) -> None:
    db = Database(path, SCHEMA, 1)
    assert db.insert(add("one")) == 1
    db.write(add("two"), add("three"))
    assert db.saved
    db.close()
    assert notes(Database(path, SCHEMA, 1)) == ["one", "two", "three"]
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_a_lock_delays_a_write_and_refuses_an_insert(path: str) -> None:
    db = Database(path, SCHEMA, 1)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    db.write(add("later"))
    assert not db.saved and "locked" in db.trouble
    with pytest.raises(sqlite3.OperationalError):
        db.insert(add("refused"))
    assert notes(db) == []
    other.execute("COMMIT")
    assert notes(db) == ["later"] and db.saved and db.trouble == ""
    other.close()


def test_what_waits_is_written_without_another_use(path: str) -> None:
    async def main() -> None:
        db = Database(path, SCHEMA, 1)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        db.write(add("later"))
        other.execute("COMMIT")
        async with asyncio.timeout(PATIENCE):
            while not db.saved:
                await asyncio.sleep(0.001)
        assert other.execute("SELECT text FROM notes").fetchall() == [("later",)]
        other.close()
        db.close()

    asyncio.run(main())


def test_a_lock_does_not_take_all_of_the_hosts_time(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "PATIENCE", 0.05)
    monkeypatch.setattr(database, "REST", 60)
    db = Database(path, SCHEMA, 1)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    begun = time.monotonic()
    for number in range(200):
        db.write(add(str(number)))
    assert time.monotonic() - begun < 2  # 200 times the patience are 10 s
    other.execute("COMMIT")
    db.close()  # tries again, rested or not
    assert len(notes(Database(path, SCHEMA, 1))) == 200
    other.close()


def test_a_full_disk_delays_writes_until_there_is_room(path: str) -> None:
    db = Database(path, SCHEMA, 1)
    connection = db._use()
    connection.execute(f"PRAGMA max_page_count = {connection.execute('PRAGMA page_count').fetchone()[0]}")
    db.write(add("x" * 10_000))
    assert not db.saved and "full" in db.trouble
    with pytest.raises(sqlite3.OperationalError, match="full"):
        db.insert(add("y" * 10_000))
    connection.execute("PRAGMA max_page_count = 10000")
    assert notes(db) == ["x" * 10_000] and db.trouble == ""


def test_a_file_that_cannot_be_opened_is_tried_again(tmp_path: Path) -> None:
    folder = tmp_path / "blocked"
    folder.write_text("")
    db = Database(str(folder / "notes.db"), SCHEMA, 1)
    assert "File exists" in db.trouble
    assert notes(db) == []
    db.write(add("kept"))
    with pytest.raises(sqlite3.OperationalError):
        db.insert(add("refused"))
    folder.unlink()
    assert db.insert(add("taken")) == 1
    assert notes(db) == ["taken", "kept"]


@pytest.mark.parametrize("damage", ["garbage", "truncated", "middle", "newer"])
def test_a_damaged_file_is_set_aside_at_the_start(path: str, damage: str) -> None:
    db = Database(path, SCHEMA, 2)
    db.write(*(add(f"{number} " + "x" * 500) for number in range(200)))
    db.close()
    size = os.path.getsize(path)
    with open(path, "r+b") as file:
        if damage == "garbage":
            file.write(os.urandom(size))
        elif damage == "truncated":
            file.truncate(size // 2 + 77)
        elif damage == "middle":
            file.seek(4096)
            file.write(b"\xff" * 4096 * 3)
    anew = Database(path, SCHEMA, 1 if damage == "newer" else 2)
    assert notes(anew) == [] and anew.trouble == ""
    assert anew.insert(add("new")) == 1
    assert len(set_aside(path)) == 1


@pytest.mark.parametrize("damage", ["garbage", "truncated", "emptied", "dropped"])
@pytest.mark.parametrize("use", ["read", "write", "insert"])
def test_a_file_damaged_under_us_is_begun_anew_from_memory(path: str, damage: str, use: str) -> None:
    db = Database(path, SCHEMA, 1, rebuild=lambda: [add("remembered")])
    db.write(*(add(f"{number} " + "x" * 500) for number in range(200)))
    db._use().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    if damage == "dropped":
        other = sqlite3.connect(path)
        other.execute("DROP TABLE notes")
        other.close()
    else:
        with open(path, "r+b") as file:
            if damage == "garbage":
                file.write(b"\xa5" * os.path.getsize(path))
            else:
                file.truncate(0 if damage == "emptied" else 5000)
        db._use().execute("PRAGMA cache_size = 0")
        db._use().execute("PRAGMA shrink_memory")
    if use == "write":
        db.write(add("now"))
    elif use == "insert":
        db.insert(add("now"))
    notes(db)
    assert notes(db)[0] == "remembered", notes(db)[:3]
    assert db.insert(add("after")) and db.saved
    assert len(set_aside(path)) == 1


def test_two_damaged_files_of_one_second_are_both_kept(path: str) -> None:
    for _ in range(3):
        Path(path).write_bytes(b"not a database, and long enough to be sure of it" * 10)
        Database(path, SCHEMA, 1).close()
    assert len(set_aside(path)) == 3


def test_an_error_of_ours_is_not_taken_for_damage(path: str) -> None:
    db = Database(path, SCHEMA, 1)
    db.insert(add("one"))
    with pytest.raises(sqlite3.IntegrityError):
        db.insert(add("one"))
    with pytest.raises(sqlite3.ProgrammingError):
        db.read("SELECT ?", ())
    assert notes(db) == ["one"] and set_aside(path) == []


def test_text_that_is_no_text_is_read_as_far_as_it_can_be(path: str) -> None:
    db = Database(path, SCHEMA, 1)
    db.write(("INSERT INTO notes (text) VALUES (CAST(? AS TEXT))", (b"a\xffb",)), add("fine"))
    assert notes(db) == ["a�b", "fine"]
