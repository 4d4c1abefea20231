"""Finds the rollout file of the thread that the agent shows, by what was submitted to it.

Codex's shared server writes the threads of all its terminals, so neither the process that holds a file open
nor the time says whose thread it is. The mark of a message says it, or the line that the human submitted.
"""

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from synapse.agents.base import Surroundings, changed_at, mark_in, text_of

EARLY, LATE = 0.5, 15.0  # seconds around Enter in which a human's line is written
FIRST_LATE = 60.0  # the same for the prompt of the command line: its server may have to start first
MARKED_LATE = 120.0  # the same for a message, which its mark tells from every other
KEPT = 8  # submitted texts that are looked for
SCANNED = 1024 * 1024  # bytes at the end of a file that is looked at for the first time
FULL_SCAN = 1.0  # seconds between two looks at files of earlier days: a thread may be resumed
FIRST_LINE = 4 * 1024 * 1024  # it holds the whole system prompt


@dataclass(frozen=True)
class Submitted:
    text: str
    at: float  # wall clock, seconds
    late: float = LATE

    @property
    def patience(self) -> float:
        return MARKED_LATE if mark_in(self.text) else self.late

    def is_in(self, prompt: str, written: float) -> bool:
        """Whether this prompt of a rollout is what was submitted."""
        mark = mark_in(self.text)
        if mark or mark_in(prompt):
            return mark == mark_in(prompt)
        return self.text.split() == prompt.split() and -EARLY <= written - self.at <= self.late


@dataclass(frozen=True)
class Place:
    """Where the turn of a prompt begins."""

    path: str
    offset: int
    submitted: Submitted


