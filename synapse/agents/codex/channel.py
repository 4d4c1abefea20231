"""Codex: the rollout file of the thread that it shows, and its notify program where it runs embedded."""

import datetime
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from synapse.agents.base import HOOK, TRANSCRIPT, Channel, Surroundings, changed_at, mark_in, text_of
from synapse.agents.codex.threads import Threads, is_rollout, item_text, prompt_of, thread_of, whose_thread
from synapse.agents.errors import ReportedError, reported_error, text_in
from synapse.agents.facts import (
    Fact,
    FileChanged,
    PromptAccepted,
    Said,
    StateSeen,
    Steered,
    ToolUsed,
    TurnEnded,
    tokens_used,
)
from synapse.agents.requests import ToolRequest, tool_request
from synapse.agents.tail import JsonlTail
from synapse.registry import PROCESSING, READY, STATUSES

_ERRORS = {
    "context_window_exceeded": "CONTEXT_LIMIT",
    "http_connection_failed": "NETWORK_ERROR",
    "response_stream_connection_failed": "NETWORK_ERROR",
    "response_stream_disconnected": "NETWORK_ERROR",
    "server_overloaded": "OVERLOADED",
    "unauthorized": "LOGIN_REQUIRED",
}
_HARMLESS = ("active_turn_not_steerable", "thread_rollback_failed")  # the turn continues


