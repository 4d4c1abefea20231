"""Qwen Code: the events that it writes for this process (`--json-file`), and the chat file of its session.

The events come at once, but say neither that a request has failed nor that the human has denied a tool. The
chat file says these too, and may lag seconds behind. It takes over when events are lost, because somebody has
removed their file, cut it, or written to it.
"""

import os
import re
import stat
from collections.abc import Mapping, Sequence
from typing import Any

from synapse.agents.base import TRANSCRIPT, Channel, Surroundings, text_of
from synapse.agents.errors import ReportedError
from synapse.agents.facts import (
    Denied,
    Fact,
    Failed,
    FileChanged,
    PromptAccepted,
    Said,
    TokensUsed,
    ToolUsed,
    TurnEnded,
    tokens_used,
)
from synapse.agents.qwen.chats import Chats, is_prompt, parts_of, text_in
from synapse.agents.qwen.matching import Matching, is_same
from synapse.agents.requests import ToolRequest, tool_request
from synapse.agents.tail import JsonlTail

_DENIED = "User did not allow tool call"
_EDITORS = ("write_file", "edit", "replace")  # the tools that change a file
_API_ERROR, _API_RESPONSE = "qwen-code.api_error", "qwen-code.api_response"
# All of a piece that it adds to a message itself.
_ERROR_TEXT = re.compile(r"\[API Error: (.*)\]\s*", re.DOTALL)
_MAY_BE_ERROR = "[API Error: "  # so an event begins if a request has failed; a model could say it too


