"""Requests through a FIFO: what is written, how it is read, and what a command says when nobody answers."""

from __future__ import annotations

import fcntl
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synapse.errors import SynapseError
from synapse.peers import fifo
from synapse.peers.fifo import CHUNK, Request, Unpacker, Way, pack

IDS = [bytes([number]) * 16 for number in range(1, 6)]


@given(
    bodies=st.lists(st.binary(min_size=1, max_size=3 * CHUNK), min_size=1, max_size=5),
    garbage=st.lists(st.one_of(st.binary(max_size=50), st.just(fifo._MAGIC)), min_size=16, max_size=16),
    cut=st.integers(1, 2 * CHUNK),
    seed=st.integers(),
)
def test_requests_of_several_writers_are_found_between_any_bytes(
    bodies: list[bytes], garbage: list[bytes], cut: int, seed: int
) -> None:
    chunks = [chunk for name, body in zip(IDS, bodies, strict=False) for chunk in pack(name, body)]
    random.Random(seed).shuffle(chunks)
    stream = b"".join(junk + chunk for junk, chunk in zip(garbage * 2, chunks, strict=False))
    unpacker = Unpacker()
    found = [each for at in range(0, len(stream), cut) for each in unpacker.feed(stream[at : at + cut])]
    assert sorted(found) == sorted((name.hex(), body) for name, body in zip(IDS, bodies, strict=False))


def test_a_chunk_is_never_longer_than_what_the_kernel_writes_in_one_piece() -> None:
    assert {len(chunk) for chunk in pack(IDS[0], b"x" * 100_000)} == {CHUNK}


def test_a_chunk_that_was_changed_is_skipped() -> None:
    chunk = pack(IDS[0], b"hello")[0]
    changed = chunk[:60] + b"!" + chunk[61:]
    assert Unpacker().feed(changed + chunk) == [(IDS[0].hex(), b"hello")]


def test_the_rest_of_a_request_that_never_comes_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fifo, "KEPT_PENDING", 3 * CHUNK)
    unpacker = Unpacker()
    for number in range(1000):
        assert unpacker.feed(pack(number.to_bytes(16, "big"), b"x" * 2 * CHUNK)[0]) == []
    assert unpacker._size <= 3 * CHUNK and len(unpacker._pending) <= 3
    assert unpacker.feed(pack(IDS[0], b"hello")[0]) == [(IDS[0].hex(), b"hello")]


class Place:
    """A FIFO and a directory of replies, with the test in place of the host."""

    def __init__(self, folder: Path) -> None:
        self.way = Way("a", str(folder / "x.requests"))
        os.mkfifo(self.way.fifo)
        os.mkdir(self.way.replies)
        self.fd = os.open(self.way.fifo, os.O_RDWR | os.O_NONBLOCK)
        self.unpacker = Unpacker()

    def received(self) -> list[str]:
        return [name for name, _ in self.unpacker.feed(os.read(self.fd, 1 << 16))]

    def reply(self, name: str, text: bytes, end: str = "") -> int:
        """Write a part of a reply; closing what is returned ends it."""
        fd = os.open(os.path.join(self.way.replies, name + end), os.O_WRONLY | os.O_CREAT)
        fcntl.flock(fd, fcntl.LOCK_EX)
        os.write(fd, text)
        return fd


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    os.close(made.fd)


def test_a_reply_is_read_as_it_grows_and_removed(place: Place) -> None:
    request = Request(place.way, "b", "GET", "/status")
    assert request.step() is None
    [name] = place.received()
    fd = place.reply(name, b"one")
    assert request.step() == b"one" and request.step() is None
    os.write(fd, b"two")
    assert request.step() == b"two" and request.step() is None
    os.close(fd)
    assert [request.step(), request.step()] == [None, b""]
    request.close()
    assert os.listdir(place.way.replies) == []


def test_a_request_that_nobody_took_is_written_again_under_the_same_id(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fifo, "AGAIN", 0.0)
    request = Request(place.way, "b", "GET", "/status")
    request.step()
    request.step()
    first, *more = place.received()
    assert more and set(more) == {first}
    os.close(place.reply(first, b"x"))
    assert request.step() == b"x"
    while request.step() != b"":
        pass
    request.close()
    assert os.listdir(place.way.replies) == [first]  # it tells the host that this was done


def test_a_request_without_a_reply_ends_with_a_sentence(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fifo, "NO_REPLY", -1.0)
    request = Request(place.way, "b", "GET", "/status")
    with pytest.raises(SynapseError, match=r"has not replied within .* `synapse tasks` shows whether"):
        request.step()
    request.close()


def test_a_reply_that_could_not_be_written_says_so(place: Place) -> None:
    request = Request(place.way, "b", "GET", "/status")
    request.step()
    [name] = place.received()
    os.close(place.reply(name, b"", fifo.FAILED))
    with pytest.raises(SynapseError, match="make room on that disk"):
        request.step()
    request.close()


def test_a_fifo_that_nobody_reads_fills_and_that_is_said(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fifo, "FULL", -1.0)
    request = Request(place.way, "b", "POST", "/tasks/send", {"message": "x" * 200_000})
    with pytest.raises(SynapseError, match=r"is full\): nothing was sent"):
        request.step()
    request.close()


def test_a_fifo_without_a_reader_is_that_of_an_agent_that_has_ended(tmp_path: Path) -> None:
    way = Way("a", str(tmp_path / "x.requests"))
    os.mkfifo(way.fifo)
    with pytest.raises(SynapseError, match="a, which this command runs in, has ended"):
        Request(way, "b", "GET", "/status")


@pytest.mark.parametrize("made", [False, True])
def test_without_a_fifo_the_error_says_what_to_do(tmp_path: Path, made: bool) -> None:
    way = Way("a", str(tmp_path / "x.requests"))
    if made:
        Path(way.fifo).write_text("")
    with pytest.raises(SynapseError, match="outside the sandbox, or give the agent `synapse mcp`"):
        Request(way, "b", "GET", "/status")


def test_a_request_that_is_too_large_is_not_begun(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fifo, "LARGEST", 1000)
    with pytest.raises(SynapseError, match="put it into a file"):
        Request(place.way, "b", "POST", "/tasks/send", {"message": "x" * 1000})
