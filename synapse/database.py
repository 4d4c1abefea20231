"""A SQLite file that may be full, locked or damaged, and must not take anybody down with it.

What cannot be written now is kept and written with the next thing that is. A file that is damaged is set
aside, and another begun with what its owner still knows.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from collections.abc import Callable
from typing import Any

logger = logging.getLogger(__name__)

UNSAVED_LIMIT = 100_000  # statements that wait for the disk
PATIENCE = 0.2  # seconds for somebody else's lock

Statement = tuple[str, tuple[Any, ...]]


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
        self.trouble = ""  # why the last write failed, while it has not been made up for
        self._db = self._open()

    def close(self) -> None:
        self.flush()
        self._db.close()

    def read(self, sql: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        self.flush()
        try:
            return self._db.execute(sql, values).fetchall()
        except sqlite3.OperationalError as error:
            self._note(error)
        except sqlite3.DatabaseError as error:
            self._set_aside(error)
        return []

    def insert(self, statement: Statement) -> int:
        """Written when this returns: the row's number. Raises sqlite3.Error when it cannot be."""
        self.flush()
        try:
            with self._db:
                return int(self._db.execute(*statement).lastrowid or 0)
        except sqlite3.OperationalError as error:
            self._note(error)
            raise
        except sqlite3.IntegrityError:
            raise
        except sqlite3.DatabaseError as error:
            self._set_aside(error)
            with self._db:
                return int(self._db.execute(*statement).lastrowid or 0)

    def write(self, *statements: Statement) -> None:
        """Written together, now or as soon as the disk allows."""
        self._unsaved += statements
        self.flush()

    def flush(self) -> None:
        if not self._unsaved:
            return
        try:
            with self._db:
                for sql, values in self._unsaved:
                    self._db.execute(sql, values)
        except sqlite3.OperationalError as error:  # full, locked, read-only: it may pass
            self._note(error)
            del self._unsaved[: max(len(self._unsaved) - UNSAVED_LIMIT, 0)]
        except sqlite3.DatabaseError as error:
            self._set_aside(error)
        else:
            self._unsaved.clear()
            self.trouble = ""

    def _note(self, error: sqlite3.Error) -> None:
        if str(error) != self.trouble:
            logger.warning("cannot use %s: %s", self.path, error)
        self.trouble = str(error)

    def _open(self) -> sqlite3.Connection:
        try:
            return self._connect()
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError as error:
            self._rename(error)
            return self._connect()

    def _connect(self) -> sqlite3.Connection:
        if self.path != ":memory:" and not os.path.exists(self.path):
            os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY, 0o600))
        db = sqlite3.connect(self.path, timeout=PATIENCE)
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version > self._version:
                raise sqlite3.DatabaseError(f"it was written by a newer Synapse (format {version})")
            if db.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                raise sqlite3.DatabaseError("it is damaged")
            db.executescript(self._schema)
            db.execute(f"PRAGMA user_version = {self._version}")
        except sqlite3.Error:
            db.close()
            raise
        return db

    def _rename(self, error: sqlite3.Error) -> None:
        aside = f"{self.path}.damaged-{time.strftime('%Y%m%d-%H%M%S')}"
        logger.error("%s cannot be read (%s): it is set aside as %s", self.path, error, aside)
        for suffix in ("", "-wal", "-shm"):
            try:
                os.replace(self.path + suffix, aside + suffix)
            except OSError:
                pass  # not there

    def _set_aside(self, error: sqlite3.Error) -> None:
        """The file has been damaged under us."""
        self._unsaved.clear()
        self._db.close()
        self._rename(error)
        self._db = self._connect()
        with self._db:
            for sql, values in self._rebuild():
                self._db.execute(sql, values)
