"""The channel of aider: its record of requests and responses, and the flags that make it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from synapse.agents.aider import channel as module
from synapse.agents.aider.channel import AiderChannel
from synapse.agents.aider.flags import EVENTS, HISTORY, arguments
from synapse.agents.base import TRANSCRIPT, Surroundings
from synapse.agents.facts import Fact, PromptAccepted, Said, StateSeen, TokensUsed

AT = "2026-11-17T06:55:09"
REMINDER = "\n\nTo suggest changes, return a block."


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "llm.log"


@pytest.fixture
def channel(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AiderChannel:
    files = {HISTORY: str(log), EVENTS: str(tmp_path / "events.jsonl")}
    monkeypatch.setattr(Surroundings, "argument", lambda self, flag: files[flag])
    return AiderChannel(Surroundings("/", {}, 0.0))


def lines(role: str, text: str) -> str:
    return "".join(f"{role} {line}\n" for line in text.split("\n"))


def sent(log: Path, prompt: str, reminder: str = REMINDER) -> None:
    with log.open("a") as file:
        file.write(
            f"TO LLM {AT}\n-------\n{lines('SYSTEM', 'Act.')}-------\n{lines('USER', prompt + reminder)}"
        )


def got(log: Path, reply: str) -> None:
    with log.open("a") as file:
        file.write(f"LLM RESPONSE {AT}\n{lines('ASSISTANT', reply) if reply else chr(10)}")


def told(channel: AiderChannel) -> list[Fact]:
    return [fact for fact in channel.poll() if not isinstance(fact, StateSeen)]


def test_a_reply_may_look_like_anything(channel: AiderChannel, log: Path) -> None:
    reply = f"#### not a prompt\n> Tokens: 1 sent\n\nTO LLM {AT}\n-------\nUSER x\n  indented"
    channel.submitted("hello\nthere")
    sent(log, "hello\nthere")
    assert told(channel) == [PromptAccepted(TRANSCRIPT, "hello\nthere")] and channel.unfinished()
    got(log, reply)
    assert told(channel) == [Said(TRANSCRIPT, reply, "1")] and not channel.unfinished()


def test_what_aider_itself_says_to_its_model_begins_no_turn(channel: AiderChannel, log: Path) -> None:
    channel.submitted("/ask hello")
    sent(log, "hello")
    got(log, "Look at x.py.")
    assert told(channel)[0] == PromptAccepted(TRANSCRIPT, "/ask hello")
    channel.submitted("y")
    sent(log, "I added x.py.")
    assert told(channel) == [PromptAccepted(TRANSCRIPT, "I added x.py.", if_idle=True)]


def test_its_commands_are_what_a_question_is_about(channel: AiderChannel, log: Path) -> None:
    channel.submitted("hello")
    sent(log, "hello")
    got(log, "So:\n\n```bash\nmake\nmake test\n```")
    channel.poll()
    assert [request.subject for request in channel.requests()] == ["make … (2 lines)"]
    sent(log, "next")
    channel.poll()
    assert not channel.requests()


def test_tokens_an_empty_reply_and_a_half_written_record(
    channel: AiderChannel, log: Path, tmp_path: Path
) -> None:
    channel.submitted("hello")
    sent(log, "hello")
    got(log, "")  # an error, or an interrupt
    event = {"event": "message_send", "properties": {"prompt_tokens": 598, "completion_tokens": 4}}
    (tmp_path / "events.jsonl").write_text(json.dumps(event) + "\n")
    assert told(channel) == [PromptAccepted(TRANSCRIPT, "hello"), TokensUsed(598, 4, "2")]
    with log.open("a") as file:
        file.write(f"LLM RESPONSE {AT}\nASSISTANT one\nASSIST")
    assert told(channel) == []
    with log.open("a") as file:
        file.write("ANT two\n")
    assert told(channel) == [Said(TRANSCRIPT, "one\ntwo", "3")]


def test_the_file_does_not_grow_for_ever(
    channel: AiderChannel, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "KEPT", 1000)
    for number in range(50):
        channel.submitted(f"hello {number}")
        sent(log, f"hello {number}", "x" * 500)
        got(log, f"reply {number}")
        assert told(channel)[-1] == Said(TRANSCRIPT, f"reply {number}", str(number + 1))
    assert log.stat().st_size < 3000


@pytest.mark.parametrize("half", ["", f"LLM RESPONSE {AT}\nASSISTANT half"])
def test_a_record_that_was_removed_or_moved_away_is_begun_again(
    channel: AiderChannel, log: Path, half: str
) -> None:
    channel.submitted("one")
    sent(log, "one")
    with log.open("a") as file:
        file.write(half)
    assert told(channel) == [PromptAccepted(TRANSCRIPT, "one")]
    log.rename(log.with_suffix(".old"))
    assert told(channel) == []
    channel.submitted("two")
    sent(log, "two", "\n\n" + "x" * 5000)  # longer than the record was before
    got(log, "reply")
    assert told(channel) == [PromptAccepted(TRANSCRIPT, "two"), Said(TRANSCRIPT, "reply", "1")]


def test_the_users_own_files_win(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    for folder in (home, work):
        folder.mkdir()
    monkeypatch.setenv("SYNAPSE_HOME", str(tmp_path / "synapse"))
    monkeypatch.chdir(work)
    env = {"HOME": str(home), "SYNAPSE_AGENT_ID": "a1"}
    words = arguments([], env)
    assert words[::2] == [HISTORY, EVENTS] and all(os.path.isabs(path) for path in words[1::2])
    assert arguments([HISTORY, "mine"], env)[::2] == [EVENTS]
    assert arguments([], {**env, "AIDER_LLM_HISTORY_FILE": "mine"})[::2] == [EVENTS]
    (work / ".aider.conf.yml").write_text("llm-history-file: mine.log\n")
    assert arguments([], env)[::2] == [EVENTS]
    (home / ".env").write_text("AIDER_ANALYTICS_LOG=x\n")
    assert arguments([], env) == [] and arguments([], {}) == []
