"""Which session of Kimi Code an agent shows, and what is new in its record."""

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from synapse.agents.base import Surroundings, changed_at, mark_in, names_in, text_of
from synapse.agents.tail import JsonlTail
from synapse.base import files

EARLY, LATE = 0.5, 10.0  # seconds around Enter in which its prompt is written
OWN_FIRST = 1.0  # seconds after Enter in which the known session may get the human's line
BESIDE = 2.5  # the same if another one runs in this directory, whose session may get the same line first
PROCESS = "kimi-code"  # what the system calls its process
GIVE_UP = 60.0  # seconds after which a message is no longer looked for
HUMAN = ("user", "skill_activation", "plugin_command")  # who has begun a turn
WIRE = os.path.join("agents", "main", "wire.jsonl")

_NAMED = re.compile(r"│ +Session: +(\S+) *│")

Record = Mapping[str, Any]


class Sessions:
    """A session is made with the first prompt, and nothing in it names its process. So the session is the one
    that has what was submitted here: the mark of our message, or the human's line. `/new` and `/sessions`
    show another one, and that is found in the same way. Several agents in one directory write sessions
    beside each other, so time alone counts only where the line is not known, and of two that
    got the same line at the same moment the one on its screen."""

    def __init__(self, surroundings: Surroundings, shown: Callable[[], str] = str) -> None:
        home = surroundings.env.get("KIMI_CODE_HOME") or os.path.join(surroundings.home, ".kimi-code")
        self._home = home
        self._surroundings = surroundings
        self._shown = shown  # the text on its screen
        self._working_dir = os.path.realpath(surroundings.working_dir)
        self._began = self.since = surroundings.started_at  # earlier records are of earlier runs
        self.path = ""  # its folder
        self._wire: JsonlTail | None = None
        self.lost = False  # a prompt was submitted, and no session has it
        self.unsure = False  # several have it, and nothing tells which is ours
        self._beside = False  # another one runs in this directory
        self._guessed = False  # it was chosen by time, because nothing else was known
        self._entered = 0.0  # when Enter was pressed, until the prompt is found
        self._text: str | None = None  # what was submitted then, if that is known
        self._marks: set[str] = set()  # of the messages that were typed here

    def submitted(self, text: str | None) -> None:
        mark = mark_in(text)
        if mark:
            if self._entered and mark == mark_in(self._text):
                return  # Enter again
            self._marks.add(mark)
        self._entered, self._text = time.time(), text
        self._beside = not mark and self._surroundings.has_neighbour(PROCESS)

    def begins(self) -> bool:
        """Whether a prompt was submitted whose session is being made: the screen looks idle meanwhile."""
        return bool(self._entered) and self._is_first(self._text)

    def _is_first(self, text: str | None) -> bool:
        """Whether this is a prompt, and no command of the CLI, and there is no session yet."""
        return not self.path and text is not None and text.strip()[:1] not in ("", "/", "!")

    def follow(self, path: str, since: float) -> None:
        self.path, self.since, self.lost, self.unsure = path, since, False, False
        self._wire = JsonlTail(os.path.join(path, WIRE))

    def read_new(self) -> list[Record]:
        records: list[Record] = []
        for record in self._wire.read_new() if self._wire is not None else ():
            if _moment(record) < self.since:
                continue
            if self._guessed and self._is_foreign(record):
                self.path, self._wire, self._guessed = "", None, False
                return []
            if self._is_submitted(record):
                self._entered = 0.0
            records.append(record)
        return records

    def changes(self) -> bool:
        """Whether another session has what was submitted: it is followed from now on."""
        if not self._entered:
            return False
        marked, waited = bool(mark_in(self._text)), time.time() - self._entered
        if waited > (GIVE_UP if marked else LATE):
            self._entered = 0.0
            self.lost = self._is_first(self._text)
            return False
        if self.path and (self._text is None or (not marked and waited < OWN_FIRST)):
            return False
        found = self._having_it(self._began if marked else self._entered - EARLY, marked)
        if self._beside:
            found = self._on_screen(found) or (found if waited >= BESIDE else {})
        if len(found) == 1:
            ((path, moment),) = found.items()
            self._guessed, self._entered = self._text is None, 0.0
            self.follow(path, moment)
        elif found:
            self.path, self._wire, self._entered, self.unsure = "", None, 0.0, True
        return len(found) == 1

    def _having_it(self, since: float, marked: bool) -> dict[str, float]:
        """The other sessions that have what was submitted, and when they got it."""
        having: dict[str, float] = {}
        for path in self._others(since):
            records = JsonlTail(os.path.join(path, WIRE)).read_new()
            found = next(filter(self._is_submitted, records), None)
            if found is not None and (marked or not any(map(self._is_foreign, records))):
                having[path] = _moment(found)
        return having

    def _on_screen(self, found: Mapping[str, float]) -> dict[str, float]:
        """Those that its banner names, which is wide enough for that in most windows."""
        named = set(_NAMED.findall(self._shown())) if found else set()
        return {path: moment for path, moment in found.items() if os.path.basename(path) in named}

    def _others(self, since: float) -> Iterator[str]:
        for folder in self._folders():
            for name in names_in(folder):
                path = os.path.join(folder, name)
                if path != self.path and changed_at(os.path.join(path, WIRE)) >= since:
                    yield path

    def _folders(self) -> list[str]:
        """Where the sessions of our working directory are; all, if that is not known."""
        known = files.read_object(os.path.join(self._home, "workspaces.json")).get("workspaces")
        root = os.path.join(self._home, "sessions")
        ours = [
            name
            for name, told in (known.items() if isinstance(known, dict) else ())
            if isinstance(told, dict) and os.path.realpath(text_of(told.get("root"))) == self._working_dir
        ]
        return [os.path.join(root, name) for name in ours or names_in(root) if not name.startswith(".")]

    def _is_submitted(self, record: Record) -> bool:
        """Whether it is the prompt that is looked for. Only a mark is unique to one agent."""
        if not self._entered or not is_prompt(record):
            return False
        if mark := mark_in(self._text):
            return mark_in(prompt_of(record)) == mark
        same = self._text is None or self._text.split() == prompt_of(record).split()
        return same and -EARLY <= _moment(record) - self._entered <= LATE

    def _is_foreign(self, record: Record) -> bool:
        """Whether it is a message that was typed to another agent during this run."""
        mark = mark_in(prompt_of(record)) if is_prompt(record) else ""
        return bool(mark) and mark not in self._marks and _moment(record) >= self._began


def is_prompt(record: Record) -> bool:
    """Whether a turn begins with it that the human has asked for."""
    origin = record.get("origin")
    return record.get("type") == "turn.prompt" and isinstance(origin, dict) and origin.get("kind") in HUMAN


def prompt_of(record: Record) -> str:
    given = record.get("input")
    parts = [part for part in given if isinstance(part, dict)] if isinstance(given, list) else []
    return "".join(text_of(part.get("text")) for part in parts)


def _moment(record: Record) -> float:
    at = record.get("time")
    return at / 1000 if isinstance(at, int | float) else 0.0
