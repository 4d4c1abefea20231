"""Errors of the agents: from their events, their exit, and the screens of every recording."""

# ruff: noqa: E501

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synapse.profiles.loader import load_profile
from synapse.terminal.screen import make_screen
from synapse.watch.screen.errors import CODES, NAMES, STATUSES, DetectedError, ErrorDetector, classify
from synapse.watch.screen.looks import look_of

RECORDINGS = sorted(Path(__file__).parents[2].glob("recordings/*/*/session.cast.gz"))
RULE = "─" * 100
BOX = [RULE, "❯ ", RULE, "  ? for shortcuts"]

# (code, message, fatal) at the quiet moments of a recording; every other shows none.
SHOWN = {
    "claude-error400": {("API_ERROR", "API Error: 400 fake error", False)},
    "claude-onboarding-fresh-home": {("NETWORK_ERROR", "Unable to connect to Anthropic services", False)},
    "codex-error400": {("API_ERROR", "fake error", True)},
    "gemini-error400": {("API_ERROR", "fake error", True)},
}


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda p: f"{p.parent.parent.name}-{p.parent.name}")
def test_every_recording(path: Path) -> None:
    with gzip.open(path, "rt") as file:
        head, *events = [json.loads(line) for line in file]
    screen = make_screen(head["width"], head["height"])
    seen = set()
    ends = [event[0] for event in events[1:]] + [events[-1][0] + 60]
    for (at, kind, data), end in zip(events, ends, strict=True):
        if kind == "o":
            screen.feed(data.encode())
        elif kind == "r":
            cols, _, rows = data.partition("x")
            screen.resize(int(cols), int(rows))
        if end - at > 0.3:
            lines = screen.text().split("\n")
            for error in ErrorDetector().detect_screen(lines, screen.cursor, screen.cursor_visible):
                seen.add((error.code, error.message, error.fatal))
    assert seen == SHOWN.get(f"{path.parent.parent.name}-{path.parent.name}", set())


def claude(*above: str) -> list[DetectedError]:
    lines = [*above, "", RULE, "❯ ", RULE, "  ? for shortcuts"]
    return ErrorDetector().detect_screen(lines, (2, len(above) + 2), False)


def aider(*above: str) -> list[DetectedError]:
    lines = ["diff> hello", "", *above, "", RULE, "diff> "]
    return ErrorDetector(look_of(load_profile("aider"))).detect_screen(lines, (6, len(lines) - 1), True)


@pytest.mark.parametrize(
    ("code", "rows"),
    [
        ("NETWORK_ERROR", ["  ░litellm.InternalServerError: OpenAIException - Connection error.", "The API provider's servers are down or overloaded."]),
        ("RATE_LIMIT", ["litellm.RateLimitError: scripted refusal 429", "  ░The API provider has rate limited you. Try again later or check your quotas."]),
        ("LOGIN_REQUIRED", ["litellm.AuthenticationError: OpenAIException - no", "The API provider is not able to authenticate you. Check your API key."]),
        ("API_ERROR", [" ░Empty response received from LLM. Check your provider account?", "", "", "Tokens: 2.3k sent, 0 received."]),
    ],
)  # fmt: skip
def test_aider_at_the_end_of_its_attempts(code: str, rows: list[str]) -> None:
    (error,) = aider("litellm.InternalServerError: x", "Retrying in 32.0 seconds...", *rows)
    assert error.code == code and error.fatal and rows[0].strip(" ░") in error.message
    assert aider(*rows, "", "Tokens: 4.0k sent, 174 received.") == [], "a reply that quotes it"


def codex(*above: str) -> list[DetectedError]:
    lines = [*above, "", "› Ask Codex to do anything", "", "  gpt-5.1-codex default · /home/dev"]
    return ErrorDetector().detect_screen(lines, (2, len(above) + 1), True)


