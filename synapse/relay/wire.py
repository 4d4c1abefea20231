"""The frames between relay and host: one byte of kind, four of length, then the payload."""

from __future__ import annotations

import struct

from synapse.base import jsontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Iterator, Sequence
else:
    import _signal as signal

_HEADER = struct.Struct("!BI")

# relay to host
HELLO = 1  # JSON: who the agent is, and what a host that outlives the relay must know
OUTPUT = 2  # what the agent wrote
RESIZE = 3  # columns and rows, two unsigned shorts
CONSOLE = 4  # JSON: the human's terminal that is there now, or null
SNAPSHOT_WANTED = 5  # the screen as it is at this position of the stream
EXIT = 6  # JSON: the agent's exit status
PING = 7
KEYS = 8  # a human has typed: what was typed (keys/typed.py), how often in all, the draft, the submitted line
INJECTED = 9  # JSON: the id of an injection and its outcome
COMMAND = 10  # JSON: a line for another agent: id, name, message, wait, priority, timeout, line (outbox.py)
REFUSED = 11  # JSON: a line that was meant for another agent and cannot be sent: name, reason, line
RESUMED = (
    18  # JSON: how often the terminal got other lines than the model: of the shell, or Ctrl-C cut some off
)
PLACE = 12  # JSON: row and column of the human's cursor, and the bytes of output written before that
OVERLAID = 15  # JSON: the id of a drawing and its outcome
OVERLAY_KEYS = 16  # a human's keys, while the overlay has the focus
OVERLAY_FOCUS = 17  # JSON: whether the overlay has it now

# host to relay
READY = 20  # the server answers
TYPE = 21  # bytes for the agent's terminal
SNAPSHOT = 22  # bytes that redraw the screen
PONG = 23
STOP = 24  # end the agent
INJECT = 25  # JSON: what to type between the keys of a human, or "stop": not the rest of it (injector.py)
NAMES = 26  # JSON: "names" that can be written to, and what the settings say of input routing
COMMAND_TAKEN = 27  # JSON: the "id" of a command that is stored; "kept": why it is not, the line stays; or
# "refused": the line goes to the agent
COMPOSER = 28  # JSON: "state" and "text": what the screen shows in the composer; "after_key": after how many
# keys of a human; "ruled": the program's composer is known, so that "state" tells whether it is there;
# "vim": the "mode" of its vim keys, and whether normal mode "stays" on after Enter
DRAINED = 29  # after EXIT: every task has ended, what was owed is sent or stored, everything is closed
OVERLAY = 35  # a drawing over the human's terminal (overlay_layer.py)
WHERE = 37  # asks where the cursor of the human's terminal is
OVERLAY_STATE = 36  # JSON: "focus": it may keep the focus, or "used" so many bytes of the keys it was given

SYNCHRONISED_BEGIN, SYNCHRONISED_END = b"\x1b[?2026h", b"\x1b[?2026l"
SHOWN, STALE, BUSY, NOBODY = "shown", "stale", "busy", "nobody"  # outcomes of a drawing
# Outcomes of an injection; BUSY is another one.
DONE, NEW_KEYS, NEW_OUTPUT, SUSPENDED, STUCK = "done", "keys", "output", "suspended", "stuck"
ELSEWHERE = "another program has the terminal"
STOPPED = "the screen changed before Enter was pressed"  # the host has stopped it
DRAFT_LIMIT = 16_000  # characters of a draft that are sent to the host with every key
GOODBYE = signal.SIGUSR1  # tells a host that did not read the last frames that the agent has ended

_OVERLAY = struct.Struct("!II")
_SIZE = struct.Struct("!HH")
_KEYS = struct.Struct("!BIB")
_LENGTH = struct.Struct("!I")
_EMPTY, _TOLD, _LINE = 1, 2, 4  # the composer is empty; what is in it follows; before it, what was submitted


def pack(kind: int, payload: bytes = b"") -> bytes:
    return header(kind, len(payload)) + payload


def header(kind: int, length: int) -> bytes:
    return _HEADER.pack(kind, length)


def pack_json(kind: int, value: object) -> bytes:
    return pack(kind, jsontext.dumps(value).encode())


def pack_size(cols: int, rows: int) -> bytes:
    return pack(RESIZE, _SIZE.pack(cols, rows))


def unpack_size(payload: bytes) -> tuple[int, int]:
    cols, rows = _SIZE.unpack(payload)
    return cols, rows


def pack_keys(what: int, count: int, empty: bool, draft: str | None, line: str | None = None) -> bytes:
    flags = (_EMPTY if empty else 0) | (_TOLD if draft is not None else 0)
    text = (draft or "").encode("utf-8", "replace")
    if line is not None:
        flags |= _LINE
        submitted = line.encode("utf-8", "replace")
        text = _LENGTH.pack(len(submitted)) + submitted + text
    return pack(KEYS, _KEYS.pack(what, count & 0xFFFFFFFF, flags) + text)


def unpack_keys(payload: bytes) -> tuple[int, int, bool, str | None, str | None]:
    what, count, flags = _KEYS.unpack_from(payload)
    at, line = _KEYS.size, None
    if flags & _LINE:
        (length,) = _LENGTH.unpack_from(payload, at)
        at += _LENGTH.size + length
        line = payload[at - length : at].decode()
    draft = payload[at:].decode() if flags & _TOLD else None
    return what, count, bool(flags & _EMPTY), draft, line


def pack_overlay(header: dict[str, int], draw: bytes = b"", erase: bytes = b"") -> bytes:
    """`header`: "id"; "at", "cols", "rows", what it is made for; "over", what it wholly covers; "sync";
    "aside": for the alternate screen, which the agent does not use."""
    head = jsontext.dumps(header).encode()
    return pack(OVERLAY, _OVERLAY.pack(len(head), len(draw)) + head + draw + erase)


def unpack_overlay(payload: bytes) -> tuple[dict[str, int], bytes, bytes]:
    head, draw = _OVERLAY.unpack_from(payload)
    start = _OVERLAY.size + head
    header = jsontext.loads(payload[_OVERLAY.size : start].decode())
    return header, payload[start : start + draw], payload[start + draw :]


class Unpacker:
    """Bytes in, in any pieces; whole frames out."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        self._buffer += data
        start = 0
        view = memoryview(self._buffer)
        frames = []
        while len(view) - start >= _HEADER.size:
            kind, length = _HEADER.unpack_from(view, start)
            end = start + _HEADER.size + length
            if end > len(view):
                break
            frames.append((kind, bytes(view[start + _HEADER.size : end])))
            start = end
        view.release()
        del self._buffer[:start]
        return frames


def joined(frames: Sequence[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """Output in one piece, but cut where something may be drawn before an end of synchronised output, and
    after whole frames."""
    output: list[bytes] = []
    last = len(frames) - 1
    for number, (kind, payload) in enumerate(frames):
        is_cut = payload.startswith(SYNCHRONISED_END) and (number < last or payload != SYNCHRONISED_END)
        if output and output[-1].endswith(SYNCHRONISED_END) and not payload.endswith(SYNCHRONISED_END):
            is_cut = True
        if output and (kind != OUTPUT or is_cut):
            yield OUTPUT, b"".join(output)
            output = []
        if kind == OUTPUT:
            output.append(payload)
        else:
            yield kind, payload
    if output:
        yield OUTPUT, b"".join(output)
