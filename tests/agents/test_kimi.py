"""The channel of Kimi Code: which session is its own, and what its record means."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
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
from synapse.agents.kimi.channel import KimiChannel
from synapse.agents.kimi.sessions import BESIDE, GIVE_UP, LATE
from synapse.registry import INPUT_REQUIRED, PROCESSING, READY

DISPLAY = {"kind": "command", "command": "touch x", "cwd": "/work", "language": "bash"}
USAGE = {"inputOther": 7, "inputCacheRead": 2, "inputCacheCreation": 1, "output": 3}


class Clock:
    """The wall clock of the channel, which the test moves."""

    def __init__(self) -> None:
        self.now = time.time()

    def __call__(self) -> float:
        return self.now


class Session:
    def __init__(self, home: Path, clock: Clock, name: str, workspace: str = "wd_work_1") -> None:
        self.path = home / ".kimi-code" / "sessions" / workspace / name / "agents" / "main" / "wire.jsonl"
        self.path.parent.mkdir(parents=True)
        self._clock = clock
        self._steps = 0

    def tell(self, what: str, at: float | None = None, agent: str = "main", **more: Any) -> None:
        record = {"type": what, "agentId": agent, **more, "time": int((at or self._clock()) * 1000) + 1}
        with self.path.open("a") as file:
            file.write(json.dumps(record) + "\n")

    def prompt(self, text: str, kind: str = "user", at: float | None = None) -> None:
        self.tell("turn.prompt", at, input=[{"type": "text", "text": text}], origin={"kind": kind})

    def event(self, kind: str, **more: Any) -> None:
        self.tell("context.append_loop_event", event={"type": kind, **more})

    def step(self, *texts: str) -> str:
        self._steps += 1
        key = f"step{self._steps}"
        self.event("step.begin", uuid=key)
        for text in texts:
            self.event("content.part", stepUuid=key, part={"type": "text", "text": text})
        return key

    def ask(self, display: dict[str, Any], tool: str = "Bash", call: str = "c1") -> None:
        request = {"toolName": tool, "display": display}
        self.tell("interaction.request", id=f"a-{call}", kind="approval", toolCallId=call, request=request)

    def answer(self, call: str = "c1", **response: Any) -> None:
        self.tell("interaction.resolved", id=f"a-{call}", response=response)

    def end(self, reason: str = "completed", **more: Any) -> None:
        self.tell("turn.ended", reason=reason, turnId=0, **more)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("synapse.agents.kimi.sessions.time.time", made)
    return made


@pytest.fixture
def channel(tmp_path: Path, clock: Clock) -> KimiChannel:
    (tmp_path / ".kimi-code").mkdir()
    workspaces = {"wd_work_1": {"root": str(tmp_path)}, "wd_other_2": {"root": "/"}}
    (tmp_path / ".kimi-code" / "workspaces.json").write_text(json.dumps({"workspaces": workspaces}))
    return made(tmp_path, clock)


def made(home: Path, clock: Clock, session_file: str = "") -> KimiChannel:
    return KimiChannel(
        Surroundings(str(home), {"HOME": str(home)}, clock.now - 100, session_file=session_file)
    )


@contextmanager
def neighbour(folder: Path) -> Iterator[None]:
    """Another process in the directory with the name of the program, once the system knows it."""
    program = folder / "kimi-code"
    program.symlink_to(sys.executable)
    started = subprocess.Popen(
        [program, "-c", "print(flush=True); input()"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert started.stdout is not None and started.stdout.readline()
        yield
    finally:
        started.kill()
        started.communicate()


def without_states(facts: list[Fact]) -> list[Fact]:
    return [fact for fact in facts if not isinstance(fact, StateSeen)]


def last_state(facts: list[Fact]) -> tuple[str, ...]:
    return [fact for fact in facts if isinstance(fact, StateSeen)][-1].says


def test_a_turn_with_a_tool_and_its_tokens(channel: KimiChannel, tmp_path: Path, clock: Clock) -> None:
    channel.submitted("do it")
    assert last_state(channel.poll()) == (PROCESSING,), "its session is being made"
    session = Session(tmp_path, clock, "one")
    session.prompt("do it")
    first = session.step("I will.")
    session.ask(DISPLAY)
    facts = channel.poll()
    assert last_state(facts) == (INPUT_REQUIRED,) and channel.unfinished()
    assert [request.subject for request in channel.requests()] == ["touch x"]
    session.answer(decision="approved")
    session.event("tool.call", stepUuid=first, toolCallId="c1", name="Bash", args={"command": "touch x"})
    session.event("tool.result", toolCallId="c1", result={"output": ""})
    session.event("step.end", uuid=first, usage=USAGE)
    second = session.step("Do", "ne.")
    session.end()
    facts += channel.poll()
    assert without_states(facts) == [
        PromptAccepted(TRANSCRIPT, "do it"),
        Said(TRANSCRIPT, "I will.", first),
        ToolUsed(TRANSCRIPT, "Bash", "c1", {"command": "touch x"}),
        TokensUsed(10, 3, first),
        Said(TRANSCRIPT, "Do", second),
        Said(TRANSCRIPT, "Done.", second),
        TurnEnded(TRANSCRIPT, "completed", "Done."),
    ]
    assert last_state(facts) == (READY,) and not channel.unfinished() and not channel.requests()


@pytest.mark.parametrize("failed", [False, True])
def test_a_file_is_changed_when_the_tool_has_done_it(
    channel: KimiChannel, tmp_path: Path, clock: Clock, failed: bool
) -> None:
    session = Session(tmp_path, clock, "one")
    channel.submitted("write")
    session.prompt("write")
    key = session.step()
    session.ask({"kind": "file_io", "operation": "write", "path": "/w/a.txt", "content": "one\n"}, "Write")
    channel.poll()
    (request,) = channel.requests()
    assert (request.subject, request.detail) == ("Write /w/a.txt", "Write /w/a.txt\n\n+ one")
    session.answer(decision="approved")
    session.event("tool.call", stepUuid=key, toolCallId="c1", name="Write", args={"path": "a.txt"})
    session.event("tool.result", toolCallId="c1", result={"output": "", "isError": failed})
    changed = [fact for fact in channel.poll() if isinstance(fact, FileChanged)]
    assert changed == ([] if failed else [FileChanged("a.txt")])


def denied(session: Session, **response: Any) -> None:
    session.prompt("do it")
    key = session.step("I will.")
    session.ask(DISPLAY)
    session.answer(decision="rejected", **response)
    session.event("tool.call", stepUuid=key, toolCallId="c1", name="Bash", args={"command": "touch x"})
    session.event("tool.result", toolCallId="c1", result={"output": "rejected", "isError": True})


def test_a_denied_tool_ends_the_turn_as_denied(channel: KimiChannel, tmp_path: Path, clock: Clock) -> None:
    session = Session(tmp_path, clock, "one")
    channel.submitted("do it")
    denied(session)
    session.step("Then not.")
    session.end()
    facts = without_states(channel.poll())
    assert Denied(TRANSCRIPT, "touch x") in facts and not [f for f in facts if isinstance(f, ToolUsed)]
    assert facts[-1] == TurnEnded(TRANSCRIPT, "interrupted", "Then not.", denied=True)


def test_a_turn_that_does_something_else_is_completed(
    channel: KimiChannel, tmp_path: Path, clock: Clock
) -> None:
    session = Session(tmp_path, clock, "one")
    channel.submitted("do it")
    denied(session)
    key = session.step("Then so.")
    session.event("tool.call", stepUuid=key, toolCallId="c2", name="Bash", args={"command": "ls"})
    session.step("Done so.")
    session.end()
    assert without_states(channel.poll())[-1] == TurnEnded(TRANSCRIPT, "completed", "Done so.")
    channel.submitted("do it")
    denied(session, feedback="not so")
    session.step("As you say.")
    session.end()
    assert without_states(channel.poll())[-1] == TurnEnded(TRANSCRIPT, "completed", "As you say.")


def test_an_interrupt_an_error_and_a_compaction(channel: KimiChannel, tmp_path: Path, clock: Clock) -> None:
    session = Session(tmp_path, clock, "one")
    channel.submitted("go")
    session.prompt("go")
    session.step("Half")
    session.end("cancelled")
    assert without_states(channel.poll())[-1] == TurnEnded(TRANSCRIPT, "interrupted", denied=False)
    session.prompt("go on")
    session.end(
        "failed", error={"code": "provider.api_error", "message": "no", "details": {"statusCode": 400}}
    )
    ended = without_states(channel.poll())[-1]
    assert isinstance(ended, TurnEnded) and ended.outcome == "failed" and ended.error
    error = channel.read_error(ended.error)
    assert error is not None and (error.text, error.status, error.ends) == ("no", 400, True)
    session.tell("full_compaction.begin", source="manual")
    assert last_state(channel.poll()) == (PROCESSING,)
    session.tell("full_compaction.complete")
    assert last_state(channel.poll()) == (READY,)


def test_a_subagent_and_a_task_of_its_own(channel: KimiChannel, tmp_path: Path, clock: Clock) -> None:
    session = Session(tmp_path, clock, "one")
    channel.submitted("go")
    session.prompt("go")
    session.tell("turn.ended", agent="agent-0", reason="completed")
    session.prompt("a background task has ended", "task")
    accepted = [fact for fact in channel.poll() if isinstance(fact, PromptAccepted)]
    assert accepted[1:] == [PromptAccepted(TRANSCRIPT, "a background task has ended", if_idle=True)]
    assert channel.unfinished()


class TestWhichSession:
    def test_the_one_with_our_mark(self, channel: KimiChannel, tmp_path: Path, clock: Clock) -> None:
        theirs, ours = Session(tmp_path, clock, "a"), Session(tmp_path, clock, "b")
        channel.submitted("[A2A:2:x] hello")
        theirs.prompt("[A2A:1:x] hello")
        assert without_states(channel.poll()) == []
        ours.prompt("[A2A:2:x] hello")
        assert without_states(channel.poll()) == [PromptAccepted(TRANSCRIPT, "[A2A:2:x] hello")]
        theirs.end()
        assert channel.poll() == []

    def test_the_one_with_the_line_that_was_typed(
        self, channel: KimiChannel, tmp_path: Path, clock: Clock
    ) -> None:
        Session(tmp_path, clock, "a").prompt("same line", at=clock.now - 60)
        Session(tmp_path, clock, "b").prompt("another line")
        Session(tmp_path, clock, "c", "wd_other_2").prompt("same line")
        channel.submitted("same line")
        assert without_states(channel.poll()) == []
        Session(tmp_path, clock, "d").prompt("same  line")
        assert without_states(channel.poll()) == [PromptAccepted(TRANSCRIPT, "same  line")]

    def test_one_that_another_agent_has_written_to_is_not_guessed(
        self, channel: KimiChannel, tmp_path: Path, clock: Clock
    ) -> None:
        session = Session(tmp_path, clock, "a")
        session.prompt("[A2A:1:x] hello")
        session.prompt("unknown")
        channel.submitted(None)
        assert channel.poll() == []
        guessed = Session(tmp_path, clock, "b")
        guessed.prompt("unknown too")
        assert without_states(channel.poll()) == [PromptAccepted(TRANSCRIPT, "unknown too")]
        guessed.prompt("[A2A:2:x] not to us")
        assert channel.poll() == []
        guessed.end()
        assert channel.poll() == [], "it was another agent's"

    def test_another_one_after_new(self, channel: KimiChannel, tmp_path: Path, clock: Clock) -> None:
        first, second = Session(tmp_path, clock, "a"), Session(tmp_path, clock, "b")
        channel.submitted("one")
        first.prompt("one")
        first.end()
        channel.poll()
        channel.submitted("two")
        second.prompt("two")
        assert channel.poll() == [], "its own may still get it"
        clock.now += 1.5
        assert without_states(channel.poll()) == [PromptAccepted(TRANSCRIPT, "two")]
        first.end()
        assert channel.poll() == []

    def test_not_another_one_during_a_turn(self, channel: KimiChannel, tmp_path: Path, clock: Clock) -> None:
        first, second = Session(tmp_path, clock, "a"), Session(tmp_path, clock, "b")
        channel.submitted("one")
        first.prompt("one")
        channel.poll()
        channel.submitted("queued")
        second.prompt("queued")
        clock.now += 1.5
        assert channel.poll() == []
        first.end()
        first.prompt("queued")
        assert PromptAccepted(TRANSCRIPT, "queued") in channel.poll()
        second.end()
        assert channel.poll() == [] and channel.unfinished()

    def test_of_two_with_the_same_line_at_once_none_is_taken(
        self, channel: KimiChannel, tmp_path: Path, clock: Clock
    ) -> None:
        with neighbour(tmp_path):
            channel.submitted("hello")
            theirs = Session(tmp_path, clock, "a")
            theirs.prompt("hello")
            theirs.step("For them.")
            theirs.end()
            clock.now += 1.0
            assert without_states(channel.poll()) == [], "our own may not be written yet"
            ours = Session(tmp_path, clock, "b")
            ours.prompt("hello")
            clock.now += BESIDE + 0.1
            assert without_states(channel.poll()) == [] and "two sessions" in channel.missing()[0]
            channel.submitted("[A2A:1:x] and now")
            ours.prompt("[A2A:1:x] and now")
            assert without_states(channel.poll()) == [PromptAccepted(TRANSCRIPT, "[A2A:1:x] and now")]
            assert channel.missing() == []

    def test_of_two_with_the_same_line_at_once_the_one_on_the_screen_is_ours(
        self, channel: KimiChannel, tmp_path: Path, clock: Clock
    ) -> None:
        with neighbour(tmp_path):
            channel.shown = lambda: " │  Session:   session_b      │\n"
            channel.submitted("hello")
            Session(tmp_path, clock, "session_a").prompt("hello")
            assert without_states(channel.poll()) == []
            ours = Session(tmp_path, clock, "session_b")
            ours.prompt("hello")
            ours.step("For us.")
            ours.end()
            assert without_states(channel.poll())[-1] == TurnEnded(TRANSCRIPT, "completed", "For us.")
            assert channel.missing() == []

    def test_beside_another_one_the_only_session_with_the_line_is_ours(
        self, channel: KimiChannel, tmp_path: Path, clock: Clock
    ) -> None:
        with neighbour(tmp_path):
            channel.submitted("hello")
            Session(tmp_path, clock, "a").prompt("something else")
            Session(tmp_path, clock, "b").prompt("hello")
            assert without_states(channel.poll()) == []
            clock.now += BESIDE + 0.1
            assert without_states(channel.poll()) == [PromptAccepted(TRANSCRIPT, "hello")]

    def test_earlier_turns_of_a_resumed_one_do_not_count(
        self, channel: KimiChannel, tmp_path: Path, clock: Clock
    ) -> None:
        session = Session(tmp_path, clock, "a")
        session.prompt("again", at=clock.now - 3600)
        session.tell("turn.ended", at=clock.now - 3599, reason="completed")
        channel.submitted("again")
        session.prompt("again")
        assert without_states(channel.poll()) == [PromptAccepted(TRANSCRIPT, "again")]

    def test_the_next_host_follows_the_same(self, channel: KimiChannel, tmp_path: Path, clock: Clock) -> None:
        file = str(tmp_path / "session.json")
        before = made(tmp_path, clock, file)
        session = Session(tmp_path, clock, "a")
        before.submitted("go")
        session.prompt("go")
        before.poll()
        session.step("Done.")
        session.end()
        after = made(tmp_path, clock, file)
        assert without_states(after.poll())[-1] == TurnEnded(TRANSCRIPT, "completed", "Done.")

    @pytest.mark.parametrize(("text", "waits"), [("hello", LATE), ("[A2A:1:x] hello", GIVE_UP)])
    def test_none_is_said_to_be_missing(
        self, channel: KimiChannel, clock: Clock, text: str, waits: float
    ) -> None:
        assert channel.missing() == []
        channel.submitted("/help")
        clock.now += waits + 1
        channel.poll()
        assert channel.missing() == [], "a command makes no session"
        channel.submitted(text)
        channel.poll()
        clock.now += waits - 1
        channel.poll()
        assert channel.missing() == []
        clock.now += 2
        channel.poll()
        assert len(channel.missing()) == 1


def test_records_that_are_not_as_expected(channel: KimiChannel, tmp_path: Path, clock: Clock) -> None:
    session = Session(tmp_path, clock, "a")
    channel.submitted("go")
    session.prompt("go")
    session.tell("context.append_loop_event", event="no object")
    session.event("content.part", part=None)
    session.event("tool.call", args=["no object"])
    session.event("tool.result", result="no object")
    session.event("step.end", usage={"output": "many"})
    session.tell("interaction.request", id="q", kind="question", request=None)
    session.tell("interaction.resolved", id="q", response=None)
    session.tell("turn.prompt", input="no list", origin=None)
    session.end("failed", error="no object")
    with session.path.open("a") as file:
        file.write('{"half": \n[1]\n')
    facts = channel.poll()
    assert last_state(facts) == (READY,)
    ended = without_states(facts)[-1]
    assert isinstance(ended, TurnEnded) and ended.error == {
        "type": "error",
        "message": "the turn has ended: failed",
    }
