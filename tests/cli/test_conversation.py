"""How a reply is printed while it arrives."""

from __future__ import annotations

import asyncio
import io
import sys
from pathlib import Path
from typing import Any

import pytest

from synapse.cli.shared import conversation as module
from synapse.cli.shared.conversation import Conversation, PlainReply
from synapse.cli.shared.interruption import Underway
from synapse.peers.task import A2ATask
from tests.support.patience import PATIENCE


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_reply_that_is_cut_within_a_line_end_is_printed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Tty())
    reply = PlainReply()
    for text in ("one\r", "one\r\ntwo"):
        reply.partial(text)
    reply.end("one\r\ntwo\r\n")
    assert isinstance(sys.stdout, Tty) and sys.stdout.getvalue() == "one\ntwo\n\n"


def test_a_reply_that_begins_otherwise_in_the_end_is_printed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Tty())
    reply = PlainReply()
    reply.partial("draft")
    reply.end("final")
    assert isinstance(sys.stdout, Tty) and sys.stdout.getvalue() == "draft\n\nfinal\n"


class Waiting:
    """A peer that does not begin with the message before something is printed."""

    name = "b"

    def __init__(self) -> None:
        self.printed = asyncio.Event()

    async def send(self, message: str, **options: Any) -> A2ATask:
        options["on_event"]("queued", {"task_id": "1", "note": "the agent asks something: Go?"})
        await self.printed.wait()
        return A2ATask("1", "completed")


def test_without_a_terminal_a_long_wait_says_once_why(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("A2A_HOME", str(tmp_path))
    monkeypatch.setattr(module, "UNKNOWN", 0.0)

    async def test() -> str:
        peer = Waiting()

        class Pipe(io.StringIO):
            def flush(self) -> None:
                peer.printed.set()

        monkeypatch.setattr(sys, "stderr", Pipe())
        found = await Conversation(5.0, 1)._until_done(Underway(peer), "hi")  # type: ignore[arg-type]
        assert found.status == "completed" and isinstance(sys.stderr, Pipe)
        return sys.stderr.getvalue()

    said = asyncio.run(asyncio.wait_for(test(), PATIENCE))
    assert said == "synapse: b has not begun with it yet (the agent asks something: Go?)\n"
