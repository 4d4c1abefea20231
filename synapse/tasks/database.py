"""A SQLite file that may be full, locked or damaged, and must not take anybody down with it.

What cannot be written now is kept and written as soon as it can be. A file that is damaged is set aside, and
another begun with what its owner still knows. One that cannot be opened is tried again with each use.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import time
from collections.abc import Callable
from typing import Any

logger = logging.getLogger(__name__)

UNSAVED_LIMIT = 100_000  # statements that wait for the disk
PATIENCE = 0.2  # seconds for somebody else's lock
REST = 0.5  # seconds after a failure: waiting for a lock at each write would take all of the host's time

Statement = tuple[str, tuple[Any, ...]]


class Damaged(sqlite3.DatabaseError):
    """What the file holds is not what was written."""


class Database:
    """`rebuild` gives the statements that fill a file which is begun anew."""

    def __init__(
        self, path: str, schema: str, version: int, rebuild: Callable[[], list[Statement]] = list
    ) -> None:
        self.path = path
        self._schema = schema
        self._version = version
        self._rebuild = rebuild
        self._unsaved: list[Statement] = []
        self._retry_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._lost = False  # a file was set aside: the next one has to be filled
        self.trouble = ""  # why the last use failed, while it has not been made up for
        self._db: sqlite3.Connection | None = None
        try:
            self._use()
        except sqlite3.OperationalError as error:
            self._note(error)

    @property
    def saved(self) -> bool:
        """Whether the disk has everything."""
        return not self._unsaved and not self._lost

    def close(self) -> None:
        self.flush()
        if self._timer is not None:
            self._timer.cancel()
        if self._db is not None:
            self._db.close()

    def read(self, sql: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """The rows; none, where the disk does not tell."""
        return self.try_read(sql, values) or []

    def try_read(self, sql: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]] | None:
        """The same, but None where the disk does not tell."""
        self._flush_if_rested()
        try:
            rows = self._use().execute(sql, values).fetchall()
        except sqlite3.DatabaseError as error:
            if _is_damage(error):
                self._set_aside(error)
            elif isinstance(error, sqlite3.OperationalError):
                self._note(error)
            else:
                raise
            return None
        if self.saved:
            self.trouble = ""
        return rows

    def insert(self, statement: Statement) -> int:
        """Written when this returns: the row's number. Raises sqlite3.Error when it cannot be."""
        try:
            number = self._insert(statement)
        except sqlite3.DatabaseError as error:
            if _is_damage(error):
                self._set_aside(error)
                number = self._insert(statement)
            else:
                if isinstance(error, sqlite3.OperationalError):
                    self._note(error)
                raise
        self.flush()
        return number

    def write(self, *statements: Statement) -> None:
        """Written together, now or as soon as the disk allows."""
        self._unsaved += statements
        self._flush_if_rested()

    def flush(self) -> None:
        if self.saved:
            return
        try:
            db = self._use()
            with db:
                for sql, values in self._unsaved:
                    db.execute(sql, values)
        except sqlite3.DatabaseError as error:
            if _is_damage(error):
                self._set_aside(error)
            elif isinstance(error, sqlite3.OperationalError):  # full, locked, read-only: it may pass
                self._note(error)
                del self._unsaved[: max(len(self._unsaved) - UNSAVED_LIMIT, 0)]
            else:
                raise
        else:
            self._unsaved.clear()
            self.trouble = ""

    def _insert(self, statement: Statement) -> int:
        db = self._use()
        with db:
            return int(db.execute(*statement).lastrowid or 0)

    def _flush_if_rested(self) -> None:
        if not self.trouble or time.monotonic() >= self._retry_at:
            self.flush()

    def _note(self, error: sqlite3.Error) -> None:
        if str(error) != self.trouble:
            logger.warning("cannot use %s: %s", self.path, error)
        self.trouble = str(error)
        self._retry_at = time.monotonic() + REST
        if self._timer is None:
            try:
                self._timer = asyncio.get_running_loop().call_later(REST, self._try_again)
            except RuntimeError:
                pass  # no loop: the next use tries

    def _try_again(self) -> None:
        self._timer = None
        self.flush()

    def _use(self) -> sqlite3.Connection:
        """The open file. Raises OperationalError while there is none."""
        if self._db is None:
            db = self._open()
            try:
                if self._lost:
                    self._fill(db)
            except sqlite3.Error:
                db.close()
                raise
            self._db = db
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
            os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY, 0o600))
        # Callers with several threads use a lock (`a2a_compat.TaskStore`); the host has one thread.
        db = sqlite3.connect(self.path, timeout=PATIENCE, check_same_thread=False)
        db.text_factory = _text
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version > self._version:
                raise Damaged(f"it was written by a newer Synapse (format {version})")
            if db.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                raise Damaged("it is damaged")
            db.executescript(self._schema)
            if version != self._version:  # a write, which a full disk would refuse
                db.execute(f"PRAGMA user_version = {self._version}")
        except sqlite3.Error:
            db.close()
            raise
        return db

    def _fill(self, db: sqlite3.Connection) -> None:
        with db:
            for sql, values in self._rebuild():
                db.execute(sql, values)
        self._unsaved.clear()
        self._lost = False
        self.trouble = ""

    def _rename(self, error: sqlite3.Error) -> None:
        aside = base = f"{self.path}.damaged-{time.strftime('%Y%m%d-%H%M%S')}"
        number = 1
        while os.path.exists(aside):
            number += 1
            aside = f"{base}-{number}"
        logger.error("%s cannot be read (%s): it is set aside as %s", self.path, error, aside)
        for suffix in ("", "-wal", "-shm"):
            try:
                os.replace(self.path + suffix, aside + suffix)
            except FileNotFoundError:
                pass

    def _set_aside(self, error: sqlite3.Error) -> None:
        """The file has been damaged under us: what its owner knows goes into another."""
        self._lost = True
        try:
            if self._db is not None:
                self._db.close()
                self._db = None
            self._rename(error)
            self._use()
        except (sqlite3.OperationalError, OSError) as again:
            self._note(sqlite3.OperationalError(str(again)))


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    """Our statements are fixed: a table or column that they do not find was there once."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return (
        isinstance(error, Damaged)
        or code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
        or (code == sqlite3.SQLITE_ERROR and "no such" in str(error))
    )


def _text(data: bytes) -> str:
    """A flipped bit in one text must not make every row unreadable."""
    return str(data, "utf-8", "replace")
