"""Claude Code: hooks given by --settings, and the session's transcript."""

from collections.abc import Mapping, Sequence
from typing import Any

from synapse.agents.base import HOOK, TRANSCRIPT, Channel, Surroundings, text_of
from synapse.agents.errors import ReportedError, text_in
from synapse.agents.facts import (
    Denied,
    Fact,
    PromptAccepted,
    Said,
    StateSeen,
    TokensUsed,
    ToolUsed,
    TurnEnded,
)
from synapse.agents.requests import ToolRequest, tool_request
from synapse.agents.tail import JsonlTail
from synapse.registry import INPUT_REQUIRED, PROCESSING, READY

_INTERRUPTED = "[Request interrupted by user"
_REJECTED = "User rejected tool use"
_ERRORS = {
    "authentication_failed": "LOGIN_REQUIRED",
    "oauth_org_not_allowed": "LOGIN_REQUIRED",
    "overloaded": "OVERLOADED",
    "rate_limit": "RATE_LIMIT",  # also for a used-up plan: then the text says so
}


_INPUT_TOKENS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_NO_REQUEST = ("UserPromptSubmit", "Stop", "StopFailure", "SessionStart", "SessionEnd")
_STATES = {  # by hook
    "UserPromptSubmit": PROCESSING,
    "PostToolUse": PROCESSING,
    "PreCompact": PROCESSING,
    "PermissionRequest": INPUT_REQUIRED,
    "Notification permission_prompt": INPUT_REQUIRED,
    "Notification idle_prompt": READY,
    "Stop": READY,
    "StopFailure": READY,
    "SessionStart after /compact": READY,
}


class ClaudeChannel(Channel):
    name = "claude"
    tells = tells_all = True

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self._transcript: JsonlTail | None = None
        self._hooked = False
        self._requests: list[ToolRequest] = []  # the hook comes before the dialog is drawn
        self._compacting = False  # by the human's /compact; a compaction within a turn does not end it

    def on_event(self, event: Mapping[str, Any]) -> list[Fact]:
        self._hooked = True
        name = str(event.get("hook_event_name", ""))
        self._take_request(name, event)
        if event.get("agent_id"):  # `agent_type` alone is a session started with --agent
            # A subagent: the turn continues, whatever it does, unless it asks.
            asks = name == "PermissionRequest"
            return [StateSeen(HOOK, (INPUT_REQUIRED if asks else PROCESSING,), f"hook {name} of a subagent")]
        self._follow(event.get("transcript_path"), fresh=name == "SessionStart")
        facts = self.poll()
        if name == "UserPromptSubmit":
            facts.append(PromptAccepted(HOOK, text_of(event.get("prompt"))))
        elif name == "Stop":
            message = event.get("last_assistant_message")
            reply = message if isinstance(message, str) else None
            facts.append(TurnEnded(HOOK, "completed", reply))
        elif name == "StopFailure":
            facts.append(TurnEnded(HOOK, "failed", None, dict(event)))
        elif name == "Notification":
            name = f"Notification {event.get('notification_type', '')}"
        elif name == "PreCompact":
            self._compacting = event.get("trigger") == "manual"
        elif name == "SessionStart" and self._compacting and event.get("source") == "compact":
            self._compacting = False
            name = "SessionStart after /compact"
        elif name == "SessionEnd":
            self._transcript = None  # /clear begins another
        if name in _STATES:
            facts.append(StateSeen(HOOK, (_STATES[name],), f"hook {name}"))
        return facts

    def _take_request(self, name: str, event: Mapping[str, Any]) -> None:
        """Also of a subagent: the human is asked in the same terminal."""
        if name in _NO_REQUEST and not event.get("agent_id"):
            self._requests.clear()
        elif name in ("PermissionRequest", "PostToolUse"):
            request = tool_request(text_of(event.get("tool_name")), event.get("tool_input"))
            if request in self._requests:
                self._requests.remove(request)
            if request is not None and name == "PermissionRequest":
                self._requests.append(request)

    def requests(self) -> Sequence[ToolRequest]:
        return self._requests

    def _follow(self, path: object, fresh: bool) -> None:
        if isinstance(path, str) and path and (self._transcript is None or self._transcript.path != path):
            # The transcript of a resumed session has turns that are over.
            self._transcript = JsonlTail(path, from_end=fresh)

    def poll(self) -> list[Fact]:
        facts: list[Fact] = []
        for line in self._transcript.read_new() if self._transcript else []:
            if not (line.get("isMeta") or line.get("isSidechain") or line.get("isCompactSummary")):
                facts += _line(line)
                if line.get("toolUseResult") == _REJECTED:
                    facts.append(Denied(TRANSCRIPT))
                    self._requests.clear()
        return facts

    @staticmethod
    def read_error(event: Mapping[str, Any]) -> ReportedError | None:
        name = event.get("error")
        means = _ERRORS.get(name, "") if isinstance(name, str) else ""
        if event.get("hook_event_name") == "StopFailure":
            text = text_in(event.get("error_details")) or text_in(event.get("last_assistant_message"))
            own = "agent_id" not in event  # otherwise a subagent's, and the turn continues
            return ReportedError(text, own, name, known=True, means=means)
        if event.get("isApiErrorMessage") is True:
            return ReportedError(text_in(event.get("message")), True, name, known=True, means=means)
        if event.get("type") == "system" and event.get("subtype") == "api_error":
            return ReportedError(text_in(event.get("error")), wait_ms=event.get("retryInMs"))
        return None

    def missing(self) -> list[str]:
        missing = "no hook has reported yet: --settings was yours, or hooks are disabled"
        return [] if self._hooked else [missing]


def _line(line: Mapping[str, Any]) -> list[Fact]:
    message = line.get("message")
    blocks = message.get("content") if isinstance(message, dict) else None
    if isinstance(blocks, str):
        blocks = [{"type": "text", "text": blocks}]
    if not isinstance(message, dict) or not isinstance(blocks, list):
        return []
    blocks = [block for block in blocks if isinstance(block, dict)]
    if line.get("type") == "user" and any(
        text_of(block.get("text")).startswith(_INTERRUPTED) for block in blocks
    ):
        ready = StateSeen(TRANSCRIPT, (READY,), "transcript: interrupted by the user")
        return [TurnEnded(TRANSCRIPT, "interrupted"), ready]
    if line.get("type") != "assistant":
        return []
    facts: list[Fact] = []
    key = str(line.get("uuid", ""))
    for index, block in enumerate(blocks):
        if block.get("type") == "text" and not line.get("isApiErrorMessage"):
            facts.append(Said(TRANSCRIPT, text_of(block.get("text")), f"{key}/{index}"))
        elif block.get("type") == "tool_use":
            detail = block.get("input")
            name, call = text_of(block.get("name")), text_of(block.get("id"))
            facts.append(ToolUsed(TRANSCRIPT, name, call, detail if isinstance(detail, dict) else {}))
    usage = message.get("usage")
    if isinstance(usage, dict):
        counts = {name: count for name, count in usage.items() if isinstance(count, int)}
        request = str(line.get("requestId") or message.get("id") or key)  # one request has several lines
        read = sum(counts.get(name, 0) for name in _INPUT_TOKENS)
        facts.append(TokensUsed(read, counts.get("output_tokens", 0), request))
    return facts


CHANNEL = ClaudeChannel
