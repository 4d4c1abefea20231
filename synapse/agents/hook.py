"""The hook program: sends one event of an agent CLI to its host.

The CLI runs it as a file with -I -S, so it imports only the standard library. It prints nothing, always
succeeds, and gives up after half a second if the host does not listen. The host takes events only from the
agent's processes, so this one stays until the host has seen it, and writes a byte to say so.

    hook.py NAME [--socket=PATH]        the event is JSON on standard input
    hook.py NAME [PROGRAM ARGS…] EVENT  the event is the last argument; PROGRAM is the user's own

A CLI that continues a conversation in a server in the background gives its hooks the environment of that
server, and SYNAPSE_EVENTS there may be another agent's: hence --socket.
"""

import os
import sys
import time

_PATIENCE = 0.5  # seconds in all
_SOCKET = "--socket="


def _hand_over(kind: str, event: bytes, path: str = "") -> None:
    import _socket  # `socket` itself costs 10 ms of enums

    path = path or os.environ.get("SYNAPSE_EVENTS", "")
    if not path:
        return
    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    deadline = time.monotonic() + _PATIENCE
    try:
        sock.settimeout(_PATIENCE)
        sock.connect(path)
        sock.settimeout(_left(deadline))
        sock.sendall(kind.encode() + b"\n" + event)
        sock.settimeout(_left(deadline))
        sock.recv(1)
    except OSError:
        pass  # the host is gone or hangs: the CLI must not notice
    finally:
        sock.close()


def _left(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.001)  # 0 would mean not to wait at all


def main() -> None:
    kind, rest = sys.argv[1], sys.argv[2:]
    path = rest.pop(0)[len(_SOCKET) :] if rest and rest[0].startswith(_SOCKET) else ""
    if rest:
        event = rest.pop()
        _hand_over(kind, event.encode("utf-8", "surrogateescape"))
        if rest:
            os.execvp(rest[0], [*rest, event])
    else:
        _hand_over(kind, sys.stdin.buffer.read(), path)


if __name__ == "__main__":
    try:
        main()
    except (OSError, IndexError):
        pass  # the user's notify program does not exist, or standard input is closed
    os._exit(0)
