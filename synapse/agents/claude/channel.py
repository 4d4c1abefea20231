"""Claude Code: hooks given by --settings, and the session's transcript."""

import math
import os
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from synapse.agents.base import HOOK, TRANSCRIPT, Channel, Surroundings, mark_in, text_of
from synapse.agents.claude.queue import PromptQueue
from synapse.agents.errors import ReportedError, text_in
from synapse.agents.facts import (
    Denied,
    Fact,
    FileChanged,
    PromptAccepted,
    Said,
    StateSeen,
    Steered,
    TokensUsed,
    ToolUsed,
    TurnEnded,
)
from synapse.agents.requests import ToolRequest, tool_request
from synapse.agents.tail import JsonlTail
from synapse.registry import INPUT_REQUIRED, PROCESSING, READY

_INTERRUPTED = "[Request interrupted by user"
_REJECTED = "User rejected tool use"
_NOTIFIED = "<task-notification>"  # what the CLI itself submits when an agent in the background has finished
_ERRORS = {
    "authentication_failed": "LOGIN_REQUIRED",
    "oauth_org_not_allowed": "LOGIN_REQUIRED",
    "overloaded": "OVERLOADED",
    "rate_limit": "RATE_LIMIT",  # also for a used-up plan: then the text says so
}


_INPUT_TOKENS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_EDITORS = {  # the tools that change a file, with the argument that names it
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "Write": "file_path",
    "NotebookEdit": "notebook_path",
}
_EARLY = 1.0  # seconds before its hook in which a line of a turn may have been written
_NO_REQUEST = ("UserPromptSubmit", "Stop", "StopFailure", "SessionStart", "SessionEnd")
_GOES_ON = "Stop, with agents in the background"
_STATES = {  # by hook
    "UserPromptSubmit": PROCESSING,
    "PostToolUse": PROCESSING,
    "PreCompact": PROCESSING,
    "PermissionRequest": INPUT_REQUIRED,
    "Notification permission_prompt": INPUT_REQUIRED,
    "Notification idle_prompt": READY,
    "Stop": READY,
    _GOES_ON: PROCESSING,
    "StopFailure": READY,
    "SessionStart after /compact": READY,
}


