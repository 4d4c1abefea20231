"""The Responses API (`/v1/responses`)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from synapse.selftest.apis.base import (
    MODEL,
    Json,
    Reply,
    Turn,
    completion_refusal,
    event,
    human,
    json_or_text,
    tokens,
    tool_names,
)
from synapse.selftest.steps import Call, Delegate, Read, Refuse, Run, Use, Write


class Responses:
    name = "responses"

    def read(self, path: str, body: Json) -> Turn:
        results: list[str] = []
        prompt = ""
        items = [body["input"]] if isinstance(body["input"], str) else body["input"]
        for item in reversed(items):
            if isinstance(item, str):
                prompt = item
            elif item["type"] in ("function_call_output", "custom_tool_call_output"):
                results.insert(0, _text(item["output"]))
            elif item["type"] == "message" and item["role"] == "user":
                texts = [part["text"] for part in item["content"] if part["type"] == "input_text"]
                prompt = next((text.strip() for text in reversed(texts) if human(text)), "")
            if prompt:
                break
        return Turn(prompt, results, side=not body.get("tools"), stream=bool(body.get("stream")))

    def side_reply(self, body: Json) -> str:
        return json_or_text(body.get("text", {}).get("format", {}).get("schema"))

    def refusal(self, step: Refuse) -> Json:
        if step.resets_at:
            said = {"type": "usage_limit_reached", "message": "The usage limit has been reached"}
            return {"error": {**said, "plan_type": "plus", "resets_at": step.resets_at}}
        return completion_refusal(step)

    def begin(self, body: Json, number: int) -> Reply:
        return _ResponsesReply(body, number)


def _text(output: Any) -> str:
    if isinstance(output, str):
        return output
    if isinstance(output, list):
        return "\n".join(part.get("text", "") for part in output)
    return json.dumps(output, ensure_ascii=False)


class _ResponsesReply:
    def __init__(self, body: Json, number: int) -> None:
        self.body = body
        self.number = number
        self.items: list[Json] = []
        self.text = ""  # of the message that is open
        self.sequence = 0

    def open(self) -> Iterator[bytes]:
        yield self._event("response.created", response=self._response("in_progress"))

    def say(self, text: str) -> Iterator[bytes]:
        place = {"item_id": self._id("msg"), "output_index": len(self.items), "content_index": 0}
        if not self.text:
            yield self._event(
                "response.output_item.added",
                output_index=len(self.items),
                item=self._message([], "in_progress"),
            )
            part = {"type": "output_text", "text": "", "annotations": []}
            yield self._event("response.content_part.added", **place, part=part)
        self.text += text
        yield self._event("response.output_text.delta", **place, delta=text)

    def call(self, step: Call) -> Iterator[bytes]:
        yield from self._finish()
        name, given = _call(step, tool_names(self.body.get("tools", [])))
        item = {
            "type": "function_call",
            "id": self._id("fc"),
            "call_id": self._id("call"),
            "name": name,
            "arguments": json.dumps(given),
            "status": "completed",
        }
        if isinstance(step, Use):
            item["namespace"] = f"mcp__{step.server}"
        yield self._event("response.output_item.added", output_index=len(self.items), item=item)
        yield self._event("response.output_item.done", output_index=len(self.items), item=item)
        self.items.append(item)

    def close(self) -> Iterator[bytes]:
        yield from self._finish()
        yield self._event("response.completed", response=self._response("completed"))

    def whole(self, text: str) -> Json:
        self.items = [self._message([{"type": "output_text", "text": text, "annotations": []}], "completed")]
        return self._response("completed")

    def _finish(self) -> Iterator[bytes]:
        if not self.text:
            return
        part = {"type": "output_text", "text": self.text, "annotations": []}
        place = {"item_id": self._id("msg"), "output_index": len(self.items), "content_index": 0}
        yield self._event("response.output_text.done", **place, text=self.text)
        yield self._event("response.content_part.done", **place, part=part)
        item = self._message([part], "completed")
        yield self._event("response.output_item.done", output_index=len(self.items), item=item)
        self.items.append(item)
        self.text = ""

    def _id(self, kind: str) -> str:
        return f"{kind}_{self.number:06d}_{len(self.items)}"

    def _message(self, content: list[Json], status: str) -> Json:
        return {
            "type": "message",
            "id": self._id("msg"),
            "role": "assistant",
            "status": status,
            "content": content,
        }

    def _response(self, status: str) -> Json:
        spent = tokens(json.dumps(self.items))
        usage = {
            "input_tokens": 10,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": spent,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 10 + spent,
        }
        return {
            "id": f"resp_{self.number:06d}",
            "object": "response",
            "created_at": 0,
            "status": status,
            "model": self.body.get("model", MODEL),
            "output": self.items,
            "usage": usage if status == "completed" else None,
        }

    def _event(self, kind: str, **data: Any) -> bytes:
        self.sequence += 1
        return event({"type": kind, "sequence_number": self.sequence, **data})


def _patch(step: Write) -> str:
    lines = [f"+{line}" for line in step.text.splitlines()]
    patch = ["*** Begin Patch", f"*** Add File: {step.path}", *lines, "*** End Patch"]
    return "\n".join(["apply_patch <<'EOF'", *patch, "EOF"])


def _call(step: Call, tools: list[str]) -> tuple[str, Json]:
    """Which shell tool is offered depends on the model that the CLI believes to talk to."""
    assert not isinstance(step, Delegate), "this API is not asked to delegate"
    given: Json = {}
    if isinstance(step, Use):
        return step.tool, dict(step.arguments)
    if isinstance(step, Write):
        command = _patch(step)  # it finds the patch in the command
    else:
        command = f"cat {step.path}" if isinstance(step, Read) else step.command
    if isinstance(step, Run) and not step.sandboxed:
        given = {"sandbox_permissions": "require_escalated", "justification": "May I touch a file?"}
    if "exec_command" in tools:
        return "exec_command", {"cmd": command, **given}
    if "shell_command" in tools:
        return "shell_command", {"command": command, **given}
    return "shell", {"command": ["bash", "-lc", command], **given}
