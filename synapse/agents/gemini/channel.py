"""Gemini CLI: the chat file of the session. Its title shows that a turn has ended."""

import datetime
import json
import os
import re
import time
from collections.abc import Mapping
from typing import Any

from synapse.agents.base import TRANSCRIPT, Channel, Surroundings, changed_at, mark_in, names_in, text_of
from synapse.agents.facts import (
    Denied,
    Fact,
    Failed,
    FileChanged,
    PromptAccepted,
    Said,
    ToolUsed,
    TurnEnded,
    tokens_used,
)
from synapse.agents.requests import tool_request
from synapse.agents.tail import JsonlTail

EARLY, LATE = 0.5, 10.0  # seconds around Enter in which its prompt is written
OWN_FIRST = 1.0  # seconds after Enter in which the known session may get the human's line
GIVE_UP = 60.0  # seconds after which a message is no longer looked for
CANCELLED = re.compile(r"Request cancelled")
DENIED = "User denied execution"
EDITORS = ("write_file", "replace")  # the tools that change a file
# The CLI's own words. After a denied tool, all earlier prompts and replies follow them once more, with other
# ids, and then one record that sets all messages.
CONTEXT = "<session_context>"
COPIED = 5.0  # seconds in which that is written
_NAME = re.compile(r"session-\d{4}-\d\d-\d\dT\d\d-\d\d-(.{1,8})\.jsonl")


