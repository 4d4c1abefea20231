"""The chat file of the session that a process of Qwen Code shows."""

import datetime
import os
from collections.abc import Mapping
from typing import Any

from synapse.agents.base import Surroundings, changed_at, names_in, text_of
from synapse.agents.tail import JsonlTail
from synapse.base import files

_HUMAN = ("", "real_user")  # whose prompt it is; versions before 0.24 do not say


class Chats:
    """`sessions/<pid>.json` names the conversation of one process, also after /clear and /resume, so several
    agents in one directory do not mix."""

    def __init__(self, surroundings: Surroundings) -> None:
        env = surroundings.env
        self._surroundings = surroundings
        self._root = env.get("QWEN_HOME") or os.path.join(surroundings.home, ".qwen")
        self._projects = os.path.join(env.get("QWEN_RUNTIME_DIR") or self._root, "projects")
        self._since = surroundings.started_at - 1  # earlier records are of earlier runs
        self._record = ""  # the file of our process
        self._recorded_at = 0.0
        self.session = ""
        self._chat: JsonlTail | None = None

    @property
    def is_found(self) -> bool:
        return self._chat is not None

    def changes(self) -> bool:
        """Whether it shows another session from now on."""
        if not self._record:
            sessions = os.path.join(self._root, "sessions")
            known = names_in(sessions) and self._surroundings.pids()
            paths = (os.path.join(sessions, f"{pid}.json") for pid in known)
            self._record = next(filter(os.path.exists, paths), "")
        at = changed_at(self._record) if self._record else 0.0
        if at == self._recorded_at:
            return False
        self._recorded_at = at
        session, before = text_of(files.read_object(self._record).get("sessionId")), self.session
        if not session or session == before:
            return False
        if before:  # a resumed one has the turns of an earlier time
            self._since = at
        self.session, self._chat = session, None
        return bool(before)

    def read_new(self) -> list[dict[str, Any]]:
        if self._chat is None and self.session:
            self._chat = self._find()
        records = self._chat.read_new() if self._chat is not None else []
        return [record for record in records if _moment(record.get("timestamp")) >= self._since]

    def _find(self) -> JsonlTail | None:
        """It is made with the first prompt."""
        name = os.path.join("chats", f"{self.session}.jsonl")
        paths = (os.path.join(self._projects, project, name) for project in names_in(self._projects))
        path = next(filter(os.path.exists, paths), None)
        return JsonlTail(path) if path is not None else None


def parts_of(record: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """The parts of its message: the field `name`."""
    message = record.get("message")
    parts = message.get(name) if isinstance(message, dict) else None
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def text_in(record: Mapping[str, Any]) -> str:
    return "".join(text_of(part.get("text")) for part in parts_of(record, "parts") if not part.get("thought"))


def is_prompt(record: Mapping[str, Any]) -> bool:
    return record.get("type") == "user" and text_of(record.get("provenance")) in _HUMAN


def _moment(text: object) -> float:
    try:
        return datetime.datetime.fromisoformat(text).timestamp() if isinstance(text, str) else 0.0
    except (ValueError, OverflowError):
        return 0.0
