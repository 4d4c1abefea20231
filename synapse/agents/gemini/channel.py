"""Gemini CLI: the chat file of the session. Its title shows that a turn has ended."""

import datetime
import os
import re
import time
from collections.abc import Mapping
from typing import Any

from synapse.agents.base import TRANSCRIPT, Channel, Surroundings, changed_at, names_in, text_of
from synapse.agents.facts import Fact, Failed, PromptAccepted, Said, ToolUsed, TurnEnded, tokens_used
from synapse.agents.tail import JsonlTail

EARLY, LATE = 0.5, 3.0  # seconds around Enter in which its prompt is written
CANCELLED = re.compile(r"Request cancelled")
CONTEXT = "<session_context>"  # the CLI's own words; after a denied tool with the last prompt behind them
_NAME = re.compile(r"session-.*-([0-9a-f]{8})\.jsonl")


class GeminiChannel(Channel):
    """Follows one session by its id, which the launch flag sets. Without the flag, after /clear and after
    /resume, it is the id of the chat that got a prompt just after Enter: several agents in one directory
    write chats beside each other."""

    name = "gemini"
    tells = tells_all = True

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self._session = surroundings.argument("--session-id")[:8]
        self._since = surroundings.started_at - 1  # a resumed session's file holds the turns of earlier runs
        self._found = ""  # the folder of the chats
        self._chats: dict[str, JsonlTail] = {}
        self._entered = 0.0  # when Enter was pressed, until the prompt is found
        self._prompts: set[str] = set()
        self._tool_due = False
        self._asked = False  # whether an answer is due

    def submitted(self, text: str | None = None) -> None:
        self._entered = time.time()

    def poll(self) -> list[Fact]:
        folder = self._folder()
        facts = self._read(folder) if self._session else []
        if any(isinstance(fact, PromptAccepted) for fact in facts):
            self._entered = 0.0
        if self._entered and self._search(folder):
            facts += self._read(folder)
        return facts

    def _read(self, folder: str) -> list[Fact]:
        facts: list[Fact] = []
        for name in names_in(folder):
            if name.endswith(f"-{self._session}.jsonl"):
                chat = self._chats.setdefault(name, JsonlTail(os.path.join(folder, name)))
                for record in chat.read_new():
                    if not 0 < _moment(record.get("timestamp")) < self._since:
                        facts += self._record(record)
        return facts

    def _search(self, folder: str) -> bool:
        """Look for another chat with a prompt from just after Enter. Returns whether there is one."""
        for name in names_in(folder):
            match, path = _NAME.fullmatch(name), os.path.join(folder, name)
            if match is None or match[1] == self._session or changed_at(path) < self._entered - EARLY:
                continue
            head, *records = JsonlTail(path).read_new() or [{}]
            if head.get("kind", "main") == "main" and any(map(self._is_just_entered, records)):
                self._session, self._since = match[1], self._entered - EARLY
                self._entered = 0.0
                return True
        return False

    def _is_just_entered(self, record: Mapping[str, Any]) -> bool:
        after = _moment(record.get("timestamp")) - self._entered
        return record.get("type") == "user" and -EARLY <= after <= LATE

    def _folder(self) -> str:
        """The chats of the project with our working directory."""
        if self._found:
            return self._found
        home = self.surroundings.env.get("GEMINI_CLI_HOME") or self.surroundings.home
        root = os.path.join(home, ".gemini", "tmp")
        ours = os.path.realpath(self.surroundings.working_dir)
        for name in names_in(root):
            marker = os.path.join(root, name, ".project_root")
            try:
                with open(marker, encoding="utf-8", errors="replace") as file:
                    if os.path.realpath(file.read().strip()) == ours:
                        self._found = os.path.join(root, name, "chats")
            except (OSError, ValueError):
                continue
        return self._found

    def _record(self, record: Mapping[str, Any]) -> list[Fact]:
        kind, key = record.get("type"), str(record.get("id", ""))
        if kind == "user":
            text = _content(record.get("content"))
            if key in self._prompts or not text or text.startswith(CONTEXT):
                return []  # written again, or the result of a tool
            self._prompts.add(key)
            self._asked = True
            return [PromptAccepted(TRANSCRIPT, text)]
        if kind == "error" and self._asked:
            self._asked = False
            return [Failed(TRANSCRIPT, {"type": "error", "message": _content(record.get("content"))})]
        if kind == "info" and self._asked and CANCELLED.match(_content(record.get("content"))):
            self._asked = self._tool_due = False
            return [TurnEnded(TRANSCRIPT, "interrupted")]
        if kind != "gemini":
            return []
        calls = record.get("toolCalls")
        self._asked = self._tool_due = bool(calls)
        text = _content(record.get("content"))
        facts: list[Fact] = [Said(TRANSCRIPT, text, key)] if text else []
        for call in calls if isinstance(calls, list) else []:
            if isinstance(call, dict):
                arguments = call.get("args")
                detail = arguments if isinstance(arguments, dict) else {}
                facts.append(ToolUsed(TRANSCRIPT, str(call.get("name", "")), str(call.get("id", "")), detail))
        return facts + tokens_used(record.get("tokens"), "input", "output", key)

    def unfinished(self) -> bool:
        return self._tool_due or self._asked

    def missing(self) -> list[str]:
        return [] if self._chats else ["no chat file of this session has been found yet"]


def _moment(text: object) -> float:
    try:
        return datetime.datetime.fromisoformat(text).timestamp() if isinstance(text, str) else 0.0
    except (ValueError, OverflowError):
        return 0.0


def _content(value: object) -> str:
    if not isinstance(value, list):
        return text_of(value)
    parts = [part for part in value if isinstance(part, dict) and not part.get("thought")]
    return "".join(text_of(part.get("text")) for part in parts)


CHANNEL = GeminiChannel
