"""Mistral Vibe: the journal of the session that it shows."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from synapse.agents.base import TRANSCRIPT, Channel, Surroundings, changed_at, text_of
from synapse.agents.errors import ReportedError
from synapse.agents.facts import (
    Denied,
    Fact,
    FileChanged,
    PromptAccepted,
    Said,
    StateSeen,
    ToolUsed,
    TurnEnded,
    tokens_used,
)
from synapse.agents.requests import ToolRequest, tool_request
from synapse.agents.vibe.journal import Journal
from synapse.registry import INPUT_REQUIRED, PROCESSING, READY

ACTIVE, SESSIONS = "active", "unified"  # folders: of the locks, and of the sessions
LOCK = ".lock"
APPROVAL = "approval"
DENIALS = ("deny", "cancel_turn")
EDITORS = ("write_file", "edit")  # the tools that change a file
ERROR = "vibe_error"  # how an error is marked for `read_error`
UNAUTHORIZED = "model_unauthorized"
OPEN = ("pending", "running", "blocked")  # states of a call that has not ended


class VibeChannel(Channel):
    """Its server holds the lock file `active/ID.lock` of the session that it shows, so several agents in one
    directory do not mix, a folder that the user has configured is found, and no launch flag is needed.
    /clear and /resume open another session, and its server then holds that one's lock."""

    name = "vibe"
    tells = tells_all = True

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self._root = ""  # of all sessions
        self._looked = -1.0  # when the folder of the locks had last changed
        self._entered = False  # a prompt was submitted: it may be in another session
        self._journals: dict[str, Journal] = {}
        self._children: set[str] = set()  # sessions of subagents
        self._read_early: list[Fact] = []
        self._turn = ""  # the one that is running
        self._final: str | None = None  # its last message, if no tool was called after it
        self._asked: dict[str, ToolRequest | None] = {}  # open questions
        self._refused = False  # the last answer of the human was no, and no tool was called since
        self._running: dict[str, str] = {}  # effects, and the file that each changes

    def submitted(self, text: str | None = None) -> None:
        self._entered = True

    def poll(self) -> list[Fact]:
        facts, self._read_early = [*self._read_early, *self._read()], []
        return facts

    def requests(self) -> Sequence[ToolRequest]:
        """Also what was written since the last poll: the dialog may be on the screen before that."""
        self._read_early += self._read()
        return [request for request in self._asked.values() if request is not None]

    def _read(self) -> list[Fact]:
        if self._entered or not self._journals or self._locks_changed_at() != self._looked:
            self._find()
        facts: list[Fact] = []
        for session, journal in self._journals.items():
            for record in journal.read_new():
                if session not in self._children:
                    facts += self._record(session, record)
        return facts

    def _locks_changed_at(self) -> float:
        return changed_at(os.path.join(self._root, ACTIVE)) if self._root else -1.0

    def _find(self) -> None:
        for lock in self.surroundings.open_files(LOCK):
            folder, name = os.path.split(lock)
            if os.path.basename(folder) != ACTIVE:
                continue
            self._root = os.path.dirname(folder)
            session = name.removesuffix(LOCK)
            if session not in self._journals:
                path = os.path.join(self._root, SESSIONS, session, "journal")
                self._journals[session] = Journal(path, since=self.surroundings.started_at)
        self._looked = self._locks_changed_at()

    def _record(self, session: str, record: Mapping[str, Any]) -> list[Fact]:
        kind, payload = record.get("type"), record.get("payload")
        if kind == "callback_registered":
            return self._question(payload)
        if kind == "callback_resolved":
            return self._answer(payload)
        if kind == "action_result":
            return _usage(payload)
        facts: list[Fact] = []
        changes = _in(payload, "delta")
        changes = changes if isinstance(changes, list) else []
        if any(_in(change, "state", "session", "parentSessionId") for change in changes):
            self._children.add(session)
            return []
        for change in changes:
            if _in(change, "entry"):
                facts += self._entry(_in(change, "entry"))
            elif _in(change, "state"):
                facts += self._state(_in(change, "state"))
        return facts

    def _entry(self, entry: object) -> list[Fact]:
        kind, role, key = (text_of(_in(entry, name)) for name in ("type", "role", "id"))
        if kind == "effect":
            return self._effect(key, entry)
        if kind != "message":
            return []
        parts = _in(entry, "content")
        texts = [_in(part, "text") for part in parts] if isinstance(parts, list) else []
        text = "".join(map(text_of, texts))
        if role == "user":
            return self._prompt(text_of(_in(entry, "turnId")), text)
        dropped = _in(entry, "outcome", "type") == "discarded"
        if role != "assistant" or not text or (dropped and _in(entry, "outcome", "cause") != "interrupt"):
            return []
        self._final = text
        return [Said(TRANSCRIPT, text, key)]

    def _prompt(self, turn: str, text: str) -> list[Fact]:
        """What is typed while it works is given to the running turn, or queued for the next one, with which
        several may begin together."""
        if turn and turn == self._turn:
            return [PromptAccepted(TRANSCRIPT, text, if_idle=True)]
        self._entered, self._turn, self._final, self._refused = False, turn, None, False
        self._asked.clear()
        self._running.clear()
        return [PromptAccepted(TRANSCRIPT, text)]

    def _effect(self, key: str, entry: object) -> list[Fact]:
        """A call of a tool: it is reported when it begins, and again when it has ended."""
        name, given = _tool(_in(entry, "detail"))
        status = _in(entry, "state", "status")
        if status in OPEN and key in self._running:
            return []
        if status in OPEN:
            path = text_of(given.get("file_path") or given.get("path"))
            self._running[key], self._final = path if name in EDITORS else "", None
            self._refused = False
            return [ToolUsed(TRANSCRIPT, name, key, given)]
        path = self._running.pop(key, "")
        return [FileChanged(path)] if path and status == "completed" else []

    def _question(self, payload: object) -> list[Fact]:
        kind, effect = _in(payload, "kind"), _in(payload, "routing", "detail", "effect")
        request = tool_request(*_tool(effect)) if kind == APPROVAL else None
        self._asked[text_of(_in(payload, "callback_id"))] = request
        return [StateSeen(TRANSCRIPT, (INPUT_REQUIRED,), f"journal: it asks ({kind})")]

    def _answer(self, payload: object) -> list[Fact]:
        request = self._asked.pop(text_of(_in(payload, "callback_id")), None)
        self._refused = _in(payload, "result", "output", "decision", "type") in DENIALS
        facts: list[Fact] = [Denied(TRANSCRIPT, request.subject if request else "")] if self._refused else []
        if not self._asked:
            facts.append(StateSeen(TRANSCRIPT, (PROCESSING,), "journal: its question was answered"))
        return facts

    def _state(self, state: object) -> list[Fact]:
        if _in(state, "session", "status", "type") == "running":
            says = INPUT_REQUIRED if self._asked else PROCESSING
            return [StateSeen(TRANSCRIPT, (says,), "journal: a turn is running")]
        ready = StateSeen(TRANSCRIPT, (READY,), "journal: the session is idle")
        turn = _in(state, "latestTurn")
        return [self._end(turn), ready] if self._turn and _in(turn, "id") == self._turn else [ready]

    def _end(self, turn: object) -> Fact:
        """A turn that only says something after a denied tool has not done what it was asked for."""
        outcome, error = text_of(_in(turn, "status")), _in(turn, "error")
        reply, denied = self._final, self._refused or bool(self._asked)
        self._turn, self._final = "", None
        self._asked.clear()
        self._running.clear()
        if outcome == "interrupted":
            return TurnEnded(TRANSCRIPT, outcome, denied=denied)
        if outcome == "failed":
            told = error if isinstance(error, dict) else {}
            return TurnEnded(TRANSCRIPT, outcome, error={**told, "type": ERROR})
        if self._refused:
            return TurnEnded(TRANSCRIPT, "interrupted", reply, denied=True)
        return TurnEnded(TRANSCRIPT, "completed", reply)

    @staticmethod
    def read_error(event: Mapping[str, Any]) -> ReportedError | None:
        if event.get("type") != ERROR:
            return None
        status, name = _in(event, "details", "httpStatus"), event.get("code")
        # After a first refusal it asks its provider no more, and there is no status.
        means = "LOGIN_REQUIRED" if name == UNAUTHORIZED else ""
        return ReportedError(text_of(event.get("message")), True, name, status, known=True, means=means)

    def missing(self) -> list[str]:
        return [] if self._journals else ["no session of this program has been found yet"]


def _in(value: object, *names: str) -> Any:
    """The field of a JSON object in a JSON object; None if there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _tool(effect: object) -> tuple[str, dict[str, Any]]:
    """The name without its group, and the arguments."""
    given = _in(effect, "input")
    return text_of(_in(effect, "toolName")).rpartition(".")[2], given if isinstance(given, dict) else {}


def _usage(payload: object) -> list[Fact]:
    usage, key = _in(payload, "result", "result", "usage"), text_of(_in(payload, "action_id"))
    return tokens_used(usage, "input_tokens", "output_tokens", key)


CHANNEL = VibeChannel
