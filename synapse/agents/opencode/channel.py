"""opencode: a plugin in its own process reports its events (`plugin.js`)."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from synapse.agents.base import HOOK, Channel, Surroundings, text_of
from synapse.agents.errors import ReportedError
from synapse.agents.facts import (
    Denied,
    Fact,
    Failed,
    FileChanged,
    PromptAccepted,
    Said,
    StateSeen,
    TokensUsed,
    ToolUsed,
    TurnEnded,
)
from synapse.agents.requests import ToolRequest, tool_request
from synapse.registry import INPUT_REQUIRED, PROCESSING, READY

COMPLETED_WITHIN = 1.0  # seconds from an abort to the text that was said until then
ACCEPTED_WITHIN = 3.0  # seconds from Enter to the event of the prompt; a key press may have submitted nothing
ACCEPTED_AT_MOST = 8.0  # the same for a text that is known: on a busy machine
_ABORTED = "MessageAbortedError"
_ASKED = ("permission.asked", "question.asked")
_ANSWERED = ("permission.replied", "question.replied", "question.rejected")
_STATES = {"busy": PROCESSING, "retry": PROCESSING, "idle": READY}
_ERRORS = {"ProviderAuthError": "LOGIN_REQUIRED", "ContextOverflowError": "CONTEXT_LIMIT"}


class OpencodeChannel(Channel):
    """Follows the session of the last prompt: the process has others for subagents, and after /new."""

    name = "opencode"
    tells = tells_all = True
    patience = 10.0  # its events do not get lost: only a process that hangs does not report the end

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self._loaded = False
        self._entered = 0.0  # when a prompt was submitted, until it is accepted
        self._within = ACCEPTED_WITHIN
        self._session = ""
        self._prompts: dict[str, bool] = {}  # messages of the human, and whether their text was seen
        self._prompt = ""  # the one of the running turn
        self._queued: dict[str, str] = {}  # those that wait for its end, with their texts
        self._summaries: set[str] = set()  # messages of the CLI itself, for a conversation that is too long
        self._answer = ""  # the last message of the agent
        self._texts: dict[str, str] = {}  # its texts, by part
        self._running = False  # a turn that began with a prompt
        self._outcome: dict[str, Any] | None = None  # the error that ends it
        self._finished = False  # the model has ended a message itself
        self._retries = False  # a request has failed, and the model has said nothing since
        self._aborted = 0.0  # when it became idle after an abort; its text comes next
        self._rejected = False  # the human has denied a tool, and nothing was said since
        self._asked: dict[str, ToolRequest | None] = {}  # by the id of the question
        self._calls: dict[str, tuple[str, Mapping[str, Any]]] = {}  # tools by the id of the call

    def submitted(self, text: str | None = None) -> None:
        command = text is not None and text.lstrip().startswith(("/", "!"))
        self._within = ACCEPTED_WITHIN if text is None else ACCEPTED_AT_MOST
        self._entered = (
            time.time() if self._loaded and not command and (text is None or text.strip()) else 0.0
        )

    def poll(self) -> list[Fact]:
        """The first prompt of a session takes a moment to be accepted, and the screen looks idle."""
        if self._aborted and time.time() - self._aborted >= COMPLETED_WITHIN:
            return [self._end()]
        if not self._entered:
            return []
        if time.time() - self._entered < self._within:
            return [StateSeen(HOOK, (PROCESSING,), "a prompt was submitted")]
        self._entered = 0.0
        return [StateSeen(HOOK, (READY,), "nothing came of what was submitted")] if not self._running else []

    def on_event(self, event: Mapping[str, Any]) -> list[Fact]:
        kind, given = str(event.get("type", "")), event.get("properties")
        self._loaded = True
        if not isinstance(given, dict):
            return []
        if kind in _ASKED or kind in _ANSWERED:  # also of a subagent: the human is asked in the same terminal
            return self._question(kind, given)
        if kind == "file.edited":
            return [FileChanged(path)] if (path := text_of(given.get("file"))) else []
        if kind == "message.part.updated":
            self._take_call(_object(given.get("part")))
        if event.get("child"):
            return []
        session = text_of(given.get("sessionID"))
        if kind == "message.updated":
            return self._message(session, _object(given.get("info")))
        if session != self._session:
            return (
                self._state(_object(given.get("status")))
                if kind == "session.status" and not self._running
                else []
            )
        if kind == "message.part.updated":
            return self._part(_object(given.get("part")))
        if kind == "session.error":
            self._outcome = _object(given.get("error"))
        elif kind == "session.status":
            return self._state(_object(given.get("status")))
        return []

    def _message(self, session: str, info: Mapping[str, Any]) -> list[Fact]:
        number = text_of(info.get("id"))
        if info.get("role") == "user":
            if number in self._prompts:
                return []
            self._prompts[number] = False
            left = self._running and session != self._session
            self._session = session
            if left:
                self._running, self._prompt = False, ""
                self._queued.clear()
            return [TurnEnded(HOOK, "interrupted")] if left else []
        if session != self._session:
            return []
        if (next_prompt := text_of(info.get("parentID"))) in self._queued:  # the answer to it has begun
            before = [self._end()] if self._running else []
            begun = self._begin(next_prompt, self._queued.pop(next_prompt))
            return [*before, begun, *self._message(session, info)]
        if info.get("summary") is True:
            self._summaries.add(number)
        elif number != self._answer:
            self._answer, self._texts = number, {}
        self._finished = self._finished or bool(info.get("finish"))
        if not _object(info.get("time")).get("completed"):
            return []
        return [*_tokens(info, number), *([self._end()] if self._aborted else [])]

    def _part(self, part: Mapping[str, Any]) -> list[Fact]:
        message, key = text_of(part.get("messageID")), text_of(part.get("id"))
        if part.get("type") == "tool":
            name, detail = self._calls[text_of(part.get("callID"))]
            self._retries = False
            return [ToolUsed(HOOK, name, text_of(part.get("callID")), dict(detail))] if self._running else []
        text = text_of(part.get("text"))
        if message in self._prompts:
            if self._prompts[message] or part.get("synthetic") or not text:
                return []
            self._prompts[message] = True
            self._entered = 0.0
            if self._running and self._prompt:
                self._queued[message] = text
                return []
            return [self._begin(message, text)]
        if not self._running or message in self._summaries or not text:
            return []
        self._texts[key] = text
        self._rejected = self._retries = False
        return [Said(HOOK, text, key)]

    def _begin(self, message: str, text: str) -> Fact:
        self._prompt, self._running = message, True
        self._outcome, self._rejected, self._answer, self._texts = None, False, "", {}
        self._aborted, self._retries, self._finished = 0.0, False, False
        return PromptAccepted(HOOK, text)

    def _take_call(self, part: Mapping[str, Any]) -> None:
        if part.get("type") == "tool":
            name, state = text_of(part.get("tool")), _object(part.get("state"))
            self._calls[text_of(part.get("callID"))] = name, _object(state.get("input"))

    def _question(self, kind: str, given: Mapping[str, Any]) -> list[Fact]:
        if kind in _ASKED:
            self._asked[text_of(given.get("id"))] = self._request(given)
            return [StateSeen(HOOK, (INPUT_REQUIRED,), f"plugin {kind}")]
        request = self._asked.pop(text_of(given.get("requestID")), None)
        denied: list[Fact] = []
        if given.get("reply") == "reject":
            self._rejected = True
            denied = [Denied(HOOK, request.subject if request else "")]
        state = INPUT_REQUIRED if self._asked else PROCESSING
        return [*denied, StateSeen(HOOK, (state,), f"plugin {kind}")]

    def _request(self, given: Mapping[str, Any]) -> ToolRequest | None:
        """What a permission is about: the call, or else what the question itself says."""
        name, detail = self._calls.get(text_of(_object(given.get("tool")).get("callID")), ("", {}))
        asked = {**detail, **_object(given.get("metadata"))}
        return tool_request(name or text_of(given.get("permission")), _as_others_name_it(asked))

    def _state(self, status: Mapping[str, Any]) -> list[Fact]:
        kind = text_of(status.get("type"))
        if kind not in _STATES:
            return []
        facts: list[Fact] = []
        if kind == "retry":
            facts.append(Failed(HOOK, dict(status)))
            self._retries = True
        elif kind == "idle":
            self._asked.clear()
            self._queued.clear()
            if self._running:
                facts += self._became_idle()
        return [*facts, StateSeen(HOOK, (_STATES[kind],), f"plugin session.status {kind}")]

    def _became_idle(self) -> list[Fact]:
        """The first time after an abort, what was said is not complete yet."""
        aborted = self._outcome is not None and self._outcome.get("name") == _ABORTED
        if aborted and not self._rejected and not self._aborted:
            self._aborted = time.time()
            return []
        return [self._end()]

    def _end(self) -> Fact:
        self._running, self._aborted, self._prompt = False, 0.0, ""
        said = "\n\n".join(self._texts.values())
        if self._outcome is not None and self._outcome.get("name") != _ABORTED:
            return TurnEnded(HOOK, "failed", None, self._outcome)
        # One that is stopped before the model answers, or waits to try again, says only that it is idle.
        unanswered = self._retries or not (self._finished or self._texts)
        if self._outcome is not None or self._rejected or unanswered:
            return TurnEnded(HOOK, "interrupted", said, denied=self._rejected)
        return TurnEnded(HOOK, "completed", said)

    def requests(self) -> Sequence[ToolRequest]:
        return [request for request in self._asked.values() if request is not None]

    def unfinished(self) -> bool:
        return self._running

    @staticmethod
    def read_error(event: Mapping[str, Any]) -> ReportedError | None:
        if event.get("type") == "retry":
            return ReportedError(text_of(event.get("message")), known=True)
        name, data = event.get("name"), _object(event.get("data"))
        if not isinstance(name, str) or not name.endswith("Error"):
            return None
        text = text_of(data.get("message")) or name
        return ReportedError(
            text, True, name, data.get("statusCode"), known=True, means=_ERRORS.get(name, "")
        )

    def missing(self) -> list[str]:
        return [] if self._loaded else ["its plugin has not reported yet: it starts, or runs with --pure"]


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _as_others_name_it(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of its tools, as `tool_request` knows them from the other CLIs."""
    names = {
        "filePath": "file_path",
        "filepath": "file_path",
        "oldString": "old_string",
        "newString": "new_string",
    }
    return {names.get(key, key): value for key, value in given.items()}


def _tokens(info: Mapping[str, Any], key: str) -> list[Fact]:
    tokens = _object(info.get("tokens"))
    cache = _object(tokens.get("cache"))
    read, written = (tokens.get("input"), cache.get("read"), cache.get("write")), tokens.get("output")
    if not isinstance(written, int):
        return []
    return [TokensUsed(sum(count for count in read if isinstance(count, int)), written, key)]


CHANNEL = OpencodeChannel
