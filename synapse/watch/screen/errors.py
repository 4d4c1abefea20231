"""Detects errors of an agent: in its events, in its exit status and, as the weakest evidence, on its screen.

`fatal` says whether the error ends the turn:

- an event of the CLI (hook, transcript, rollout) or its exit is fatal if the CLI ends the turn by it;
- a line on the screen is fatal only if a reply cannot look like it: it is directly above the composer, behind
  a mark at the left edge that replies never have, and its text is that of an API error.

`retry_after` is in seconds, and only set if the message says it.
"""

import json
import re
import signal
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synapse.agents import folders
from synapse.agents.base import Channel
from synapse.agents.errors import ReportedError, reported_error
from synapse.agents.look import ErrorLine, Look
from synapse.keys import patterns
from synapse.watch.screen import looks
from synapse.watch.screen.dialogs import matches
from synapse.watch.screen.menus import Cursor, composer, screen_rows

# The most specific code first. AGENT_ERROR: the CLI reports an error that fits none of the others.
CODES = (
    "LOGIN_REQUIRED", "USAGE_LIMIT", "CONTEXT_LIMIT", "OVERLOADED", "RATE_LIMIT", "NETWORK_ERROR",
    "API_ERROR", "PROCESS_EXIT", "AGENT_ERROR", "INTERRUPTED",
)  # fmt: skip

# Searched in a message in this order.
TEXTS = {
    "LOGIN_REQUIRED": r"/login\b|not logged in|(?:log|sign) ?in again|invalid api key"
    r"|api key (?:not valid|expired)|\b401\b|unauthorized|authentication|failed to login|oauth token",
    "USAGE_LIMIT": r"usage limit|(?:hit|reached) your .*limit|credit balance|quota|billing|out of credits",
    "CONTEXT_LIMIT": r"prompt is too long|context (?:window|length|limit)|input token count"
    r"|ran out of room|\b413\b",
    "OVERLOADED": r"overloaded|\b529\b|\b503\b|at capacity|high demand|temporarily unavailable",
    "RATE_LIMIT": r"rate.?limit|too many requests|\b429\b",
    "NETWORK_ERROR": r"(?:unable|failed) to connect|(?:cannot|could not) connect|\bECONN\w+|ENOTFOUND"
    r"|ETIMEDOUT|fetch failed|connection (?:error|refused|reset|closed)|connection was closed|socket hang up"
    r"|timed out|stream (?:disconnected|error|ended without)|missing finish_reason|error sending request",
    "API_ERROR": r"api error|empty response|server.?error|unexpected status|\"error\"|\b[45]\d\d\b",
}

# Names that the APIs use. A name that is missing here says less than the message.
NAMES = {
    "authentication_error": "LOGIN_REQUIRED", "billing_error": "USAGE_LIMIT",
    "insufficient_quota": "USAGE_LIMIT", "overloaded_error": "OVERLOADED", "rate_limit_error": "RATE_LIMIT",
    "usage_limit_exceeded": "USAGE_LIMIT", "usage_limit_reached": "USAGE_LIMIT",
}  # fmt: skip
STATUSES = {
    401: "LOGIN_REQUIRED", 402: "USAGE_LIMIT", 413: "CONTEXT_LIMIT", 429: "RATE_LIMIT", 503: "OVERLOADED",
    529: "OVERLOADED",
}  # fmt: skip

READ_LIMIT = 4000  # characters of a message that are searched
LAST_LINE = 200  # characters of what a program that failed wrote last
UNTOLD = "the agent reported an error"

_MESSAGE = re.compile(r'"message"\s*:\s*"((?:[^"\\]|\\.)*)"')
_AFTER = re.compile(
    r"(?:retry\w*|try again)(?: \d+/\d+)?[^.\d]{0,12}\b(?:in|after) "
    r"((?:\d+(?:\.\d+)? ?[a-z]+(?:,| and)? ?)+)",
    re.IGNORECASE,
)
_SPAN = re.compile(r"(\d+(?:\.\d+)?) ?(ms|mill\w*|s|sec\w*|m|min\w*|h|hours?|d|days?)\b", re.I)
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass(frozen=True, slots=True)
class DetectedError:
    code: str
    message: str
    fatal: bool = False
    retry_after: float | None = None
    source: str = "event"  # or "screen", "exit"

    def to_a2a_error(self) -> dict[str, object]:
        data: dict[str, object] = {"source": self.source, "fatal": self.fatal}
        if self.retry_after is not None:
            data["retry_after"] = self.retry_after
        return {"code": self.code, "message": self.message, "data": data}


