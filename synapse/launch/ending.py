"""The end of an agent: its host ends every task and sends what it owes; only then id and port are free.

The human does not wait for that: a fork of the relay does.
"""

from __future__ import annotations

import os

from synapse.base import checkpoints
from synapse.launch.claim import Claim

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal

    from synapse.relay.link import HostLink
else:
    import _signal as signal


def end(link: HostLink, agent: Claim) -> None:
    """Wait for the host, 5 seconds at most, and release the claim. A host that is stuck is killed."""
    from synapse.relay.link import DRAIN_TIMEOUT

    try:
        link.say_goodbye()
        link.wait_drained(DRAIN_TIMEOUT)
        if link.ready:
            link.end_host()  # before the claim is released: it has the port
    finally:
        agent.release()
    link.end_host()


def end_in_background(link: HostLink, agent: Claim) -> None:
    """The same in a process of its own, which has the lock, the sockets and nothing of the terminal."""
    if link.socket is None:
        agent.release()
        return
    if os.fork():
        return
    try:
        _leave_terminal({link.socket.fileno(), *agent.descriptors(), *checkpoints.descriptors()})
        end(link, agent)
    finally:
        os._exit(0)


def _leave_terminal(kept: set[int]) -> None:
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGTSTP):
        signal.signal(number, signal.SIG_IGN)
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    low = 3
    for fd in sorted(kept):
        os.closerange(low, fd)
        low = fd + 1
    os.closerange(low, 65536)
