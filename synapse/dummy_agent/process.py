"""Steps about the process itself: its environment, and how it ends."""

import os
import signal
import sys

from synapse.dummy_agent.steps import Crash, Die, Exit, Fact

QUIT_WITHIN = 1.0  # seconds between the two Ctrl-C that quit an idle agent


class Interrupted(Exception):
    """ESC or Ctrl-C while an answer is running."""


class Leave(Exception):
    """Ends the process with this status, after the terminal was restored."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def fact(step: Fact) -> str:
    if step.name == "env":
        return os.environ.get(step.argument, f"{step.argument} is not set")
    if step.name == "pid":
        return str(os.getpid())
    if step.name == "cwd":
        return os.getcwd()
    if step.name == "args":
        import json  # 4 ms that no other directive needs

        return json.dumps(sys.argv[1:], ensure_ascii=False)
    try:
        columns, rows = os.get_terminal_size(1)
    except OSError:
        return "0x0"
    return f"{columns}x{rows}"


def end(step: Exit | Crash | Die) -> None:
    if isinstance(step, Exit):
        raise Leave(step.status)
    if isinstance(step, Crash):
        raise RuntimeError(step.message)
    try:
        signal.signal(step.signal, signal.SIG_DFL)
    except (OSError, ValueError):
        pass  # KILL and STOP have no handler to take away
    os.kill(os.getpid(), step.signal)