ReadError = Callable[[Mapping[str, Any]], ReportedError | None]


def _read_any(event: Mapping[str, Any]) -> ReportedError | None:
    """By the rules of all built-in CLIs."""
    modules = [folders.load(name, "channel") for name in folders.built_in()]
    channels: list[type[Channel]] = [module.CHANNEL for module in modules if module is not None]
    return next((error for channel in channels if (error := channel.read_error(event))), None)


class ErrorDetector:
    """`look` says how the CLI shows errors, `read_error` reads its events. Default: all built-in CLIs."""

    def __init__(self, look: Look | None = None, read_error: ReadError = _read_any) -> None:
        self._look = look or looks.known()
        self._read_error = read_error

    def detect_screen(
        self, lines: Sequence[str], cursor: Cursor | None, cursor_visible: bool | None = None
    ) -> list[DetectedError]:
        """The error that the last turn shows, if it ended with one. `cursor` is (column, row)."""
        rows = screen_rows(lines)
        begin = composer(rows, cursor, cursor_visible, self._look)
        found = _at_start(rows, self._look) if begin is None else _shown(rows[:begin], self._look)
        if found is None:
            return []
        at, text, own = found
        error = ReportedError(_with_rest(rows, at, text, self._look, own), ends=own)
        return [_made(error, "screen", first=text)]

    def detect_interrupt(
        self,
        lines: Sequence[str],
        cursor: Cursor | None,
        cursor_visible: bool | None = None,
        prompt: str | None = None,
    ) -> bool:
        """Whether the last turn was stopped: the CLI says so, or its composer has the `prompt` again."""
        rows = screen_rows(lines)
        begin = composer(rows, cursor, cursor_visible, self._look)
        if begin is not None and prompt and "".join(prompt.split()) in "".join("".join(rows[begin:]).split()):
            return True
        end = len(rows) - 1 if begin is None else begin  # without a composer, a prompt of one line
        for row in reversed(rows[:end]):
            if matches(self._look.stopped, row):
                return True
            is_echo = row.lstrip()[:1] in tuple(
                self._look.reply.echo
            )  # what is above it is of an earlier turn
            if row and (is_echo or not matches(self._look.after_stop, row)):
                break
        return False

    def detect_denial(
        self, lines: Sequence[str], cursor: Cursor | None, cursor_visible: bool | None = None
    ) -> bool | None:
        """Whether the human denied a tool or permitted it, by the last row of the turn that says so."""
        rows = screen_rows(lines)
        begin = composer(rows, cursor, cursor_visible, self._look)
        for row in reversed(rows[:begin]):
            if matches(self._look.denied, row):
                return True
            if matches(self._look.permitted, row) or row[:1] in tuple(self._look.pointer):
                return False if matches(self._look.permitted, row) else None
        return None

    def detect_event(self, event: Mapping[str, object]) -> DetectedError | None:
        """The error in a hook's input, or in a line of a transcript."""
        error = self._read_error(event) or reported_error(event)
        return None if error is None else _made(error, "event")

    def detect_exit(self, status: int, screen: str = "") -> DetectedError:
        """An agent that ended while it had work; `status` as `waitstatus_to_exitcode` gives it. The last line
        that it wrote on its `screen` may say why it failed."""
        names = {number.value: number.name for number in signal.Signals}
        how = f"was ended by {names.get(-status, f'signal {-status}')}"
        if status >= 0:
            how = f"ended with status {status}"
        last = next((line.strip() for line in reversed(screen.split("\n")) if line.strip()), "")
        if 0 < status < 128 and last:  # above that a signal ended it, and its screen says nothing about it
            how += f"; the last line on its screen: {last[:LAST_LINE]}"
        return DetectedError("PROCESS_EXIT", f"the agent {how}", True, source="exit")

    def has_fatal_error(self, errors: Iterable[DetectedError]) -> bool:
        return any(error.fatal for error in errors)

    def get_primary_error(self, errors: Iterable[DetectedError]) -> DetectedError | None:
        """The one to report: fatal before others, then by the order of CODES, then the latest."""
        return min(reversed(list(errors)), key=lambda e: (not e.fatal, CODES.index(e.code)), default=None)


