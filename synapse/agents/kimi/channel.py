"""Kimi Code: the record of the session that it shows (`agents/main/wire.jsonl`)."""

from collections.abc import Mapping, Sequence
from typing import Any

from synapse.agents.base import TRANSCRIPT, Channel, Surroundings, text_of
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
from synapse.agents.kimi.sessions import Record, Sessions, is_prompt, prompt_of
from synapse.agents.requests import ToolRequest, tool_request
from synapse.registry import INPUT_REQUIRED, PROCESSING, READY

MAIN = "main"  # the agent of the conversation; others are its subagents
EDITORS = ("Write", "Edit")  # the tools that change a file
OUTCOMES = {"completed": "completed", "cancelled": "interrupted", "failed": "failed", "blocked": "failed"}
INPUTS = ("inputOther", "inputCacheRead", "inputCacheCreation")
UNAUTHORIZED = "provider.auth_error"
COMPACTED = ("full_compaction.complete", "full_compaction.cancel")


class KimiChannel(Channel):
    name = "kimi"
    tells = tells_all = True

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self._sessions = Sessions(surroundings, lambda: self.shown())
        kept = self.read_session()
        if (path := text_of(kept.get("path"))) and isinstance(since := kept.get("since"), float):
            self._sessions.follow(path, since)
        self._read_early: list[Fact] = []
        self._begins = False  # a session is being made
        self._running = False
        self._texts: list[str] = []  # of the step that is written now
        self._step_key = ""
        self._asked: dict[str, tuple[str, ToolRequest | None]] = {}  # without an answer: the call that waits
        self._refused: set[str] = set()  # the calls that the human has denied
        self._denied_in = ""  # the step of the last one, if no tool was called in a later step
        self._calls: dict[str, tuple[str, Mapping[str, Any]]] = {}  # tools that run

    def submitted(self, text: str | None = None) -> None:
        self._sessions.submitted(text)

    def poll(self) -> list[Fact]:
        facts, self._read_early = [*self._read_early, *self._read()], []
        begun, self._begins = self._begins, self._sessions.begins()
        if self._begins and not begun:
            facts.append(StateSeen(TRANSCRIPT, (PROCESSING,), "the first prompt was submitted"))
        return facts

    def _read(self) -> list[Fact]:
        facts = self._take()
        if not self._running and self._sessions.changes():  # it shows another session only between turns
            path = self._sessions.path
            self.keep_session(path.rpartition("/")[2], path=path, since=self._sessions.since)
            facts += self._take()
        return facts

    def _take(self) -> list[Fact]:
        records = self._sessions.read_new()
        told = [self._record(record) for record in records if record.get("agentId", MAIN) == MAIN]
        return [fact for facts in told for fact in facts]

    def _record(self, record: Record) -> list[Fact]:
        kind = text_of(record.get("type"))
        if kind == "turn.prompt":
            return self._prompted(record)
        if kind == "context.append_loop_event":
            event = record.get("event")
            return self._step(event) if isinstance(event, dict) else []
        if kind == "interaction.request":
            return self._question(record)
        if kind == "interaction.resolved":
            return self._answered(record)
        if kind == "turn.ended":
            return self._ended(record)
        if kind == "full_compaction.begin":
            return [StateSeen(TRANSCRIPT, (PROCESSING,), f"record: {kind}")]
        if kind in COMPACTED and not self._running:
            return [StateSeen(TRANSCRIPT, (READY,), f"record: {kind}")]
        return []

    def _prompted(self, record: Record) -> list[Fact]:
        self._running, self._texts, self._denied_in = True, [], ""
        self._asked.clear()
        self._refused.clear()
        self._calls.clear()
        # Else a scheduled or finished task of its own has begun the turn.
        accepted = PromptAccepted(TRANSCRIPT, prompt_of(record), if_idle=not is_prompt(record))
        return [accepted, StateSeen(TRANSCRIPT, (PROCESSING,), "record: turn.prompt")]

    def _step(self, event: Mapping[str, Any]) -> list[Fact]:
        kind, key = event.get("type"), text_of(event.get("uuid"))
        if kind == "step.begin":
            self._texts, self._step_key = [], key
        elif kind == "content.part":
            part = event.get("part")
            text = text_of(part.get("text")) if isinstance(part, dict) and part.get("type") == "text" else ""
            self._texts += [text] if text else []
            return [Said(TRANSCRIPT, "".join(self._texts), text_of(event.get("stepUuid")))] if text else []
        elif kind == "tool.call":
            return self._called(event)
        elif kind == "tool.result":
            return self._tool_ended(event)
        elif kind == "step.end":
            return _tokens(event.get("usage"), key)
        return []

    def _called(self, event: Mapping[str, Any]) -> list[Fact]:
        name, key, given = text_of(event.get("name")), text_of(event.get("toolCallId")), event.get("args")
        given = given if isinstance(given, dict) else {}
        if key in self._refused:
            return []  # it is written as called, and is not run
        if text_of(event.get("stepUuid")) != self._denied_in:
            self._denied_in = ""
        self._calls[key] = (name, given)
        return [ToolUsed(TRANSCRIPT, name, key, given)]

    def _tool_ended(self, event: Mapping[str, Any]) -> list[Fact]:
        name, given = self._calls.pop(text_of(event.get("toolCallId")), ("", {}))
        result, path = event.get("result"), text_of(given.get("path"))
        failed = not isinstance(result, dict) or bool(result.get("isError"))
        return [FileChanged(path)] if path and name in EDITORS and not failed else []

    def _question(self, record: Record) -> list[Fact]:
        asked = record.get("request")
        approval = record.get("kind") == "approval" and isinstance(asked, dict)
        request = _request(asked) if approval and asked else None
        self._asked[text_of(record.get("id"))] = text_of(record.get("toolCallId")), request
        return [StateSeen(TRANSCRIPT, (INPUT_REQUIRED,), f"record: {record.get('kind')} requested")]

    def _answered(self, record: Record) -> list[Fact]:
        call, request = self._asked.pop(text_of(record.get("id")), ("", None))
        state = StateSeen(TRANSCRIPT, (INPUT_REQUIRED if self._asked else PROCESSING,), "record: answered")
        response = record.get("response")
        if not isinstance(response, dict) or response.get("decision") != "rejected":
            return [state]
        self._refused.add(call)
        self._denied_in = "" if response.get("feedback") else self._step_key
        return [Denied(TRANSCRIPT, request.subject if request else ""), state]

    def _ended(self, record: Record) -> list[Fact]:
        """A turn that only says something after a denied tool has not done what it was asked for."""
        reason = text_of(record.get("reason"))
        outcome = OUTCOMES.get(reason, "completed")
        ready = StateSeen(TRANSCRIPT, (READY,), f"record: turn.ended ({reason})")
        was_running, self._running = self._running, False
        denied = bool(self._denied_in or self._asked)
        reply = "".join(self._texts) if outcome == "completed" else None
        self._asked.clear()
        self._calls.clear()
        if not was_running:
            return [ready]
        if outcome == "failed":
            error = record.get("error")
            told = {**error, "type": "error"} if isinstance(error, dict) else _untold(reason)
            return [TurnEnded(TRANSCRIPT, outcome, error=told), ready]
        if outcome == "interrupted" or self._denied_in:
            return [TurnEnded(TRANSCRIPT, "interrupted", reply, denied=denied), ready]
        return [TurnEnded(TRANSCRIPT, outcome, reply), ready]

    def requests(self) -> Sequence[ToolRequest]:
        """Also what was written since the last poll: the dialog may be on the screen before that."""
        self._read_early += self._read()
        return [request for _, request in self._asked.values() if request is not None]

    def unfinished(self) -> bool:
        return self._running

    @staticmethod
    def read_error(event: Mapping[str, Any]) -> ReportedError | None:
        if event.get("type") != "error":
            return None
        details = event.get("details")
        status = details.get("statusCode") if isinstance(details, dict) else None
        text, name = text_of(event.get("message")), text_of(event.get("code"))
        means = "LOGIN_REQUIRED" if name == UNAUTHORIZED else ""
        return ReportedError(text, ends=True, name=name, status=status, known=True, means=means)

    def missing(self) -> list[str]:
        """Nothing before the first prompt, which makes the session."""
        if self._sessions.unsure:
            return [
                "two sessions got the line that was typed, at the same moment: the next message will tell"
            ]
        return ["no session has the prompt that was submitted"] if self._sessions.lost else []


def _request(asked: Mapping[str, Any]) -> ToolRequest | None:
    """The tool is called after the answer: what it would do is in `display`."""
    name, display = text_of(asked.get("toolName")), asked.get("display")
    shown = dict(display) if isinstance(display, dict) else {}
    detail = shown.get("detail")
    if shown.get("kind") == "generic" and isinstance(detail, dict):
        shown = dict(detail)
    given = {
        key: value for key, value in shown.items() if key not in ("kind", "language", "operation", "cwd")
    }
    return tool_request(name, given)


def _untold(reason: str) -> dict[str, Any]:
    return {"type": "error", "message": f"the turn has ended: {reason}"}


def _tokens(usage: object, key: str) -> list[Fact]:
    counts = usage if isinstance(usage, dict) else {}
    read = [counts.get(name) for name in INPUTS]
    whole = {"input": sum(n for n in read if isinstance(n, int)), "output": counts.get("output")}
    return tokens_used(whole, "input", "output", key)


CHANNEL = KimiChannel
