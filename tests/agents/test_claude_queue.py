"""Prompts that are typed while Claude Code works, as 2.1.326 reports them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from synapse.agents.base import Surroundings
from synapse.agents.claude.channel import ClaudeChannel
from synapse.agents.claude.queue import QUEUED_WITHIN
from synapse.agents.facts import Fact, PromptAccepted, Steered, TurnEnded


class Session:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "t.jsonl"
        self.path.write_text("")
        self.channel = ClaudeChannel(Surroundings(str(folder), {"HOME": str(folder)}, 0.0))

    def hook(self, name: str, **more: Any) -> list[str]:
        event = {"hook_event_name": name, "transcript_path": str(self.path), **more}
        return told(self.channel.on_event(event))

    def prompt(self, text: str) -> list[str]:
        return self.hook("UserPromptSubmit", prompt=text)

    def stop(self, said: str) -> list[str]:
        return self.hook("Stop", last_assistant_message=said)

    def queue(self, operation: str, content: str | None = None) -> None:
        line = {"type": "queue-operation", "operation": operation, "content": content}
        self.path.write_text(self.path.read_text() + json.dumps(line) + "\n")

    def poll(self) -> list[str]:
        return told(self.channel.poll())


def told(facts: list[Fact]) -> list[str]:
    said = []
    for fact in facts:
        if isinstance(fact, PromptAccepted | Steered):
            said.append(f"{type(fact).__name__} {fact.text}")
        elif isinstance(fact, TurnEnded):
            said.append(f"{fact.outcome} {fact.reply}")
    return said


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    clock = [1000.0]
    monkeypatch.setattr("time.time", lambda: clock[0])
    return clock


@pytest.fixture
def session(tmp_path: Path, now: list[float]) -> Session:
    return Session(tmp_path)


@pytest.mark.parametrize("dequeued_first", [False, True])
def test_a_queued_prompt_begins_its_turn_after_the_end_of_the_running_one(
    session: Session, now: list[float], dequeued_first: bool
) -> None:
    assert session.prompt("one") == ["PromptAccepted one"]
    assert session.prompt("two") == []
    session.queue("enqueue", "two")
    now[0] += 60
    assert session.poll() == []
    if dequeued_first:  # the line is read before the hook comes
        session.queue("dequeue")
        assert session.poll() == []
        assert session.stop("1") == ["completed 1", "PromptAccepted two"]
    else:
        assert session.stop("1") == ["completed 1"]
        session.queue("dequeue")
        assert session.poll() == ["PromptAccepted two"]
    assert session.stop("2") == ["completed 2"]
    assert session.prompt("three") == ["PromptAccepted three"]


def test_a_turn_that_is_over_before_the_next_look(session: Session) -> None:
    session.prompt("one")
    session.prompt("two")
    session.queue("enqueue", "two")
    session.stop("1")
    session.queue("dequeue")
    assert session.poll() == ["PromptAccepted two"]
    assert session.stop("2") == ["completed 2"]


def test_a_prompt_that_is_added_to_the_running_turn_has_none_of_its_own(session: Session) -> None:
    session.prompt("one")
    session.prompt("two")
    session.queue("enqueue", "two")
    session.queue("remove", "two")
    assert session.poll() == ["Steered two"]
    assert session.stop("both") == ["completed both"]
    assert session.poll() == []


def test_a_prompt_that_is_not_queued_counts_though_the_end_of_the_turn_was_not_reported(
    session: Session, now: list[float]
) -> None:
    """Escape before the first word leaves no trace."""
    session.prompt("one")
    assert session.prompt("two") == []
    now[0] += QUEUED_WITHIN
    assert session.poll() == ["PromptAccepted two"]
    assert session.stop("2") == ["completed 2"]


def test_what_the_human_takes_back_begins_no_turn(session: Session, now: list[float]) -> None:
    session.prompt("one")
    session.prompt("two")
    session.queue("enqueue", "two")
    session.queue("popAll")
    assert session.poll() == []
    assert session.stop("1") == ["completed 1"]
    now[0] += 60
    assert session.poll() == []


def test_a_release_that_tells_of_a_queued_prompt_when_its_turn_begins(session: Session) -> None:
    session.prompt("one")
    session.queue("enqueue", "two")
    assert session.stop("1") == ["completed 1"]
    session.queue("dequeue")
    assert session.prompt("two") == ["PromptAccepted two"]
    assert session.stop("2") == ["completed 2"]
