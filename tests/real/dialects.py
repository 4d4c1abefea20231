"""The three model APIs, as far as the CLIs speak them: read a request, write a reply. No sockets here.

A dialect turns a request into a Turn (what was asked) and steps of a script into server-sent events.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.real.scenarios import Call, Delegate, Read, Refuse, Run

Json = dict[str, Any]

MODEL = "scripted"


@dataclass(frozen=True)
class Turn:
    """What a request asks: the human's last prompt, and what the tools called since then gave back."""

    prompt: str
    results: list[str] = field(default_factory=list)
    side: bool = False  # not the conversation: a title, a summary, a classification
    stream: bool = True


class Dialect(Protocol):
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


def dialect_of(path: str) -> Dialect | None:
    for ending, dialect in (("/messages", Anthropic), ("/responses", OpenAI), ("enerateContent", Gemini)):
        if path.endswith(ending):
            return dialect()
    return None


def _event(data: Json, name: bool = True) -> bytes:
    head = f"event: {data['type']}\n" if name else ""
    return f"{head}data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def _tool_names(tools: list[Json]) -> list[str]:
    return [str(tool.get("name", "")) for tool in tools]


# What the CLIs themselves say in the human's name.
_NOT_HUMAN = re.compile(
    r"\s*(?:<(?:system-reminder|command-|local-command|environment_context|user_instructions|turn_aborted"
    r"|session_context|hook_context|permissions|skills|collaboration|INSTRUCTIONS)"
    r"|# AGENTS\.md|\[Request interrupted|This is the Gemini CLI|Please continue\.?$)"
)


def _human(text: str) -> bool:
    return bool(text.strip()) and not _NOT_HUMAN.match(text)


class Anthropic:
    name = "anthropic"

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
                    results.insert(0, _anthropic_text(block.get("content", "")))
                elif block["type"] == "text" and _human(block["text"]):
                    prompt = block["text"].strip()
                    break
            if prompt:
                break
        return Turn(prompt, results, side=not body.get("tools"), stream=bool(body.get("stream")))

    def side_reply(self, body: Json) -> str:
        return _json_or_text(body.get("output_config", {}).get("format", {}).get("schema"))

    def refusal(self, step: Refuse) -> Json:
        kind = {400: "invalid_request_error", 429: "rate_limit_error"}.get(step.status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": message_of(step)}}

    def begin(self, body: Json, number: int) -> Reply:
        return _AnthropicReply(body, number)


def _anthropic_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "") for block in content)


class _AnthropicReply:
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
        yield _event({"type": "message_start", "message": self.message()})
        yield _event({"type": "ping"})

    def say(self, text: str) -> Iterator[bytes]:
        if not self.blocks or self.blocks[-1]["type"] != "text":
            yield from self._start({"type": "text", "text": ""})
        yield self._delta({"type": "text_delta", "text": text})
        self.usage["output_tokens"] += tokens(text)

    def call(self, step: Call) -> Iterator[bytes]:
        name, given = _anthropic_call(step, _tool_names(self.body.get("tools", [])))
        number = f"toolu_{self.number:06d}"
        yield from self._start({"type": "tool_use", "id": number, "name": name, "input": {}})
        yield self._delta({"type": "input_json_delta", "partial_json": json.dumps(given)})
        self.stop = "tool_use"

    def close(self) -> Iterator[bytes]:
        yield from self._finish()
        delta = {"stop_reason": self.stop, "stop_sequence": None}
        yield _event({"type": "message_delta", "delta": delta, "usage": dict(self.usage)})
        yield _event({"type": "message_stop"})

    def whole(self, text: str) -> Json:
        content = [{"type": "text", "text": text}]
        return {**self.message(), "content": content, "stop_reason": "end_turn"}

    def _start(self, block: Json) -> Iterator[bytes]:
        yield from self._finish()
        self.blocks.append(block)
        yield _event({"type": "content_block_start", "index": len(self.blocks) - 1, "content_block": block})

    def _delta(self, delta: Json) -> bytes:
        return _event({"type": "content_block_delta", "index": len(self.blocks) - 1, "delta": delta})

    def _finish(self) -> Iterator[bytes]:
        if self.blocks:
            yield _event({"type": "content_block_stop", "index": len(self.blocks) - 1})


def _anthropic_call(step: Call, tools: list[str]) -> tuple[str, Json]:
    if isinstance(step, Delegate):
        task = {"description": "Count", "prompt": step.prompt, "subagent_type": "general-purpose"}
        return "Agent" if "Agent" in tools else "Task", task
    if isinstance(step, Run):
        return "Bash", {"command": step.command, "description": "Touch a file"}
    return "Read", {"file_path": step.path}


