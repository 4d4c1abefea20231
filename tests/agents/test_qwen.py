"""What Qwen Code tells by its events and its chat file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from synapse.agents import flags
from synapse.agents.base import Surroundings
from synapse.agents.facts import Denied, Fact, Failed, FileChanged, PromptAccepted, Said, ToolUsed, TurnEnded
from synapse.agents.flags import channel_arguments
from synapse.agents.qwen.channel import QwenChannel

STARTED = 1_700_000_000.0
SESSION = "11111111-2222-4333-8444-555555555555"
ERROR = {
    "event.name": "qwen-code.api_error",
    "prompt_id": f"{SESSION}########0",
    "error_message": "400 no",
    "error_type": "BadRequestError",
    "status_code": 400,
}


def only(facts: list[Fact], kind: type) -> list[Any]:
    return [fact for fact in facts if isinstance(fact, kind)]


class Files:
    """What 0.24.4 writes: the events, the record of the process, and the chat of its session."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch, events: bool = True) -> None:
        self.home = home
        self.path = home / "events.jsonl"
        surroundings = Surroundings(str(home), {"HOME": str(home)}, STARTED, os.getpid())
        argument: Callable[[Surroundings, str], str] = lambda *_: str(self.path)  # noqa: E731
        monkeypatch.setattr(Surroundings, "argument", argument)
        monkeypatch.setattr(Surroundings, "pids", lambda _: [os.getpid()])
        if events:
            self.path.touch()
        self.channel = QwenChannel(surroundings)
        self.show(SESSION)

    def show(self, session: str, at: float = STARTED) -> None:
        sessions = self.home / ".qwen" / "sessions"
        sessions.mkdir(parents=True, exist_ok=True)
        record = sessions / f"{os.getpid()}.json"
        record.write_text(json.dumps({"sessionId": session}))
        os.utime(record, (at, at))
        self._chat = self.home / ".qwen" / "projects" / "-work" / "chats" / f"{session}.jsonl"
        self._chat.parent.mkdir(parents=True, exist_ok=True)

    def event(self, kind: str, **more: Any) -> list[Fact]:
        with self.path.open("a") as file:
            file.write(json.dumps({"type": kind, "parent_tool_use_id": None, "uuid": "u", **more}) + "\n")
        return self.channel.poll()

    def prompt(self, text: str = "hello") -> list[Fact]:
        return self.event("user", message={"content": [{"type": "text", "text": text}]})

    def message(
        self, *blocks: dict[str, Any], used: int = 10, pieces: Sequence[str] = (), **more: Any
    ) -> list[Fact]:
        usage = {"input_tokens": used, "output_tokens": used}
        facts = self.event("stream_event", event={"type": "message_start"}, **more)
        for piece in pieces:
            delta = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": piece}}
            facts += self.event("stream_event", event=delta)
        facts += self.event("assistant", message={"content": list(blocks), "usage": usage}, **more)
        return facts + self.event("stream_event", event={"type": "message_stop"}, **more)

    def result(self, call: str, error: bool = False) -> list[Fact]:
        block = {"type": "tool_result", "tool_use_id": call, "is_error": error, "content": "x"}
        return self.event("user", message={"content": [block]})

    def record(self, kind: str, at: float = STARTED + 5, **more: Any) -> list[Fact]:
        moment = datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")
        with self._chat.open("a") as file:
            file.write(json.dumps({"type": kind, "uuid": "r", "timestamp": moment, **more}) + "\n")
        return self.channel.poll()

    def cancel(self, call: str, why: str) -> list[Fact]:
        parts = [{"functionResponse": {"response": {"error": f"[Operation Cancelled] Reason: {why}"}}}]
        result = {"callId": call, "status": "cancelled"}
        return self.record("tool_result", message={"parts": parts}, toolCallResult=result)


