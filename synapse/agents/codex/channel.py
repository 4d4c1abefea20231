"""Codex: its notify program, and the rollout file of the thread."""

import datetime
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from synapse.agents.base import HOOK, TRANSCRIPT, Channel, Surroundings, changed_at, text_of
from synapse.agents.errors import ReportedError, reported_error, text_in
from synapse.agents.facts import Fact, PromptAccepted, Said, StateSeen, ToolUsed, TurnEnded, tokens_used
from synapse.agents.requests import ToolRequest, tool_request
from synapse.agents.tail import JsonlTail
from synapse.registry import PROCESSING, READY

FIRST_LINE = 4 * 1024 * 1024  # it holds the whole system prompt
_ERRORS = {
    "context_window_exceeded": "CONTEXT_LIMIT",
    "http_connection_failed": "NETWORK_ERROR",
    "response_stream_connection_failed": "NETWORK_ERROR",
    "response_stream_disconnected": "NETWORK_ERROR",
    "server_overloaded": "OVERLOADED",
    "unauthorized": "LOGIN_REQUIRED",
}
_HARMLESS = ("active_turn_not_steerable", "thread_rollback_failed")  # the turn continues


class CodexChannel(Channel):
    """Follows every thread of the human: /new and /resume change the thread, and the files stay open."""

    name = "codex"
    tells = tells_all = True

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self._rollouts: dict[str, JsonlTail] = {}  # by thread
        self._folders: dict[str, float] = {}  # where new ones appear, and when one last did
        self._prompted = False  # whether the task that runs began with a message
        self._said_by_turn = 0
        self._calls: dict[
            str, ToolRequest
        ] = {}  # without a result; they are written before the human is asked

    def on_event(self, event: Mapping[str, Any]) -> list[Fact]:
        known = set(self._rollouts)
        facts = self.poll()
        if event.get("type") != "agent-turn-complete":
            return facts
        thread = str(event.get("thread-id", ""))
        if self._rollouts and thread not in self._rollouts:
            self._find()
            facts += self._read()
        told = any(isinstance(fact, TurnEnded) for fact in facts)
        if not self._rollouts or (thread in self._rollouts and thread not in known and not told):
            return facts + _notified(event)  # the file of a resumed thread is read from here on
        return facts  # the rollout has reported it, or it is the thread that makes titles

    def poll(self) -> list[Fact]:
        if not self._rollouts or any(changed_at(path) != at for path, at in self._folders.items()):
            self._find()
        return self._read()

    def _read(self) -> list[Fact]:
        facts: list[Fact] = []
        for rollout in self._rollouts.values():
            for line in rollout.read_new():
                payload = line.get("payload")
                if isinstance(payload, dict):
                    facts += self._line(str(line.get("type", "")), payload)
        return facts

    def _find(self) -> None:
        """Find the rollouts that the agent holds open, except those of its subagents."""
        root = self.surroundings.env.get("CODEX_HOME") or os.path.join(self.surroundings.home, ".codex")
        sessions = os.path.join(root, "sessions") + os.sep
        again = False  # a file that has only just been made
        for path in self.surroundings.open_files(".jsonl"):
            name = os.path.basename(path)
            thread = name.removesuffix(".jsonl")[-36:]
            if thread in self._rollouts or not path.startswith(sessions) or not name.startswith("rollout-"):
                continue
            whose = _whose(path)
            if whose == "human":
                # The file of a resumed thread is older than this run, and has turns that are over.
                begun_before = _begun_before(path, self.surroundings.started_at)
                self._rollouts[thread] = JsonlTail(path, from_end=begun_before)
            day = os.path.dirname(path)
            again = again or whose == "unknown"
            self._folders |= dict.fromkeys((day, os.path.dirname(day)), 0.0)
        self._folders = {folder: 0.0 if again else changed_at(folder) for folder in self._folders}

    def _line(self, kind: str, payload: Mapping[str, Any]) -> list[Fact]:
        what = str(payload.get("type", ""))
        if kind == "event_msg":
            if what in ("task_started", "task_complete", "turn_aborted"):
                self._calls.clear()
            return self._event(what, payload)
        self._take_call(payload)
        if kind == "response_item" and what in ("function_call", "custom_tool_call", "local_shell_call"):
            detail = {k: payload[k] for k in ("arguments", "input", "action") if k in payload}
            name = str(payload.get("name") or what)
            return [ToolUsed(TRANSCRIPT, name, str(payload.get("call_id", "")), detail)]
        return []

    def _take_call(self, payload: Mapping[str, Any]) -> None:
        call = str(payload.get("call_id", ""))
        if str(payload.get("type", "")).endswith("_output"):
            self._calls.pop(call, None)
            return
        given = next((payload[key] for key in ("arguments", "input", "action") if key in payload), None)
        if call and (request := tool_request(str(payload.get("name") or "shell"), given)):
            self._calls[call] = request

    def requests(self) -> Sequence[ToolRequest]:
        return list(self._calls.values())

    def _event(self, what: str, payload: Mapping[str, Any]) -> list[Fact]:
        if what == "task_started":
            self._prompted = False
            return [StateSeen(TRANSCRIPT, (PROCESSING,), "rollout task_started")]
        if what == "item_completed":
            facts = _item(payload.get("item"))
            self._prompted = self._prompted or any(isinstance(fact, PromptAccepted) for fact in facts)
            return facts
        if what == "user_message":  # older versions have two separate events
            self._prompted = True
            return [PromptAccepted(TRANSCRIPT, text_of(payload.get("message")))]
        if what == "agent_message":
            self._said_by_turn += 1
            return [Said(TRANSCRIPT, text_of(payload.get("message")), str(self._said_by_turn))]
        if what == "token_count":
            return _tokens(payload)
        if what == "task_complete":
            message = payload.get("last_agent_message")
            ready = StateSeen(TRANSCRIPT, (READY,), "rollout task_complete")
            if isinstance(message, str):
                return [TurnEnded(TRANSCRIPT, "completed", message), ready]
            if message is None and not self._prompted:
                return [ready]  # /compact: there was no prompt
            return [TurnEnded(TRANSCRIPT, "failed", None, {"type": "error"}), ready]  # an API error
        if what == "turn_aborted":
            why = f"rollout turn_aborted ({payload.get('reason', 'no reason given')})"
            ready = StateSeen(TRANSCRIPT, (READY,), why)
            return [TurnEnded(TRANSCRIPT, "interrupted"), ready] if self._prompted else [ready]
        if what == "error":
            return [TurnEnded(TRANSCRIPT, "failed", None, dict(payload))]
        return []

    @staticmethod
    def read_error(event: Mapping[str, Any]) -> ReportedError | None:
        """Also of what `codex exec` prints."""
        for inner in ("payload", "msg"):
            wrapped = event.get(inner)
            if isinstance(wrapped, Mapping):
                event = wrapped
        if event.get("type") == "turn_aborted":
            reason = text_in(event.get("reason")) or "interrupted"
            return ReportedError(f"the turn was ended: {reason}", means="INTERRUPTED")
        error = reported_error(event)
        if error is None:
            return None
        if event.get("type") == "turn.failed":
            error = replace(error, ends=True, known=True)
        info = event.get("codex_error_info") or event.get("codexErrorInfo")
        if not info:
            return error
        name, status = _named(info)
        snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name or "").lower()
        ends = error.ends and name not in _HARMLESS
        means = _ERRORS.get(snake, "")
        return replace(error, ends=ends, name=name, status=status, known=True, means=means)

    def missing(self) -> list[str]:
        return [] if self._rollouts else ["no rollout file of this thread has been found yet"]


