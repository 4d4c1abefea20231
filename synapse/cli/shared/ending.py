"""Commands that start other programs stop them when they are ended themselves."""

import signal
from types import FrameType

ENDS = (signal.SIGHUP, signal.SIGTERM)  # the window was closed, or the command is to end


def clean_up_when_ended() -> None:
    """Let these signals end the command as an error does: `finally` and `with` blocks run."""
    for number in ENDS:
        signal.signal(number, _end)


def _end(number: int, frame: FrameType | None) -> None:
    for each in ENDS:
        signal.signal(each, signal.SIG_IGN)
    raise SystemExit(128 + number)