class ClaudeChannel(Channel):
    """Its page of agents moves the conversation into a server that the user's other terminals share, and can
    begin others there, with the same hooks. The conversation shown here is known by its id, or because it got
    what was submitted here."""

    name = "claude"
    tells = tells_all = True
    session_variable = "CLAUDE_CODE_SESSION_ID"

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self.read_session()
        self._others: set[str] = set()  # conversations that are not shown here
        self._submitted = ""  # the last text of which that is known
        self._refused: Mapping[str, Any] = {}  # the last event of a conversation that is not known
        self._transcript: JsonlTail | None = None
        self._since = 0.0  # wall clock: what was written before it is of turns that are over
        self._hooked = False
        self._said = ""  # the last text of this turn in the transcript
        self._has_stopped = self._unkept = False  # once; and no transcript was there after that
        self._requests: list[ToolRequest] = []  # the hook comes before the dialog is drawn
        self._compacting = False  # by the human's /compact; a compaction within a turn does not end it
        # Agents that run in the background, by id: all that are known, and those that this turn waits for.
        self._background: frozenset[str] = frozenset()
        self._awaited: frozenset[str] = frozenset()
        self._at_rest = False  # it has stopped, whatever runs in the background
        self._running = False  # a turn whose end was not reported
        self._queue = PromptQueue()

    def submitted(self, text: str | None = None) -> None:
        self._submitted = text or self._submitted
        if self._refused and self._is_submitted(self._refused):  # its hook was faster than the key
            self.keep_session(text_of(self._refused.get("session_id")))
            self._follow(self._refused.get("transcript_path"), fresh=True)
            self._refused = {}

    def knows(self, event: Mapping[str, Any]) -> bool:
        session = text_of(event.get("session_id"))
        if not session or session == self.session or self._is_submitted(event):
            return bool(session)
        self._refused = event
        return False

    def _is_submitted(self, event: Mapping[str, Any]) -> bool:
        """Whether it is the prompt that was submitted here."""
        if event.get("hook_event_name") != "UserPromptSubmit" or not self._submitted:
            return False
        prompt = text_of(event.get("prompt"))
        mark = mark_in(self._submitted)
        if mark or mark_in(prompt):
            return mark == mark_in(prompt)
        return prompt.split() == self._submitted.split()

    def _is_shown(self, event: Mapping[str, Any]) -> bool:
        """Whether the event is about the conversation that is shown here, which may have changed."""
        session = text_of(event.get("session_id"))
        if not session or self.knows(event):
            self._others.discard(session)
        elif (
            self.session
            and event.get("hook_event_name") == "SessionStart"
            and event.get("source") == "startup"
        ):
            self._others.add(session)  # `startup` comes once for each process
        if session in self._others:
            return False
        if session and session != self.session:
            self.keep_session(session)
        return True

    def on_event(self, event: Mapping[str, Any]) -> list[Fact]:
        self._hooked = True
        if not self._is_shown(event):
            return []
        name = str(event.get("hook_event_name", ""))
        if name == "Stop" and not event.get("agent_id") and self._goes_on(event):
            name = _GOES_ON
        self._take_request(name, event)
        changed = _changed_file(event) if name == "PostToolUse" else []
        if event.get("agent_id"):  # `agent_type` alone is a session started with --agent
            # A subagent: the turn continues, whatever it does, unless it asks.
            asks = name == "PermissionRequest"
            state = INPUT_REQUIRED if asks else PROCESSING
            return [*changed, StateSeen(HOOK, (state,), f"hook {name} of a subagent")]
        self._follow(event.get("transcript_path"), fresh=name in ("SessionStart", "UserPromptSubmit"))
        self._at_rest = name in (_GOES_ON, "Stop")
        facts = [*self._read_transcript(), *changed]
        if name == "UserPromptSubmit":
            facts += self._prompted(text_of(event.get("prompt")))
        elif name == "Stop":
            message = event.get("last_assistant_message")
            reply = message if isinstance(message, str) else None
            self._has_stopped = True
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
            self._queue.clear()
        if name in _STATES:
            facts.append(StateSeen(HOOK, (_STATES[name],), f"hook {name}"))
        self._running = self._running and not self._at_rest and name not in ("StopFailure", "SessionEnd")
        return [*facts, *self._next_prompt()]

    def _prompted(self, prompt: str) -> list[Fact]:
        if self._awaited and prompt.startswith(_NOTIFIED):
            self._running = True
            return []  # the turn that started the agent goes on
        if self._running and self._keeps_transcript():
            self._queue.told(prompt, time.time())
            return []
        return self._begun(prompt)

    def _keeps_transcript(self) -> bool:
        return self._transcript is not None and os.path.exists(self._transcript.path)

    def _begun(self, prompt: str) -> list[Fact]:
        self._running = True
        self._awaited = frozenset()
        self._said = ""
        self._unkept = self._has_stopped and not self._keeps_transcript()
        return [PromptAccepted(HOOK, prompt)]

    def _next_prompt(self) -> list[Fact]:
        """The beginning of a turn of which the hook told while another was running."""
        prompt = self._queue.next(self._running, time.time())
        if prompt is None:
            return []
        return [*self._begun(prompt), StateSeen(HOOK, (PROCESSING,), "a queued prompt")]

    def _goes_on(self, event: Mapping[str, Any]) -> bool:
        """Whether agents that were started in this turn still run: the CLI continues when they have finished.
        Those of earlier turns do not count, nor do shell commands, which may never end."""
        tasks = event.get("background_tasks")
        running = frozenset(
            text_of(task.get("id"))
            for task in (tasks if isinstance(tasks, list) else [])
            if isinstance(task, dict) and (task.get("type"), task.get("status")) == ("subagent", "running")
        )
        self._awaited = running - (self._background - self._awaited)
        self._background = running
        return bool(self._awaited)

    def leave(self) -> list[Fact]:
        """Escape does not end agents in the background, and the CLI takes prompts while they run."""
        if not (self._at_rest and self._background):
            return []
        ended: list[Fact] = [TurnEnded(HOOK, "interrupted")] if self._awaited else []
        self._awaited = frozenset()
        self._running = False
        return [*ended, StateSeen(HOOK, (READY,), "its agents go on in the background")]

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
            # That of a resumed session has turns that are over. That of a session which moved into the server
            # may be made after its first prompt, and begins with a copy of them.
            self._transcript = JsonlTail(path, from_end=fresh)
            self._since = time.time() - _EARLY if fresh else 0.0

    def poll(self) -> list[Fact]:
        return [*self._read_transcript(), *self._next_prompt()]

    def _read_transcript(self) -> list[Fact]:
        facts: list[Fact] = []
        for line in self._transcript.read_new() if self._transcript else []:
            if line.get("isMeta") or line.get("isSidechain") or line.get("isCompactSummary"):
                continue
            if _written_at(line) >= self._since:
                facts += _line(line)
                if added := self._queue.line(line):
                    facts.append(Steered(TRANSCRIPT, added))
                if line.get("toolUseResult") == _REJECTED:
                    facts.append(Denied(TRANSCRIPT))
                    self._requests.clear()
        if any(isinstance(fact, TurnEnded) for fact in facts):
            self._awaited = frozenset()
            self._running = False
        said = [fact.text for fact in facts if isinstance(fact, Said)]
        self._said = said[-1].strip() if said else self._said
        return facts

    def is_behind(self, reply: str) -> bool:
        """The transcript is written some 0.1 s after the hook, and the first turn creates it."""
        if self._transcript is None or not reply.strip() or self._unkept:
            return False
        return not self._said or not reply.strip().endswith(self._said)

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


def _changed_file(event: Mapping[str, Any]) -> list[Fact]:
    given = event.get("tool_input")
    name = _EDITORS.get(text_of(event.get("tool_name")))
    path = text_of(given.get(name)) if name and isinstance(given, dict) else ""
    return [FileChanged(path)] if path else []


def _written_at(line: Mapping[str, Any]) -> float:
    """Wall clock; later than all if the line does not say it."""
    try:
        return datetime.fromisoformat(text_of(line.get("timestamp"))).timestamp()
    except (ValueError, OverflowError):
        return math.inf


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
        # A tool that was stopped while it ran is "rejected" too, and only then a message was interrupted.
        ran = False if line.get("interruptedMessageId") else None
        return [TurnEnded(TRANSCRIPT, "interrupted", denied=ran), ready]
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
