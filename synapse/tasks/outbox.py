"""What is owed to other servers: callbacks and push notifications.

They are stored in one transaction with the event that they report, and removed when they have arrived. What a
host leaves is sent by the next host of the same agent. So a document arrives at least once; if a host is
killed between the delivery and its note, it arrives twice.
"""

import json
import logging
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

from synapse.event_emitter import SSEEvent
from synapse.tasks.database import Database, Statement
from synapse.tasks.task import Json, Task

logger = logging.getLogger(__name__)

KEPT = 24 * 3600.0  # seconds; then a document that does not arrive is dropped

SCHEMA = """
CREATE TABLE IF NOT EXISTS outbox (
    number INTEGER PRIMARY KEY, kind TEXT NOT NULL, line TEXT NOT NULL, since REAL NOT NULL,
    url TEXT NOT NULL, headers TEXT NOT NULL, body TEXT NOT NULL
);
"""


class Document(NamedTuple):
    """What is to be sent. The documents of one line are sent in their order."""

    line: str
    url: str
    headers: dict[str, str]
    body: Json


class Owed(NamedTuple):
    """A document that is stored, and since when (a time of the clock)."""

    number: int
    kind: str
    line: str
    since: float
    url: str
    headers: dict[str, str]
    body: str


class Sender(Protocol):
    """Sends the documents of one kind."""

    kind: str

    def owed(self, task: Task, event: SSEEvent) -> list[Document]:
        """The documents that report this event."""

    def send(self, owed: list[Owed]) -> None:
        """Send them, some time, and call `Outbox.settle` for each that has arrived or is given up."""


class Outbox:
    def __init__(self, clock: Callable[[], float], now_ns: Callable[[], int]) -> None:
        self._clock = clock
        self._now_ns = now_ns
        self._senders: list[Sender] = []
        self._owed: dict[int, Owed] = {}
        self._last = 0  # number

    def add_sender(self, sender: Sender) -> None:
        self._senders.append(sender)

    def report(self, task: Task, event: SSEEvent) -> list[Owed]:
        """What is owed because of this event. The caller stores it, then calls `send`."""
        owed = []
        for sender in self._senders:
            try:
                owed += [self._keep(sender.kind, document) for document in sender.owed(task, event)]
            except Exception:  # the event is stored in any case
                logger.exception("a %s of task %s cannot be made", sender.kind, task.id)
        return owed

    def _keep(self, kind: str, document: Document) -> Owed:
        self._last = max(self._last + 1, self._now_ns())
        body = json.dumps(document.body, ensure_ascii=False)
        owed = Owed(self._last, kind, document.line, self._clock(), document.url, document.headers, body)
        self._owed[owed.number] = owed
        return owed

    def send(self, owed: Iterable[Owed]) -> None:
        by_kind: dict[str, list[Owed]] = {}
        for each in owed:
            by_kind.setdefault(each.kind, []).append(each)
        for sender in self._senders:
            if sender.kind in by_kind:
                sender.send(by_kind[sender.kind])

    def take_over(self, database: Database) -> None:
        """Send what an earlier host has left."""
        found = database.read("SELECT * FROM outbox ORDER BY number")
        left = [
            Owed._make((*row[:5], json.loads(row[5]), row[6])) for row in found if row[0] not in self._owed
        ]
        self._owed |= {owed.number: owed for owed in left}
        self.send(left)

    def is_old(self, owed: Owed) -> bool:
        return self._clock() - owed.since > KEPT

    def settle(self, owed: Owed, database: Database) -> None:
        if self._owed.pop(owed.number, None) is not None:
            database.write(("DELETE FROM outbox WHERE number = ?", (owed.number,)))

    def rows(self) -> list[Statement]:
        """What fills the table of a new file."""
        return [insertion(owed) for owed in self._owed.values()]


def insertion(owed: Owed) -> Statement:
    values: tuple[Any, ...] = (*owed[:5], json.dumps(owed.headers), owed.body)
    return "INSERT OR REPLACE INTO outbox VALUES (?, ?, ?, ?, ?, ?, ?)", values