def _notified(event: Mapping[str, Any]) -> list[Fact]:
    asked, message = event.get("input-messages"), event.get("last-assistant-message")
    prompts = [text for text in asked if isinstance(text, str)] if isinstance(asked, list) else []
    return [
        *(PromptAccepted(HOOK, text) for text in prompts[-1:]),
        TurnEnded(HOOK, "completed", message if isinstance(message, str) else None),
        StateSeen(HOOK, (READY,), "notify agent-turn-complete"),
    ]


def _whose(path: str) -> str:
    """Whether a human has begun the thread or another agent, by the file's first line."""
    try:
        with open(path, "rb") as file:
            line = file.readline(FIRST_LINE)
        payload = json.loads(line).get("payload") if line.endswith(b"\n") else None
    except (OSError, ValueError, AttributeError, RecursionError):
        return "human"  # the default
    source = payload.get("source") if isinstance(payload, dict) else None
    if not line.endswith(b"\n") and len(line) < FIRST_LINE:
        return "unknown"
    return "human" if source is None or isinstance(source, str) else "agent"


def _item(item: object) -> list[Fact]:
    if not isinstance(item, dict):
        return []
    parts = item.get("content")
    parts = parts if isinstance(parts, list) else []
    text = "".join(text_of(part.get("text")) for part in parts if isinstance(part, dict))
    if item.get("type") == "UserMessage":
        return [PromptAccepted(TRANSCRIPT, text)]
    if item.get("type") == "AgentMessage":
        return [Said(TRANSCRIPT, text, str(item.get("id", "")))]
    return []


def _begun_before(path: str, moment: float) -> bool:
    """Whether the thread is older than `moment`, by the time in the file's name."""
    match = re.search(r"rollout-(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d)", path)
    begun = datetime.datetime.strptime(match[1], "%Y-%m-%dT%H-%M-%S") if match else None
    return begun is not None and begun.timestamp() < moment - 5


def _tokens(payload: Mapping[str, Any]) -> list[Fact]:
    info = payload.get("info")
    if not isinstance(info, dict):
        return []
    key = str(info.get("total_token_usage"))
    return tokens_used(info.get("last_token_usage"), "input_tokens", "output_tokens", key)


def _named(info: object) -> tuple[str | None, int | None]:
    if isinstance(info, str):
        return info, None
    if isinstance(info, Mapping) and info:
        name, details = next(iter(info.items()))
        found = details.get("http_status_code") if isinstance(details, Mapping) else None
        return str(name), found if isinstance(found, int) else None
    return None, None


CHANNEL = CodexChannel
