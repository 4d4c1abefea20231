"""The channel of GitHub Copilot CLI: which session is its own, and what its events mean."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from synapse.agents.base import TRANSCRIPT, Surroundings
from synapse.agents.copilot.channel import CopilotChannel
from synapse.agents.facts import (
    Denied,
    Fact,
    FileChanged,
    PromptAccepted,
    Said,
    StateSeen,
    TokensUsed,
    ToolUsed,
    TurnEnded,
)
from synapse.base import processes
from synapse.registry import INPUT_REQUIRED, PROCESSING, READY

PID = 4711
_numbers = count()


class Session:
    def __init__(self, home: Path, name: str, pid: int = PID) -> None:
        self.folder = home / ".copilot" / "session-state" / name
        self.folder.mkdir(parents=True)
        (self.folder / f"inuse.{pid}.lock").write_text("")
        self.lines: list[str] = []

    def tell(self, kind: str, at: float | None = None, agent: str = "", **data: Any) -> None:
        moment = datetime.fromtimestamp(at or time.time(), UTC).isoformat().replace("+00:00", "Z")
        event = {"type": kind, "data": data, "id": f"e{next(_numbers)}", "timestamp": moment}
        self.lines.append(json.dumps(event | ({"agentId": agent} if agent else {})))
        (self.folder / "events.jsonl").write_text("".join(f"{line}\n" for line in self.lines))

    def say(self, text: str, calls: list[dict[str, Any]] | None = None) -> None:
        self.tell("assistant.turn_start", turnId="0")
        self.tell("assistant.message", content=text, messageId=text, toolRequests=calls or [])


@pytest.fixture
def channel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CopilotChannel:
    monkeypatch.setattr(processes, "session_members", lambda child: [PID])
    return CopilotChannel(Surroundings("/", {"HOME": str(tmp_path)}, time.time() - 5, child=PID))


def without_states(facts: list[Fact]) -> list[Fact]:
    return [fact for fact in facts if not isinstance(fact, StateSeen)]


def last_state(facts: list[Fact]) -> tuple[str, ...]:
    return [fact for fact in facts if isinstance(fact, StateSeen)][-1].says


RUN = {"toolCallId": "c1", "name": "bash", "arguments": {"command": "touch x", "description": "why"}}


def test_a_turn_with_a_tool_and_its_tokens(channel: CopilotChannel, tmp_path: Path) -> None:
    session = Session(tmp_path, "one")
    session.tell("user.message", content="do it")
    session.say("I will.", [RUN])
    session.tell("session.usage_record", usage={"inputTokens": 10, "outputTokens": 3, "apiCallId": "a"})
    session.tell("permission.requested", requestId="r", permissionRequest={"toolCallId": "c1"})
    facts = channel.poll()
    assert last_state(facts) == (INPUT_REQUIRED,)
    assert [request.subject for request in channel.requests()] == ["touch x"]
    session.tell("permission.completed", requestId="r", toolCallId="c1", result={"kind": "approved"})
    session.tell("tool.execution_complete", toolCallId="c1", success=True)
    session.tell("assistant.turn_end", turnId="0")
    facts += channel.poll()
    assert last_state(facts) == (PROCESSING,) and not channel.requests()
    session.say("Done.")
    session.tell("assistant.turn_end", turnId="1")
    facts += channel.poll()
    assert last_state(facts) == (READY,)
    assert without_states(facts) == [
        PromptAccepted(TRANSCRIPT, "do it"),
        Said(TRANSCRIPT, "I will.", "I will."),
        ToolUsed(TRANSCRIPT, "bash", "c1", {"command": "touch x", "description": "why"}),
        TokensUsed(10, 3, "a"),
        Said(TRANSCRIPT, "Done.", "Done."),
        TurnEnded(TRANSCRIPT, "completed", "Done."),
    ]


@pytest.mark.parametrize("abort_first", [True, False])
def test_escape_at_a_question_denies_whatever_is_written_first(
    channel: CopilotChannel, tmp_path: Path, abort_first: bool
) -> None:
    session = Session(tmp_path, "one")
    session.tell("user.message", content="do it")
    session.say("I will.", [RUN])
    session.tell("permission.requested", requestId="r")
    session.tell("assistant.turn_end", turnId="0")
    left: list[tuple[str, dict[str, Any]]] = [
        ("permission.completed", {"requestId": "r", "result": {"kind": "cancelled"}}),
        ("abort", {"reason": "user_initiated"}),
    ]
    for kind, data in reversed(left) if abort_first else left:
        session.tell(kind, **data)
    facts = channel.poll()
    assert [fact for fact in facts if isinstance(fact, TurnEnded)] == [
        TurnEnded(TRANSCRIPT, "interrupted", denied=True)
    ]
    assert last_state(facts) == (READY,)


def test_a_denial_with_a_reason_lets_the_turn_go_on(channel: CopilotChannel, tmp_path: Path) -> None:
    session = Session(tmp_path, "one")
    session.tell("user.message", content="do it")
    session.say("I will.", [RUN])
    session.tell("permission.requested", requestId="r")
    denied = {"kind": "denied-interactively-by-user", "feedback": "no"}
    session.tell("permission.completed", requestId="r", toolCallId="c1", result=denied)
    facts = channel.poll()
    assert Denied(TRANSCRIPT, "touch x") in facts and last_state(facts) == (PROCESSING,)
    session.tell("abort", reason="user_abort")
    assert TurnEnded(TRANSCRIPT, "interrupted", denied=False) in channel.poll()


def test_an_error_ends_the_turn_and_one_that_is_tried_again_does_not(
    channel: CopilotChannel, tmp_path: Path
) -> None:
    session = Session(tmp_path, "one")
    session.tell("user.message", content="do it")
    session.tell("assistant.turn_start", turnId="0")
    session.tell("assistant.turn_end", turnId="0")
    session.tell("session.error", message="400 no", statusCode=400)
    (ended,) = [fact for fact in channel.poll() if isinstance(fact, TurnEnded)]
    assert ended.outcome == "failed" and ended.error is not None
    error = channel.read_error(ended.error)
    assert error is not None and (error.text, error.status, error.ends) == ("400 no", 400, True)


def test_an_empty_message_is_no_reply(channel: CopilotChannel, tmp_path: Path) -> None:
    session = Session(tmp_path, "one")
    session.tell("user.message", content="do it")
    session.tell("assistant.turn_start", turnId="0")
    session.tell("assistant.message", content="", toolRequests=[])
    session.tell("assistant.turn_end", turnId="0")
    assert not [fact for fact in channel.poll() if isinstance(fact, TurnEnded)]
    session.tell("session.error", message="No response was returned. Send your message again to retry.")
    (ended,) = [fact for fact in channel.poll() if isinstance(fact, TurnEnded)]
    assert ended.outcome == "failed" and ended.reply is None


def test_an_edit_is_a_changed_file_once_it_is_made(channel: CopilotChannel, tmp_path: Path) -> None:
    session = Session(tmp_path, "one")
    session.tell("user.message", content="do it")
    session.say("I will.", [{"toolCallId": "c", "name": "create", "arguments": {"path": "/x"}}])
    assert FileChanged("/x") not in channel.poll()
    session.tell("tool.execution_complete", toolCallId="c", success=True)
    assert FileChanged("/x") in channel.poll()


def test_other_sessions_earlier_events_and_subagents_do_not_count(
    channel: CopilotChannel, tmp_path: Path
) -> None:
    Session(tmp_path, "neighbour", pid=1).tell("user.message", content="not ours")
    assert channel.poll() == [] and channel.missing()
    session = Session(tmp_path, "resumed")
    session.tell("user.message", at=time.time() - 3600, content="an hour ago")
    session.tell("user.message", agent="sub", content="for a subagent")
    assert channel.poll() == [] and not channel.missing()


def test_a_new_session_takes_the_place_of_the_old_one(channel: CopilotChannel, tmp_path: Path) -> None:
    old = Session(tmp_path, "old")
    old.tell("user.message", content="first")
    channel.poll()
    new = Session(tmp_path, "new")
    new.tell("user.message", content="second")
    assert without_states(channel.poll()) == [
        TurnEnded(TRANSCRIPT, "interrupted", denied=False),
        PromptAccepted(TRANSCRIPT, "second"),
    ]
    old.say("too late")
    old.tell("assistant.turn_end", turnId="0")
    assert channel.poll() == []


def test_a_prompt_that_is_taken_back_repeats_nothing(channel: CopilotChannel, tmp_path: Path) -> None:
    session = Session(tmp_path, "one")
    session.tell("user.message", content="first")
    session.say("One.")
    session.tell("assistant.turn_end", turnId="0")
    session.tell("user.message", content="taken back")
    channel.poll()
    session.lines = session.lines[:-1]
    session.tell("session.usage_checkpoint")
    assert channel.poll() == []


def test_events_that_are_removed_or_moved_away_in_a_turn_are_read_again_when_they_are_there(
    channel: CopilotChannel, tmp_path: Path
) -> None:
    session = Session(tmp_path, "s1")
    session.tell("user.message", content="hello")
    assert without_states(channel.poll()) == [PromptAccepted("transcript", "hello")]
    (session.folder / "events.jsonl").rename(tmp_path / "away")
    assert channel.poll() == []
    session.say("Done.")
    session.tell("assistant.turn_end", turnId="0")
    facts = without_states(channel.poll())
    assert only_texts(facts) == ["Done."] and isinstance(facts[-1], TurnEnded), "and the prompt counts once"


def only_texts(facts: list[Fact]) -> list[str]:
    return [fact.text for fact in facts if isinstance(fact, Said | PromptAccepted)]
