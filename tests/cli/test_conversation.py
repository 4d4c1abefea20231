"""How a reply is printed while it arrives."""

from __future__ import annotations

import io
import sys

import pytest

from synapse.cli.shared.conversation import PlainReply


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
