"""What went wrong in an agent, told from its events, its exit and, as the weakest evidence, its screen.

A finding annotates; `fatal` says whether it also ends the turn. Text never does that by itself:

- an event of the CLI (hook, transcript, rollout) or its exit is fatal if the CLI ends the turn by it;
- a line on the screen is fatal only if the CLI alone can have written it: it stands in the last turn,
  directly above the composer, behind a mark at the left edge that replies never get (Codex `■`, Gemini `✕`),
  and it reads like an error of the API. Claude writes its errors behind the same `●` as its replies: never
  fatal, the StopFailure hook decides.

Pure: no clock. `retry_after` is in seconds and only what the message itself says.
"""

import json
import re
import signal
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from synapse.watch.menus import Cursor, composer, screen_rows

# Codes, the most telling first. AGENT_ERROR: the CLI reports an error that says nothing of these.
CODES = (
    "LOGIN_REQUIRED", "USAGE_LIMIT", "CONTEXT_LIMIT", "OVERLOADED", "RATE_LIMIT", "NETWORK_ERROR",
    "API_ERROR", "PROCESS_EXIT", "AGENT_ERROR", "INTERRUPTED",
)  # fmt: skip

# What a message says. Tried in this order.
TEXTS = tuple(
    (code, re.compile(pattern, re.IGNORECASE))
    for code, pattern in (
        (
            "LOGIN_REQUIRED",
            r"/login\b|not logged in|(?:log|sign) ?in again|invalid api key|api key (?:not valid|expired)"
            r"|\b401\b|unauthorized|authentication|failed to login|oauth token",
        ),
        (
            "USAGE_LIMIT",
            r"usage limit|(?:hit|reached) your .*limit|credit balance|quota|billing|out of credits",
        ),
        (
            "CONTEXT_LIMIT",
            r"prompt is too long|context (?:window|length|limit)|input token count|ran out of room|\b413\b",
        ),
        ("OVERLOADED", r"overloaded|\b529\b|\b503\b|at capacity|high demand|temporarily unavailable"),
        ("RATE_LIMIT", r"rate.?limit|too many requests|\b429\b"),
        (
            "NETWORK_ERROR",
            r"unable to connect|failed to connect|\bECONN\w+|ENOTFOUND|ETIMEDOUT"
            r"|connection (?:error|refused|reset)|fetch failed|timed out|stream (?:disconnected|error)"
            r"|error sending request",
        ),
        ("API_ERROR", r"api error|server.?error|unexpected status|\"error\"|\b[45]\d\d\b"),
    )
)

# What the CLIs and APIs call it. The names that are not here say less than the message does.
NAMES = {
    "authentication_error": "LOGIN_REQUIRED",
    "authentication_failed": "LOGIN_REQUIRED",
    "billing_error": "USAGE_LIMIT",
    "context_window_exceeded": "CONTEXT_LIMIT",
    "http_connection_failed": "NETWORK_ERROR",
    "insufficient_quota": "USAGE_LIMIT",
    "oauth_org_not_allowed": "LOGIN_REQUIRED",
    "overloaded": "OVERLOADED",
    "overloaded_error": "OVERLOADED",
    "rate_limit": "RATE_LIMIT",
    "rate_limit_error": "RATE_LIMIT",
    "response_stream_connection_failed": "NETWORK_ERROR",
    "response_stream_disconnected": "NETWORK_ERROR",
    "server_overloaded": "OVERLOADED",
    "unauthorized": "LOGIN_REQUIRED",
    "usage_limit_exceeded": "USAGE_LIMIT",
    "usage_limit_reached": "USAGE_LIMIT",
}
STATUSES = {
    401: "LOGIN_REQUIRED",
    402: "USAGE_LIMIT",
    413: "CONTEXT_LIMIT",
    429: "RATE_LIMIT",
    503: "OVERLOADED",
    529: "OVERLOADED",
}

READ = 4000  # characters of a message that are looked at

# Codex reports these as errors, and the turn goes on.
HARMLESS = ("active_turn_not_steerable", "thread_rollback_failed")


@dataclass(frozen=True, slots=True)
class Line:
    """How a CLI shows an error on the screen; `own`: a reply cannot look like it."""

    pattern: re.Pattern[str]
    own: bool = False


