"""Reports what this agent does, as any agent can: one JSON object a line, to $SYNAPSE_EVENTS."""

import json
import os
import socket

_PATIENCE = 0.5


class Reporter:
    """Does nothing without a listener."""

    def __init__(self, mute: bool) -> None:
        self._path = "" if mute else os.environ.get("SYNAPSE_EVENTS", "")
        self._socket: socket.socket | None = None
        self._said: list[str] = []

    def state(self, state: str) -> None:
        self._tell(event="state", state=state)

    def started(self, prompt: str) -> None:
        self._said = []
        self._tell(event="turn_started", prompt=prompt)

    def said(self, text: str) -> None:
        self._said.append(text)
        self._tell(event="said", text="".join(self._said), key="1")

    def changed(self, path: str) -> None:
        self._tell(event="file_changed", path=path)

    def used(self, read: int, written: int) -> None:
        self._tell(event="usage", input_tokens=read, output_tokens=written)

    def ended(self, outcome: str) -> None:
        reply = {"reply": "".join(self._said)} if outcome == "completed" else {}
        self._tell(event="turn_ended", outcome=outcome, **reply)

    def _tell(self, **event: str | int) -> None:
        if not self._path:
            return
        line = json.dumps(event).encode() + b"\n"
        for _ in range(2):  # the second time for a listener that was replaced
            try:
                self._connection().sendall(line)
                return
            except OSError:
                if self._socket is not None:
                    self._socket.close()
                    self._socket = None

    def _connection(self) -> socket.socket:
        if self._socket is None:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._socket.settimeout(_PATIENCE)
            self._socket.connect(self._path)
            self._socket.sendall(b"events\n")
        return self._socket
