"""The relay starts this: `python -m synapse.host` with the descriptors of four sockets."""

import os
import signal
import socket
import sys

import uvloop

from synapse.host.host import Host
from synapse.host.listeners import Sockets


def main() -> None:
    umask = os.umask(0o077)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    fds = [int(argument) for argument in sys.argv[1:5]]
    for fd in fds:
        os.set_inheritable(fd, False)
    uvloop.run(_run(fds, umask))
    os._exit(0)  # everything is closed; a regular exit takes as long as the start


async def _run(fds: list[int], umask: int) -> None:
    sockets = Sockets(*(socket.socket(fileno=fd) for fd in fds))
    sockets.relay.setblocking(False)
    await Host(sockets, umask).run()


if __name__ == "__main__":
    main()
