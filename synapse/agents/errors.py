"""An error in an event of a CLI: plain data. `watch/screen/errors.py` gives it a code."""

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class ReportedError:
    text: str
    ends: bool = False  # the CLI ends the turn by it
    name: object = None  # in the CLI or its API
    status: object = None  # of HTTP
    wait_ms: object = None  # until the next attempt
    known: bool = False  # an error even if its text is unknown
    means: str = ""  # the code of `name`, if it is a name of this CLI and not of an API


def reported_error(event: Mapping[str, object]) -> ReportedError | None:
    """An event whose `type` is an error, as most programs write it."""
    kind = str(event.get("type", ""))
    if not re.search(r"(?:^|[._])(?:error|failed)$", kind):
        return None
    text = text_in(event.get("message")) or text_in(event.get("content")) or text_in(event.get("error"))
    return ReportedError(text, ends=kind == "error")


def text_in(value: object) -> str:
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
