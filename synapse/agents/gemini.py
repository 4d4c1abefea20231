"""Gemini CLI: the chat file of the session. Turns end when its title says so."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping
from typing import Any

from synapse.agents.base import Channel, Surroundings
from synapse.agents.facts import Fact, PromptAccepted, Said, TokensUsed, ToolUsed
from synapse.agents.tail import JsonlTail
from synapse.status import TRANSCRIPT


class GeminiChannel(Channel):
    name = "gemini"

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self._chat: JsonlTail | None = None
        self._prompts: set[str] = set()
        self._tool_due = False

    def poll(self) -> list[Fact]:
        if self._chat is None:
            self._find()
        facts: list[Fact] = []
        for record in self._chat.read_new() if self._chat else []:
            facts += self._record(record)
        return facts

    def _find(self) -> None:
        root = os.path.join(
            self.surroundings.env.get("GEMINI_CLI_HOME") or self.surroundings.home, ".gemini", "tmp"
        )
        candidates = []
        for path in glob.glob(os.path.join(glob.escape(root), "*", "chats", "session-*.jsonl")):
            try:
                status = os.stat(path)
            except OSError:
                continue
            if status.st_mtime >= self.surroundings.started_at - 1 and self._is_ours(path):
                candidates.append((status.st_mtime, path))
        if candidates:
            self._chat = JsonlTail(max(candidates)[1])

    def _is_ours(self, path: str) -> bool:
        """Whether the chat belongs to our directory, where its project folder says which it is of."""
        marker = os.path.join(os.path.dirname(os.path.dirname(path)), ".project_root")
        try:
            with open(marker, encoding="utf-8", errors="replace") as file:
                return os.path.realpath(file.read().strip()) == os.path.realpath(
                    self.surroundings.working_dir
                )
        except OSError:
            return True

    def _record(self, record: Mapping[str, Any]) -> list[Fact]:
        kind, key = record.get("type"), str(record.get("id", ""))
        if kind == "user":
            text = _content(record.get("content"))
            if key in self._prompts or not text:
                return []  # written again, or the result of a tool
            self._prompts.add(key)
            return [PromptAccepted(TRANSCRIPT, text)]
        if kind != "gemini":
            return []
        facts: list[Fact] = []
        self._tool_due = bool(record.get("toolCalls"))
        text = _content(record.get("content"))
        if text:
            facts.append(Said(TRANSCRIPT, text, key))
        calls = record.get("toolCalls")
        for call in calls if isinstance(calls, list) else []:
            if isinstance(call, dict):
                arguments = call.get("args")
                detail = arguments if isinstance(arguments, dict) else {}
                facts.append(ToolUsed(TRANSCRIPT, str(call.get("name", "")), str(call.get("id", "")), detail))
        tokens = record.get("tokens")
        if isinstance(tokens, dict):
            counts = [tokens.get(name) for name in ("input", "output")]
            if all(isinstance(count, int) for count in counts):
                facts.append(TokensUsed(int(counts[0] or 0), int(counts[1] or 0), key))
        return facts

    def unfinished(self) -> bool:
        return self._tool_due

    def missing(self) -> list[str]:
        return [] if self._chat else ["no chat file of this session has been found yet"]


def _content(value: object) -> str:
    """Text as it is, or the text of its parts."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(part["text"] for part in value if isinstance(part, dict) and _is_text(part))
    return ""


def _is_text(part: Mapping[str, Any]) -> bool:
    return isinstance(part.get("text"), str) and not part.get("thought")