def test_claude_errors_as_2_1_197_shows_them() -> None:
    [overloaded] = claude(
        "❯ go",
        "",
        "● API Error: Repeated 529 Overloaded errors. The API is at capacity — this is usually",
        "  temporary. Try again in a moment.",
        "",
        "✻ Churned for 1s",
    )
    assert overloaded.code == "OVERLOADED"
    assert overloaded.message.endswith("usually temporary. Try again in a moment.")
    [long] = claude(
        "❯ go", "  ⎿\xa0 Prompt is too long · the request is ~250000 tokens", "", "✻ Cogitated for 0s"
    )
    assert (long.code, long.fatal) == ("CONTEXT_LIMIT", False)
    [retrying] = claude("❯ go", "", "✻ API error · Retrying in 10s · attempt 5/10")
    assert (retrying.code, retrying.retry_after, retrying.fatal) == ("API_ERROR", 10.0, False)


def test_an_error_of_an_earlier_turn_is_over() -> None:
    assert claude("❯ go", "", "● API Error: 500 x", "", "❯ again", "", "● Done.") == []
    assert codex("■ unexpected status 500", "", "› again", "", "• Done.") == []


def test_codex_lines_that_are_no_failure() -> None:
    assert codex("• text", "", "■ Conversation interrupted - use /feedback if something went wrong") == []
    [other] = codex("■ '/model' is disabled while a task is in progress.")
    assert (other.code, other.fatal) == ("AGENT_ERROR", False)
    [limit] = codex("■ You've hit your usage limit. Upgrade to Pro or try again in 3 hours 20 minutes.")
    assert (limit.code, limit.fatal, limit.retry_after) == ("USAGE_LIMIT", True, 12000.0)
    [wrapped] = codex("■ You've hit your usage limit. Upgrade to Pro or", "try again at 10:16 PM.", "")
    assert wrapped.message.endswith("or try again at 10:16 PM.")


REPLIES = [
    *("API Error: 429 rate limit", "■ unexpected status 500", "✕ [API Error: x]", "You've hit your limit"),
    *("  ⎿  Prompt is too long", "error: timeout", "I cannot", '{"error": {"message": "x"}}', "❯ 1. Yes"),
]


@pytest.mark.parametrize("mark", ["● ", "• ", "✦ "])
@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from(REPLIES) | st.text(st.characters(exclude_categories=["C", "Z"])), max_size=20)
)
def test_no_reply_fails_a_task(mark: str, reply: list[str]) -> None:
    lines = [mark + text if n == 0 else "  " + text for n, text in enumerate(reply)]
    for found in (claude("❯ go", "", *lines), codex("› go", "", *lines)):
        assert not ErrorDetector().has_fatal_error(found)


