"""Codex: its notify program, and the rollout file of the thread."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from synapse.agents.base import Channel, Surroundings
from synapse.agents.facts import Fact, PromptAccepted, Said, StateSeen, TokensUsed, ToolUsed, TurnEnded
from synapse.agents.tail import JsonlTail
from synapse.registry import PROCESSING, READY
from synapse.status import HOOK, TRANSCRIPT


class CodexChannel(Channel):
    name = "codex"

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self._rollout: JsonlTail | None = None
        self._thread = ""
        self._said_by_turn = 0

    def on_event(self, event: Mapping[str, Any]) -> list[Fact]:
        facts = self.poll()
        if event.get("type") != "agent-turn-complete":
            return facts
        thread = str(event.get("thread-id", ""))
        if self._thread and thread and thread != self._thread:
            return facts  # a background thread, such as the one that makes titles
        message = event.get("last-assistant-message")
        if not self._rollout:  # which tells the same, and sooner
            reply = message if isinstance(message, str) else None
            facts.append(TurnEnded(HOOK, "completed", reply, why="notify"))
            facts.append(StateSeen(HOOK, (READY,), "notify agent-turn-complete"))
        return facts

    def poll(self) -> list[Fact]:
        if self._rollout is None:
            self._find()
        facts: list[Fact] = []
        for line in self._rollout.read_new() if self._rollout else []:
            payload = line.get("payload")
            if isinstance(payload, dict):
                facts += self._line(str(line.get("type", "")), payload)
        return facts

    def _find(self) -> None:
        """The rollout that the agent holds open."""
        root = self.surroundings.env.get("CODEX_HOME") or os.path.join(self.surroundings.home, ".codex")
        sessions = os.path.join(root, "sessions") + os.sep
        mine = [p for p in self.surroundings.open_files(".jsonl") if p.startswith(sessions)]
        mine = [p for p in mine if os.path.basename(p).startswith("rollout-")]
        if len(mine) == 1:
            self._open(mine[0])

    def _open(self, path: str) -> None:
        # A resumed thread's file is full of turns that are over; it is older than this run.
        self._rollout = JsonlTail(path, from_end=_begun_before(path, self.surroundings.started_at))
        self._thread = os.path.basename(path).removesuffix(".jsonl")[-36:]

    def _line(self, kind: str, payload: Mapping[str, Any]) -> list[Fact]:
        what = str(payload.get("type", ""))
        if kind == "event_msg":
            return self._event(what, payload)
        if kind == "response_item" and what in ("function_call", "custom_tool_call", "local_shell_call"):
            detail = {k: payload[k] for k in ("arguments", "input", "action") if k in payload}
            name = str(payload.get("name") or what)
            return [ToolUsed(TRANSCRIPT, name, str(payload.get("call_id", "")), detail)]
        return []

    def _event(self, what: str, payload: Mapping[str, Any]) -> list[Fact]:
        if what == "task_started":
            return [StateSeen(TRANSCRIPT, (PROCESSING,), "rollout task_started")]
        if what == "item_completed":
            return _item(payload.get("item"))
        if what == "user_message":  # older versions say the same in two events of their own
            return [PromptAccepted(TRANSCRIPT, _text(payload.get("message")))]
        if what == "agent_message":
            self._said_by_turn += 1
            return [Said(TRANSCRIPT, _text(payload.get("message")), str(self._said_by_turn))]
        if what == "token_count":
            return _tokens(payload)
        if what == "task_complete":
            message = payload.get("last_agent_message")
            why = "rollout task_complete"
            if isinstance(message, str):
                ended = TurnEnded(TRANSCRIPT, "completed", message, why=why)
            else:  # an error of the API, which the rollout does not tell
                ended = TurnEnded(TRANSCRIPT, "failed", None, {"type": "error"}, f"{why}, without a message")
            return [ended, StateSeen(TRANSCRIPT, (READY,), why)]
        if what == "turn_aborted":
            why = f"rollout turn_aborted ({payload.get('reason', 'no reason given')})"
            return [TurnEnded(TRANSCRIPT, "interrupted", why=why), StateSeen(TRANSCRIPT, (READY,), why)]
        if what == "error":
            why = "rollout error"
            return [TurnEnded(TRANSCRIPT, "failed", None, dict(payload), why)]
        return []

    def missing(self) -> list[str]:
        return [] if self._rollout else ["no rollout file of this thread has been found yet"]


def _item(item: object) -> list[Fact]:
    if not isinstance(item, dict):
        return []
    parts = item.get("content")
    parts = parts if isinstance(parts, list) else []
    text = "".join(_text(part.get("text")) for part in parts if isinstance(part, dict))
    if item.get("type") == "UserMessage":
        return [PromptAccepted(TRANSCRIPT, text)]
    if item.get("type") == "AgentMessage":
        return [Said(TRANSCRIPT, text, str(item.get("id", "")))]
    return []


def _begun_before(path: str, moment: float) -> bool:
    """Whether the thread is older than `moment`, by the time in the file's name."""
    import datetime
    import re

    match = re.search(r"rollout-(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d)", path)
    if not match:
        return False
    begun = datetime.datetime.strptime(match.group(1), "%Y-%m-%dT%H-%M-%S")
    return begun.timestamp() < moment - 5


def _tokens(payload: Mapping[str, Any]) -> list[Fact]:
    info = payload.get("info")
    last = info.get("last_token_usage") if isinstance(info, dict) else None
    if not isinstance(last, dict):
        return []
    counts = [last.get(key) for key in ("input_tokens", "output_tokens")]
    if not all(isinstance(count, int) for count in counts):
        return []
    total = info.get("total_token_usage") if isinstance(info, dict) else None
    return [TokensUsed(int(counts[0] or 0), int(counts[1] or 0), str(total))]


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