@dataclass
class Threads:
    """The rollouts of this user that were written to since the agent started."""

    surroundings: Surroundings
    wanted: list[Submitted] = field(default_factory=list)
    marks: set[str] = field(default_factory=set)  # of all messages that were submitted here

    def __post_init__(self) -> None:
        self._read: dict[str, int] = {}  # how far each file has been looked at
        self._whose: dict[str, str] = {}
        self._full_scan = 0.0
        folder = self.surroundings.argument("--cd") or self.surroundings.argument("-C")
        self._cwd = os.path.realpath(os.path.join(self.surroundings.working_dir, folder))

    @property
    def root(self) -> str:
        home = self.surroundings.env.get("CODEX_HOME") or os.path.join(self.surroundings.home, ".codex")
        return os.path.join(home, "sessions")

    def submitted(self, text: str) -> None:
        self.wanted = [*self.wanted, Submitted(text, time.time())][-KEPT:]
        if mark := mark_in(text):
            self.marks.add(mark)

    def started_with(self, words: Iterable[str]) -> None:
        """One of these words of the command line may be the first prompt."""
        started = self.surroundings.started_at
        self.wanted = [Submitted(word, started, FIRST_LATE) for word in words][-KEPT:]

    def is_submitted(self, prompt: str) -> bool:
        """Whether this prompt has just been submitted here."""
        return any(submitted.is_in(prompt, time.time()) for submitted in self.wanted)

    def found(self, prompt: str) -> None:
        """A known thread has got this prompt: neither it nor an earlier one is looked for."""
        for position, submitted in enumerate(self.wanted):
            if submitted.is_in(prompt, submitted.at):
                del self.wanted[: position + 1]
                return

    def search(self, known: Iterable[str]) -> Place | None:
        """The last submitted text in a file that is not known yet; None if several files have the line."""
        now = time.time()
        self.wanted = [one for one in self.wanted if now - one.at <= one.patience]
        if not self.wanted:
            return None
        since, places = min(one.at for one in self.wanted) - EARLY, []
        for path in self._files(now):
            if path not in known and changed_at(path) >= since:
                places += self._look(path)
        marked = [place for place in places if mark_in(place.submitted.text)]
        if not marked and len({place.path for place in places}) > 1:
            return None
        place = max(marked or places, key=lambda one: one.submitted.at, default=None)
        if place is not None:
            self.found(place.submitted.text)
        return place

    def _files(self, now: float) -> Iterator[str]:
        """The rollouts of the days since the agent started; from time to time, those of all days."""
        everything = now - self._full_scan >= FULL_SCAN
        self._full_scan = now if everything else self._full_scan
        begun = time.localtime(self.surroundings.started_at - 86400)  # the server's time zone may differ
        first = os.path.join(self.root, time.strftime("%Y/%m/%d", begun))
        for folder, folders, names in os.walk(self.root):
            if not everything:
                inner = {name: os.path.join(folder, name) for name in folders}
                folders[:] = [name for name, path in inner.items() if path >= first[: len(path)]]
            yield from (os.path.join(folder, name) for name in names if is_rollout(name))

    def _look(self, path: str) -> list[Place]:
        """The places of submitted texts among what is new in a file."""
        whose = self._whose.get(path, "unknown")
        if whose == "unknown":
            whose = self._whose[path] = whose_thread(path)
        if whose != "human":
            return []
        places, began = [], None
        for offset, line in self._new_lines(path):
            if b'"task_started"' in line:
                began = offset
            if b'"UserMessage"' not in line and b'"user_message"' not in line:
                continue
            prompt, written = _prompt(line)
            for one in self.wanted:
                if prompt is not None and one.is_in(prompt, written) and self._may_be(one, path):
                    places.append(Place(path, offset if began is None else began, one))
        return places

    def _may_be(self, submitted: Submitted, path: str) -> bool:
        """A mark is in one thread only; a human's line counts in a thread of this directory."""
        return bool(mark_in(submitted.text)) or os.path.realpath(text_of(head(path).get("cwd"))) == self._cwd

    def _new_lines(self, path: str) -> Iterator[tuple[int, bytes]]:
        try:
            with open(path, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                offset = self._read.get(path, max(0, size - SCANNED))
                file.seek(offset)
                if offset and path not in self._read:
                    offset += len(file.readline())  # the rest of a line
                data = file.read()
        except OSError:
            return
        for line in data[: data.rfind(b"\n") + 1].splitlines(keepends=True):
            yield offset, line
            offset += len(line)
        self._read[path] = offset


def is_rollout(name: str) -> bool:
    return name.startswith("rollout-") and name.endswith(".jsonl")


def thread_of(path: str) -> str:
    return os.path.basename(path).removesuffix(".jsonl")[-36:]


def prompt_of(payload: Mapping[str, Any]) -> str | None:
    """The message of the user in an event; None if it is another event."""
    if payload.get("type") == "user_message":  # older versions have two separate events
        return text_of(payload.get("message"))
    item = payload.get("item")
    if (
        payload.get("type") == "item_completed"
        and isinstance(item, dict)
        and item.get("type") == "UserMessage"
    ):
        return item_text(item)
    return None


def item_text(item: Mapping[str, Any]) -> str:
    parts = item.get("content")
    parts = parts if isinstance(parts, list) else []
    return "".join(text_of(part.get("text")) for part in parts if isinstance(part, dict))


def head(path: str) -> dict[str, Any]:
    """What the first line says about the thread; empty if it is not written yet."""
    try:
        with open(path, "rb") as file:
            payload = json.loads(file.readline(FIRST_LINE)).get("payload")
    except (OSError, ValueError, AttributeError, RecursionError):
        return {}
    return payload if isinstance(payload, dict) else {}


def whose_thread(path: str) -> str:
    """Whether a human has begun the thread or another agent, by the file's first line."""
    try:
        with open(path, "rb") as file:
            line = file.readline(FIRST_LINE)
    except OSError:
        return "human"  # the default
    if not line.endswith(b"\n") and len(line) < FIRST_LINE:
        return "unknown"
    source = head(path).get("source")
    return "human" if source is None or isinstance(source, str) else "agent"


def _prompt(line: bytes) -> tuple[str | None, float]:
    """The message of the user on a line of a rollout, and when it was written."""
    try:
        record = json.loads(line)
        payload = record["payload"]
        written = datetime.fromisoformat(record["timestamp"]).timestamp()
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
        return None, 0.0
    return (prompt_of(payload) if isinstance(payload, dict) else None), written
