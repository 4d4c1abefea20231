"""GitHub Copilot CLI: the `events.jsonl` of the session that it shows."""

import datetime
import os
from collections.abc import Mapping, Sequence
from typing import Any

from synapse.agents.base import TRANSCRIPT, Channel, Surroundings, changed_at, names_in, text_of
from synapse.agents.errors import ReportedError, text_in
from synapse.agents.facts import (
    Denied,
    Fact,
    Failed,
    FileChanged,
    PromptAccepted,
    Said,
    StateSeen,
    ToolUsed,
    TurnEnded,
    tokens_used,
)
from synapse.agents.requests import ToolRequest, tool_request
from synapse.agents.tail import JsonlTail
from synapse.registry import INPUT_REQUIRED, PROCESSING, READY

EVENTS = "events.jsonl"
ASKED, ANSWERED = ".requested", ".completed"  # permission, user_input, elicitation, exit_plan_mode …
APPROVED = "approved"
CANCELLED = "cancelled"  # the question was left with Escape, and the turn with it
REMEMBERED = 5000  # events
EDITORS = ("create", "edit", "apply_patch")  # the tools that change a file


class CopilotChannel(Channel):
    """A session belongs to the process that has a file `inuse.<pid>.lock` in its folder, so several agents in
    one directory do not mix, and no launch flag is needed. `/new` and `/resume` open another session; the one
    that got the last prompt is the one that is shown."""

    name = "copilot"
    tells = tells_all = True

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        home = surroundings.env.get("COPILOT_HOME") or os.path.join(surroundings.home, ".copilot")
        self._root = os.path.join(home, "session-state")
        self._since = surroundings.started_at  # earlier events are of earlier runs, of a moment ago perhaps
        self._looked = -1.0  # when the folder of the sessions had last changed
        self._entered = False  # a prompt was submitted: it may be in a session that was opened again
        self._sessions: dict[str, JsonlTail] = {}
        self._seen: dict[
            str, None
        ] = {}  # ids of the last events: a prompt that is taken back rewrites the file
        self._read_early: list[Fact] = []
        self._current = ""
        self._running = False
        self._final: str | None = None  # the last message, if it called no tool
        self._over = False  # no more requests to the model are made in this turn
        self._asked: set[str] = set()  # questions for permission that were not answered
        self._calls: dict[str, ToolRequest] = {}
        self._edits: dict[str, str] = {}  # the files that calls are about to change

    def submitted(self, text: str | None = None) -> None:
        self._entered = True

    def poll(self) -> list[Fact]:
        facts, self._read_early = [*self._read_early, *self._read()], []
        return facts

    def _read(self) -> list[Fact]:
        if self._entered or not self._sessions or changed_at(self._root) != self._looked:
            self._find()
        facts: list[Fact] = []
        for session, events in self._sessions.items():
            for event in events.read_new():
                if _moment(event.get("timestamp")) >= self._since and self._is_new(text_of(event.get("id"))):
                    facts += self._event(session, event)
        return facts

    def _is_new(self, key: str) -> bool:
        if key in self._seen:
            return False
        self._seen[key] = None
        if len(self._seen) > REMEMBERED:
            del self._seen[next(iter(self._seen))]
        return True

    def _find(self) -> None:
        self._looked = changed_at(self._root)
        ours = [f"inuse.{pid}.lock" for pid in self.surroundings.pids()]
        for name in names_in(self._root):
            folder = os.path.join(self._root, name)
            if name not in self._sessions and any(os.path.exists(os.path.join(folder, f)) for f in ours):
                self._sessions[name] = JsonlTail(os.path.join(folder, EVENTS))

    def _event(self, session: str, event: Mapping[str, Any]) -> list[Fact]:
        kind, data = text_of(event.get("type")), event.get("data")
        if not isinstance(data, dict) or event.get("agentId") or data.get("parentToolCallId"):
            return []  # of a subagent: the turn goes on
        left: list[Fact] = []
        if kind == "user.message" and session != self._current:
            left = [TurnEnded(TRANSCRIPT, "interrupted", denied=False)] if self._running else []
            self._current, self._running = session, False
        if session != self._current:
            return []
        return [*left, *self._told(kind, data)]

    def _told(self, kind: str, data: Mapping[str, Any]) -> list[Fact]:
        if kind == "user.message":
            return self._prompted(data)
        if kind == "assistant.turn_start":
            self._final, self._over = None, False
        elif kind == "assistant.message":
            return self._said(data)
        elif kind == "assistant.turn_end":
            return self._request_ended()
        elif kind == "session.usage_record":
            usage = data.get("usage")
            key = text_of(usage.get("apiCallId")) if isinstance(usage, dict) else ""
            return tokens_used(usage, "inputTokens", "outputTokens", key)
        elif kind == "tool.execution_complete":
            return self._tool_ended(data)
        elif kind.endswith(ASKED):
            if kind.startswith("permission"):
                self._asked.add(text_of(data.get("requestId")))
            return [StateSeen(TRANSCRIPT, (INPUT_REQUIRED,), f"events: {kind}")]
        elif kind.endswith(ANSWERED) and "requestId" in data:
            return self._answered(kind, data)
        elif kind == "abort":
            return self._ended("interrupted", denied=bool(self._asked))
        elif kind == "session.error":
            error = {**data, "type": "error"}
            return self._ended("failed", error=error) if self._over else [Failed(TRANSCRIPT, error)]
        elif kind == "session.compaction_start":
            return [StateSeen(TRANSCRIPT, (PROCESSING,), f"events: {kind}")]
        elif kind == "session.compaction_complete" and not self._running:
            return [StateSeen(TRANSCRIPT, (READY,), f"events: {kind}")]
        return []

    def _prompted(self, data: Mapping[str, Any]) -> list[Fact]:
        self._entered, self._running, self._over = False, True, False
        self._calls.clear()
        self._asked.clear()
        working = StateSeen(TRANSCRIPT, (PROCESSING,), "events: user.message")
        return [PromptAccepted(TRANSCRIPT, text_of(data.get("content"))), working]

    def _said(self, data: Mapping[str, Any]) -> list[Fact]:
        text, calls = text_of(data.get("content")), data.get("toolRequests")
        self._final = None if calls or not text.strip() else text  # after an empty one comes an error
        facts: list[Fact] = [Said(TRANSCRIPT, text, text_of(data.get("messageId")))] if text else []
        for call in calls if isinstance(calls, list) else []:
            if isinstance(call, dict):
                name, key, given = (
                    text_of(call.get("name")),
                    text_of(call.get("toolCallId")),
                    call.get("arguments"),
                )
                if server := text_of(call.get("mcpServerName")):
                    name = f"mcp__{server}__{text_of(call.get('mcpToolName'))}"  # as the others name it
                facts.append(ToolUsed(TRANSCRIPT, name, key, given if isinstance(given, dict) else {}))
                self._take_call(name, key, given)
        return facts

    def _take_call(self, name: str, key: str, given: object) -> None:
        if request := tool_request(name, given):
            self._calls[key] = request
        path = text_of(given.get("path")) if isinstance(given, dict) and name in EDITORS else ""
        if path:
            self._edits[key] = path

    def _tool_ended(self, data: Mapping[str, Any]) -> list[Fact]:
        key = text_of(data.get("toolCallId"))
        self._calls.pop(key, None)
        path = self._edits.pop(key, "")
        return [FileChanged(path)] if path and data.get("success") is True else []

    def _answered(self, kind: str, data: Mapping[str, Any]) -> list[Fact]:
        result = data.get("result")
        answer = text_of(result.get("kind")) if isinstance(result, dict) else ""
        working = StateSeen(TRANSCRIPT, (PROCESSING,), f"events: {kind}")
        if answer != CANCELLED:
            self._asked.discard(text_of(data.get("requestId")))
        if not kind.startswith("permission") or answer.startswith(APPROVED):
            return [working]
        if answer == CANCELLED:
            return []  # before or after `abort`
        request = self._calls.pop(text_of(data.get("toolCallId")), None)
        return [Denied(TRANSCRIPT, request.subject if request else ""), working]

    def _request_ended(self) -> list[Fact]:
        """After each request to the model; what ended the turn, if it is none with a message, comes next."""
        self._over = True
        return [] if self._final is None else self._ended("completed", self._final)

    def _ended(
        self,
        outcome: str,
        reply: str | None = None,
        denied: bool | None = None,
        error: dict[str, Any] | None = None,
    ) -> list[Fact]:
        was_running, self._running, self._final = self._running, False, None
        self._calls.clear()
        ready = StateSeen(TRANSCRIPT, (READY,), f"events: the turn has ended ({outcome})")
        return [TurnEnded(TRANSCRIPT, outcome, reply, error, denied), ready] if was_running else [ready]

    def requests(self) -> Sequence[ToolRequest]:
        """Also what was written since the last poll: the dialog may be on the screen before that."""
        self._read_early += self._read()
        return list(self._calls.values())

    @staticmethod
    def read_error(event: Mapping[str, Any]) -> ReportedError | None:
        if event.get("type") != "error":
            return None
        return ReportedError(
            text_in(event.get("message")), ends=True, status=event.get("statusCode"), known=True
        )

    def missing(self) -> list[str]:
        return [] if self._sessions else ["no session of this program has been found yet"]


def _moment(text: object) -> float:
    try:
        return datetime.datetime.fromisoformat(text).timestamp() if isinstance(text, str) else 0.0
    except (ValueError, OverflowError):
        return 0.0


CHANNEL = CopilotChannel
