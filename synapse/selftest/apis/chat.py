"""The Chat Completions API (`/v1/chat/completions`), which most CLIs can be pointed at."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from synapse.selftest.apis.base import (
    MODEL,
    Json,
    Reply,
    Turn,
    completion_refusal,
    human,
    humans_words,
    json_or_text,
    sample,
    tokens,
)
from synapse.selftest.steps import Call, Delegate, Read, Refuse, Run, Use, Write

# What CLIs call these tools; the first that a request offers is used.
SHELL_TOOLS = ("run_shell_command", "bash", "shell", "execute_command", "run_command", "Bash", "Shell")
READ_TOOLS = ("read_file", "read", "view", "Read", "ReadFile")
SUBAGENTS = {"Agent": "", "agent": "general-purpose", "task": "general"}  # and the type of subagent
WRITE_TOOLS = ("write_file", "write", "create", "Write", "WriteFile")
# How their parameters are named, by what goes into them.
COMMANDS = ("command", "cmd", "script")
PATHS = ("file_path", "filePath", "path", "absolute_path", "filepath")
CONTENTS = ("content", "contents", "text", "file_text")
_DIRECTORY = re.compile(r"working in the directory: (\S+)")


class Chat:
    name = "chat"

    def read(self, path: str, body: Json) -> Turn:
        results: list[str] = []
        prompt = ""
        for message in reversed(body["messages"]):
            if message["role"] == "tool":
                results.insert(0, _text(message.get("content")))
            elif message["role"] == "user":
                texts = _texts(message.get("content"))
                prompt = next((humans_words(text) for text in reversed(texts) if human(text)), "")
            if prompt:
                break
        return Turn(prompt, results, side=_is_side_request(body), stream=bool(body.get("stream")))

    def side_reply(self, body: Json) -> str:
        schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
        return json_or_text(schema)

    def refusal(self, step: Refuse) -> Json:
        return completion_refusal(step)

    def begin(self, body: Json, number: int) -> Reply:
        return _ChatReply(body, number)


def _is_side_request(body: Json) -> bool:
    """Titles and the like: they come without tools and say so in their instructions."""
    if body.get("tools"):
        return False
    instructions = " ".join(
        _text(m.get("content")) for m in body["messages"] if m["role"] in ("system", "developer")
    )
    return "title" in instructions.lower()


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [str(part.get("text", "")) for part in content or () if part.get("type") == "text"]


def _text(content: Any) -> str:
    return "\n".join(_texts(content))


class _ChatReply:
    def __init__(self, body: Json, number: int) -> None:
        self.body = body
        self.number = number
        self.spent = 1
        self.calls = 0

    def open(self) -> Iterator[bytes]:
        yield self._chunk({"role": "assistant", "content": ""})

    def say(self, text: str) -> Iterator[bytes]:
        self.spent += tokens(text)
        yield self._chunk({"content": text})

    def call(self, step: Call) -> Iterator[bytes]:
        if not self.body.get("tools"):
            yield from self.say(_in_words(step))
            return
        name, given = choose_tool(
            self._placed(step), [tool["function"] for tool in self.body.get("tools", [])]
        )
        call = {
            "index": self.calls,
            "id": f"call_{self.number:06d}_{self.calls}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(given)},
        }
        self.calls += 1
        yield self._chunk({"tool_calls": [call]})

    def _placed(self, step: Call) -> Call:
        """With an absolute path, if the CLI has said where it works: some take no other."""
        said = " ".join(_text(message.get("content")) for message in self.body["messages"])
        found = _DIRECTORY.search(said)
        if found is None or not isinstance(step, Read | Write):
            return step
        return replace(step, path=posixpath.join(found[1], step.path))

    def close(self) -> Iterator[bytes]:
        yield self._chunk({}, "tool_calls" if self.calls else "stop")
        if self.body.get("stream_options", {}).get("include_usage"):
            yield _data({**self._envelope("chat.completion.chunk"), "choices": [], "usage": self._usage()})
        yield b"data: [DONE]\n\n"

    def whole(self, text: str) -> Json:
        self.spent += tokens(text)
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return {**self._envelope("chat.completion"), "choices": [choice], "usage": self._usage()}

    def _chunk(self, delta: Json, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return _data({**self._envelope("chat.completion.chunk"), "choices": [choice]})

    def _envelope(self, kind: str) -> Json:
        model = self.body.get("model", MODEL)
        return {"id": f"chatcmpl-{self.number:06d}", "object": kind, "created": 0, "model": model}

    def _usage(self) -> Json:
        return {"prompt_tokens": 10, "completion_tokens": self.spent, "total_tokens": 10 + self.spent}


def _data(document: Json) -> bytes:
    return f"data: {json.dumps(document, ensure_ascii=False)}\n\n".encode()


def _in_words(step: Call) -> str:
    """For a CLI that offers no tools, but reads them from the text of the reply."""
    if isinstance(step, Run):
        return f"\n\n```bash\n{step.command}\n```\n"
    if isinstance(step, Write):
        return f"\n\n{step.path}\n```\n<<<<<<< SEARCH\n=======\n{step.text}>>>>>>> REPLACE\n```\n"
    return ""


def choose_tool(step: Call, offered: Sequence[Json]) -> tuple[str, Json]:
    """The name and the arguments of the offered tool that does what the step asks."""
    if isinstance(step, Delegate):
        name, given = _filled(offered, tuple(SUBAGENTS), {"prompt": step.prompt, "description": "Count"})
        kind = {"subagent_type": SUBAGENTS[name]} if SUBAGENTS[name] else {}
        return name, given | kind
    if isinstance(step, Use):
        ending = next((t["name"] for t in offered if t["name"].endswith(step.tool)), step.tool)
        return ending, dict(step.arguments)
    if isinstance(step, Run):
        return _filled(offered, SHELL_TOOLS, dict.fromkeys(COMMANDS, step.command))
    if isinstance(step, Read):
        return _filled(offered, READ_TOOLS, dict.fromkeys(PATHS, step.path))
    assert isinstance(step, Write)
    given = {**dict.fromkeys(PATHS, step.path), **dict.fromkeys(CONTENTS, step.text)}
    return _filled(offered, WRITE_TOOLS, given)


def _filled(offered: Sequence[Json], wanted: Sequence[str], values: dict[str, str]) -> tuple[str, Json]:
    by_name = {tool["name"]: tool for tool in offered}
    name = next((name for name in wanted if name in by_name), wanted[0])
    schema = by_name.get(name, {}).get("parameters", {})
    required = schema.get("required", [])
    properties = schema.get("properties", {key: {} for key in values})
    given = {key: values[key] for key in properties if key in values}
    return name, given | {key: sample(properties[key]) for key in required if key not in given}
