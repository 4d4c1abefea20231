"""The API with `:generateContent` and `:streamGenerateContent`."""

from __future__ import annotations

import json
from collections.abc import Iterator

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
)
from synapse.selftest.steps import Call, Delegate, Refuse, Run, Use, Write

_KINDS = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED"}


class Generate:
    name = "generate"

    def read(self, path: str, body: Json) -> Turn:
        results: list[str] = []
        prompt = ""
        for content in reversed(body["contents"]):
            if content.get("role", "user") != "user":
                continue
            for part in reversed(content["parts"]):
                if "functionResponse" in part:
                    results.insert(0, json.dumps(part["functionResponse"]["response"], ensure_ascii=False))
                elif human(part.get("text", "")):
                    prompt = part["text"].strip()
                    break
            if prompt:
                break
        return Turn(prompt, results, side=not body.get("tools"), stream="stream" in path)

    def side_reply(self, body: Json) -> str:
        wanted = body.get("generationConfig", {})
        return json_or_text(wanted.get("responseJsonSchema") or wanted.get("responseSchema"))

    def refusal(self, step: Refuse) -> Json:
        kind = _KINDS.get(step.status, "INTERNAL")
        return {"error": {"code": step.status, "message": message_of(step), "status": kind}}

    def begin(self, body: Json, number: int) -> Reply:
        return _GenerateReply(body, number)


class _GenerateReply:
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
        assert not isinstance(step, Delegate), "this API is not asked to delegate"
        if isinstance(step, Run):
            name, given = "run_shell_command", {"command": step.command, "description": "Touch a file"}
        elif isinstance(step, Use):
            name, given = f"mcp_{step.server}_{step.tool}", dict(step.arguments)
        elif isinstance(step, Write):
            name, given = "write_file", {"file_path": step.path, "content": step.text}
        else:
            name, given = "read_file", {"file_path": step.path}
        yield self._chunk([{"functionCall": {"id": f"call_{self.number:06d}", "name": name, "args": given}}])

    def close(self) -> Iterator[bytes]:
        yield self._chunk([{"text": ""}], finishReason="STOP")

    def whole(self, text: str) -> Json:
        return self._answer([{"text": text}], finishReason="STOP")

    def _chunk(self, parts: list[Json], **more: str) -> bytes:
        return event(self._answer(parts, **more), name=False)

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
