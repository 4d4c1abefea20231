"""What the plugin of opencode reports, and how it gets into opencode."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from synapse.agents.base import Surroundings
from synapse.agents.facts import (
    Denied,
    Fact,
    Failed,
    FileChanged,
    PromptAccepted,
    Said,
    StateSeen,
    TokensUsed,
    TurnEnded,
)
from synapse.agents.flags import channel_environment
from synapse.agents.opencode.channel import COMPLETED_WITHIN, OpencodeChannel
from synapse.registry import INPUT_REQUIRED, PROCESSING, READY

PLUGIN = Path(__file__).parents[2] / "synapse" / "agents" / "opencode" / "plugin.js"
COMMAND = "touch a && echo b"
ABORTED = {"name": "MessageAbortedError", "data": {"message": "Aborted"}}


class Events:
    """As opencode 1.18.33 reports them, without what nobody reads."""

    def __init__(self, channel: OpencodeChannel, session: str = "ses_1") -> None:
        self.channel = channel
        self.session = session

    def __call__(self, kind: str, child: bool = False, **given: Any) -> list[Fact]:
        properties = {"sessionID": self.session, **given}
        return self.channel.on_event({"type": kind, "properties": properties, "child": child})

    def status(self, kind: str, **more: Any) -> list[Fact]:
        return self("session.status", status={"type": kind, **more})

    def message(self, number: str, role: str, **more: Any) -> list[Fact]:
        return self("message.updated", info={"id": number, "role": role, "sessionID": self.session, **more})

    def part(self, message: str, kind: str = "text", **more: Any) -> list[Fact]:
        part = {"type": kind, "messageID": message, "id": f"prt_{message}", **more}
        return self("message.part.updated", part=part)

    def prompt(self, number: str, text: str) -> list[Fact]:
        return [*self.message(number, "user"), *self.part(number, text=text), *self.status("busy")]

    def answer(self, number: str, text: str) -> list[Fact]:
        return [
            *self.message(number, "assistant"),
            *self.part(number, text=text, time={"start": 1, "end": 2}),
        ]

    def call(self, number: str, status: str, name: str = "bash", **given: Any) -> list[Fact]:
        state = {"status": status, "input": given}
        return self.part(number, "tool", tool=name, callID="call_1", state=state)


def channel() -> OpencodeChannel:
    return OpencodeChannel(Surroundings("/work", {"HOME": "/"}, 1_700_000_000.0))


@pytest.fixture
def events() -> Events:
    return Events(channel())


def only(facts: list[Fact], kind: type) -> list[Any]:
    return [fact for fact in facts if isinstance(fact, kind)]


def states(facts: list[Fact]) -> list[str]:
    return [fact.says[0] for fact in only(facts, StateSeen)]


class TestChannel:
    def test_a_turn_of_two_messages(self, events: Events) -> None:
        facts = events.prompt("m1", "hello")
        assert only(facts, PromptAccepted)[0].text == "hello" and states(facts) == [PROCESSING]
        assert only(events.answer("m2", "First I look."), Said)[0].text == "First I look."
        events.call("m2", "running", "read", filePath="notes.txt")
        used = {"input": 10, "output": 7, "cache": {"read": 2, "write": 1}}
        facts = events.message("m2", "assistant", time={"completed": 5}, tokens=used)
        assert only(facts, TokensUsed) == [TokensUsed(13, 7, "m2")]
        events.answer("m3", "It says 42.")
        facts = events.status("idle")
        assert only(facts, TurnEnded) == [TurnEnded("hook", "completed", "It says 42.")]
        assert states(facts) == [READY]
        assert not only(events.status("idle"), TurnEnded), "it is reported twice"

    def test_a_prompt_that_waits_ends_no_turn(self, events: Events) -> None:
        """Each answer names its prompt."""
        events.prompt("m1", "one")
        events.message("m2", "assistant", parentID="m1")
        assert only(events.prompt("m3", "two"), PromptAccepted) == []
        events.part("m2", text="first", time={"start": 1, "end": 2})
        events.message("m2", "assistant", parentID="m1", finish="stop")
        facts = events.message("m4", "assistant", parentID="m3")
        assert facts == [TurnEnded("hook", "completed", "first"), PromptAccepted("hook", "two")]
        events.part("m4", text="second", time={"start": 3, "end": 4})
        assert only(events.status("idle"), TurnEnded) == [TurnEnded("hook", "completed", "second")]

    def test_a_prompt_that_waited_for_a_stopped_turn_is_dropped_with_it(self, events: Events) -> None:
        events.prompt("m1", "one")
        events.prompt("m2", "two")
        assert only(events.status("idle"), TurnEnded) == [TurnEnded("hook", "interrupted", "", denied=False)]
        assert only(events.prompt("m3", "three"), PromptAccepted) == [PromptAccepted("hook", "three")]

    def test_a_question_has_its_command_and_a_denial_ends_the_turn(self, events: Events) -> None:
        events.prompt("m1", "hello")
        events.answer("m2", "I will.")
        events.call("m2", "running", command=COMMAND)
        facts = events(
            "permission.asked",
            id="per_1",
            permission="bash",
            metadata={"command": COMMAND},
            tool={"callID": "call_1"},
        )
        assert states(facts) == [INPUT_REQUIRED]
        assert [request.subject for request in events.channel.requests()] == [COMMAND]
        facts = events("permission.replied", requestID="per_1", reply="reject")
        assert only(facts, Denied)[0].subject == COMMAND and not events.channel.requests()
        (end,) = only(events.status("idle"), TurnEnded)
        assert (end.outcome, end.denied) == ("interrupted", True)

    def test_after_a_yes_the_turn_goes_on(self, events: Events) -> None:
        events.prompt("m1", "hello")
        events("permission.asked", id="per_1", permission="bash", metadata={"command": COMMAND})
        assert states(events("permission.replied", requestID="per_1", reply="once")) == [PROCESSING]
        events.answer("m2", "Done.")
        assert only(events.status("idle"), TurnEnded)[0].reply == "Done."

    def test_an_abort_is_an_interrupt_whose_text_comes_after_it(self, events: Events) -> None:
        events.prompt("m1", "hello")
        events.message("m2", "assistant")
        events("session.error", error=ABORTED)
        facts = events.status("idle")
        assert states(facts) == [READY] and not only(facts, TurnEnded)
        events.part("m2", text="word01 word02", time={"start": 1, "end": 2})
        (end,) = only(events.message("m2", "assistant", time={"completed": 5}), TurnEnded)
        assert (end.outcome, end.reply, end.denied) == ("interrupted", "word01 word02", False)
        assert not only(events.status("idle"), TurnEnded), "it is reported twice"

    @pytest.mark.parametrize("how", ["it is idle again", "time passes"])
    def test_an_abort_before_the_first_word(
        self, events: Events, how: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        events.prompt("m1", "hello")
        events("session.error", error=ABORTED)
        assert not only(events.status("idle"), TurnEnded) and not only(events.channel.poll(), TurnEnded)
        if how == "time passes":
            late = time.time() + COMPLETED_WITHIN
            monkeypatch.setattr("synapse.agents.opencode.channel.time.time", lambda: late)
        facts = events.channel.poll() if how == "time passes" else events.status("idle")
        (end,) = only(facts, TurnEnded)
        assert (end.outcome, end.reply) == ("interrupted", "") and not events.channel.unfinished()

    def test_an_api_error(self, events: Events) -> None:
        events.prompt("m1", "hello")
        error = {"name": "APIError", "data": {"message": "no", "statusCode": 400}}
        events("session.error", error=error)
        (end,) = only(events.status("idle"), TurnEnded)
        assert (end.outcome, end.error) == ("failed", error)
        told = events.channel.read_error(error)
        assert told is not None and (told.text, told.status, told.ends) == ("no", 400, True)

    def test_a_request_that_is_tried_again(self, events: Events) -> None:
        events.prompt("m1", "hello")
        facts = events.status("retry", attempt=1, message="Too Many Requests", next=5)
        assert only(facts, Failed) and states(facts) == [PROCESSING]
        assert events.channel.read_error(only(facts, Failed)[0].error).text == "Too Many Requests"  # type: ignore[union-attr]

    def test_a_turn_that_is_stopped_while_it_waits_to_try_again(self, events: Events) -> None:
        events.prompt("m1", "hello")
        (end,) = only(events.status("idle"), TurnEnded)
        assert end.outcome == "interrupted", "there is no answer at all"
        events.prompt("m0", "hello")
        told = {"id": "a0", "role": "assistant", "time": {"created": 1, "completed": 2}}
        events("message.updated", info=told)
        assert only(events.status("idle"), TurnEnded)[0].outcome == "interrupted", "the model ended nothing"
        events.prompt("m00", "hello")
        events("message.updated", info={**told, "id": "a00", "finish": "stop"})
        (end,) = only(events.status("idle"), TurnEnded)
        assert (end.outcome, end.reply) == ("completed", ""), "an empty reply"
        events.prompt("m2", "hello")
        events.status("retry", attempt=1, message="Too Many Requests", next=5)
        events.status("busy")
        (end,) = only(events.status("idle"), TurnEnded)
        assert (end.outcome, end.reply) == ("interrupted", "")
        events.prompt("m3", "again")
        events.status("retry", attempt=1, message="Too Many Requests", next=5)
        events.answer("m4", "Here.")
        assert only(events.status("idle"), TurnEnded)[0].outcome == "completed"

    def test_a_subagent_says_nothing_but_may_ask(self, events: Events) -> None:
        events.prompt("m1", "hello")
        child = Events(events.channel, "ses_2")
        assert child("message.updated", child=True, info={"id": "c1", "role": "user"}) == []
        assert child("session.status", child=True, status={"type": "idle"}) == []
        asked = {"id": "per_2", "permission": "bash", "metadata": {"command": COMMAND}}
        assert states(child("permission.asked", child=True, **asked)) == [INPUT_REQUIRED]

    def test_a_new_session_leaves_the_turn_of_the_old_one(self, events: Events) -> None:
        events.prompt("m1", "hello")
        other = Events(events.channel, "ses_2")
        facts = other.prompt("m9", "another")
        assert only(facts, TurnEnded)[0].outcome == "interrupted"
        assert only(facts, PromptAccepted)[0].text == "another"
        assert events.status("idle") == [], "it is another conversation by now"
        other.answer("m10", "Here.")
        assert only(other.status("idle"), TurnEnded)[0].reply == "Here."

    def test_its_own_words_are_no_prompt_and_no_reply(self, events: Events) -> None:
        """A shell command of the human, and the summary of a long conversation."""
        events.message("m1", "user")
        assert events.part("m1", text="The following tool was executed", synthetic=True) == []
        events.message("m2", "assistant", summary=True)
        assert only(events.part("m2", text="They talked."), Said) == []
        assert not only(events.status("idle"), TurnEnded)

    def test_a_file_that_was_edited(self, events: Events) -> None:
        assert events("file.edited", file="/home/a.py") == [FileChanged("/home/a.py")]

    def test_between_enter_and_the_event_it_works(
        self, events: Events, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert events.channel.missing()
        events.channel.on_event({"type": "synapse.loaded"})
        assert not events.channel.missing()
        now = [100.0]
        monkeypatch.setattr("synapse.agents.opencode.channel.time.time", lambda: now[0])
        events.channel.submitted("/new")
        assert events.channel.poll() == [], "a command of the CLI"
        events.channel.submitted("hello")
        assert states(events.channel.poll()) == [PROCESSING]
        now[0] += 10
        assert states(events.channel.poll()) == [READY] and events.channel.poll() == []


class TestFlags:
    def test_the_plugin_is_added_for_this_launch(self) -> None:
        config = json.loads(channel_environment("opencode", [], {})["OPENCODE_CONFIG_CONTENT"])
        assert config == {"plugin": [PLUGIN.as_uri()]}

    def test_the_users_own_configuration_is_kept(self) -> None:
        own = {"model": "a/b", "plugin": ["mine"]}
        env = {"OPENCODE_CONFIG_CONTENT": json.dumps(own)}
        config = json.loads(channel_environment("opencode", [], env)["OPENCODE_CONFIG_CONTENT"])
        assert config == {"model": "a/b", "plugin": ["mine", PLUGIN.as_uri()]}

    @pytest.mark.parametrize("own", ["{broken", "[]", '{"plugin": "x"}'])
    def test_one_that_cannot_be_read_is_left_alone(self, own: str) -> None:
        assert channel_environment("opencode", [], {"OPENCODE_CONFIG_CONTENT": own}) == {}

    def test_without_plugins_there_is_none(self) -> None:
        assert channel_environment("opencode", ["--pure"], {}) == {}


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_plugin_sends_the_turn_again_to_the_next_host(tmp_path: Path) -> None:
    """In node, in place of opencode: a host takes two lines and dies, the next one gets all of the turn."""
    path = tmp_path / "events"
    script = f"""
        import {{ Synapse }} from "{PLUGIN.as_uri()}"
        const {{ event }} = await Synapse()
        const tell = (type, properties) => event({{ event: {{ type, properties }} }})
        await tell("message.updated", {{ sessionID: "s", info: {{ id: "m", role: "user" }} }})
        await tell("session.updated", {{ sessionID: "c", info: {{ id: "c", parentID: "s" }} }})
        await tell("session.status", {{ sessionID: "c", status: {{ type: "busy" }} }})
        await tell("message.part.delta", {{ sessionID: "s" }})
        const state = {{ status: "completed", input: {{}}, output: "x" }}
        await tell("message.part.updated", {{ sessionID: "s", part: {{ type: "tool", state }} }})
        setTimeout(() => {{}}, 20000)
    """
    (tmp_path / "run.mjs").write_text(script)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        listener.settimeout(20)
        env = {"SYNAPSE_EVENTS": str(path), "PATH": "/usr/local/bin:/usr/bin:/bin"}
        with subprocess.Popen([shutil.which("node") or "node", tmp_path / "run.mjs"], env=env) as process:
            try:
                got = [_lines(listener) for _ in range(2)]
            finally:
                process.kill()
    assert got[0] == got[1]
    assert [line.get("type") for line in got[0]] == [
        "synapse.loaded",
        "message.updated",
        "session.status",
        "message.part.updated",
    ]
    assert [line.get("child") for line in got[0]] == [None, False, True, False]
    assert got[0][-1]["properties"]["part"]["state"] == {"status": "completed", "input": {}}


def _lines(listener: socket.socket) -> list[dict[str, Any]]:
    """The first five lines of a connection, which is then closed."""
    connection, _ = listener.accept()
    with connection, connection.makefile(encoding="utf-8") as lines:
        connection.settimeout(20)
        assert lines.readline() == "events\n"
        return [json.loads(lines.readline()) for _ in range(4)]