class QwenChannel(Channel):
    name = "qwen"
    tells = tells_all = True
    patience = 10.0  # it paints before it writes: seconds later, if it has little processor time

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self._chats = Chats(surroundings)
        self._events: JsonlTail | None = None
        self._lost = False  # events are missing since the last prompt among them
        self._matching = Matching()
        self._asks = ""  # the last prompt
        self._asked = False  # whether an answer of the model is due
        self._texts: list[str] = []  # of the message that is written now
        self._held = False  # it looks as if the request has failed
        self._failure: dict[str, Any] | None = None  # of the last request
        self._added = ""  # what it has added to the message itself, if the model did not say that
        self._answer: str | None = None  # what the model said last, by the chat file
        self._spent = False  # its usage is known: the human has not cut it off
        self._calls: dict[str, tuple[str, Mapping[str, Any]]] = {}  # without a result, by id
        self._ran = False  # a tool of the last message was not cancelled

    def poll(self) -> list[Fact]:
        facts = self._read_events()
        facts += self._catch_up() if self._lost else []
        if self._chats.changes() and self._by_chat and self._asked:
            facts.append(self._end("interrupted"))
        for record in self._chats.read_new():
            facts += self._record(record)
        # A line without an end may be what somebody else has written, over which Qwen writes its next events.
        if self._matching.lacks_event and self._events is not None and self._events.is_inside_line:
            self._lost = True
            facts += self._catch_up()
        return facts

    def _read_events(self) -> list[Fact]:
        if self._events is None and _is_file(path := self.surroundings.argument("--json-file")):
            self._events = JsonlTail(path)
        if self._events is None:
            return []
        facts: list[Fact] = []
        events, broken = self._events.read_new(), self._events.broken
        self._events.broken, self._lost = False, self._lost or broken
        for event in events:
            if not event.get("parent_tool_use_id"):  # else of a subagent
                facts += self._event(event)
        self._lost = self._lost or broken  # what came after the prompt may be missing too
        return facts

    def _catch_up(self) -> list[Fact]:
        """What the chat file has of this turn already. Events may have told a part of it."""
        asked = self._asked
        facts = [fact for record in self._matching.take() for fact in self._record(record)]
        return [fact for fact in facts if not (asked and isinstance(fact, Said | TokensUsed))]

    @property
    def _by_chat(self) -> bool:
        """Whether the chat file tells the turns."""
        return self._events is None or self._lost

    def submitted(self, text: str | None = None) -> None:
        if self._events is not None and not os.path.exists(self._events.path):
            self._lost = True
        if self._lost and not self._chats.is_found:
            self._asked = False  # nothing but the screen has told how the last turn ended

    def _event(self, event: Mapping[str, Any]) -> list[Fact]:
        kind, inner = event.get("type"), event.get("event")
        blocks = parts_of(event, "content")
        if kind == "user":
            texts = [text_of(block.get("text")) for block in blocks if block.get("type") == "text"]
            results = [self._result(block) for block in blocks if block.get("type") == "tool_result"]
            return [fact for facts in results for fact in facts] or self._prompted("".join(texts[:1]))
        if self._lost and not self._asked:
            return []  # the chat file has told the end of this turn, or will tell its prompt
        if kind == "assistant":
            return self._message(event, blocks)
        if kind == "stream_event" and isinstance(inner, dict):
            if inner.get("type") == "message_start":
                self._texts, self._spent, self._held, self._ran = [], False, False, False
                self._added = ""
            elif inner.get("type") == "content_block_delta":
                self._piece(inner.get("delta"))
            elif inner.get("type") == "message_stop":
                return self._stopped()
        return []

    def _piece(self, delta: object) -> None:
        """A stream that ends early or empty is no failed request; the event has the error behind the text."""
        text = text_of(delta.get("text")) if isinstance(delta, dict) else ""
        if text.strip():
            self._added = text if _ERROR_TEXT.fullmatch(text) else ""

    def _prompted(self, text: str) -> list[Fact]:
        """By an event. With it the events are complete again, unless the chat file has told this turn."""
        if text and self._lost and self._asked and is_same(text, self._asks):
            return []
        if text:
            self._lost = False
            self._matching.event(text)
        return self._prompt(text)

    def _prompt(self, text: str) -> list[Fact]:
        if not text:
            return []
        self._asks, self._texts, self._spent = text, [], False
        self._asked, self._failure, self._answer = True, None, None
        self._calls.clear()
        return [PromptAccepted(TRANSCRIPT, text)]

    def _message(self, event: Mapping[str, Any], blocks: Sequence[Mapping[str, Any]]) -> list[Fact]:
        key, message = str(event.get("uuid", "")), event.get("message")
        usage = message.get("usage") if isinstance(message, dict) else None
        used = tokens_used(usage, "input_tokens", "output_tokens", key)
        self._spent = self._spent or any(getattr(fact, "input_tokens", 0) for fact in used)
        facts: list[Fact] = []
        for block in blocks:
            text, name, number = (text_of(block.get(field)) for field in ("text", "name", "id"))
            if block.get("type") == "tool_use":
                facts.append(self._call(name, number, block.get("input")))
            elif (not self._spent and text.startswith(_MAY_BE_ERROR)) or self._is_added_to(text):
                self._held = True
            elif text:
                self._texts.append(text)
                facts.append(Said(TRANSCRIPT, text, key))
        return [*facts, *(used if self._spent else [])]

    def _call(self, name: str, number: str, given: object) -> Fact:
        detail = given if isinstance(given, dict) else {}
        self._calls[number] = name, detail
        return ToolUsed(TRANSCRIPT, name, number, detail)

    def _stopped(self) -> list[Fact]:
        """A message has ended. One without usage may have been cut off: then the screen shows how."""
        said = _ERROR_TEXT.fullmatch(self._added)
        if self._held and said and self._answer is not None and self._added.strip() not in self._answer:
            self._failure = {"event.name": _API_ERROR, "error_message": said[1]}
        if self._held and self._failure is not None:
            return [self._end("failed", error=self._failure)]
        if self._calls or self._held:
            return []
        if not self._spent:
            self._asked = False
            return []
        return [self._end("completed", "\n\n".join(self._texts))]

    def _is_added_to(self, text: str) -> bool:
        return bool(self._added) and text.endswith(self._added)

    def _end(self, outcome: str, reply: str | None = None, **more: Any) -> Fact:
        self._asked = self._held = False
        self._calls.clear()
        return TurnEnded(TRANSCRIPT, outcome, reply, **more)

    def _result(self, block: Mapping[str, Any]) -> list[Fact]:
        name, given = self._calls.pop(text_of(block.get("tool_use_id")), ("", {}))
        self._ran = True
        path = text_of(given.get("file_path"))
        changed = path and name in _EDITORS and not block.get("is_error")
        return [FileChanged(path)] if changed else []

    def _record(self, record: Mapping[str, Any]) -> list[Fact]:
        kind, key = record.get("type"), str(record.get("uuid", ""))
        if kind == "tool_result":
            if not self._by_chat:
                self._matching.record(record)
            return self._cancelled(record)
        if kind == "system":
            return self._failed(record.get("systemPayload"))
        parts, text = parts_of(record, "parts"), text_in(record)
        used = tokens_used(record.get("usageMetadata"), "promptTokenCount", "candidatesTokenCount", key)
        if not self._by_chat:
            self._matching.record(record)
            mine = text.startswith(_MAY_BE_ERROR) or self._is_added_to(text)
            said = self._held and kind == "assistant" and mine
            return [Said(TRANSCRIPT, text, key), self._end("completed", text)] if said else []
        if is_prompt(record):
            return [] if self._matching.is_known(text) else self._prompt(text)
        if kind != "assistant" or (self._lost and not self._asked):
            return []
        facts: list[Fact] = [Said(TRANSCRIPT, text, key)] if text else []
        self._texts, self._spent, self._ran = [text], bool(used), False
        calls = [call for part in parts if isinstance(call := part.get("functionCall"), dict)]
        facts += [self._call(text_of(c.get("name")), text_of(c.get("id")), c.get("args")) for c in calls]
        return [*facts, *used, *self._stopped()]

    def _cancelled(self, record: Mapping[str, Any]) -> list[Fact]:
        """A tool that the human has denied or stopped. The turn is over unless another one has run."""
        told = record.get("toolCallResult")
        number = text_of(told.get("callId")) if isinstance(told, dict) else ""
        if not isinstance(told, dict) or told.get("status") != "cancelled":
            block = {
                "tool_use_id": number,
                "is_error": isinstance(told, dict) and told.get("status") == "error",
            }
            return self._result(block) if self._by_chat else []
        if number not in self._calls:
            return []
        name, given = self._calls.pop(number)
        denied, request = _DENIED in str(record.get("message")), tool_request(name, given)
        facts: list[Fact] = [Denied(TRANSCRIPT, request.subject if request else "")] if denied else []
        return facts if self._calls or self._ran else [*facts, self._end("interrupted", denied=denied)]

    def _failed(self, payload: object) -> list[Fact]:
        """A request of this turn: not of a title, and not of the model that judges commands."""
        event = payload.get("uiEvent") if isinstance(payload, dict) else None
        if not isinstance(event, dict) or not self._asked:
            return []
        name, ours = event.get("event.name"), text_of(event.get("prompt_id"))
        if name not in (_API_ERROR, _API_RESPONSE) or not ours.startswith(f"{self._chats.session}#"):
            return []
        if name == _API_RESPONSE:
            self._answer = text_of(event.get("response_text"))
            return self._stopped() if self._held else []
        self._failure = event
        return self._stopped() if self._held else [Failed(TRANSCRIPT, event)]

    def requests(self) -> Sequence[ToolRequest]:
        made = (tool_request(name, given) for name, given in self._calls.values())
        return [request for request in made if request is not None]

    def unfinished(self) -> bool:
        return self._asked

    @staticmethod
    def read_error(event: Mapping[str, Any]) -> ReportedError | None:
        if event.get("event.name") != _API_ERROR:
            return None
        text, name = text_of(event.get("error_message")), event.get("error_type")
        return ReportedError(text, True, name, event.get("status_code"), known=True)

    def missing(self) -> list[str]:
        if self._lost:
            return [
                "events are lost (their file was removed or changed): its chat file and its screen are read"
            ]
        if self._events is not None or self._chats.session:
            return []
        return ["neither its events nor a record of its session have been found yet"]


def _is_file(path: str) -> bool:
    """Not a FIFO, which has another reader."""
    try:
        return bool(path) and stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False


CHANNEL = QwenChannel
