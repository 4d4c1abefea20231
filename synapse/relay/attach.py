"""Attaching a terminal to a background agent, both ends.

The client hands over its terminal as file descriptors and then only waits: the relay drives the real
terminal, as it does when the agent was started in it. One JSON object a line goes each way.

client to relay   {"op": "attach", "paths": […]} with two descriptors; {"op": "resized"}; {"op": "continued"}
relay to client   {"event": "attached" | "refused" | "detached" | "stopped" | "exited", …}
"""

import json
import os
import socket
import struct
import sys
import termios

from synapse.relay.console import Console

MESSAGE_LIMIT = 4096


def peer_is_us(connection: socket.socket) -> bool:
    if sys.platform != "linux":
        return True  # the directory is 0700
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, uid, _ = struct.unpack("3i", credentials)
    return bool(uid == os.getuid())


class Client:
    """One connection, seen from the relay."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self.connection = connection
        self.fds: list[int] = []
        self._buffer = b""

    def receive(self) -> list[dict[str, object]] | None:
        """Whole messages, or None when the client is gone or sends something invalid."""
        try:
            data, fds, _, _ = socket.recv_fds(self.connection, MESSAGE_LIMIT, 2)
        except BlockingIOError:
            return []
        except OSError:
            return None
        self.fds += fds
        for fd in fds:
            os.set_inheritable(fd, False)
        self._buffer += data
        if not data or len(self._buffer) > MESSAGE_LIMIT:
            return None
        *lines, self._buffer = self._buffer.split(b"\n")
        try:
            messages = [json.loads(line) for line in lines]
        except ValueError:
            return None
        return messages if all(isinstance(m, dict) for m in messages) else None

    def tell(self, event: str, **more: object) -> None:
        try:
            self.connection.send(json.dumps({"event": event, **more}).encode() + b"\n")
        except OSError:
            pass  # gone: the read side reports it

    def take_console(self, message: dict[str, object]) -> Console:
        """The terminal that came with an attach message. ValueError or OSError if none did."""
        paths = message.get("paths")
        in_path, out_path = paths if isinstance(paths, list) else ("", "")
        fds, self.fds = self.fds, []
        try:
            in_fd, out_fd = fds
            return Console(in_fd, out_fd, (str(in_path), str(out_path)))
        except (ValueError, OSError, termios.error) as error:
            for fd in fds:
                os.close(fd)
            raise ValueError(str(error)) from error

    def close(self) -> None:
        while self.fds:
            os.close(self.fds.pop())
        self.connection.close()
