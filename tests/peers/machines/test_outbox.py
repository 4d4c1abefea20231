"""Messages that wait for their machine."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest

from synapse.errors import TargetError, WaitTimeout
from synapse.peers.machines import outbox
from synapse.peers.machines.machine import Machine
from tests.support.home import Home

BOX = Machine(name="box", user="", host="box", port=0, synapse="")


def document(number: int, **more: Any) -> dict[str, Any]:
    made = {"address": "machine:a@box", "name": "a@box", "message": f"say {number}", "priority": 1}
    return {**made, "request_id": f"r{number}", "expires": None, "metadata": {}, "origin": None, **more}


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is sent; `lost` is not taken by its machine, and `refused` by its agent."""
    taken: list[str] = []

    class Peer:
        async def send(self, message: str, **_: Any) -> None:
            if message == "lost":
                raise WaitTimeout("box does not answer.")
            if message == "refused":
                raise TargetError("a takes no messages: ask its owner.")
            taken.append(message)

    class Directory:
        def at(self, *_: str) -> Peer:
            return Peer()

    monkeypatch.setattr("synapse.peers.directory.open_directory", lambda _=None: Directory())
    return taken


def test_they_are_handed_over_in_order(home: Home, sent: list[str]) -> None:
    for number in range(3):
        outbox.keep(BOX, document(number))
    assert outbox.waiting(BOX) == 3
    asyncio.run(outbox.hand_over(BOX))
    assert sent == ["say 0", "say 1", "say 2"] and outbox.waiting(BOX) == 0


def test_a_machine_that_is_lost_again_keeps_the_rest(home: Home, sent: list[str]) -> None:
    for number, message in enumerate(("say 0", "lost", "say 2")):
        outbox.keep(BOX, document(number, message=message))
    asyncio.run(outbox.hand_over(BOX))
    assert sent == ["say 0"] and outbox.waiting(BOX) == 2 and outbox.failures(BOX) == []


def test_what_cannot_be_sent_says_why_and_holds_nothing_up(home: Home, sent: list[str]) -> None:
    outbox.keep(BOX, document(0, message="refused"))
    outbox.keep(BOX, document(1, expires=-1.0))
    outbox.keep(BOX, document(2))
    outbox.keep(BOX, document(3))
    damaged = outbox._files(BOX, outbox.WAITING)[2]
    with open(damaged, "w") as file:
        file.write("{")
    asyncio.run(outbox.hand_over(BOX))
    assert sent == ["say 3"] and outbox.waiting(BOX) == 0
    refused, expired, unreadable = outbox.failures(BOX)
    assert "a@box was not sent: a takes no messages" in refused
    assert "expired before its machine answered" in expired and "its file is damaged" in unreadable
    assert outbox.drop(BOX) == 0 and not os.path.exists(os.path.dirname(damaged))
