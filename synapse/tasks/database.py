"""A SQLite file that may be full, locked or damaged while the host goes on.

What cannot be written now is kept in memory and written later. A damaged file is renamed, and a new one is
filled with what its owner still knows. A file that cannot be opened is tried again with each use.
"""

import asyncio
import contextlib
import itertools
import logging
import os
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from synapse.base.paths import private_dir

logger = logging.getLogger(__name__)

UNSAVED_LIMIT = 100_000  # statements that wait for the disk
PATIENCE = 0.2  # seconds to wait for a lock
REST = 0.5  # seconds after a failure: waiting for a lock at each write would take all of the host's time

Statement = tuple[str, tuple[Any, ...]]


class Damaged(sqlite3.DatabaseError):
    """The content of the file is not what was written."""


@dataclass(eq=False, repr=False)
class Database:
    """`rebuild` returns the statements that fill a new file."""

    path: str
    schema: str
    version: int
    rebuild: Callable[[], list[Statement]] = list
    trouble: str = ""  # why the last use failed; empty once everything is written

    def __post_init__(self) -> None:
        self._unsaved: list[Statement] = []
        self._retry_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._lost = False  # a file was set aside, and the new one is not filled yet
        self._inode = 0  # of the open file
        self._db: sqlite3.Connection | None = None
        try:
            self._use()
        except sqlite3.OperationalError as error:
            self._note(error)

    @property
    def saved(self) -> bool:
        return not self._unsaved and not self._lost

    def close(self) -> None:
        self.flush()
        if self._timer is not None:
            self._timer.cancel()
        if self._db is not None:
            self._db.close()

    def read(self, sql: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        return self.try_read(sql, values) or []

    def try_read(self, sql: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]] | None:
        """The rows; None, if the disk cannot be read."""
        self._flush_if_rested()
        try:
            rows = self._use().execute(sql, values).fetchall()
        except sqlite3.DatabaseError as error:
            self._failed(error)
            return None
        if self.saved:
            self.trouble = ""
        return rows

    def insert(self, statement: Statement) -> int:
        """Returns the number of the row, which is on disk then, also after a power failure: the file is
        synchronised, and with it all that was written before. Raises sqlite3.Error."""
        self._check_file()
        try:
            number = self._insert(statement)
        except sqlite3.DatabaseError as error:
            self._failed(error)
            if not _is_damage(error):
                raise
            number = self._insert(statement)
        self.flush()
        return number

    def write(self, *statements: Statement) -> None:
        """Write them in one transaction, now or as soon as the disk allows."""
        self._unsaved += statements
        self._flush_if_rested()

    def flush(self) -> None:
        if self.saved:
            return
        try:
            _execute(self._use(), self._unsaved)
        except sqlite3.DatabaseError as error:
            self._failed(error)
            del self._unsaved[: max(len(self._unsaved) - UNSAVED_LIMIT, 0)]
        else:
            self._unsaved.clear()
            self.trouble = ""

    def _insert(self, statement: Statement) -> int:
        db = self._use()
        db.execute("PRAGMA synchronous = FULL")
        try:
            return _execute(db, [statement])
        finally:
            db.execute("PRAGMA synchronous = NORMAL")

    def _check_file(self) -> None:
        """SQLite writes on to a file that was removed, and all of it would be lost: make a new one."""
        if self._db is None or self.path == ":memory:" or _is_at(self._inode, self.path):
            return
        logger.error("%s was removed: a new one is made with the tasks that are under way", self.path)
        self._lost = True
        self._db.close()
        self._db = None

    def _flush_if_rested(self) -> None:
        if not self.trouble or time.monotonic() >= self._retry_at:
            self.flush()

    def _failed(self, error: sqlite3.DatabaseError) -> None:
        if _is_damage(error):
            self._set_aside(error)
        elif isinstance(error, sqlite3.OperationalError):  # full, locked, read-only: it may pass
            self._note(error)
        else:
            raise error

    def _note(self, error: sqlite3.Error) -> None:
        if str(error) != self.trouble:
            logger.warning("cannot use %s: %s", self.path, error)
        self.trouble = str(error)
        self._retry_at = time.monotonic() + REST
        if self._timer is None:
            with contextlib.suppress(RuntimeError):  # no loop: the next use tries
                self._timer = asyncio.get_running_loop().call_later(REST, self._try_again)

    def _try_again(self) -> None:
        self._timer = None
        self.flush()

    def _use(self) -> sqlite3.Connection:
        """The open file. Raises OperationalError if it cannot be opened."""
        if self._db is None:
            self._db = self._open()
        return self._db

    def _open(self) -> sqlite3.Connection:
        try:
            try:
                return self._connect()
            except sqlite3.DatabaseError as error:
                if not _is_damage(error):
                    raise
                self._rename(error)
                return self._connect()
        except OSError as error:
            raise sqlite3.OperationalError(error.strerror) from error

    def _connect(self) -> sqlite3.Connection:
        if self.path != ":memory:" and not os.path.exists(self.path):
            private_dir(os.path.dirname(os.path.abspath(self.path)))
            for suffix in ("-wal", "-shm"):  # of the file that was here
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self.path + suffix)
            os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY, 0o600))
        if self.path != ":memory:":
            self._inode = os.stat(self.path).st_ino
        # Callers with several threads use a lock (`a2a_compat.TaskStore`); the host has one thread.
        db = sqlite3.connect(self.path, timeout=PATIENCE, check_same_thread=False)
        db.text_factory = _text
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version > self.version:
                raise Damaged(f"it was written by a newer Synapse (format {version})")
            if db.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                raise Damaged("it is damaged")
            db.executescript(self.schema)
            if version != self.version:  # a write, which a full disk would refuse
                db.execute(f"PRAGMA user_version = {self.version}")
            if self._lost:
                _execute(db, self.rebuild())
                self._unsaved, self._lost, self.trouble = [], False, ""
        except sqlite3.Error:
            db.close()
            raise
        return db

    def _rename(self, error: sqlite3.Error) -> None:
        base = f"{self.path}.damaged-{time.strftime('%Y%m%d-%H%M%S')}"
        names = (f"{base}-{number}" if number > 1 else base for number in itertools.count(1))
        aside = next(name for name in names if not os.path.exists(name))
        logger.error("%s cannot be read (%s): it is set aside as %s", self.path, error, aside)
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.replace(self.path + suffix, aside + suffix)

    def _set_aside(self, error: sqlite3.Error) -> None:
        """Rename a file that was damaged while it was open, and fill a new one."""
        self._lost = True
        try:
            if self._db is not None:
                self._db.close()
                self._db = None
            self._rename(error)
            self._use()
        except (sqlite3.OperationalError, OSError) as again:
            self._note(sqlite3.OperationalError(str(again)))


def _execute(db: sqlite3.Connection, statements: list[Statement]) -> int:
    """In one transaction. Returns the number of the last row that was inserted."""
    number: int | None = 0
    with db:
        for statement in statements:
            number = db.execute(*statement).lastrowid
    return number or 0


def _is_at(inode: int, path: str) -> bool:
    try:
        return os.stat(path).st_ino == inode
    except OSError:
        return False


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    """A missing table or column is damage too: our statements never change."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return (
        isinstance(error, Damaged)
        or code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
        or (code == sqlite3.SQLITE_ERROR and "no such" in str(error))
    )


def _text(data: bytes) -> str:
    """A flipped bit in one text must not make all rows unreadable."""
    return str(data, "utf-8", "replace")