class GeminiChannel(Channel):
    """Follows one session by its id, which the launch flag sets. Without the flag, after /clear and after
    /resume, it is the id of the chat that holds what was submitted here: the mark of our message, or the
    human's line. Several agents in one directory write chats beside each other, so time proves nothing."""

    name = "gemini"
    tells = tells_all = True

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self._session = surroundings.argument("--session-id")[:8]
        self._guessed = False  # the session was chosen by time, because nothing else was known
        self._began = self._since = surroundings.started_at - 1  # earlier records are of earlier runs
        self._found = ""  # the folder of the chats
        self._chats: dict[str, JsonlTail] = {}
        self._entered = 0.0  # when Enter was pressed, until the prompt is found
        self._text: str | None = None  # what was submitted then, if that is known
        self._marks: set[str] = set()  # of the messages that were typed here
        self._prompts: set[str] = set()
        self._tool_due = False
        self._asked = False  # whether an answer is due
        self._prompted = False  # there was a prompt; a tool that runs is not written before it has ended
        self._denied = False  # the human has denied the last tool
        self._copied = 0.0  # when the CLI began to write the conversation once more, until it has done so

    def submitted(self, text: str | None = None) -> None:
        mark = mark_in(text)
        if mark:
            if self._entered and mark == mark_in(self._text):
                return  # Enter again
            self._marks.add(mark)
        self._entered, self._text = time.time(), text

    def poll(self) -> list[Fact]:
        folder = self._folder()
        facts = self._read(folder) if self._session else []
        if self._entered and self._search(folder):
            facts += self._read(folder)
        return facts

    def _read(self, folder: str) -> list[Fact]:
        facts: list[Fact] = []
        for name in names_in(folder):
            if name.endswith(f"-{self._session}.jsonl"):
                chat = self._chats.setdefault(name, JsonlTail(os.path.join(folder, name)))
                for record in chat.read_new():
                    if 0 < _moment(record.get("timestamp")) < self._since:
                        continue
                    if self._guessed and self._is_foreign(record):
                        self._session, self._guessed = "", False
                        return []
                    if self._is_submitted(record):
                        self._entered = self._copied = 0.0
                    if not self._is_copy(record):
                        facts += self._record(record)
        return facts

    def _search(self, folder: str) -> bool:
        """Look for what was submitted in the other chats. Returns whether one of them is ours from now on."""
        waited = time.time() - self._entered
        if waited > (GIVE_UP if mark_in(self._text) else LATE):
            self._entered = 0.0
            return False
        if self._session and (self._text is None or (not mark_in(self._text) and waited < OWN_FIRST)):
            return False
        since = self._began if mark_in(self._text) else self._entered - EARLY
        for name in names_in(folder):
            match, path = _NAME.fullmatch(name), os.path.join(folder, name)
            if match is None or match[1] == self._session or changed_at(path) < since:
                continue
            head, *records = JsonlTail(path).read_new() or [{}]
            found = next(filter(self._is_submitted, records), None)
            if found is None or head.get("kind", "main") != "main":
                continue
            if mark_in(self._text) or not any(map(self._is_foreign, records)):
                self._session, self._since = match[1], _moment(found.get("timestamp"))
                self._guessed = self._text is None
                self._entered = 0.0
                return True
        return False

    def _is_submitted(self, record: Mapping[str, Any]) -> bool:
        """Whether it is the prompt that is looked for. Only a mark is unique to one agent."""
        if not self._entered or record.get("type") != "user":
            return False
        if mark := mark_in(self._text):
            return mark_in(_prompt(record)) == mark
        after = _moment(record.get("timestamp")) - self._entered
        same = self._text is None or self._text.split() == _prompt(record).split()
        return same and -EARLY <= after <= LATE

    def _is_foreign(self, record: Mapping[str, Any]) -> bool:
        """Whether it is a message that was typed to another agent during this run."""
        mark = mark_in(_prompt(record)) if record.get("type") == "user" else ""
        return bool(mark) and mark not in self._marks and _moment(record.get("timestamp")) >= self._began

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

    def _is_copy(self, record: Mapping[str, Any]) -> bool:
        """Whether it is a part of the conversation that is written once more."""
        at = _moment(record.get("timestamp"))
        changed = record.get("$set")
        if (isinstance(changed, dict) and "messages" in changed) or at > self._copied + COPIED:
            self._copied = 0.0
        if record.get("type") == "user" and _content(record.get("content")).startswith(CONTEXT):
            self._copied = at or 1.0
        return bool(self._copied)

    def _record(self, record: Mapping[str, Any]) -> list[Fact]:
        kind, key = record.get("type"), str(record.get("id", ""))
        if kind == "user":
            text = _content(record.get("content"))
            if key in self._prompts or not text:
                return []  # written again, or the result of a tool
            self._prompts.add(key)
            self._prompted, self._asked, self._denied = True, True, False
            return [PromptAccepted(TRANSCRIPT, text)]
        if kind == "error" and self._asked:
            self._asked = False
            return [Failed(TRANSCRIPT, {"type": "error", "message": _content(record.get("content"))})]
        if kind == "info" and self._prompted and CANCELLED.match(_content(record.get("content"))):
            self._prompted = self._asked = self._tool_due = False
            return [TurnEnded(TRANSCRIPT, "interrupted", denied=self._denied)]
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
                path = text_of(detail.get("file_path"))
                if path and call.get("name") in EDITORS and call.get("status") == "success":
                    facts.append(FileChanged(path, _moment(call.get("timestamp"))))
        return facts + self._denials(calls) + tokens_used(record.get("tokens"), "input", "output", key)

    def _denials(self, calls: object) -> list[Fact]:
        """The first tool of a message that the human has denied."""
        denied = [call for call in (calls if isinstance(calls, list) else []) if _was_denied(call)]
        self._denied = bool(denied)
        requests = [tool_request(str(call.get("name", "")), call.get("args")) for call in denied[:1]]
        return [Denied(TRANSCRIPT, request.subject if request else "") for request in requests]

    def unfinished(self) -> bool:
        return self._tool_due or self._asked

    def missing(self) -> list[str]:
        return [] if self._chats else ["no chat file of this session has been found yet"]


def _was_denied(call: object) -> bool:
    """A tool that was stopped while it ran is cancelled too, with another reason."""
    if not isinstance(call, dict) or call.get("status") != "cancelled":
        return False
    return DENIED in json.dumps(call.get("result"))


def _moment(text: object) -> float:
    try:
        return datetime.datetime.fromisoformat(text).timestamp() if isinstance(text, str) else 0.0
    except (ValueError, OverflowError):
        return 0.0


def _prompt(record: Mapping[str, Any]) -> str:
    """What was submitted, before the CLI has added the files that it names."""
    return _content(record.get("displayContent")) or _content(record.get("content"))


def _content(value: object) -> str:
    if not isinstance(value, list):
        return text_of(value)
    parts = [part for part in value if isinstance(part, dict) and not part.get("thought")]
    return "".join(text_of(part.get("text")) for part in parts)


CHANNEL = GeminiChannel
