"""Commands that start other programs stop them when they are ended themselves."""

import signal
from types import FrameType

ENDS = (signal.SIGHUP, signal.SIGTERM)  # the window was closed, or the command is to end

_asked: BaseException | None = None  # what the last of these signals, or Ctrl-C, has raised


def clean_up_when_ended() -> None:
    """Let these signals end the command as an error does: `finally` and `with` blocks run."""
    global _asked
    _asked = None
    for number in ENDS:
        signal.signal(number, _end)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else the parent ignores it
        signal.signal(signal.SIGINT, _interrupt)


def end_if_asked() -> None:
    """To be called now and then: what a signal raises while a process is started is lost in Python."""
    if _asked is not None:
        raise _asked


def _end(number: int, frame: FrameType | None) -> None:
    for each in ENDS:
        signal.signal(each, signal.SIG_IGN)
    _raise(SystemExit(128 + number))


def _interrupt(number: int, frame: FrameType | None) -> None:
    _raise(KeyboardInterrupt())


def _raise(error: BaseException) -> None:
    global _asked
    _asked = error
    raise error