@pytest.mark.parametrize(
    ("event", "code", "fatal"),
    [
        # Claude: hook, transcript
        (
            {"hook_event_name": "StopFailure", "error": "rate_limit", "error_details": "429 Too Many Requests"},
            "RATE_LIMIT",
            True,
        ),
        (
            {
                "hook_event_name": "StopFailure",
                "error": "rate_limit",
                "last_assistant_message": "You've hit your session limit · resets 3:45pm",
            },
            "USAGE_LIMIT",
            True,
        ),
        (
            {"hook_event_name": "StopFailure", "error": "authentication_failed", "error_details": None},
            "LOGIN_REQUIRED",
            True,
        ),
        (
            {
                "hook_event_name": "StopFailure",
                "error": "invalid_request",
                "last_assistant_message": "Prompt is too long",
            },
            "CONTEXT_LIMIT",
            True,
        ),
        ({"hook_event_name": "StopFailure", "error": "unknown"}, "API_ERROR", True),
        ({"hook_event_name": "StopFailure", "error": "server_error", "agent_id": "a1"}, "API_ERROR", False),
        (
            {
                "type": "assistant",
                "isApiErrorMessage": True,
                "message": {"role": "assistant", "content": [{"type": "text", "text": "API Error: 529 Overloaded"}]},
            },
            "OVERLOADED",
            True,
        ),
        (
            {
                "type": "system",
                "subtype": "api_error",
                "error": {"status": 529, "message": "overloaded"},
                "retryInMs": 1500,
            },
            "OVERLOADED",
            False,
        ),
        # Codex: rollout, exec
        (
            {
                "timestamp": "t",
                "type": "event_msg",
                "payload": {
                    "type": "error",
                    "message": "You've hit your usage limit.",
                    "codex_error_info": "usage_limit_exceeded",
                },
            },
            "USAGE_LIMIT",
            True,
        ),
        (
            {
                "type": "event_msg",
                "payload": {
                    "type": "error",
                    "message": "unexpected status",
                    "codex_error_info": {"http_connection_failed": {"http_status_code": 401}},
                },
            },
            "LOGIN_REQUIRED",
            True,
        ),
        (
            {"type": "event_msg", "payload": {"type": "error", "message": '{"error": {"message": "fake error"}}'}},
            "API_ERROR",
            True,
        ),
        (
            {
                "type": "event_msg",
                "payload": {"type": "error", "message": "no", "codex_error_info": "thread_rollback_failed"},
            },
            "API_ERROR",
            False,
        ),
        (
            {"type": "event_msg", "payload": {"type": "stream_error", "message": "Reconnecting... 1/5"}},
            "AGENT_ERROR",
            False,
        ),
        ({"type": "event_msg", "payload": {"type": "turn_aborted", "reason": "interrupted"}}, "INTERRUPTED", False),
        ({"type": "turn.failed", "error": {"message": "stream disconnected before completion"}}, "NETWORK_ERROR", True),
        # Gemini: chat record
        (
            {"id": "1", "type": "error", "content": '[API Error: {"error":{"code":503,"message":"The model is overloaded."}}]'},
            "OVERLOADED",
            True,
        ),
        ({"type": "error", "content": [{"text": "You exceeded your current quota"}]}, "USAGE_LIMIT", True),
        ({"type": "error", "content": "Unknown command: /foo"}, "AGENT_ERROR", False),
    ],
)  # fmt: skip
def test_events(event: dict[str, object], code: str, fatal: bool) -> None:
    error = ErrorDetector().detect_event(event)
    assert error is not None
    assert (error.code, error.fatal) == (code, fatal)
    assert error.message


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"hook_event_name": "Stop", "last_assistant_message": "API Error: 500"},
        {"type": "event_msg", "payload": {"type": "task_complete", "last_agent_message": "error 500"}},
        {"type": "event_msg", "payload": {"type": "agent_message", "message": "error"}},
        {"type": "assistant", "message": {"content": [{"type": "text", "text": "API Error: 429"}]}},
        {"type": "gemini", "content": "[API Error: 500]"},
        {"type": "info", "content": "Request cancelled."},
    ],
)
def test_events_that_report_no_error(event: dict[str, object]) -> None:
    assert ErrorDetector().detect_event(event) is None


def test_a_retry_that_an_event_announces() -> None:
    error = ErrorDetector().detect_event(
        {"type": "system", "subtype": "api_error", "error": {}, "retryInMs": 1500}
    )
    assert error is not None
    assert (error.retry_after, error.fatal) == (1.5, False)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Retrying in 8 seconds… (attempt 5/10)", 8.0),
        ("stream error: x; retrying 1/5 in 200ms…", 0.2),
        ("Please retry in 33.5s.", 33.5),
        ("try again in 1 hour 5 minutes", 3900.0),
        ("Please try again after 2 days", 172800.0),
        ("resets 3pm", None),
        ("it took 5 seconds", None),
    ],
)
def test_how_long_to_wait_is_what_the_message_says(text: str, seconds: float | None) -> None:
    error = ErrorDetector().detect_event({"type": "error", "message": text})
    assert error is not None
    assert error.retry_after == seconds