class CodexChannel(Channel):
    """Follows the thread of the human, which /new, /resume and the view of agents change.

    If Codex runs embedded it holds the rollouts of its threads open, and those that are not shown go on: the
    thread is the one with the last prompt. Otherwise its shared server holds them, and those of its other
    terminals too: then the thread is the one that got what was submitted here."""

    name = "codex"
    tells = tells_all = True
    session_variable = "CODEX_THREAD_ID"

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self._rollouts: dict[str, JsonlTail] = {}  # by thread
        self._folders: dict[str, float] = {}  # where new ones appear, and when one last did
        self._threads = Threads(surroundings)
        self._shown = ""  # the thread whose turns count
        # The lines of turns in other threads whose prompt is not known yet.
        self._held: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
        self._by_content = False  # whether the rollout was found by what was submitted
        self._prompted = False  # whether the task that runs began with a message
        self._running = False
        self._said_by_turn = 0
        # Calls without a result: they are written before the human is asked.
        self._calls: dict[str, ToolRequest] = {}
        self._taken_up = self._take_up()
        if not self._taken_up:
            self._threads.started_with(surroundings.operands())

    def _take_up(self) -> bool:
        """Follow the thread that an earlier host of this run has found."""
        kept = self.read_session()
        path, offset = kept.get("path"), kept.get("offset")
        if not isinstance(path, str) or not isinstance(offset, int):
            return False
        self._follow(path, offset)
        return True

    def on_event(self, event: Mapping[str, Any]) -> list[Fact]:
        known = set(self._rollouts)
        facts = self.poll()
        if event.get("type") != "agent-turn-complete":
            return facts
        thread = str(event.get("thread-id", ""))
        if self._rollouts and thread not in self._rollouts:
            self._find()
            facts += self._read()
        told = any(isinstance(fact, TurnEnded) for fact in facts)
        if not self._rollouts or (thread in self._rollouts and thread not in known and not told):
            return facts + _notified(event)  # the file of a resumed thread is read from here on
        return facts  # the rollout has reported it, or it is the thread that makes titles

    def submitted(self, text: str | None = None) -> None:
        if text and text.strip():
            self._taken_up = False
            self._threads.submitted(text)

    def poll(self) -> list[Fact]:
        is_new = any(changed_at(path) != at for path, at in self._folders.items())
        if not self._by_content and (not self._rollouts or is_new):
            self._find()
        facts = self._read()
        if self._by_content or not self._rollouts:
            facts += self._search()
        return facts

    def _search(self) -> list[Fact]:
        place = self._threads.search([rollout.path for rollout in self._rollouts.values()])
        if place is None:
            return []
        left: list[Fact] = [TurnEnded(TRANSCRIPT, "interrupted")] if self._running and self._prompted else []
        self._follow(place.path, place.offset)
        self.keep_session(thread_of(place.path), path=place.path, offset=place.offset)
        return left + self._read()

    def _follow(self, path: str, offset: int) -> None:
        self._shown = thread_of(path)
        self._rollouts = {self._shown: JsonlTail(path, offset=offset)}
        self._by_content = True
        self._running = self._prompted = False

    def _read(self) -> list[Fact]:
        facts: list[Fact] = []
        for thread, rollout in list(self._rollouts.items()):
            for line in rollout.read_new():
                payload = line.get("payload")
                if not isinstance(payload, dict):
                    continue
                kind = str(line.get("type", ""))
                prompt = prompt_of(payload) if kind == "event_msg" else None
                opens = prompt is not None and self._opens(prompt)
                if prompt is not None and not self._is_ours(thread, prompt):
                    del self._rollouts[thread]
                    facts.append(StateSeen(TRANSCRIPT, STATUSES, "its thread was resumed elsewhere"))
                    break
                self._shown = self._shown or thread
                if thread == self._shown:
                    facts += self._line(kind, payload)
                else:
                    facts += self._other(thread, kind, payload, opens)
        return facts

    def _opens(self, prompt: str) -> bool:
        """Whether a thread with this prompt is the one that is shown now, also while another works."""
        return not self._running or self._threads.is_submitted(prompt)

    def _other(self, thread: str, kind: str, payload: Mapping[str, Any], opens: bool) -> list[Fact]:
        """A line of a thread that is not shown, or is from here on; then its turn counts from the start."""
        began, is_prompt = payload.get("type") == "task_started", prompt_of(payload) is not None
        held = [] if began else self._held.pop(thread, [])
        if held or began or is_prompt:
            held.append((kind, payload))
        if not is_prompt:
            self._held |= {thread: held} if held else {}
            return []
        if not opens:
            return []
        left: list[Fact] = [TurnEnded(TRANSCRIPT, "interrupted")] if self._running and self._prompted else []
        self._shown, self._running, self._prompted = thread, False, False
        self._calls.clear()
        return left + [fact for line in held for fact in self._line(*line)]

    def _is_ours(self, thread: str, prompt: str) -> bool:
        """A thread that gets the message of another agent has been left here and resumed there."""
        self._threads.found(prompt)
        mark = mark_in(prompt)
        if self._by_content:
            return not mark or self._taken_up or mark in self._threads.marks
        if thread != self.session:
            self.keep_session(thread)
        return True

    def _find(self) -> None:
        """Find the rollouts that the agent holds open, except those of its subagents."""
        sessions = self._threads.root + os.sep
        again = False  # a file that has only just been made
        for path in self.surroundings.open_files(".jsonl"):
            thread, name = thread_of(path), os.path.basename(path)
            if thread in self._rollouts or not path.startswith(sessions) or not is_rollout(name):
                continue
            whose = whose_thread(path)
            if whose == "human":
                # The file of a resumed thread is older than this run, and has turns that are over.
                begun_before = _begun_before(path, self.surroundings.started_at)
                self._rollouts[thread] = JsonlTail(path, from_end=begun_before)
            day = os.path.dirname(path)
            again = again or whose == "unknown"
            self._folders |= dict.fromkeys((day, os.path.dirname(day)), 0.0)
        self._folders = {folder: 0.0 if again else changed_at(folder) for folder in self._folders}

    def _line(self, kind: str, payload: Mapping[str, Any]) -> list[Fact]:
        what = str(payload.get("type", ""))
        if kind == "event_msg":
            if what in ("task_started", "task_complete", "turn_aborted"):
                self._calls.clear()
            return self._event(what, payload)
        self._take_call(payload)
        if kind == "response_item" and what in ("function_call", "custom_tool_call", "local_shell_call"):
            detail = {k: payload[k] for k in ("arguments", "input", "action") if k in payload}
            name = _tool(payload) or what
            return [ToolUsed(TRANSCRIPT, name, str(payload.get("call_id", "")), detail)]
        return []

    def _take_call(self, payload: Mapping[str, Any]) -> None:
        call = str(payload.get("call_id", ""))
        if str(payload.get("type", "")).endswith("_output"):
            self._calls.pop(call, None)
            return
        given = next((payload[key] for key in ("arguments", "input", "action") if key in payload), None)
        if call and (request := tool_request(_tool(payload) or "shell", given)):
            self._calls[call] = request

    def requests(self) -> Sequence[ToolRequest]:
        return list(self._calls.values())

    def _event(self, what: str, payload: Mapping[str, Any]) -> list[Fact]:
        if what == "task_started":
            self._prompted, self._running = False, True
            return [StateSeen(TRANSCRIPT, (PROCESSING,), "rollout task_started")]
        prompt = prompt_of(payload)
        if prompt is not None:
            is_added = self._running and self._prompted  # Enter steers the turn that is running
            self._prompted = True
            return [Steered(TRANSCRIPT, prompt) if is_added else PromptAccepted(TRANSCRIPT, prompt)]
        item = payload.get("item")
        if what == "item_completed" and isinstance(item, dict) and item.get("type") == "AgentMessage":
            return [Said(TRANSCRIPT, item_text(item), str(item.get("id", "")))]
        if what == "item_completed" and isinstance(item, dict) and item.get("type") == "FileChange":
            return _changed_files(payload, item)
        if what == "agent_message":  # older versions
            self._said_by_turn += 1
            return [Said(TRANSCRIPT, text_of(payload.get("message")), str(self._said_by_turn))]
        if what == "token_count":
            return _tokens(payload)
        if what in ("task_complete", "turn_aborted"):
            self._running = False
        if what == "task_complete":
            message = payload.get("last_agent_message")
            ready = StateSeen(TRANSCRIPT, (READY,), "rollout task_complete")
            if isinstance(message, str):
                return [TurnEnded(TRANSCRIPT, "completed", message), ready]
            if message is None and not self._prompted:
                return [ready]  # /compact: there was no prompt
            told = payload.get("error")  # an error of the API; older versions show it on the screen only
            error = {"type": "error", **told} if isinstance(told, dict) else {"type": "error"}
            return [TurnEnded(TRANSCRIPT, "failed", None, error), ready]
        if what == "turn_aborted":
            why = f"rollout turn_aborted ({payload.get('reason', 'no reason given')})"
            ready = StateSeen(TRANSCRIPT, (READY,), why)
            return [TurnEnded(TRANSCRIPT, "interrupted"), ready] if self._prompted else [ready]
        if what == "error":
            return [TurnEnded(TRANSCRIPT, "failed", None, dict(payload))]
        return []

    @staticmethod
    def read_error(event: Mapping[str, Any]) -> ReportedError | None:
        """Also of what `codex exec` prints."""
        for inner in ("payload", "msg"):
            wrapped = event.get(inner)
            if isinstance(wrapped, Mapping):
                event = wrapped
        if event.get("type") == "turn_aborted":
            reason = text_in(event.get("reason")) or "interrupted"
            return ReportedError(f"the turn was ended: {reason}", means="INTERRUPTED")
        error = reported_error(event)
        if error is None:
            return None
        if event.get("type") == "turn.failed":
            error = replace(error, ends=True, known=True)
        info = event.get("codex_error_info") or event.get("codexErrorInfo")
        if not info:
            return error
        name, status = _named(info)
        snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name or "").lower()
        ends = error.ends and name not in _HARMLESS
        means = _ERRORS.get(snake, "")
        return replace(error, ends=ends, name=name, status=status, known=True, means=means)

    def missing(self) -> list[str]:
        return [] if self._rollouts else ["no rollout file of this thread has been found yet"]


