"""The hook program: sends one event of an agent CLI to its host.

The CLI runs it as a file with -I -S, so it imports only the standard library. It prints nothing, always
succeeds, and gives up after half a second if the host does not listen.

    hook.py NAME                        the event is JSON on standard input
    hook.py NAME [PROGRAM ARGS…] EVENT  the event is the last argument; PROGRAM is the user's own
"""

import os
import sys

_PATIENCE = 0.5


def _hand_over(kind: str, event: bytes) -> None:
    import _socket  # `socket` itself costs 10 ms of enums

    path = os.environ.get("SYNAPSE_EVENTS")
    if not path:
        return
    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        sock.settimeout(_PATIENCE)
        sock.connect(path)
        sock.sendall(kind.encode() + b"\n" + event)
    except OSError:
        pass  # the host is gone or hangs: the CLI must not notice
    finally:
        sock.close()


def main() -> None:
    kind, rest = sys.argv[1], sys.argv[2:]
    if rest:
        event = rest.pop()
        _hand_over(kind, event.encode("utf-8", "surrogateescape"))
        if rest:
            os.execvp(rest[0], [*rest, event])
    else:
        _hand_over(kind, sys.stdin.buffer.read())


if __name__ == "__main__":
    try:
        main()
    except (OSError, IndexError):
        pass  # the user's notify program does not exist, or standard input is closed
    os._exit(0)
