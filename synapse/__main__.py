"""The way into every command, by `python -m synapse` and by scripts/.

Python alone takes 20 ms to load one. Ctrl-C in that time ends it without a word, as it does later.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
    from typing import NoReturn
else:
    import _signal as signal  # `signal` itself would bring `enum`: 5 ms of every start


def _leave(*_: object) -> None:
    os._exit(130)


_catches = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # else whoever started us ignores it
if _catches:
    signal.signal(signal.SIGINT, _leave)


def main() -> "NoReturn":
    from synapse.cli import main as cli

    _run(cli.main)


def main_send() -> "NoReturn":
    from synapse.cli import main as cli

    _run(cli.main_send)


def main_shell() -> "NoReturn":
    from synapse.cli import main as cli

    _run(cli.main_shell)


def _run(command: "Callable[[], int]") -> "NoReturn":
    try:
        if _catches:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        status = command()
        if _catches:
            signal.signal(signal.SIGINT, _leave)
    except KeyboardInterrupt:
        status = 130
    raise SystemExit(status)


if __name__ == "__main__":
    main()
