"""The key that closes the panel is its last one: what is typed after it is the agent's, all of it."""

from __future__ import annotations

import pytest

from synapse.messages.panel_keys import KeyReader
from tests.support.overlay_world import World, sent


@pytest.mark.parametrize(
    "close", [b"q", b"\x1b[27u", b"\x03", b"jjjq", b"\x1b[A\x1b[Bq", "漢q".encode(), b"i"]
)
@pytest.mark.parametrize(
    "rest", [b"hello", "漢字\r".encode(), b"\x1b[200~a\rb\x1b[201~c", b"\x1b[A", b"qq", b""]
)
@pytest.mark.parametrize("cut", [False, True])
def test_no_key_is_lost(close: bytes, rest: bytes, cut: bool) -> None:
    world = World()
    world.output(b"$ agent\r\n" * 10)
    sent(world)
    world.inbox.reply("1", "done")
    world.display.changed()
    world.pass_time(0.3)
    world.type(b"\x1do")
    world.pass_time(0.3)
    assert world.inbox.focused
    if cut:
        for piece in (close, *(bytes([b]) for b in rest)):
            world.type(piece)  # before the host has seen any of it
    else:
        world.type(close + rest)
    world.pass_time(0.3)
    assert not world.inbox.focused and not world.layer.focused
    assert world.agent == rest
    world.type(b"more")
    assert world.agent == rest + b"more"


def test_what_comes_after_each_key_is_counted() -> None:
    reader = KeyReader()
    assert reader.feed("é\x1b[Ab".encode()) == ["é", "Up", "b"] and reader.left == [4, 1, 0]
    assert reader.feed(b"a\x1b[200~xy\x1b[201~b") == ["a", "paste:xy", "b"] and reader.left == [15, 1, 0]
