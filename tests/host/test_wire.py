"""The host's end of the socket to its relay."""

from __future__ import annotations

from typing import Any

import pytest

from synapse.host.wire import RelayWire
from synapse.relay import wire


class Met:
    def __init__(self) -> None:
        self.hello: list[Any] = []
        self.frames: list[tuple[int, bytes]] = []
        self.ends = 0
        self.wire = RelayWire(self._meet, self._ended)

    def _meet(self, hello: dict[str, Any], relay: RelayWire) -> Any:
        self.hello.append(hello)
        return lambda kind, payload: self.frames.append((kind, payload))

    def _ended(self) -> None:
        self.ends += 1


def test_the_hello_comes_first_and_frames_that_came_with_it_are_taken_after_it() -> None:
    met = Met()
    data = wire.pack_json(wire.HELLO, {"name": "a"}) + wire.pack(wire.OUTPUT, b"x") + wire.pack(wire.PING)
    met.wire.data_received(data[:9])
    assert met.hello == []
    met.wire.data_received(data[9:])
    assert met.hello == [{"name": "a"}] and met.frames == [(wire.OUTPUT, b"x"), (wire.PING, b"")]


def test_another_first_frame_is_an_error() -> None:
    with pytest.raises(ValueError, match="not a hello"):
        Met().wire.data_received(wire.pack(wire.PING))


def test_output_that_comes_together_is_one_piece() -> None:
    met = Met()
    met.wire.data_received(wire.pack_json(wire.HELLO, {}))
    met.wire.data_received(wire.pack(wire.OUTPUT, b"x" * 1000) * 66)
    assert met.frames == [(wire.OUTPUT, b"x" * 66_000)]


def test_the_end_is_told_once() -> None:
    met = Met()
    met.wire.eof_received()
    met.wire.connection_lost(None)
    assert met.ends == 1
    met.wire.send(b"nobody reads this")