_CLAUDE = (
    r"(?:API Error|Prompt is too long|Invalid API key|Please run /login|Not logged in|Claude usage limit"
    r"|You've (?:hit|reached)|Credit balance|Context limit|Request timed out|OAuth token|Unable to connect)"
)
LINES = (
    Line(re.compile(r"■\s(?!Conversation interrupted)(.+)"), own=True),  # Codex
    Line(re.compile(r"✕\s(.+)"), own=True),  # Gemini
    Line(
        re.compile(r"⚠\s+(.*(?:stream error|reconnecting|retrying).*)", re.I)
    ),  # Codex, while it tries again
    Line(re.compile(rf"●\s({_CLAUDE}\b.*)")),
    Line(re.compile(r"[✻✢✳✶✽·*]\s(API error · Retrying.*)", re.I)),
)
BELOW_ECHO = Line(re.compile(rf"\s+⎿\s+({_CLAUDE}\b.*)"))  # Claude, directly under the message it answers
STARTUP = Line(re.compile(r" ?(Unable to connect to Anthropic services)"))  # Claude, before it ends
# How a turn ends that a human has stopped: Claude, Codex, Gemini and Qwen, a terminal that echoes Ctrl-C.
STOPPED = re.compile(
    r"\s+⎿\s+Interrupted\b|■ Conversation interrupted|[ℹ✗⚠]\s+(?:Request|Operation) (?:cancell?ed|aborted)"
    r"|\^C(?:\s|$)"
)
UNTOLD = "the agent reported an error"
_PASSED = re.compile(
    r"\s|[─▄▀]{3}|ℹ\s|✻\s\w+ for |$"
)  # between an error and the composer: notes, rules, "for 3s"
_ECHO = re.compile(r"[❯›]\s")

_MESSAGE = re.compile(r'"message"\s*:\s*"((?:[^"\\]|\\.)*)"')
_AFTER = re.compile(
    r"(?:retry\w*|try again)(?: \d+/\d+)?[^.\d]{0,12}\b(?:in|after) "
    r"((?:\d+(?:\.\d+)? ?[a-z]+(?:,| and)? ?)+)",
    re.IGNORECASE,
)
_SPAN = re.compile(r"(\d+(?:\.\d+)?) ?(ms|mill\w*|s|sec\w*|m|min\w*|h|hours?|d|days?)\b", re.I)


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


class ErrorDetector:
    def detect_screen(
        self, lines: Sequence[str], cursor: Cursor | None, cursor_visible: bool | None = None
    ) -> list[DetectedError]:
        """The error that the last turn shows, if it ended with one. `cursor` is (column, row)."""
        rows = screen_rows(lines)
        begin = composer(rows, cursor, cursor_visible)
        if begin is None:
            shown = [
                (n, match[1], False) for n, row in enumerate(rows) if (match := STARTUP.pattern.match(row))
            ]
        else:
            shown = _shown(rows[:begin])
        return [_made(_with_rest(rows, n, text), own, "screen") for n, text, own in shown[-1:]]

    def detect_interrupt(
        self,
        lines: Sequence[str],
        cursor: Cursor | None,
        cursor_visible: bool | None = None,
        prompt: str | None = None,
    ) -> bool:
        """Whether the last turn was stopped: the CLI says so, or gives the `prompt` back to edit."""
        rows = screen_rows(lines)
        begin = composer(rows, cursor, cursor_visible)
        if begin is not None and prompt and "".join(prompt.split()) in "".join("".join(rows[begin:]).split()):
            return True
        above = rows[
            : len(rows) - 1 if begin is None else begin
        ]  # a prompt of one line, where it has no other
        for row in reversed(above):
            if STOPPED.match(row):
                return True
            if row and not re.match(r"[─▄▀]{3}|ℹ\s|\s{20,}\S|\s\S", row):
                break
        return False

    def detect_event(self, event: Mapping[str, object]) -> DetectedError | None:
        """What an event of a CLI reports: a hook's input, a transcript's or a rollout's line."""
        for inner in ("payload", "msg"):
            wrapped = event.get(inner)
            if isinstance(wrapped, Mapping):
                event = wrapped
        if event.get("hook_event_name") == "StopFailure":
            text = _text(event.get("error_details")) or _text(event.get("last_assistant_message"))
            return _made(text, "agent_id" not in event, "event", name=event.get("error"), known=True)
        if event.get("isApiErrorMessage") is True:
            return _made(_text(event.get("message")), True, "event", name=event.get("error"), known=True)
        kind = str(event.get("type", ""))
        if kind == "system" and event.get("subtype") == "api_error":
            return _made(_text(event.get("error")), False, "event", wait=event.get("retryInMs"))
        if kind == "turn_aborted":
            reason = _text(event.get("reason")) or "interrupted"
            return DetectedError("INTERRUPTED", f"the turn was ended: {reason}")
        if not re.search(r"(?:^|[._])(?:error|failed)$", kind):
            return None
        info = event.get("codex_error_info") or event.get("codexErrorInfo")
        name, status = _named(info)
        text = _text(event.get("message")) or _text(event.get("content")) or _text(event.get("error"))
        ends = kind in ("error", "turn.failed") and name not in HARMLESS
        return _made(text, ends, "event", name=name, status=status, known=kind == "turn.failed" or bool(info))

    def detect_exit(self, status: int) -> DetectedError:
        """An agent that ended while it had work; `status` as `waitstatus_to_exitcode` gives it."""
        if status >= 0:
            return DetectedError("PROCESS_EXIT", f"the agent ended with status {status}", True, source="exit")
        try:
            name = signal.Signals(-status).name
        except ValueError:
            name = f"signal {-status}"
        return DetectedError("PROCESS_EXIT", f"the agent was ended by {name}", True, source="exit")

    def has_fatal_error(self, errors: Iterable[DetectedError]) -> bool:
        return any(error.fatal for error in errors)

    def get_primary_error(self, errors: Iterable[DetectedError]) -> DetectedError | None:
        """The one to report: a fatal one before others, what tells most, then the latest."""
        return min(reversed(list(errors)), key=lambda e: (not e.fatal, CODES.index(e.code)), default=None)


