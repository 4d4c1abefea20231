"""The end of a usage limit, as the CLIs write it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synapse.watch.limits import limited_until
from synapse.watch.screen.errors import DetectedError

NOW = datetime(2026, 11, 17, 14, 30, tzinfo=UTC).timestamp()


def until(text: str, code: str = "USAGE_LIMIT", retry_after: float | None = None) -> str | None:
    error = DetectedError(code, text, True, retry_after).to_a2a_error()
    found = limited_until(error, NOW, UTC)
    return None if found is None else f"{datetime.fromtimestamp(found, UTC):%m-%d %H:%M}"


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("Claude AI usage limit reached|1794938400", "11-17 18:00"),
        ("You've hit your limit · resets 7pm (Europe/Berlin)", "11-17 18:00"),
        ("Your limit will reset at 3pm (UTC).", "11-17 15:00"),
        ("5-hour limit reached ∙ resets 2:15am", "11-18 02:15"),
        ("You've hit your usage limit. Try again at 4:05 PM.", "11-17 16:05"),
        ("You've hit your usage limit. Try again at Nov 20th, 2026 3:04 PM.", "11-20 15:04"),
        ("Weekly limit reached, resets Nov 19 at 9am", "11-19 09:00"),
    ],
)
def test_a_time_that_is_told(text: str, at: str) -> None:
    assert until(text) == at


def test_a_span_counts_from_now() -> None:
    assert until("try again in 2 hours", retry_after=7200.0) == "11-17 16:30"


@pytest.mark.parametrize(
    "text",
    [
        "You have reached your usage limit.",
        "try again 3",
        "resets at 99:99pm",
        "resets Feb 31 at 3pm",
        "limit|1",
    ],
)
def test_no_time_is_no_guess(text: str) -> None:
    assert until(text) is None


def test_other_errors_are_no_limit() -> None:
    assert until("overloaded, try again at 4:05 PM", code="OVERLOADED") is None
    assert limited_until(None, NOW) is None


@given(st.text())
def test_any_text_gives_a_time_in_the_future_or_none(text: str) -> None:
    error = {"code": "USAGE_LIMIT", "message": f"resets {text}"}
    found = limited_until(error, NOW, UTC)
    assert found is None or found > NOW
