"""The Messages API (`/v1/messages`)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from synapse.selftest.apis.base import (
    MODEL,
    Json,
    Reply,
    Turn,
    event,
    human,
    json_or_text,
    message_of,
    tokens,
    tool_names,
)
from synapse.selftest.steps import Call, Delegate, Refuse, Run, Use, Write

_KINDS = {400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error"}
# What one CLI says when an agent that works in the background has finished.
_FINISHED = re.compile(r"(?s)<task-notification>.*<result>(.*)</result>")


class Messages:
    name = "messages"

    def read(self, path: str, body: Json) -> Turn:
        results: list[str] = []
        prompt = ""
        for message in reversed(body["messages"]):
            if message["role"] != "user":
                continue
            content = message["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            for block in reversed(blocks):
                if block["type"] == "tool_result":
                    results.insert(0, _text(block.get("content", "")))
                elif block["type"] == "text" and (finished := _FINISHED.search(block["text"])):
                    results.insert(0, finished[1])
                elif block["type"] == "text" and human(block["text"]):
                    prompt = block["text"].strip()
                    break
            if prompt:
                break
        return Turn(prompt, results, side=not body.get("tools"), stream=bool(body.get("stream")))

    def side_reply(self, body: Json) -> str:
        return json_or_text(body.get("output_config", {}).get("format", {}).get("schema"))

    def refusal(self, step: Refuse) -> Json:
        kind = _KINDS.get(step.status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": message_of(step)}}

    def begin(self, body: Json, number: int) -> Reply:
        return _MessagesReply(body, number)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "") for block in content)


class _MessagesReply:
    def __init__(self, body: Json, number: int) -> None:
        self.body = body
        self.number = number
        self.blocks: list[Json] = []
        self.stop = "end_turn"
        self.usage = {"input_tokens": 10, "output_tokens": 1}

    def message(self) -> Json:
        return {
            "id": f"msg_{self.number:06d}",
            "type": "message",
            "role": "assistant",
            "model": self.body.get("model", MODEL),
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": dict(self.usage),
        }

    def open(self) -> Iterator[bytes]:
        yield event({"type": "message_start", "message": self.message()})
        yield event({"type": "ping"})

    def say(self, text: str) -> Iterator[bytes]:
        if not self.blocks or self.blocks[-1]["type"] != "text":
            yield from self._start({"type": "text", "text": ""})
        yield self._delta({"type": "text_delta", "text": text})
        self.usage["output_tokens"] += tokens(text)

    def call(self, step: Call) -> Iterator[bytes]:
        name, given = _call(step, tool_names(self.body.get("tools", [])))
        number = f"toolu_{self.number:06d}"
        yield from self._start({"type": "tool_use", "id": number, "name": name, "input": {}})
        yield self._delta({"type": "input_json_delta", "partial_json": json.dumps(given)})
        self.stop = "tool_use"

    def close(self) -> Iterator[bytes]:
        yield from self._finish()
        delta = {"stop_reason": self.stop, "stop_sequence": None}
        yield event({"type": "message_delta", "delta": delta, "usage": dict(self.usage)})
        yield event({"type": "message_stop"})

    def whole(self, text: str) -> Json:
        content = [{"type": "text", "text": text}]
        return {**self.message(), "content": content, "stop_reason": "end_turn"}

    def _start(self, block: Json) -> Iterator[bytes]:
        yield from self._finish()
        self.blocks.append(block)
        yield event({"type": "content_block_start", "index": len(self.blocks) - 1, "content_block": block})

    def _delta(self, delta: Json) -> bytes:
        return event({"type": "content_block_delta", "index": len(self.blocks) - 1, "delta": delta})

    def _finish(self) -> Iterator[bytes]:
        if self.blocks:
            yield event({"type": "content_block_stop", "index": len(self.blocks) - 1})


def _call(step: Call, tools: list[str]) -> tuple[str, Json]:
    if isinstance(step, Delegate):
        task = {"description": "Count", "prompt": step.prompt, "subagent_type": "general-purpose"}
        return "Agent" if "Agent" in tools else "Task", task
    if isinstance(step, Use):
        return f"mcp__{step.server}__{step.tool}", dict(step.arguments)
    if isinstance(step, Write):
        return "Write", {"file_path": step.path, "content": step.text}
    if isinstance(step, Run):
        return "Bash", {"command": step.command, "description": "Touch a file"}
    return "Read", {"file_path": step.path}
