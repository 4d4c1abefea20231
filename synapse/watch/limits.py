"""When an agent's CLI can be used again: the end of a usage or rate limit, from what it says about it."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

CODES = ("USAGE_LIMIT", "RATE_LIMIT")
LONGEST = 40 * 86400.0  # seconds: a later time was misread

_EPOCH = re.compile(r"\|(\d{10})(?:\d{3})?\b")
_TIME = re.compile(
    r"(?:resets?|again|available|until)\b(?:\s+(?:at|on|after))?\s+"
    r"(?:(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+(?P<day>\d{1,2})(?:st|nd|rd|th)?"
    r"(?:,?\s+(?P<year>\d{4}))?(?:,|\s+at)?\s+)?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?\s*(?P<half>[ap])?\.?m?\b\.?"
    r"(?:\s*\(?(?P<zone>UTC|GMT|[A-Z][A-Za-z]+/[A-Za-z_+\-/]+)\)?)?",
    re.IGNORECASE,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def limited_until(error: Mapping[str, Any] | None, now: float, local: tzinfo | None = None) -> float | None:
    """The time at which the limit of a failed turn ends, if its error is a limit and says when.

    `now` is the wall clock; a time of the day without a zone is in the zone `local`, by default that of this
    machine."""
    if error is None or error.get("code") not in CODES:
        return None
    data = error.get("data")
    after = data.get("retry_after") if isinstance(data, Mapping) else None
    if isinstance(after, int | float) and not isinstance(after, bool):
        return _sane(now + after, now)
    return _sane(_told(str(error.get("message") or ""), now, local), now)


def _told(text: str, now: float, local: tzinfo | None) -> float | None:
    if found := _EPOCH.search(text):
        return float(found[1])
    found = _TIME.search(text)
    if found is None or (found["half"] is None and found["minute"] is None):
        return None  # a number alone is no time
    hour, minute = int(found["hour"]), int(found["minute"] or 0)
    if found["half"]:
        hour = hour % 12 + (12 if found["half"].lower() == "p" else 0)
    here = datetime.fromtimestamp(now, _zone(found["zone"]) or local).astimezone(
        _zone(found["zone"]) or local
    )
    try:
        at = here.replace(hour=hour, minute=minute, second=0, microsecond=0)
        if found["month"]:
            month = _MONTHS.index(found["month"].lower()[:3]) + 1
            at = at.replace(year=int(found["year"] or here.year), month=month, day=int(found["day"]))
    except ValueError:
        return None
    if at <= here:
        at = at.replace(year=at.year + 1) if found["month"] and not found["year"] else at + timedelta(days=1)
    return at.timestamp()


def _zone(name: str | None) -> tzinfo | None:
    if not name:
        return None
    if name.upper() in ("UTC", "GMT"):
        return UTC
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError  # only here: seldom needed

    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def _sane(at: float | None, now: float) -> float | None:
    return at if at is not None and now < at <= now + LONGEST else None