class OpenAI:
    name = "openai"

    def read(self, path: str, body: Json) -> Turn:
        results: list[str] = []
        prompt = ""
        items = [body["input"]] if isinstance(body["input"], str) else body["input"]
        for item in reversed(items):
            if isinstance(item, str):
                prompt = item
            elif item["type"] in ("function_call_output", "custom_tool_call_output"):
                results.insert(0, _openai_text(item["output"]))
            elif item["type"] == "message" and item["role"] == "user":
                texts = [part["text"] for part in item["content"] if part["type"] == "input_text"]
                prompt = next((text.strip() for text in reversed(texts) if _human(text)), "")
            if prompt:
                break
        return Turn(prompt, results, side=not body.get("tools"), stream=bool(body.get("stream")))

    def side_reply(self, body: Json) -> str:
        return _json_or_text(body.get("text", {}).get("format", {}).get("schema"))

    def refusal(self, step: Refuse) -> Json:
        kind = {400: "invalid_request_error", 429: "rate_limit_exceeded"}.get(step.status, "server_error")
        return {"error": {"message": message_of(step), "type": kind, "param": None, "code": kind}}

    def begin(self, body: Json, number: int) -> Reply:
        return _OpenAIReply(body, number)


def _openai_text(output: Any) -> str:
    if isinstance(output, str):
        return output
    if isinstance(output, list):
        return "\n".join(part.get("text", "") for part in output)
    return json.dumps(output, ensure_ascii=False)


class _OpenAIReply:
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
        name, given = _openai_call(step, _tool_names(self.body.get("tools", [])))
        item = {
            "type": "function_call",
            "id": self._id("fc"),
            "call_id": self._id("call"),
            "name": name,
            "arguments": json.dumps(given),
            "status": "completed",
        }
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
        return _event({"type": kind, "sequence_number": self.sequence, **data})


def _openai_call(step: Call, tools: list[str]) -> tuple[str, Json]:
    """Which shell tool Codex offers depends on the model that it believes to talk to."""
    assert isinstance(step, Run | Read), "Codex is not asked to delegate"
    given: Json = {}
    command = f"cat {step.path}" if isinstance(step, Read) else step.command
    if isinstance(step, Run):
        given = {"sandbox_permissions": "require_escalated", "justification": "May I touch a file?"}
    if "exec_command" in tools:
        return "exec_command", {"cmd": command, **given}
    if "shell_command" in tools:
        return "shell_command", {"command": command, **given}
    return "shell", {"command": ["bash", "-lc", command], **given}


class Gemini:
    name = "gemini"

    def read(self, path: str, body: Json) -> Turn:
        results: list[str] = []
        prompt = ""
        for content in reversed(body["contents"]):
            if content.get("role", "user") != "user":
                continue
            for part in reversed(content["parts"]):
                if "functionResponse" in part:
                    results.insert(0, json.dumps(part["functionResponse"]["response"], ensure_ascii=False))
                elif _human(part.get("text", "")):
                    prompt = part["text"].strip()
                    break
            if prompt:
                break
        return Turn(prompt, results, side=not body.get("tools"), stream="stream" in path)

    def side_reply(self, body: Json) -> str:
        wanted = body.get("generationConfig", {})
        return _json_or_text(wanted.get("responseJsonSchema") or wanted.get("responseSchema"))

    def refusal(self, step: Refuse) -> Json:
        kind = {400: "INVALID_ARGUMENT", 429: "RESOURCE_EXHAUSTED"}.get(step.status, "INTERNAL")
        return {"error": {"code": step.status, "message": message_of(step), "status": kind}}

    def begin(self, body: Json, number: int) -> Reply:
        return _GeminiReply(body, number)


class _GeminiReply:
    def __init__(self, body: Json, number: int) -> None:
        self.body = body
        self.number = number
        self.spent = 1

    def open(self) -> Iterator[bytes]:
        return iter(())

    def say(self, text: str) -> Iterator[bytes]:
        self.spent += tokens(text)
        yield self._chunk([{"text": text}])

    def call(self, step: Call) -> Iterator[bytes]:
        assert isinstance(step, Run | Read), "Gemini is not asked to delegate"
        name, given = (
            ("run_shell_command", {"command": step.command, "description": "Touch a file"})
            if isinstance(step, Run)
            else ("read_file", {"file_path": step.path})
        )
        yield self._chunk([{"functionCall": {"id": f"call_{self.number:06d}", "name": name, "args": given}}])

    def close(self) -> Iterator[bytes]:
        yield self._chunk([{"text": ""}], finishReason="STOP")

    def whole(self, text: str) -> Json:
        return self._answer([{"text": text}], finishReason="STOP")

    def _chunk(self, parts: list[Json], **more: str) -> bytes:
        return _event(self._answer(parts, **more), name=False)

    def _answer(self, parts: list[Json], **more: str) -> Json:
        return {
            "candidates": [{"content": {"role": "model", "parts": parts}, "index": 0, **more}],
            "usageMetadata": {
                "promptTokenCount": 10,
                "candidatesTokenCount": self.spent,
                "totalTokenCount": 10 + self.spent,
            },
            "modelVersion": MODEL,
            "responseId": f"resp_{self.number:06d}",
        }


def message_of(step: Refuse) -> str:
    return f"scripted refusal {step.status}"


def _json_or_text(schema: Json | None) -> str:
    """A side request's answer: "Scripted title", in the shape that the schema asks for."""
    return "Scripted title" if schema is None else json.dumps(_sample(schema))


def _sample(schema: Json) -> Any:
    kind = str(schema.get("type", "string")).lower()
    if "enum" in schema:
        return schema["enum"][0]
    if kind == "object":
        return {name: _sample(inner) for name, inner in schema.get("properties", {}).items()}
    return {"array": [], "boolean": False, "integer": 1, "number": 1}.get(kind, "Scripted title")