def test_exit() -> None:
    detector = ErrorDetector()
    assert detector.detect_exit(1) == DetectedError(
        "PROCESS_EXIT", "the agent ended with status 1", True, source="exit"
    )
    assert detector.detect_exit(-9).message == "the agent was ended by SIGKILL"
    assert detector.detect_exit(-250).message == "the agent was ended by signal 250"
    said = "starting\nno account\n\n"
    assert detector.detect_exit(3, said).message.endswith("status 3; the last line on its screen: no account")
    for killed in (137, -9):
        assert "no account" not in detector.detect_exit(killed, said).message


def test_the_primary_error_is_the_fatal_one_that_tells_most() -> None:
    detector = ErrorDetector()
    noted = DetectedError("LOGIN_REQUIRED", "Please run /login", False, source="screen")
    gone = detector.detect_exit(1)
    login = DetectedError("LOGIN_REQUIRED", "401", True)
    assert detector.get_primary_error([]) is None
    assert detector.get_primary_error([noted, gone]) is gone
    assert detector.get_primary_error([gone, login, noted]) is login
    again = DetectedError("LOGIN_REQUIRED", "401 again", True)
    assert detector.get_primary_error([login, again]) is again
    assert detector.has_fatal_error([noted, gone]) and not detector.has_fatal_error([noted])


def test_the_a2a_form() -> None:
    error = DetectedError("RATE_LIMIT", "slow down", True, 2.0)
    assert error.to_a2a_error() == {
        "code": "RATE_LIMIT",
        "message": "slow down",
        "data": {"source": "event", "fatal": True, "retry_after": 2.0},
    }


def test_every_code_in_the_tables_is_a_code() -> None:
    assert {*NAMES.values(), *STATUSES.values()} <= set(CODES)
    assert classify("UsageLimitExceeded", "UsageLimitExceeded") == "USAGE_LIMIT"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
FIELDS = [
    *("type", "subtype", "payload", "msg", "message", "content", "error", "error_details", "reason", "hook_event_name"),
    *("isApiErrorMessage", "codex_error_info", "retryInMs", "last_assistant_message"),
]  # fmt: skip
KINDS = st.sampled_from(
    ["error", "stream_error", "turn_aborted", "turn.failed", "system", "StopFailure", "api_error"]
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from(FIELDS), KINDS | json_values))
def test_no_event_makes_it_fail(event: dict[str, object]) -> None:
    error = ErrorDetector().detect_event(event)
    if error:
        json.dumps(error.to_a2a_error())
        assert error.code in CODES


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from([RULE, "❯ ", "› x", "■ a", "✕ b", "● API Error", *REPLIES]) | st.text(max_size=30)
    ),
    st.none() | st.tuples(st.integers(-1, 100), st.integers(-1, 60)),
    st.sampled_from([None, True, False]),
)
def test_no_screen_makes_it_fail(
    lines: list[str], cursor: tuple[int, int] | None, visible: bool | None
) -> None:
    for error in ErrorDetector().detect_screen(lines, cursor, visible):
        assert error.code in CODES and error.message


@pytest.mark.parametrize(
    ("rows", "stopped"),
    [
        (["● half an ans", "  ⎿  Interrupted · What should Claude do instead?", "", *BOX], True),
        (["❯ hello", "● whole", "", *BOX], False),
        (["● I was Interrupted", "  Request cancelled, says the log.", *BOX], False),
        (["dummy> hello", "You sa", "^C interrupted", "dummy>"], True),
        (["$ explain", "Press ^C to stop it.", "$"], False),
    ],
)
def test_a_turn_that_was_stopped(rows: list[str], stopped: bool) -> None:
    cursor = (2, rows.index(BOX[1]) if BOX[1] in rows else len(rows) - 1)
    assert ErrorDetector().detect_interrupt(rows, cursor) is stopped


def test_a_prompt_that_is_given_back_was_stopped() -> None:
    rows = ["❯ an older one", "● PONG", "", BOX[0], "❯ write a  poem", BOX[2], "  ? for shortcuts"]
    assert ErrorDetector().detect_interrupt(rows, (5, 4), None, "write a poem")
    assert not ErrorDetector().detect_interrupt(rows, (5, 4), None, "an older one")
