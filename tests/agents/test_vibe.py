"""The channel of Mistral Vibe: which session is its own, and what the records of its journal mean."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from synapse.agents.base import TRANSCRIPT, Surroundings
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
from synapse.agents.vibe.channel import VibeChannel
from synapse.profiles.loader import load_profile
from synapse.registry import INPUT_REQUIRED, PROCESSING, READY
from synapse.watch.screen.errors import ErrorDetector
from synapse.watch.signals import SignalReader

COMMAND = {"command": "touch x"}


class Session:
    """A session whose lock the agent holds, as long as it is in `locks`."""

    def __init__(self, root: Path, name: str) -> None:
        self.name = name
        self.lock = root / "active" / f"{name}.lock"
        self.lock.parent.mkdir(parents=True, exist_ok=True)
        self.lock.write_text("")
        self.journal = root / "unified" / name / "journal"
        self.journal.mkdir(parents=True)
        self.file = 1
        self.count = 0

    def tell(self, kind: str, /, **payload: Any) -> None:
        self.count += 1
        record = {"payload": payload, "record_sha256": "0" * 64, "sequence": self.count, "type": kind}
        with (self.journal / f"{self.file:016d}.jsonl").open("a") as file:
            file.write(json.dumps(record, separators=(",", ":")) + "\n")

    def rotate(self) -> None:
        """As at the end of a turn: a new file, and the last two are kept."""
        for old in sorted(self.journal.iterdir())[:-1]:
            old.unlink()
        self.file = self.count + 1
        (self.journal / f"{self.file:016d}.jsonl").touch()

    def change(self, *changes: dict[str, Any]) -> None:
        self.tell("projection_delta", delta=list(changes))

    def entry(self, kind: str, key: str, at: float | None = None, **more: Any) -> None:
        moment = int((at or time.time()) * 1000)
        self.change({"op": "append_entry", "entry": {"type": kind, "id": key, "createdAt": moment, **more}})

    def spawn(self, text: str) -> None:
        """As a subagent: both changes are in one record."""
        entry = {
            "type": "message",
            "role": "user",
            "content": [{"type": "text", "text": text}],
            "turnId": "t9",
        }
        session = {"status": {"type": "running"}, "parentSessionId": "p", "updatedAt": time.time() * 1000}
        self.change(
            {"op": "append_entry", "entry": entry}, {"op": "set_envelope", "state": {"session": session}}
        )

    def message(self, role: str, text: str, turn: str, at: float | None = None, **more: Any) -> None:
        content = [{"type": "text", "text": text}]
        self.entry("message", f"{role}-{text}", at, role=role, content=content, turnId=turn, **more)

    def state(self, turn: str, status: str = "in_progress", **more: Any) -> None:
        running = status == "in_progress"
        session = {"status": {"type": "running" if running else "idle"}, "parentSessionId": None}
        latest = {"id": turn, "status": status, **more}
        self.change({"op": "set_envelope", "state": {"session": session, "latestTurn": latest}})

    def prompt(self, text: str, turn: str = "t1", at: float | None = None) -> None:
        self.message("user", text, turn, at)
        self.state(turn)

    def effect(self, status: str, tool: str = "file_system.bash", **given: Any) -> None:
        detail = {"kind": "tool", "toolName": tool, "input": given or COMMAND}
        self.entry("effect", "e1", detail=detail, state={"status": status})

    def ask(self) -> None:
        effect = {"kind": "tool", "toolName": "file_system.bash", "input": COMMAND}
        routing = {"detail": {"kind": "approval", "effect": effect}}
        self.tell("callback_registered", callback_id="c1", kind="approval", routing=routing)

    def answer(self, decision: str) -> None:
        output = {"type": "approval", "decision": {"type": decision}}
        self.tell("callback_resolved", callback_id="c1", result={"output": output})


@pytest.fixture
def locks(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    held: list[Path] = []
    monkeypatch.setattr(
        Surroundings, "open_files", lambda self, suffix: [str(p) for p in held if p.name.endswith(suffix)]
    )
    return held


@pytest.fixture
def session(tmp_path: Path, locks: list[Path]) -> Session:
    made = Session(tmp_path, "one")
    locks.append(made.lock)
    return made


@pytest.fixture
def channel(tmp_path: Path) -> VibeChannel:
    return VibeChannel(Surroundings("/", {"HOME": str(tmp_path)}, time.time() - 5, child=4711))


def without_states(facts: list[Fact]) -> list[Fact]:
    return [fact for fact in facts if not isinstance(fact, StateSeen)]


def last_state(facts: list[Fact]) -> tuple[str, ...]:
    return [fact for fact in facts if isinstance(fact, StateSeen)][-1].says


def test_a_turn_with_a_tool_a_question_and_its_tokens(channel: VibeChannel, session: Session) -> None:
    session.prompt("do it")
    usage = {"input_tokens": 10, "output_tokens": 3}
    session.tell("action_result", action_id="a", result={"result": {"usage": usage}})
    session.message("assistant", "I will.", "t1")
    session.effect("running")
    session.ask()
    facts = channel.poll()
    assert last_state(facts) == (INPUT_REQUIRED,)
    assert [request.subject for request in channel.requests()] == ["touch x"]
    session.answer("approve")
    session.effect("completed")
    facts += channel.poll()
    assert last_state(facts) == (PROCESSING,) and not channel.requests()
    session.message("assistant", "Done.", "t1")
    session.state("t1", "completed")
    facts += channel.poll()
    assert last_state(facts) == (READY,)
    assert without_states(facts) == [
        PromptAccepted(TRANSCRIPT, "do it"),
        TokensUsed(10, 3, "a"),
        Said(TRANSCRIPT, "I will.", "assistant-I will."),
        ToolUsed(TRANSCRIPT, "bash", "e1", COMMAND),
        Said(TRANSCRIPT, "Done.", "assistant-Done."),
        TurnEnded(TRANSCRIPT, "completed", "Done."),
    ]


def test_the_turns_of_several_files_come_once_each(channel: VibeChannel, session: Session) -> None:
    replies = []
    for number in range(1, 5):
        session.prompt("again", f"t{number}")
        session.message("assistant", f"reply {number}", f"t{number}")
        session.state(f"t{number}", "completed")
        session.rotate()
        replies += [fact.reply for fact in channel.poll() if isinstance(fact, TurnEnded)]
    assert replies == ["reply 1", "reply 2", "reply 3", "reply 4"]
    assert channel.poll() == []


@pytest.mark.parametrize("goes_on", [False, True], ids=["it only says something", "it calls another tool"])
def test_a_turn_after_a_denial(channel: VibeChannel, session: Session, goes_on: bool) -> None:
    session.prompt("do it")
    session.effect("running")
    session.ask()
    session.answer("deny")
    facts = channel.poll()
    assert Denied(TRANSCRIPT, "touch x") in facts and last_state(facts) == (PROCESSING,)
    if goes_on:
        session.effect("completed")
        session.effect("running")
    session.message("assistant", "Then so.", "t1")
    session.state("t1", "completed")
    denied = TurnEnded(TRANSCRIPT, "interrupted", "Then so.", denied=True)
    assert (TurnEnded(TRANSCRIPT, "completed", "Then so.") if goes_on else denied) in channel.poll()


@pytest.mark.parametrize(("answers", "denied"), [([], True), (["deny"], True), (["approve"], False)])
def test_a_turn_that_is_stopped_at_a_question_was_denied(
    channel: VibeChannel, session: Session, answers: list[str], denied: bool
) -> None:
    session.prompt("do it")
    session.effect("running")
    session.ask()
    for answer in answers:
        session.answer(answer)
    session.state("t1", "interrupted")
    assert TurnEnded(TRANSCRIPT, "interrupted", denied=denied) in channel.poll()


def test_what_was_said_before_an_interrupt_and_what_was_tried_again(
    channel: VibeChannel, session: Session
) -> None:
    session.prompt("do it")
    session.message("assistant", "a first try", "t1", outcome={"type": "discarded", "cause": "retry"})
    session.message("assistant", "word01", "t1", outcome={"type": "discarded", "cause": "interrupt"})
    session.state("t1", "interrupted")
    assert [fact.text for fact in channel.poll() if isinstance(fact, Said)] == ["word01"]


def test_an_error_of_the_api(channel: VibeChannel, session: Session) -> None:
    session.prompt("do it")
    error = {"code": "model_stream_failed", "message": "no", "details": {"httpStatus": 429}}
    session.state("t1", "failed", error=error)
    (ended,) = [fact for fact in channel.poll() if isinstance(fact, TurnEnded)]
    assert ended.outcome == "failed" and ended.error is not None
    told = channel.read_error(ended.error)
    assert told is not None and (told.text, told.status, told.ends) == ("no", 429, True)


def test_a_rejected_key_is_a_missing_login_also_where_no_status_is_told() -> None:
    event = {"type": "vibe_error", "code": "model_unauthorized", "message": "the credential was rejected"}
    error = ErrorDetector(read_error=VibeChannel.read_error).detect_event(event)
    assert error is not None and (error.code, error.fatal) == ("LOGIN_REQUIRED", True)


@pytest.mark.parametrize(("status", "changed"), [("completed", True), ("failed", False)])
def test_an_edit_is_a_changed_file_once_it_is_made(
    channel: VibeChannel, session: Session, status: str, changed: bool
) -> None:
    session.prompt("do it")
    session.effect("running", "file_system.write_file", path="x.txt", content="")
    assert FileChanged("x.txt") not in channel.poll()
    session.effect(status, "file_system.write_file", path="x.txt", content="")
    assert (FileChanged("x.txt") in channel.poll()) is changed


def test_a_prompt_that_joins_the_running_turn_begins_none(channel: VibeChannel, session: Session) -> None:
    session.prompt("do it")
    session.message("user", "and this", "t1")
    assert PromptAccepted(TRANSCRIPT, "and this", if_idle=True) in channel.poll()


def test_neighbours_earlier_records_and_subagents_do_not_count(
    channel: VibeChannel, tmp_path: Path, locks: list[Path]
) -> None:
    Session(tmp_path, "neighbour").prompt("not ours")
    (tmp_path / "other.lock").write_text("")
    locks.append(tmp_path / "other.lock")  # of something else
    assert channel.poll() == [] and channel.missing()
    resumed, child = Session(tmp_path, "resumed"), Session(tmp_path, "child")
    resumed.prompt("an hour ago", at=time.time() - 3600)
    child.spawn("for a subagent")
    child.message("assistant", "of a subagent", "t9")
    locks += [resumed.lock, child.lock]
    assert channel.poll() == [] and not channel.missing()
    resumed.prompt("now", "t2")
    assert without_states(channel.poll()) == [PromptAccepted(TRANSCRIPT, "now")]


def test_a_new_session_takes_the_place_of_the_old_one(
    channel: VibeChannel, session: Session, tmp_path: Path, locks: list[Path]
) -> None:
    session.prompt("first")
    session.state("t1", "completed")
    channel.poll()
    new = Session(tmp_path, "two")
    locks[:] = [new.lock]
    channel.submitted("second")
    new.prompt("second", "t5")
    assert without_states(channel.poll()) == [PromptAccepted(TRANSCRIPT, "second")]


def test_damaged_records_are_left_out(channel: VibeChannel, session: Session) -> None:
    damaged: list[dict[str, Any]] = [{"delta": [None, 1, {"entry": 1}, {"state": []}]}, {"delta": 7}, {}]
    for payload in damaged:
        session.tell("projection_delta", **payload)
        session.tell("callback_resolved", **payload)
    session.change({"entry": {"type": "message", "role": "user", "content": [1, {"text": 2}]}})
    session.prompt("still here", "t2")
    assert PromptAccepted(TRANSCRIPT, "still here") in channel.poll()


@pytest.mark.parametrize(
    ("row", "below", "asks"),
    [
        (" " * 27 + "Get your Mistral API key", "", True),
        (" " * 25 + "│" + " " * 25 + "Trust this folder?" + " " * 25 + "│", "", True),
        (" " * 27 + "Get your Mistral API key", "─" * 60 + "\n>\n" + "─" * 60, False),  # a reply says it
        ("  Get your Mistral API key", "", False),
    ],
)
def test_pages_before_the_conversation_ask_something(row: str, below: str, asks: bool) -> None:
    signals = SignalReader(load_profile("vibe"), titles=False)
    assert signals.asks(f"\n\n{row}\n\n{below}\n~/work [PID 1]") is asks