def said(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def call(number: str, name: str = "run_shell_command", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": number, "name": name, "input": given}


@pytest.fixture
def qwen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    return Files(tmp_path, monkeypatch)


def test_a_turn_with_a_tool(qwen: Files) -> None:
    assert qwen.prompt() == [PromptAccepted("transcript", "hello")] and qwen.channel.unfinished()
    facts = qwen.message(said("First."), call("c1", "write_file", file_path="/w/a", content="x"))
    assert only(facts, Said)[0].text == "First." and only(facts, ToolUsed)[0].name == "write_file"
    assert not only(facts, TurnEnded)
    assert [request.subject for request in qwen.channel.requests()] == ["write_file /w/a"]
    assert qwen.result("c1") == [FileChanged("/w/a")] and not qwen.channel.requests()
    facts = qwen.message(said("Done."))
    assert only(facts, TurnEnded) == [TurnEnded("transcript", "completed", "Done.")]
    assert not qwen.channel.unfinished()


def test_a_message_that_is_cut_off_leaves_the_end_to_the_screen(qwen: Files) -> None:
    qwen.prompt()
    facts = qwen.message(said("word01 word02"), used=0)
    assert only(facts, Said) and not only(facts, TurnEnded) and not qwen.channel.unfinished()


def test_a_denied_tool_ends_the_turn(qwen: Files) -> None:
    qwen.prompt()
    qwen.message(call("c1", command="touch a"))
    facts = qwen.cancel("c1", "User did not allow tool call")
    assert only(facts, Denied)[0].subject == "touch a"
    assert only(facts, TurnEnded) == [TurnEnded("transcript", "interrupted", denied=True)]


def test_a_stopped_tool_was_not_denied(qwen: Files) -> None:
    qwen.prompt()
    qwen.message(call("c1", command="sleep 30"))
    facts = qwen.cancel("c1", "User cancelled tool execution")
    assert facts == [TurnEnded("transcript", "interrupted", denied=False)]


def test_of_two_tools_one_is_denied_and_the_turn_goes_on(qwen: Files) -> None:
    qwen.prompt()
    qwen.message(call("c1", command="touch a"), call("c2", command="ls"))
    qwen.result("c2")
    assert not only(qwen.cancel("c1", "User did not allow tool call"), TurnEnded)


@pytest.mark.parametrize("first", ["event", "record"])
def test_a_request_that_fails(qwen: Files, first: str) -> None:
    """Its text is no reply; whether it is an error, the chat file says."""
    qwen.prompt()
    facts: list[Fact] = []
    for which in (first, "record" if first == "event" else "event"):
        if which == "event":
            facts += qwen.message(said("[API Error: 400 no]"), used=0)
        else:
            facts += qwen.record("system", subtype="ui_telemetry", systemPayload={"uiEvent": ERROR})
    (end,) = only(facts, TurnEnded)
    assert (end.outcome, end.error, only(facts, Said)) == ("failed", ERROR, [])
    error = qwen.channel.read_error(ERROR)
    assert error is not None and (error.text, error.status) == ("400 no", 400)


ENDED_EARLY = "[API Error: Model stream ended without a finish reason.]"


def answered(qwen: Files, text: str) -> list[Fact]:
    event = {**ERROR, "event.name": "qwen-code.api_response", "status_code": 200, "response_text": text}
    return qwen.record("system", subtype="ui_telemetry", systemPayload={"uiEvent": event})


@pytest.mark.parametrize("used", [0, 10])
@pytest.mark.parametrize("said_first", ["", "half a "])
@pytest.mark.parametrize("first", ["event", "record"])
def test_a_stream_that_ends_early_fails_the_turn(qwen: Files, first: str, said_first: str, used: int) -> None:
    """No request has failed, but the model did not say what is at the end of the message."""
    qwen.prompt()
    facts = answered(qwen, said_first) if first == "record" else []
    pieces = [said_first, ENDED_EARLY] if said_first else [ENDED_EARLY]
    facts += qwen.message(said(said_first + ENDED_EARLY), used=used, pieces=pieces)
    if first == "event":
        assert not only(facts, TurnEnded) and qwen.channel.unfinished()
        facts += answered(qwen, said_first)
    (end,) = only(facts, TurnEnded)
    assert end.outcome == "failed" and not only(facts, Said)
    error = qwen.channel.read_error(end.error)
    assert error is not None and error.text == "Model stream ended without a finish reason."


def test_a_model_that_ends_with_such_a_piece_has_said_it(qwen: Files) -> None:
    qwen.prompt()
    facts = qwen.message(said(f"It says {ENDED_EARLY}"), pieces=["It says ", ENDED_EARLY])
    facts += answered(qwen, f"It says {ENDED_EARLY}")
    assert not only(facts, TurnEnded)
    facts = qwen.record("assistant", message={"parts": [{"text": f"It says {ENDED_EARLY}"}]})
    assert only(facts, TurnEnded)[0].reply == f"It says {ENDED_EARLY}"


def test_a_model_may_say_so_too(qwen: Files) -> None:
    qwen.prompt()
    assert only(qwen.message(said("[API Error: that is how it looks")), TurnEnded)[0].outcome == "completed"
    qwen.prompt()
    assert not only(qwen.message(said("[API Error: x"), used=0), Said)
    facts = qwen.record("assistant", message={"parts": [{"text": "[API Error: x"}]})
    assert only(facts, TurnEnded)[0].reply == "[API Error: x"


def test_events_that_are_removed_or_moved_away_in_a_turn_are_read_again_when_they_are_there(
    qwen: Files,
) -> None:
    qwen.prompt()
    qwen.path.rename(qwen.home / "away")
    assert qwen.channel.poll() == [] and qwen.channel.unfinished()
    assert only(qwen.message(said("Done.")), TurnEnded)[0].reply == "Done."


def asked(qwen: Files, text: str) -> list[Fact]:
    return qwen.record("user", provenance="real_user", message={"parts": [{"text": text}]})


def replied(qwen: Files, text: str) -> list[Fact]:
    usage = {"promptTokenCount": 3, "candidatesTokenCount": 4}
    return qwen.record("assistant", message={"parts": [{"text": text}]}, usageMetadata=usage)


class TestLostEvents:
    """Their file was removed, cut or damaged: the chat file tells the turns until they are complete again."""

    def turn(self, qwen: Files, text: str) -> None:
        qwen.prompt(text)
        qwen.message(said(f"To {text}."))
        assert asked(qwen, text) == replied(qwen, f"To {text}.") == []

    def damage(self, qwen: Files, data: bytes) -> None:
        with qwen.path.open("ab") as file:
            file.write(data)

    def test_the_chat_file_takes_over(self, qwen: Files) -> None:
        self.turn(qwen, "one")
        qwen.path.unlink()
        assert qwen.channel.poll() == [] and not qwen.channel.reports()
        assert "events are lost" in qwen.channel.missing()[0]
        assert asked(qwen, "two") == [PromptAccepted("transcript", "two")]
        assert only(replied(qwen, "To two."), TurnEnded)[0].reply == "To two."

    def test_what_it_tells_late_of_an_earlier_turn_is_no_news(self, qwen: Files) -> None:
        qwen.prompt("one")
        qwen.message(said("To one."))
        qwen.path.unlink()
        assert asked(qwen, "one") == replied(qwen, "To one.") == []

    def test_the_file_is_gone_when_a_message_is_submitted(self, qwen: Files) -> None:
        self.turn(qwen, "one")
        qwen.path.unlink()
        qwen.channel.submitted("two")
        assert not qwen.channel.reports(), "so the screen is read for this turn"

    def test_in_the_middle_of_a_turn(self, qwen: Files) -> None:
        qwen.prompt("one")
        assert asked(qwen, "one") == replied(qwen, "To one.") == []
        qwen.path.unlink()
        assert qwen.channel.poll() == [TurnEnded("transcript", "completed", "To one.")]

    def test_the_next_prompt_among_the_events_makes_them_complete(self, qwen: Files) -> None:
        self.turn(qwen, "one")
        size = qwen.path.stat().st_size
        os.truncate(qwen.path, 0)
        assert qwen.channel.poll() == [] and qwen.channel.missing()
        os.truncate(qwen.path, size)  # Qwen goes on where it was: zero bytes are before that
        assert qwen.prompt("two") == [PromptAccepted("transcript", "two")]
        assert qwen.channel.reports()
        assert only(qwen.message(said("To two.")), TurnEnded)[0].reply == "To two."
        assert asked(qwen, "two") == replied(qwen, "To two.") == []

    @pytest.mark.parametrize("junk", [b'{"type": "us', b"\xff\n\xfe{\n", b"\0\n{"])
    def test_junk(self, qwen: Files, junk: bytes) -> None:
        self.turn(qwen, "one")
        self.damage(qwen, junk)
        facts = (
            qwen.prompt("two") + asked(qwen, "two") + qwen.message(said("To two.")) + replied(qwen, "To two.")
        )
        assert only(facts, PromptAccepted) == [PromptAccepted("transcript", "two")]
        assert only(facts, TurnEnded) == [TurnEnded("transcript", "completed", "To two.")]
        facts = qwen.prompt("three") + qwen.message(said("To three."))
        assert only(facts, TurnEnded)[0].reply == "To three." and qwen.channel.reports()

    def test_qwen_writes_over_junk_that_is_longer_than_its_events(self, qwen: Files) -> None:
        self.turn(qwen, "one")
        self.damage(qwen, b"\xff" * 700)
        assert asked(qwen, "two") == [PromptAccepted("transcript", "two")], "the event is inside the junk"
        assert not qwen.channel.reports()
        assert only(replied(qwen, "To two."), TurnEnded)[0].reply == "To two."


def test_an_error_of_another_request_is_not_one_of_the_turn(qwen: Files) -> None:
    qwen.prompt()
    other = {**ERROR, "prompt_id": "classifier"}
    assert qwen.record("system", systemPayload={"uiEvent": other}) == []
    ours = qwen.record("system", systemPayload={"uiEvent": ERROR})
    assert only(ours, Failed), "it may be tried again"


def test_a_subagent_is_not_the_turn(qwen: Files) -> None:
    qwen.prompt()
    assert qwen.message(said("inside"), parent_tool_use_id="c9") == []


class TestChat:
    """Without events: the user has given --json-fd, or the file is a FIFO."""

    @pytest.fixture
    def qwen(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
        return Files(tmp_path, monkeypatch, events=False)

    def ask(self, qwen: Files, text: str, at: float = STARTED + 5) -> list[Fact]:
        return qwen.record("user", at, provenance="real_user", message={"parts": [{"text": text}]})

    def answer(self, qwen: Files, text: str) -> list[Fact]:
        usage = {"promptTokenCount": 3, "candidatesTokenCount": 4}
        return qwen.record("assistant", message={"parts": [{"text": text}]}, usageMetadata=usage)

    def test_a_turn(self, qwen: Files) -> None:
        assert only(self.ask(qwen, "hello"), PromptAccepted)[0].text == "hello"
        assert only(self.answer(qwen, "Done."), TurnEnded)[0].reply == "Done."

    def test_turns_of_an_earlier_run_do_not_count(self, qwen: Files) -> None:
        assert self.ask(qwen, "old", STARTED - 100) == []

    def test_another_session(self, qwen: Files) -> None:
        """After /resume the chat has turns of before."""
        self.ask(qwen, "hello")
        qwen.show("99999999-2222-4333-8444-555555555555", STARTED + 60)
        assert self.ask(qwen, "old", STARTED + 10) == [TurnEnded("transcript", "interrupted")]
        assert only(self.ask(qwen, "new", STARTED + 61), PromptAccepted)[0].text == "new"

    def test_the_chat_of_a_neighbour_is_not_read(self, qwen: Files) -> None:
        neighbour = qwen.home / ".qwen" / "projects" / "-work" / "chats" / "other.jsonl"
        neighbour.write_text(json.dumps({"type": "user", "timestamp": "2030-01-01T00:00:00Z"}) + "\n")
        assert qwen.channel.poll() == []


class TestFlags:
    @pytest.fixture
    def env(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
        monkeypatch.setenv("SYNAPSE_HOME", str(tmp_path))
        package = tmp_path / "qwen-code"
        package.mkdir()
        (package / "package.json").write_text('{"version": "0.24.4"}')
        (package / "qwen").write_text("")
        (package / "qwen").chmod(0o755)
        return {"SYNAPSE_AGENT_ID": "abc", "HOME": str(tmp_path), "PATH": str(package)}

    def test_each_run_has_a_file_of_its_own(self, env: dict[str, str], tmp_path: Path) -> None:
        path = tmp_path / "agents" / "abc" / "qwen-events.jsonl"
        path.parent.mkdir(parents=True)
        path.write_text("of the last run")
        assert channel_arguments("qwen", [], env) == ["--json-file", str(path)]
        assert not path.exists()

    def test_the_users_own_file_stays(self, env: dict[str, str], tmp_path: Path) -> None:
        assert channel_arguments("qwen", ["--json-file", "mine"], env) == []
        (tmp_path / ".qwen").mkdir()
        (tmp_path / ".qwen" / "settings.json").write_text('{"dualOutput": {"jsonFile": "mine"}}')
        assert channel_arguments("qwen", [], env) == []

    def test_an_old_version_would_refuse_it(self, env: dict[str, str], tmp_path: Path) -> None:
        (tmp_path / "qwen-code" / "package.json").write_text('{"version": "0.9.0"}')
        assert channel_arguments("qwen", [], env) == []
        assert flags.installed_version("nothing", env) == (0,)
