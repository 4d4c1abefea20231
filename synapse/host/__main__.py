"""The relay starts this: `python -m synapse.host` with the descriptors of four sockets and a FIFO, and in a
test that of the directory of its checkpoints."""

import os
import signal
import socket
import sys

import uvloop

from synapse.base import checkpoints
from synapse.base.processes import use_one_heap
from synapse.host.host import Host
from synapse.host.listeners import Sockets


def main() -> None:
    use_one_heap()
    umask = os.umask(0o077)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    *fds, requests = (int(argument) for argument in sys.argv[1:6])
    for fd in (*fds, requests):
        os.set_inheritable(fd, False)
    for fd in map(int, sys.argv[6:]):
        checkpoints.report_to(fd)
    uvloop.run(_run(fds, requests, umask))
    os._exit(0)  # everything is closed; a regular exit takes as long as the start


async def _run(fds: list[int], requests: int, umask: int) -> None:
    relay, tcp, control, events = (socket.socket(fileno=fd) for fd in fds)
    sockets = Sockets(relay, tcp, control, events, requests)
    sockets.relay.setblocking(False)
    await Host(sockets, umask).run()


if __name__ == "__main__":
    main()