def _tool(payload: Mapping[str, Any]) -> str:
    """Its name. A tool of an MCP server has the server in `namespace`."""
    name, space = text_of(payload.get("name")), text_of(payload.get("namespace"))
    return f"{space}__{name}" if name and space.startswith("mcp__") else name


def _notified(event: Mapping[str, Any]) -> list[Fact]:
    asked, message = event.get("input-messages"), event.get("last-assistant-message")
    prompts = [text for text in asked if isinstance(text, str)] if isinstance(asked, list) else []
    return [
        *(PromptAccepted(HOOK, text) for text in prompts[-1:]),
        TurnEnded(HOOK, "completed", message if isinstance(message, str) else None),
        StateSeen(HOOK, (READY,), "notify agent-turn-complete"),
    ]


def _begun_before(path: str, moment: float) -> bool:
    """Whether the thread is older than `moment`, by the time in the file's name."""
    match = re.search(r"rollout-(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d)", path)
    begun = datetime.datetime.strptime(match[1], "%Y-%m-%dT%H-%M-%S") if match else None
    return begun is not None and begun.timestamp() < moment - 5


def _changed_files(payload: Mapping[str, Any], item: Mapping[str, Any]) -> list[Fact]:
    changes, at = item.get("changes"), payload.get("completed_at_ms")
    if item.get("status") != "completed" or not isinstance(changes, dict):
        return []
    return [FileChanged(path, at / 1000 if isinstance(at, int) else 0.0) for path in changes]


def _tokens(payload: Mapping[str, Any]) -> list[Fact]:
    info = payload.get("info")
    if not isinstance(info, dict):
        return []
    key = str(info.get("total_token_usage"))
    return tokens_used(info.get("last_token_usage"), "input_tokens", "output_tokens", key)


def _named(info: object) -> tuple[str | None, int | None]:
    if isinstance(info, str):
        return info, None
    if isinstance(info, Mapping) and info:
        name, details = next(iter(info.items()))
        found = details.get("http_status_code") if isinstance(details, Mapping) else None
        return str(name), found if isinstance(found, int) else None
    return None, None


CHANNEL = CodexChannel
