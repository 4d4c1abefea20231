"""Codex with its shared server: a thread is ours by what was submitted here."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from synapse.agents.base import Channel, Surroundings, open_channel
from synapse.agents.facts import Fact, PromptAccepted, StateSeen, TurnEnded
from synapse.registry import PROCESSING, READY, STATUSES

OURS, THEIRS = "[A2A:11111111:user] do it", "[A2A:22222222:user] do it"


class Server:
    """Writes the rollouts of all threads, as the shared server does; no process of an agent holds them."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.work = home / "work"
        self.work.mkdir()
        self.started = time.time() - 10

    def channel(self, name: str = "a", child: int = 0) -> Channel:
        session = str(self.home / f"{name}.json")
        env = {"HOME": str(self.home)}
        return open_channel("codex", Surroundings(str(self.work), env, self.started, child, session))

    def path(self, thread: str, day: datetime | None = None) -> Path:
        made = list(self.home.glob(f".codex/sessions/*/*/*/*-{thread * 36}.jsonl"))
        day = day or datetime.now()
        folder = self.home / ".codex" / "sessions" / day.strftime("%Y/%m/%d")
        folder.mkdir(parents=True, exist_ok=True)
        return made[0] if made else folder / f"rollout-{day:%Y-%m-%dT%H-%M-%S}-{thread * 36}.jsonl"

    def write(self, thread: str, *events: dict[str, Any], ago: float = 0.0, **meta: Any) -> None:
        path, now = self.path(thread), datetime.now(UTC) - timedelta(seconds=ago)
        with path.open("a") as file:
            head = {"type": "session_meta", "payload": {"cwd": str(self.work), "source": "vscode", **meta}}
            for record in [head] * (not path.stat().st_size) + [_event(event) for event in events]:
                file.write(json.dumps({"timestamp": now.isoformat(), **record}) + "\n")

    def begin(self, thread: str, text: str, ago: float = 0.0, **meta: Any) -> None:
        item = {"type": "UserMessage", "content": [{"type": "text", "text": text}]}
        prompt = {"type": "item_completed", "item": item}
        self.write(thread, {"type": "task_started"}, prompt, ago=ago, **meta)

    def end(self, thread: str, reply: str) -> None:
        self.write(thread, {"type": "task_complete", "last_agent_message": reply})

    def turn(self, thread: str, text: str, reply: str, ago: float = 0.0, **meta: Any) -> None:
        self.begin(thread, text, ago, **meta)
        self.end(thread, reply)


def _event(payload: dict[str, Any]) -> dict[str, Any]:
    return {"type": "event_msg", "payload": payload}


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return Server(tmp_path)


def told(facts: list[Fact]) -> list[str | None]:
    """The prompts and replies, in order."""
    found: list[str | None] = []
    for fact in facts:
        if isinstance(fact, PromptAccepted):
            found.append(fact.text)
        elif isinstance(fact, TurnEnded):
            found.append(fact.reply if fact.outcome == "completed" else fact.outcome)
    return found


def test_two_agents_in_one_directory_each_find_their_own_thread(server: Server) -> None:
    a, b = server.channel("a"), server.channel("b")
    assert a.missing() and a.poll() == []
    a.submitted(OURS)
    b.submitted(THEIRS)
    server.begin("2", THEIRS)
    assert a.poll() == [] and a.missing()
    server.turn("1", OURS, "one")
    assert told(a.poll()) == [OURS, "one"] and not a.missing()
    assert told(b.poll()) == [THEIRS]
    server.end("2", "two")
    assert told(b.poll()) == ["two"] and a.poll() == []


def test_the_turn_begins_with_work_and_ends_ready(server: Server) -> None:
    channel = server.channel()
    channel.submitted(OURS)
    server.turn("1", OURS, "one")
    assert [fact.says for fact in channel.poll() if isinstance(fact, StateSeen)] == [(PROCESSING,), (READY,)]


def test_a_line_of_the_human_is_found_by_its_words(server: Server) -> None:
    channel = server.channel()
    channel.submitted("please look\nat this")
    server.begin("2", THEIRS)
    server.turn("3", "please look at this", "elsewhere", cwd="/other")
    server.turn("4", "please look at this", "long ago", ago=60)
    assert channel.poll() == []
    server.turn("1", "please  look at this", "one")
    assert told(channel.poll()) == ["please  look at this", "one"]


def test_a_line_that_two_threads_got_decides_nothing(server: Server) -> None:
    channel = server.channel()
    channel.submitted("continue")
    server.begin("1", "continue")
    server.begin("2", "continue")
    assert channel.poll() == [] and channel.missing()


