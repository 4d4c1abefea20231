"""What a command prints: JSON, or lines of text. Nothing in it drives the terminal, whoever wrote it."""

from __future__ import annotations

import sys
import time

from synapse.base.text import for_json, for_output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class Painted(str):
    """Text of a `Page`: it has been made safe, and then got its colours."""


def say(text: object, *, end: str = "\n", error: bool = False, flush: bool = False) -> None:
    """Print on standard output, or on standard error. All commands print with this function."""
    safe = text if isinstance(text, Painted) else for_output(str(text))
    print(safe, end=end, file=sys.stderr if error else sys.stdout, flush=flush)


def print_json(document: object) -> None:
    import json  # 7 ms, and most commands print text

    print(for_json(json.dumps(document, ensure_ascii=False, indent=2)))


def show(as_json: bool, document: object, lines: Iterable[str]) -> int:
    """Print the document, or the lines if JSON is not wanted. Returns the exit status of success."""
    if as_json:
        print_json(document)
    else:
        for line in lines:
            say(line)
    return 0


def age(at: float) -> str:
    """How long ago that was: `3s`, `2m`, `5h`, `4d`."""
    seconds = max(time.time() - at, 0)
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f}{unit}"
    return f"{seconds:.0f}s"
