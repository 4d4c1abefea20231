"""What the model APIs have in common: read a request, write a reply. No sockets here.

An API turns a request into a Turn (what was asked) and steps of a script into server-sent events.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from synapse.selftest.steps import Call, Refuse

Json = dict[str, Any]

MODEL = "scripted"


@dataclass(frozen=True)
class Turn:
    """What a request asks: the human's last prompt, and what the tools called since then gave back."""

    prompt: str
    results: list[str] = field(default_factory=list)
    side: bool = False  # not the conversation: a title, a summary, a classification
    stream: bool = True


class Api(Protocol):
    name: str

    def read(self, path: str, body: Json) -> Turn: ...
    def side_reply(self, body: Json) -> str: ...
    def refusal(self, step: Refuse) -> Json: ...
    def begin(self, body: Json, number: int) -> Reply: ...


class Reply(Protocol):
    """One reply in the making: each method gives the events to send now."""

    def open(self) -> Iterator[bytes]: ...
    def say(self, text: str) -> Iterator[bytes]: ...
    def call(self, step: Call) -> Iterator[bytes]: ...
    def close(self) -> Iterator[bytes]: ...
    def whole(self, text: str) -> Json:
        """The same without streaming."""
        ...


def tokens(text: str) -> int:
    return len(text) // 4 + 1


def tool_names(tools: list[Json]) -> list[str]:
    return [str(tool.get("name", "")) for tool in tools]


def event(data: Json, name: bool = True) -> bytes:
    head = f"event: {data['type']}\n" if name else ""
    return f"{head}data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


# What the CLIs themselves say in the human's name.
NOT_HUMAN = re.compile(
    r"\s*(?:<(?:system-reminder|command-|local-command|environment_context|user_instructions|turn_\w+"
    r"|session_context|hook_context|permissions|skills|collaboration|INSTRUCTIONS)"
    r"|# AGENTS\.md|\[Request interrupted|This is the \w+ CLI|Please continue\.?$)"
)


def human(text: str) -> bool:
    return bool(text.strip()) and not NOT_HUMAN.match(text)


# What they put before or behind the human's words, in the same text.
_ADDED = re.compile(
    r"\A\s*<(current_datetime|system_\w+)>.*?</\1>\s*|\s*<(system_\w+)>.*?</\2>\s*\Z"
    r"|\n+# \*SEARCH/REPLACE block\* Rules:.*\Z",
    re.DOTALL,
)


def humans_words(text: str) -> str:
    return _ADDED.sub("", text).strip()


def message_of(step: Refuse) -> str:
    return f"scripted refusal {step.status}"


def completion_refusal(step: Refuse) -> Json:
    codes = {400: "invalid_request_error", 401: "invalid_api_key", 429: "rate_limit_exceeded"}
    code = codes.get(step.status, "server_error")
    kind = "invalid_request_error" if step.status == 401 else code
    return {"error": {"message": message_of(step), "type": kind, "param": None, "code": code}}


def json_or_text(schema: Json | None) -> str:
    """A side request's answer: "Scripted title", in the shape that the schema asks for."""
    return "Scripted title" if schema is None else json.dumps(sample(schema))


def sample(schema: Json) -> Any:
    kind = str(schema.get("type", "string")).lower()
    if "enum" in schema:
        return schema["enum"][0]
    if kind == "object":
        return {name: sample(inner) for name, inner in schema.get("properties", {}).items()}
    return {"array": [], "boolean": False, "integer": 1, "number": 1}.get(kind, "Scripted title")