def test_new_resume_and_back(server: Server) -> None:
    """Each is found again by the next text; what was written there meanwhile is not ours."""
    channel = server.channel()
    channel.submitted(OURS)
    server.turn("1", OURS, "one")
    channel.poll()
    channel.submitted("/new")
    assert channel.poll() == []
    channel.submitted("in a new thread")
    server.turn("2", "in a new thread", "two")
    assert told(channel.poll()) == ["in a new thread", "two"]
    server.turn("1", THEIRS, "another agent has resumed it")
    assert channel.poll() == []
    again = OURS.replace("1111", "3333")
    channel.submitted(again)
    server.turn("1", again, "back")
    assert told(channel.poll()) == [again, "back"]


def test_a_thread_of_earlier_days_is_resumed(server: Server) -> None:
    server.path("1", datetime.now() - timedelta(days=40)).touch()
    server.turn("1", "long ago", "old", ago=40 * 86400)
    channel = server.channel()
    channel.submitted("go on")
    server.turn("1", "go on", "new")
    assert told(channel.poll()) == ["go on", "new"]


def test_the_known_thread_stays_without_a_text(server: Server) -> None:
    channel = server.channel()
    channel.submitted(OURS)
    server.turn("1", OURS, "one")
    channel.poll()
    channel.submitted(None)
    server.turn("2", "a neighbour's line", "not ours")
    server.turn("1", "typed in a way that nobody could follow", "two")
    assert told(channel.poll()) == ["typed in a way that nobody could follow", "two"]


def test_a_thread_that_another_agent_has_resumed_is_left(server: Server) -> None:
    channel = server.channel()
    channel.submitted(OURS)
    server.turn("1", OURS, "one")
    channel.poll()
    server.turn("1", THEIRS, "for the other one")
    facts = channel.poll()
    assert told(facts) == [] and channel.missing()
    assert isinstance(facts[-1], StateSeen) and facts[-1].says == STATUSES  # the others know better


def test_a_turn_that_is_left_for_another_thread_is_interrupted(server: Server) -> None:
    channel = server.channel()
    channel.submitted(OURS)
    server.begin("1", OURS)
    channel.poll()
    channel.submitted("elsewhere")
    server.turn("2", "elsewhere", "two")
    assert told(channel.poll()) == ["interrupted", "elsewhere", "two"]


def test_a_subagent_that_knows_the_message_is_not_the_thread(server: Server) -> None:
    channel = server.channel()
    channel.submitted(OURS)
    server.begin("1", OURS, source={"subagent": "review"})
    assert channel.poll() == []
    server.begin("2", OURS)
    assert told(channel.poll()) == [OURS]


def test_the_next_host_takes_the_thread_up(server: Server) -> None:
    first = server.channel()
    first.submitted(OURS)
    server.begin("1", OURS)
    first.poll()
    second = server.channel()
    server.end("1", "one")
    assert told(second.poll()) == [OURS, "one"]
    assert second.session == first.session == "1" * 36


def test_the_next_run_does_not(server: Server) -> None:
    first = server.channel()
    first.submitted(OURS)
    server.turn("1", OURS, "one")
    first.poll()
    server.started += 5
    second = server.channel()
    assert second.poll() == [] and second.session == ""
    assert json.loads((server.home / "a.json").read_text())["session"] == ""


def test_a_half_written_prompt_is_found_when_it_is_whole(server: Server) -> None:
    channel = server.channel()
    channel.submitted(OURS)
    server.begin("1", OURS)
    path = server.path("1")
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    assert channel.poll() == []
    path.write_bytes(whole)
    assert told(channel.poll()) == [OURS]


def test_the_prompt_of_the_command_line_is_the_first_turn(server: Server) -> None:
    """`synapse codex "fix it"`: nobody presses Enter."""
    waits = [sys.executable, "-c", "input()", "--no-daemon", "fix it  now"]
    with subprocess.Popen(waits, stdin=subprocess.PIPE) as process:
        wait_for_exec(process.pid)
        channel = server.channel(child=process.pid)
        server.turn("b", "fix it now", "not here", cwd="/elsewhere")
        assert told(channel.poll()) == []
        server.turn("a", "fix it now", "fixed")
        assert told(channel.poll()) == ["fix it now", "fixed"]
        channel.submitted("and then?")
        server.turn("a", "and then?", "nothing")
        assert told(channel.poll()) == ["and then?", "nothing"]
        process.communicate(b"\n")
    server.started -= 100
    late = server.channel("late")
    server.turn("c", "fix it now", "of somebody else")
    assert told(late.poll()) == []


def wait_for_exec(pid: int) -> None:
    """Until the process has its own command line."""
    deadline = time.monotonic() + 30
    while b"fix it" not in Path(f"/proc/{pid}/cmdline").read_bytes():
        assert time.monotonic() < deadline
        time.sleep(0.01)
