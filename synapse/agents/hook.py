"""The hook program: hands one event of an agent CLI to its host, and gets out of the way.

Run as a file by the CLI itself, so it stands alone: standard library, no import of ours, started with -I -S.
It prints nothing, always succeeds, and gives up after a moment when nobody listens.

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
        pass  # the host is gone, or hangs: no reason to trouble the CLI
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
        pass  # a notify program of the user's that is not there, a closed standard input
    os._exit(0)
