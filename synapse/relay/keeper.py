"""The leader of the agent's session: a fork of the relay that does nothing but wait.

Without it the agent itself would lead the session and its process group would be orphaned. The kernel
discards the stop signal of Ctrl-Z for an orphaned group, so vim and less would ignore it. When the relay is
killed, the keeper ends everything in the session, background jobs included.

To the relay it looks like the agent: it stops when the agent stops and exits as the agent exits.
"""

import os
import sys

from synapse.base import processes

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal  # `signal` itself would bring `enum`: 5 ms of every start

_PR_SET_PDEATHSIG = 1
_RELAY_IS_GONE = signal.SIGPWR if sys.platform == "linux" else signal.SIGIO
_PASSED_ON = (signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


def keep(agent: int) -> None:
    """Wait for the agent and end as it does. Never returns."""
    os.closerange(3, 65536)  # the registry's lock above all: it must be the relay's alone
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU):
        signal.signal(number, signal.SIG_IGN)
    for number in _PASSED_ON:
        signal.signal(number, lambda number, _: processes.signal_all([agent], number))
    signal.signal(_RELAY_IS_GONE, lambda *_: _end_everything())
    signal_at_parents_death(_RELAY_IS_GONE)
    while True:
        _, status = os.waitpid(agent, os.WUNTRACED)
        if os.WIFSTOPPED(status):
            os.kill(os.getpid(), signal.SIGSTOP)
        else:
            _end_as(status)


def signal_at_parents_death(number: int) -> None:
    """Let the kernel send this signal when the parent ends, however it ends (Linux only)."""
    if sys.platform == "linux":
        import _ctypes  # `ctypes` itself would cost every start 3 ms more

        prctl = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")  # type: ignore[arg-type]
        _ctypes.call_function(prctl, (_PR_SET_PDEATHSIG, int(number), 0, 0, 0))


def _end_everything() -> None:
    for _ in range(100):
        others = [pid for pid in processes.session_members(os.getpid()) if pid != os.getpid()]
        if not others:
            break
        processes.signal_all(others, signal.SIGKILL)
    os._exit(0)


def _end_as(status: int) -> None:
    if os.WIFSIGNALED(status):
        import resource

        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the agent has dumped its own
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