def classify(text: str, name: object = None, status: object = None) -> str:
    """The code of an error by what the CLI calls it, by its HTTP status, and by its message."""
    said = next((code for code, pattern in TEXTS if pattern.search(text)), "AGENT_ERROR")
    snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower() if isinstance(name, str) else ""
    code = (STATUSES.get(status) if isinstance(status, int) else None) or NAMES.get(snake)
    if code is None or (code, said) == (
        "RATE_LIMIT",
        "USAGE_LIMIT",
    ):  # Claude calls a used-up plan rate_limit
        code = said
    return "API_ERROR" if code == "AGENT_ERROR" and (snake or status) else code


def _made(
    text: str,
    ends: bool,
    source: str,
    *,
    name: object = None,
    status: object = None,
    wait: object = None,
    known: bool = False,
) -> DetectedError:
    said = text[:READ]
    code = classify(said, name, status)
    waits = (
        wait / 1000 if isinstance(wait, int | float) and not isinstance(wait, bool) else _retry_after(said)
    )
    message = _plain(text) or (name if isinstance(name, str) else "") or UNTOLD
    return DetectedError(code, message, ends and (known or code != "AGENT_ERROR"), waits, source)


def _shown(rows: Sequence[str]) -> list[tuple[int, str, bool]]:
    """The last thing above the composer, if an error: its row, its text, whether no reply can look so."""
    at = len(rows) - 1
    while at >= 0 and _PASSED.match(rows[at]):
        at -= 1
    if at < 0:
        return []
    if _ECHO.match(rows[at]):
        below = next((n for n in range(at + 1, len(rows)) if rows[n].lstrip().startswith("⎿")), None)
        match = BELOW_ECHO.pattern.match(rows[below]) if below else None
        return [(below, match[1], False)] if below and match else []
    for line in LINES:
        if match := line.pattern.match(rows[at]):
            return [(at, match[1], line.own)]
    top = at
    while top > 0 and rows[top - 1].strip():
        top -= 1
    for line in LINES:  # Codex wraps JSON to the left edge
        if line.own and (match := line.pattern.match(rows[top])):
            return [(top, match[1], True)]
    return []


def _with_rest(rows: Sequence[str], at: int, text: str) -> str:
    """A message together with the rows that it was wrapped to."""
    rest = at + 1
    while rest < len(rows) and rows[rest].startswith("  ") and not rows[rest].lstrip().startswith("⎿"):
        text += " " + rows[rest].strip()
        rest += 1
    return text


def _named(info: object) -> tuple[str | None, int | None]:
    """Codex's error kind: a name, or a name with details."""
    if isinstance(info, str):
        return info, None
    if isinstance(info, Mapping) and info:
        name, details = next(iter(info.items()))
        found = details.get("http_status_code") if isinstance(details, Mapping) else None
        return str(name), found if isinstance(found, int) else None
    return None, None


def _text(value: object) -> str:
    """The text in a field: a string, a message with parts, an error within an error."""
    for _ in range(6):
        if isinstance(value, list):
            value = next((part for part in value if isinstance(part, str | Mapping)), None)
        elif isinstance(value, Mapping):
            value = next(
                (value[k] for k in ("message", "content", "text", "error", "type") if value.get(k)), None
            )
        else:
            break
    return value.strip() if isinstance(value, str) else ""


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
    seconds = sum(float(number) * _unit(unit.lower()) for number, unit in spans)
    return round(seconds, 3) if spans else None


def _unit(name: str) -> float:
    if name.startswith(("ms", "mill")):
        return 0.001
    return {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}[name[0]]