def classify(text: str, name: object = None, status: object = None, means: str = "") -> str:
    """The code of an error. `means` is the code that the CLI itself gives to the name."""
    said = next((code for code, words in TEXTS.items() if re.search(words, text, re.I)), "AGENT_ERROR")
    snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower() if isinstance(name, str) else ""
    code = (STATUSES.get(status) if isinstance(status, int) else None) or means or NAMES.get(snake)
    if code is None or (code, said) == (
        "RATE_LIMIT",
        "USAGE_LIMIT",
    ):  # some APIs call a used-up plan a rate limit
        code = said
    return "API_ERROR" if code == "AGENT_ERROR" and (snake or status) else code


def _made(error: ReportedError, source: str, first: str = "") -> DetectedError:
    """`first`: the first row of the message. What is below it may be general, such as "check your quotas"."""
    said = error.text[:READ_LIMIT]
    code = classify(first)
    if code in ("API_ERROR", "AGENT_ERROR"):
        code = classify(said, error.name, error.status, error.means)
    wait = error.wait_ms if not isinstance(error.wait_ms, bool) else None
    return DetectedError(
        code=code,
        message=_plain(error.text) or (error.name if isinstance(error.name, str) else "") or UNTOLD,
        fatal=error.ends and (error.known or code != "AGENT_ERROR"),
        retry_after=wait / 1000 if isinstance(wait, int | float) else _retry_after(said),
        source=source,
    )


Shown = tuple[int, str, bool]  # the row of an error, its text, whether no reply can look so


def _at_start(rows: Sequence[str], look: Look) -> Shown | None:
    found = (_match(look.errors_at_start, rows, at) for at in reversed(range(len(rows))))
    return next(((shown[0], shown[1], False) for shown in found if shown), None)


def _shown(rows: Sequence[str], look: Look) -> Shown | None:
    at = len(rows) - 1
    marks = tuple(look.reply.echo + look.reply.answer)
    indented = [line for line in look.errors if line.indented]
    while at >= 0 and matches(look.after_error, rows[at]) and not _match(indented, rows, at):
        if rows[at][:1] == " " and rows[at][1:2] in marks:
            return None  # a prompt or a reply, in a CLI that begins each row with a blank
        at -= 1
    if at < 0:
        return None
    if rows[at][:1] in tuple(look.pointer) and rows[at][1:2].isspace():
        elbow = tuple(look.reply.elbow)
        below = next((n for n in range(at + 1, len(rows)) if rows[n].lstrip().startswith(elbow)), None)
        return None if below is None else _match(look.errors_below_echo, rows, below)
    top = at
    while top > 0 and rows[top - 1].strip():
        top -= 1
    own = [line for line in look.errors if line.own]
    return _match(look.errors, rows, at) or _match(own, rows, top)  # JSON may be wrapped to the left edge


def _match(lines: Iterable[ErrorLine], rows: Sequence[str], at: int) -> Shown | None:
    found = ((patterns.match(line.pattern, rows[at]), line.own) for line in lines)
    return next(((at, match[1], own) for match, own in found if match), None)


def _with_rest(rows: Sequence[str], at: int, text: str, look: Look, own: bool) -> str:
    """`own`: no reply can look so, and its rows may be wrapped to the left edge."""
    rest = at + 1
    elbow = tuple(look.reply.elbow)
    marks = tuple(look.line_marks)
    while rest < len(rows) and not rows[rest].lstrip().startswith(elbow):
        is_rest = rows[rest].startswith("  ") or (own and not rows[rest].startswith(marks))
        if not rows[rest].strip() or not is_rest:
            break
        text += " " + rows[rest].strip()
        rest += 1
    return text


def _plain(text: str) -> str:
    """The message inside an error that is JSON, else the text as it is."""
    found = _MESSAGE.search(text)
    if not found:
        return text
    try:
        return str(json.loads(f'"{found[1]}"'))
    except ValueError:
        return text


def _retry_after(text: str) -> float | None:
    found = _AFTER.search(text)
    spans = _SPAN.findall(found[1]) if found else []
    seconds = sum(
        float(number) * (0.001 if unit.lower().startswith(("ms", "mill")) else _SECONDS[unit[0].lower()])
        for number, unit in spans
    )
    return round(seconds, 3) if spans else None
