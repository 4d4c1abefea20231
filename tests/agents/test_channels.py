"""What the three CLIs tell through their own channels."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
import tomllib
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TextIO
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synapse.agents import flags
from synapse.agents.base import Surroundings, open_channel
from synapse.agents.codex.channel import CodexChannel
from synapse.agents.facts import (
    Denied,
    Fact,
    Failed,
    FileChanged,
    PromptAccepted,
    Said,
    StateSeen,
    Steered,
    TokensUsed,
    ToolUsed,
    TurnEnded,
)
from synapse.agents.flags import HOOK_PROGRAM, channel_arguments, mcp_arguments
from synapse.registry import INPUT_REQUIRED, PROCESSING, READY
from tests.support.patience import PATIENCE

STARTED = 1_700_000_000.0  # 2023


def around(path: Path, child: int | None = None, **env: str) -> Surroundings:
    return Surroundings(str(path), {"HOME": str(path), **env}, STARTED, child or os.getpid())


def states(facts: list[Fact]) -> list[tuple[str, ...]]:
    return [fact.says for fact in facts if isinstance(fact, StateSeen)]


def only(facts: list[Fact], kind: type) -> list[Any]:
    return [fact for fact in facts if isinstance(fact, kind)]


class TestFlags:
    def test_claude_gets_hooks_by_settings(self) -> None:
        flag, settings = channel_arguments("claude", ["--resume"], {})
        hooks = json.loads(settings)["hooks"]
        assert flag == "--settings" and {"UserPromptSubmit", "Stop", "PermissionRequest"} <= set(hooks)
        command = hooks["Stop"][0]["hooks"][0]["command"]
        assert HOOK_PROGRAM in command and command.endswith(" claude")

    def test_claudes_shell_finds_the_hook_program_anywhere(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(flags, "HOOK_PROGRAM", "/it's $HOME/日本/hook.py")
        hooks = json.loads(channel_arguments("claude", [], {})[1])["hooks"]
        assert shlex.split(hooks["Stop"][0]["hooks"][0]["command"])[-2:] == [flags.HOOK_PROGRAM, "claude"]

    @pytest.mark.parametrize("args", [["--settings", "x.json"], ["--settings=x.json"], ["--bare"]])
    def test_the_users_own_settings_win(self, args: list[str]) -> None:
        assert channel_arguments("claude", args, {}) == []

    def test_claudes_hooks_name_the_socket(self) -> None:
        """A conversation that goes on in the background has the environment of a server."""
        hooks = json.loads(channel_arguments("claude", [], {"SYNAPSE_EVENTS": "/run/a b"})[1])["hooks"]
        assert shlex.split(hooks["Stop"][0]["hooks"][0]["command"])[-2:] == ["claude", "--socket=/run/a b"]

    def test_gemini_gets_an_id_if_its_version_knows_the_flag(self, tmp_path: Path) -> None:
        program, package = tmp_path / "bundle" / "gemini", tmp_path / "package.json"
        program.parent.mkdir()
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        env = {"PATH": str(program.parent)}
        assert channel_arguments("gemini", [], env) == []
        package.write_text('{"version": "0.60.9"}')
        assert channel_arguments("gemini", [], env) == []
        package.write_text('{"version": "0.61.0-preview.1"}')
        flag, value = channel_arguments("gemini", ["-m", "x"], env)
        assert flag == "--session-id" and str(UUID(value, version=4)) == value
        for args in (
            ["-r", "latest"],
            ["--resume"],
            ["--session-id=x"],
            ["--session-file", "f"],
            ["--sessionId", "x"],
        ):
            assert channel_arguments("gemini", args, env) == []

    def test_codex_gets_no_flag_that_separates_it_from_its_server(self, tmp_path: Path) -> None:
        assert channel_arguments("codex", [], {"HOME": str(tmp_path)}) == []

    def test_codex_gets_a_notify_program_if_it_runs_embedded(self, tmp_path: Path) -> None:
        flag, value = channel_arguments("codex", [], {"HOME": str(tmp_path)}, "/nonexistent")
        assert flag == "-c" and value.startswith("notify=[")
        assert json.loads(value.removeprefix("notify="))[-2:] == [HOOK_PROGRAM, "codex"]

    def test_codex_is_asked_once_whether_it_knows_the_flag(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Without it Codex warns at every start; an older one refuses it."""
        monkeypatch.setenv("SYNAPSE_HOME", str(tmp_path / "synapse"))
        program, asked = tmp_path / "codex", tmp_path / "asked"
        for text, knows in (("  --remote ADDR", False), ("      --no-daemon", True)):
            program.write_text(f"#!/bin/sh\necho >> {asked}\necho '{text}'\n")
            program.chmod(0o755)
            for _ in range(2):
                added = channel_arguments("codex", [], {"HOME": str(tmp_path)}, str(program))
                assert (added[0] == "--no-daemon") is knows and added[-2] == "-c"
        assert asked.read_text() == "\n\n"
        args = ["--no-daemon", "-c", "notify=[]"]
        assert channel_arguments("codex", args, {"HOME": str(tmp_path)}, str(program)) == []

    def test_codex_calls_the_users_own_notify_program_too(self, tmp_path: Path) -> None:
        (tmp_path / "config.toml").write_text('notify = ["my-notify", "日本"]\n')
        _, value = channel_arguments("codex", [], {"CODEX_HOME": str(tmp_path)}, "/nonexistent")
        assert json.loads(value.removeprefix("notify="))[-2:] == ["my-notify", "日本"]

    @pytest.mark.parametrize("args", [["-c", "notify=[]"], ["-cnotify=[]"], ["--config=notify = ['x']"]])
    def test_a_notify_argument_of_the_users_wins(self, args: list[str], tmp_path: Path) -> None:
        assert channel_arguments("codex", args, {"HOME": str(tmp_path)}, "/nonexistent") == []

    def test_a_broken_configuration_is_codexs_business(self, tmp_path: Path) -> None:
        (tmp_path / "config.toml").write_text("notify = [")
        assert channel_arguments("codex", [], {"CODEX_HOME": str(tmp_path)}, "/nonexistent")

    def test_others_get_nothing(self) -> None:
        assert channel_arguments("gemini", [], {}) == channel_arguments("none", [], {}) == []

    def test_claude_gets_the_mcp_server_in_one_word(self) -> None:
        """As two words it would take the user's prompt as another file."""
        env = {"SYNAPSE_AGENT_ID": "1", "HOME": "/x"}
        [word] = mcp_arguments("claude", "/nonexistent", ["prompt"], env)
        server = json.loads(word.removeprefix("--mcp-config="))["mcpServers"]["synapse"]
        assert server["args"][-2:] == ["synapse", "mcp"] and server["env"] == {"SYNAPSE_AGENT_ID": "1"}
        assert mcp_arguments("claude", "/nonexistent", ["--strict-mcp-config"], env) == []

    def test_codex_gets_the_mcp_server_as_toml(self) -> None:
        env = {"SYNAPSE_AGENT_NAME": 'a "b"', "HOME": "/x"}
        flag, value = mcp_arguments("codex", "/nonexistent", [], env)
        server = tomllib.loads(value)["mcp_servers"]["synapse"]
        assert flag == "-c" and server["args"][-2:] == ["synapse", "mcp"]
        assert server["env"] == {"SYNAPSE_AGENT_NAME": 'a "b"'}
        assert mcp_arguments("codex", "/nonexistent", ["-c", "mcp_servers.synapse.command='x'"], env) == []

    def test_others_get_no_mcp_server(self) -> None:
        assert mcp_arguments("gemini", "x", [], {}) == mcp_arguments("none", "x", [], {}) == []


class TestHookProgram:
    def run(self, tmp_path: Path, *words: str, stdin: str = "") -> bytes:
        """What the hook program hands over when `words` are its arguments."""
        path = str(tmp_path / "s")
        received: list[bytes] = []
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen()

            def accept() -> None:
                connection, _ = listener.accept()
                with connection:
                    while data := connection.recv(65536):
                        received.append(data)

            thread = threading.Thread(target=accept)
            thread.start()
            env = {"SYNAPSE_EVENTS": path, "PATH": os.environ["PATH"]}
            done = subprocess.run(
                [sys.executable, "-I", "-S", HOOK_PROGRAM, *words],
                input=stdin,
                env=env,
                capture_output=True,
                text=True,
            )
            thread.join(PATIENCE)
        assert (done.returncode, done.stderr) == (0, "")
        return b"".join(received)

    def test_claude(self, tmp_path: Path) -> None:
        event = json.dumps({"hook_event_name": "Stop", "last_assistant_message": "日本" * 50_000})
        assert self.run(tmp_path, "claude", stdin=event) == b"claude\n" + event.encode()

    def test_codex_chains_to_the_users_own(self, tmp_path: Path) -> None:
        out = tmp_path / "out"
        data = self.run(tmp_path, "codex", "sh", "-c", f'printf %s "$0" > {out}', '{"type": "日本"}')
        assert data == 'codex\n{"type": "日本"}'.encode()
        assert out.read_text() == '{"type": "日本"}'

    @pytest.mark.parametrize("env", [{}, {"SYNAPSE_EVENTS": "/nonexistent/x"}])
    def test_it_is_harmless_when_nobody_listens(self, env: dict[str, str]) -> None:
        for words in (["claude"], ["codex", "{}"], ["codex", "no-such-program", "{}"], []):
            done = subprocess.run(
                [sys.executable, "-I", "-S", HOOK_PROGRAM, *words],
                stdin=subprocess.DEVNULL,
                env=env,
                capture_output=True,
            )
            assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")

    def test_it_gives_up_on_a_host_that_does_not_read(self, tmp_path: Path) -> None:
        path = str(tmp_path / "s")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen()
            done = subprocess.run(
                [sys.executable, "-I", "-S", HOOK_PROGRAM, "claude"],
                input="x" * 5_000_000,
                env={"SYNAPSE_EVENTS": path},
                text=True,
                timeout=PATIENCE,
            )
            assert done.returncode == 0


class TestClaude:
    def hook(self, name: str, **more: Any) -> dict[str, Any]:
        return {"hook_event_name": name, "session_id": "s", **more}

    def test_a_turn_by_hooks(self, tmp_path: Path) -> None:
        channel = open_channel("claude", around(tmp_path))
        assert channel.missing()
        facts = channel.on_event(self.hook("UserPromptSubmit", prompt="hello"))
        assert only(facts, PromptAccepted)[0].text == "hello" and states(facts) == [(PROCESSING,)]
        assert states(channel.on_event(self.hook("PermissionRequest"))) == [(INPUT_REQUIRED,)]
        assert states(channel.on_event(self.hook("PostToolUse"))) == [(PROCESSING,)]
        facts = channel.on_event(self.hook("Stop", last_assistant_message="**done**"))
        assert only(facts, TurnEnded)[0].reply == "**done**" and states(facts) == [(READY,)]
        assert channel.missing() == []

    def test_a_subagent_does_not_end_the_turn(self, tmp_path: Path) -> None:
        channel = open_channel("claude", around(tmp_path))
        facts = channel.on_event(self.hook("Stop", agent_id="sub", last_assistant_message="sub"))
        assert only(facts, TurnEnded) == [] and states(facts) == [(PROCESSING,)]

    def test_agents_in_the_background_are_part_of_the_turn(self, tmp_path: Path) -> None:
        """The CLI continues by itself when they have finished: what it says then is the reply."""
        channel = open_channel("claude", around(tmp_path))

        def stop(said: str, *running: str) -> list[Fact]:
            agents = [{"id": name, "type": "subagent", "status": "running"} for name in running]
            shell = {"id": "s", "type": "shell", "status": "running"}  # a server, say: it may never end
            done = {"id": "d", "type": "subagent", "status": "completed"}
            event = {"hook_event_name": "Stop", "last_assistant_message": said}
            return channel.on_event({**event, "background_tasks": [*agents, shell, done]})

        def submit(prompt: str) -> list[Any]:
            return only(
                channel.on_event({"hook_event_name": "UserPromptSubmit", "prompt": prompt}), PromptAccepted
            )

        notified = "<task-notification>\n<task-id>a</task-id>"
        submit("count")
        facts = stop("they count", "a", "b")
        assert states(facts) == [(PROCESSING,)] and only(facts, TurnEnded) == []
        assert submit(notified) == []
        assert only(stop("a has counted", "b"), TurnEnded) == []
        assert submit(notified) == []
        assert [fact.reply for fact in only(stop("20"), TurnEnded)] == ["20"]

        submit("again")
        assert only(stop("it counts", "c"), TurnEnded) == []
        assert len(submit("meanwhile")) == 1
        facts = stop("done", "c")
        assert [fact.reply for fact in only(facts, TurnEnded)] == ["done"], "c is of the turn before"
        assert states(facts) == [(READY,)]
        assert len(submit(notified)) == 1, "nobody waits for it"

    def test_a_turn_that_waits_for_background_agents_can_be_left(self, tmp_path: Path) -> None:
        channel = open_channel("claude", around(tmp_path))
        channel.on_event({"hook_event_name": "UserPromptSubmit", "prompt": "count"})
        assert channel.leave() == [], "Escape ends it"
        running = [{"id": "a", "type": "subagent", "status": "running"}]
        channel.on_event({"hook_event_name": "Stop", "background_tasks": running})
        facts = channel.leave()
        assert [fact.outcome for fact in only(facts, TurnEnded)] == ["interrupted"]
        assert states(facts) == [(READY,)]
        assert only(channel.leave(), TurnEnded) == [] and states(channel.leave()) == [(READY,)]
        notified = {"hook_event_name": "UserPromptSubmit", "prompt": "<task-notification>"}
        assert len(only(channel.on_event(notified), PromptAccepted)) == 1

    def test_a_background_agents_question_outlives_the_stop(self, tmp_path: Path) -> None:
        channel = open_channel("claude", around(tmp_path))
        asks = {"hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": {"command": "ls"}}
        channel.on_event({**asks, "agent_id": "a"})
        running = [{"id": "a", "type": "subagent", "status": "running"}]
        channel.on_event({"hook_event_name": "Stop", "background_tasks": running})
        assert [request.subject for request in channel.requests()] == ["ls"]
        channel.on_event({"hook_event_name": "Stop", "background_tasks": "nonsense"})
        assert channel.requests() == []

    def test_a_subagent_that_asks_is_a_question(self, tmp_path: Path) -> None:
        channel = open_channel("claude", around(tmp_path))
        assert states(channel.on_event(self.hook("PermissionRequest", agent_id="sub"))) == [(INPUT_REQUIRED,)]

    def test_what_a_permission_prompt_is_about(self, tmp_path: Path) -> None:
        channel = open_channel("claude", around(tmp_path))

        def asks(tool: str, **given: Any) -> None:
            channel.on_event(self.hook("PermissionRequest", tool_name=tool, tool_input=given))

        asks("Bash", command="touch a && \\\n touch b", description="Touch")
        asks("Write", file_path="/w/new.txt", content="one")
        asks("AskUserQuestion", questions=[])
        assert [request.subject for request in channel.requests()] == [
            "touch a && \\ … (2 lines)",
            "Write /w/new.txt",
        ]
        assert channel.requests()[0].detail == "touch a && \\\n touch b\n\nTouch"
        written = {"tool_name": "Write", "tool_input": {"file_path": "/w/new.txt", "content": "one"}}
        channel.on_event(self.hook("PostToolUse", **written))
        assert len(channel.requests()) == 1
        channel.on_event(self.hook("Stop"))
        assert channel.requests() == []

    def test_a_tool_that_was_stopped_while_it_ran_was_not_denied(self, tmp_path: Path) -> None:
        """Claude writes "rejected" for both."""
        channel = open_channel("claude", around(tmp_path))
        path = tmp_path / "t.jsonl"
        channel.on_event({"hook_event_name": "UserPromptSubmit", "transcript_path": str(path)})
        stopped = {"type": "text", "text": "[Request interrupted by user for tool use]"}
        line: dict[str, Any] = {"type": "user", "message": {"content": [stopped]}}
        path.write_text(
            "".join(json.dumps(one) + "\n" for one in (line, {**line, "interruptedMessageId": "m"}))
        )
        assert [fact.denied for fact in only(channel.poll(), TurnEnded)] == [None, False]

    def test_a_rejected_tool_is_denied(self, tmp_path: Path) -> None:
        channel = open_channel("claude", around(tmp_path))
        path = tmp_path / "t.jsonl"
        stopped = {"type": "text", "text": "[Request interrupted by user for tool use]"}
        lines = [
            {"type": "user", "toolUseResult": "User rejected tool use", "message": {"content": []}},
            {"type": "user", "message": {"content": [stopped]}},
        ]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        facts = channel.on_event(self.hook("Notification", transcript_path=str(path)))
        assert [type(fact) for fact in facts if isinstance(fact, Denied | TurnEnded)] == [Denied, TurnEnded]

    @pytest.mark.parametrize(("trigger", "after"), [("manual", [(READY,)]), ("auto", [])])
    def test_compacting_is_work(self, tmp_path: Path, trigger: str, after: list[tuple[str, ...]]) -> None:
        channel = open_channel("claude", around(tmp_path))
        assert states(channel.on_event(self.hook("PreCompact", trigger=trigger))) == [(PROCESSING,)]
        assert states(channel.on_event(self.hook("SessionStart", source="compact"))) == after

    def test_a_session_with_an_agent_of_its_own_is_no_subagent(self, tmp_path: Path) -> None:
        channel = open_channel("claude", around(tmp_path))
        facts = channel.on_event(self.hook("UserPromptSubmit", prompt="x", agent_type="reviewer"))
        facts += channel.on_event(self.hook("Stop", agent_type="reviewer", last_assistant_message="y"))
        assert only(facts, PromptAccepted)[0].text == "x" and only(facts, TurnEnded)[0].reply == "y"

    def test_notifications(self, tmp_path: Path) -> None:
        channel = open_channel("claude", around(tmp_path))
        for kind, status in (("permission_prompt", INPUT_REQUIRED), ("idle_prompt", READY)):
            facts = channel.on_event(self.hook("Notification", notification_type=kind))
            assert states(facts) == [(status,)]
        assert channel.on_event(self.hook("Notification", notification_type="auth_success")) == []

    def test_an_api_error_fails_the_turn(self, tmp_path: Path) -> None:
        facts = open_channel("claude", around(tmp_path)).on_event(
            self.hook("StopFailure", error="rate_limit")
        )
        assert only(facts, TurnEnded)[0].outcome == "failed"

    def test_the_transcript_is_behind_until_it_has_the_reply(self, tmp_path: Path) -> None:
        """It is written after the hook, and has the tokens of the last request."""
        path = tmp_path / "t.jsonl"
        channel = open_channel("claude", around(tmp_path))
        assert not channel.is_behind("done"), "there is none"
        for name, more in (
            ("UserPromptSubmit", {"prompt": "x"}),
            ("Stop", {"last_assistant_message": "done"}),
        ):
            channel.on_event(self.hook(name, transcript_path=str(path), **more))
        assert channel.is_behind("done") and not channel.is_behind("")
        path.write_text(json.dumps({"type": "assistant", "message": {"content": "done"}}) + "\n")
        channel.poll()
        assert not channel.is_behind("done")
        channel.on_event(self.hook("UserPromptSubmit", transcript_path=str(path), prompt="y"))
        assert channel.is_behind("done"), "the next turn says the same"
        path.unlink()
        channel.on_event(self.hook("UserPromptSubmit", transcript_path=str(path), prompt="z"))
        assert not channel.is_behind("done"), "it is not kept"

    def test_the_transcript_tells_messages_tools_tokens_and_interrupts(self, tmp_path: Path) -> None:
        path = tmp_path / "t.jsonl"
        usage = {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 7}
        lines = [
            {
                "type": "assistant",
                "uuid": "1",
                "requestId": "r",
                "message": {"content": "hi", "usage": usage},
            },
            {
                "type": "assistant",
                "uuid": "2",
                "requestId": "r",
                "message": {
                    "content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}],
                    "usage": usage,
                },
            },
            {"type": "assistant", "isSidechain": True, "message": {"content": "not this"}},
            {"type": "user", "isMeta": True, "message": {"content": "nor this"}},
            {
                "type": "user",
                "message": {"content": [{"type": "text", "text": "[Request interrupted by user]"}]},
            },
            {"type": "summary"},
            {"type": "assistant", "message": None},
            {"type": "assistant", "message": {"content": [None, {"type": "text"}]}},
        ]
        channel = open_channel("claude", around(tmp_path))
        channel.on_event(self.hook("UserPromptSubmit", prompt="x", transcript_path=str(path)))
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        facts = channel.poll()
        assert [said.text for said in only(facts, Said)] == ["hi", ""]
        assert only(facts, ToolUsed)[0].detail == {"command": "ls"}
        assert {used.key for used in only(facts, TokensUsed)} == {"r"}
        assert only(facts, TokensUsed)[0].input_tokens == 15
        assert only(facts, TurnEnded)[0].outcome == "interrupted"


_HOLDER = """
import sys
held = []
for path in iter(sys.stdin.readline, ""):
    held.append(open(path.rstrip()))
    print("held", flush=True)
"""


class Threads:
    """Rollouts that an agent holds open: a process with a session of its own."""

    def __init__(self, folder: Path, held: ExitStack) -> None:
        self._folder = folder
        self._held = held
        self._files: dict[str, TextIO] = {}
        command, pipe = [sys.executable, "-c", _HOLDER], subprocess.PIPE
        self._agent = held.enter_context(
            subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, start_new_session=True)
        )
        self.pid = self._agent.pid
        held.callback(self._agent.kill)

    def write(self, thread: str, *events: dict[str, Any], source: object = "cli", began: str = "2036") -> str:
        if thread not in self._files:
            path = self._folder / f"rollout-{began}-11-15T10-00-00-{thread * 36}.jsonl"
            self._files[thread] = self._held.enter_context(path.open("w"))
            self._line(thread, "session_meta", {"source": source})
            assert self._agent.stdin is not None and self._agent.stdout is not None
            self._agent.stdin.write(f"{path}\n")
            self._agent.stdin.flush()
            assert self._agent.stdout.readline() == "held\n"
        for event in events:
            self._line(thread, "event_msg", event)
        return thread * 36

    def _line(self, thread: str, kind: str, payload: dict[str, Any]) -> None:
        self._files[thread].write(json.dumps({"type": kind, "payload": payload}) + "\n")
        self._files[thread].flush()


CLAUDE_STARTS = {"hook_event_name": "SessionStart", "session_id": "first", "source": "startup"}
CLAUDE_PROMPTED = {"hook_event_name": "UserPromptSubmit", "session_id": "moved"}
CLAUDE_STOPS = {"hook_event_name": "Stop", "last_assistant_message": "done"}


class TestClaudesPageOfAgents:
    """It moves the conversation into a server, under another id, and begins others there."""

    @pytest.mark.parametrize(
        ("submitted", "prompt"),
        [("[A2A:1234:b] hello", "[A2A:1234:b] hello\n\nmore"), ("my  line", "my line")],
    )
    def test_the_conversation_is_the_one_that_got_what_was_submitted(
        self, tmp_path: Path, submitted: str, prompt: str
    ) -> None:
        channel = open_channel("claude", around(tmp_path))
        channel.on_event(CLAUDE_STARTS)
        assert not channel.knows({**CLAUDE_STOPS, "session_id": "moved"})
        channel.submitted(submitted)
        assert channel.knows({**CLAUDE_PROMPTED, "prompt": prompt})
        assert only(channel.on_event({**CLAUDE_PROMPTED, "prompt": prompt}), PromptAccepted)
        assert channel.session == "moved"
        assert channel.knows({**CLAUDE_STOPS, "session_id": "moved"})

    def test_its_hook_may_be_faster_than_the_key(self, tmp_path: Path) -> None:
        channel = open_channel("claude", around(tmp_path))
        channel.on_event(CLAUDE_STARTS)
        assert not channel.knows({**CLAUDE_PROMPTED, "prompt": "my line"})
        channel.submitted("my line")
        assert channel.knows({**CLAUDE_STOPS, "session_id": "moved"})

    @pytest.mark.parametrize("hook_first", [False, True])
    @pytest.mark.parametrize("made_late", [False, True])
    def test_the_turns_that_moved_with_it_are_over(
        self, tmp_path: Path, hook_first: bool, made_late: bool
    ) -> None:
        """The transcript under the new id begins with a copy of the conversation (2.1.326), and may be made
        before or after the prompt."""
        used = {"input_tokens": 5, "output_tokens": 7}
        interrupted = {"content": [{"type": "text", "text": "[Request interrupted by user]"}]}
        past = {"timestamp": "2026-11-17T23:24:30.976Z"}
        old = [
            {"type": "assistant", "uuid": "a", "message": {"content": "before", "usage": used}, **past},
            {"type": "user", "uuid": "b", "message": interrupted, **past},
        ]
        now = {"timestamp": datetime.now(UTC).isoformat().replace("+00:00", "Z")}
        new = {"type": "assistant", "uuid": "c", "message": {"content": "done", "usage": used}, **now}
        copied = "".join(json.dumps(line) + "\n" for line in old)
        transcript = tmp_path / "moved.jsonl"
        if not made_late:
            transcript.write_text(copied)
        channel = open_channel("claude", around(tmp_path))
        channel.on_event(CLAUDE_STARTS)
        moved = {"session_id": "moved", "transcript_path": str(transcript)}
        prompted = {**CLAUDE_PROMPTED, **moved, "prompt": "my line"}
        if hook_first:
            assert not channel.knows(prompted)
        channel.submitted("my line")
        facts = [] if hook_first else channel.on_event(prompted)
        transcript.write_text(f"{copied}{json.dumps(new)}\n")
        facts += channel.on_event({**CLAUDE_STOPS, **moved})
        assert [fact.text for fact in only(facts, Said)] == ["done"]
        assert [fact.key for fact in only(facts, TokensUsed)] == ["c"]
        assert [fact.outcome for fact in only(facts, TurnEnded)] == ["completed"]

    @pytest.mark.parametrize("prompt", ["another line", "[A2A:9999:b] hello", ""])
    def test_another_prompt_is_another_conversation(self, tmp_path: Path, prompt: str) -> None:
        channel = open_channel("claude", around(tmp_path))
        channel.on_event(CLAUDE_STARTS)
        channel.submitted("[A2A:1234:b] hello")
        assert not channel.knows({**CLAUDE_PROMPTED, "prompt": prompt})

    def test_a_second_conversation_that_starts_is_not_shown_here(self, tmp_path: Path) -> None:
        """Its process may be below the agent's."""
        channel = open_channel("claude", around(tmp_path))
        channel.on_event(CLAUDE_STARTS)
        channel.submitted("[A2A:1234:b] hello")
        assert channel.on_event({**CLAUDE_STARTS, "session_id": "second"}) == []
        assert channel.on_event({**CLAUDE_STOPS, "session_id": "second"}) == []
        assert channel.session == "first"
        opened = {**CLAUDE_PROMPTED, "session_id": "second", "prompt": "[A2A:1234:b] hello"}
        assert only(channel.on_event(opened), PromptAccepted), "the human has opened it"
        assert only(channel.on_event({**CLAUDE_STOPS, "session_id": "second"}), TurnEnded)

    def test_clear_begins_another_conversation_here(self, tmp_path: Path) -> None:
        channel = open_channel("claude", around(tmp_path))
        channel.on_event(CLAUDE_STARTS)
        channel.on_event({"hook_event_name": "SessionEnd", "session_id": "first", "reason": "clear"})
        channel.on_event({**CLAUDE_STARTS, "session_id": "cleared", "source": "clear"})
        assert only(channel.on_event({**CLAUDE_STOPS, "session_id": "cleared"}), TurnEnded)

    def test_the_next_host_knows_the_conversation(self, tmp_path: Path) -> None:
        surroundings = replace(around(tmp_path), session_file=str(tmp_path / "session.json"))
        open_channel("claude", surroundings).on_event(CLAUDE_STARTS)
        assert open_channel("claude", surroundings).knows({**CLAUDE_STOPS, "session_id": "first"})


def test_a_file_that_was_changed_is_reported_when_the_tool_has_done_it(tmp_path: Path) -> None:
    """By a hook after the tool, by an item of the rollout, by a call in the chat, by an event."""
    claude = open_channel("claude", around(tmp_path))
    for more in ({}, {"agent_id": "a subagent"}):
        used = {"tool_name": "Edit", "tool_input": {"file_path": "/w/a.py"}, **more}
        assert only(claude.on_event({"hook_event_name": "PermissionRequest", **used}), FileChanged) == []
        done = claude.on_event({"hook_event_name": "PostToolUse", **used})
        assert only(done, FileChanged) == [FileChanged("/w/a.py")]
    read = {"hook_event_name": "PostToolUse", "tool_name": "Read", "tool_input": {"file_path": "/w/a.py"}}
    assert only(claude.on_event(read), FileChanged) == []
    events = open_channel("events", around(tmp_path))
    assert events.on_event({"event": "file_changed", "path": "a.py"}) == [FileChanged("a.py")]
    assert events.on_event({"event": "file_changed", "path": ["a.py"]}) == []
    tokens = {"event": "usage", "input_tokens": 3, "output_tokens": 4}
    assert events.on_event(tokens) == [TokensUsed(3, 4)]
    assert events.on_event({"event": "usage", "input_tokens": "3"}) == []


@pytest.mark.parametrize("status", ["completed", "failed", "declined"])
def test_the_files_of_a_patch_of_codex(tmp_path: Path, status: str) -> None:
    channel = open_channel("codex", around(tmp_path))
    assert isinstance(channel, CodexChannel)
    item = {"type": "FileChange", "status": status, "changes": {"/w/a.py": {"type": "add"}, "/w/b.py": {}}}
    facts = channel._line("event_msg", {"type": "item_completed", "item": item, "completed_at_ms": 5500})
    done = [FileChanged("/w/a.py", 5.5), FileChanged("/w/b.py", 5.5)]
    assert facts == (done if status == "completed" else [])


class TestCodex:
    def rollout(self, tmp_path: Path) -> Path:
        folder = tmp_path / ".codex" / "sessions" / "2026" / "11" / "15"
        folder.mkdir(parents=True)
        return folder / "rollout-2026-11-15T10-00-00-0199aaaa-bbbb-cccc-dddd-eeeeeeeeeeee.jsonl"

    def test_the_rollout_that_the_agent_holds_open(self, tmp_path: Path) -> None:
        path = self.rollout(tmp_path)
        events: list[dict[str, Any]] = [
            {"type": "task_started", "turn_id": "1"},
            {"type": "user_message", "message": "hello"},
            {"type": "agent_message", "message": "first"},
            {"type": "token_count", "info": {"last_token_usage": {"input_tokens": 3, "output_tokens": 4}}},
            {"type": "token_count", "info": None},
            {
                "type": "item_completed",  # as of 0.166
                "item": {
                    "type": "AgentMessage",
                    "id": "m",
                    "content": [{"type": "Text", "text": "**last**"}],
                },
            },
            {"type": "task_complete", "turn_id": "1", "last_agent_message": "**last**"},
        ]
        with path.open("w") as file:  # held open, as Codex does
            for event in events:
                file.write(json.dumps({"timestamp": "t", "type": "event_msg", "payload": event}) + "\n")
            call = {"type": "function_call", "name": "exec_command", "call_id": "c"}
            call["arguments"] = json.dumps({"cmd": "rm -rf x", "justification": "May I?"})
            file.write(json.dumps({"type": "response_item", "payload": call}) + "\n")
            file.flush()
            agent = subprocess.Popen(["sleep", "60"], stdout=file, start_new_session=True)
            try:
                surroundings = Surroundings(str(tmp_path), {"HOME": str(tmp_path)}, 0.0, agent.pid)
                channel = open_channel("codex", surroundings)
                facts = channel.poll()
                waiting = [request.subject for request in channel.requests()]
                output = {"type": "function_call_output", "call_id": "c", "output": "aborted by user"}
                file.write(json.dumps({"type": "response_item", "payload": output}) + "\n")
                file.flush()
                channel.poll()
            finally:
                agent.kill()
                agent.wait()
        assert waiting == ["rm -rf x"] and channel.requests() == []
        assert states(facts) == [(PROCESSING,), (READY,)]
        assert only(facts, PromptAccepted)[0].text == "hello"
        assert [said.text for said in only(facts, Said)] == ["first", "**last**"]
        assert only(facts, TurnEnded)[0].reply == "**last**"
        assert only(facts, TokensUsed)[0].output_tokens == 4
        assert only(facts, ToolUsed)[0].name == "exec_command"
        notify = {"type": "agent-turn-complete", "thread-id": "other", "last-assistant-message": "title"}
        assert only(channel.on_event(notify), TurnEnded) == []

    def test_what_a_human_adds_to_the_running_turn_is_no_turn_of_its_own(self, tmp_path: Path) -> None:
        with ExitStack() as held:
            threads = Threads(self.rollout(tmp_path).parent, held)
            channel = open_channel("codex", around(tmp_path, child=threads.pid))
            threads.write("1", {"type": "task_started"}, {"type": "user_message", "message": "one"})
            assert [fact.text for fact in only(channel.poll(), PromptAccepted)] == ["one"]
            threads.write("1", {"type": "user_message", "message": "and this"})
            assert channel.poll() == [Steered("transcript", "and this")]
            threads.write("1", {"type": "task_complete", "last_agent_message": "both"})
            assert [fact.reply for fact in only(channel.poll(), TurnEnded)] == ["both"]
            threads.write("1", {"type": "task_started"}, {"type": "user_message", "message": "two"})
            assert [fact.text for fact in only(channel.poll(), PromptAccepted)] == ["two"]

    def test_a_thread_that_works_on_in_the_background_ends_no_turn_of_another(self, tmp_path: Path) -> None:
        """Its view of agents opens another thread while one works (0.169 has it embedded too)."""
        started = {"type": "task_started"}
        with ExitStack() as held:
            threads = Threads(self.rollout(tmp_path).parent, held)
            channel = open_channel("codex", around(tmp_path, child=threads.pid))
            channel.submitted("[A2A:1:x] one")
            threads.write("1", started, {"type": "user_message", "message": "[A2A:1:x] one"})
            assert only(channel.poll(), PromptAccepted)
            threads.write("2", started, {"type": "user_message", "message": "not submitted here"})
            assert channel.poll() == [], "the first one works, and this began by itself"
            threads.write("2", {"type": "task_complete", "last_agent_message": "of its own"})
            channel.submitted("[A2A:2:x] two")
            threads.write("2", started)
            assert channel.poll() == []
            threads.write("2", {"type": "user_message", "message": "[A2A:2:x] two"})
            facts = channel.poll()
            assert [fact.outcome for fact in only(facts, TurnEnded)] == ["interrupted"], (
                "the first one is left"
            )
            assert [fact.text for fact in only(facts, PromptAccepted)] == ["[A2A:2:x] two"]
            assert states(facts) == [(PROCESSING,)]
            threads.write("1", {"type": "task_complete", "last_agent_message": "one"})
            assert channel.poll() == []
            threads.write("2", {"type": "task_complete", "last_agent_message": "two"})
            assert [fact.reply for fact in only(channel.poll(), TurnEnded)] == ["two"]
            threads.write("1", started, {"type": "user_message", "message": "back"})
            assert [fact.text for fact in only(channel.poll(), PromptAccepted)] == ["back"]

    def test_another_thread_is_followed_and_a_subagents_is_not(self, tmp_path: Path) -> None:
        """/new begins another file; Codex keeps the first one open, and a subagent has one of its own."""
        with ExitStack() as held:
            threads = Threads(self.rollout(tmp_path).parent, held)
            threads.write("1", {"type": "user_message", "message": "one"})
            channel = open_channel("codex", around(tmp_path, child=threads.pid))
            assert [p.text for p in only(channel.poll(), PromptAccepted)] == ["one"]
            threads.write("2", {"type": "user_message", "message": "two"})
            threads.write("3", {"type": "user_message", "message": "sub"}, source={"subagent": "review"})
            assert [p.text for p in only(channel.poll(), PromptAccepted)] == ["two"]
            threads.write("1", {"type": "user_message", "message": "back again"})
            assert [p.text for p in only(channel.poll(), PromptAccepted)] == ["back again"]

    def test_compacting_is_no_turn(self, tmp_path: Path) -> None:
        ended = {"type": "task_complete", "last_agent_message": None}
        with ExitStack() as held:
            threads = Threads(self.rollout(tmp_path).parent, held)
            threads.write("1", {"type": "task_started"}, ended)
            channel = open_channel("codex", around(tmp_path, child=threads.pid))
            facts = channel.poll()
            assert states(facts) == [(PROCESSING,), (READY,)] and only(facts, TurnEnded) == []
            threads.write("1", {"type": "task_started"}, {"type": "user_message", "message": "x"}, ended)
            assert only(channel.poll(), TurnEnded)[0].outcome == "failed"

    def test_the_error_of_a_turn_is_in_the_rollout(self, tmp_path: Path) -> None:
        error = {"message": "You've hit your usage limit.", "codex_error_info": "usage_limit_exceeded"}
        with ExitStack() as held:
            threads = Threads(self.rollout(tmp_path).parent, held)
            threads.write("1", {"type": "task_started"}, {"type": "user_message", "message": "x"})
            channel = open_channel("codex", around(tmp_path, child=threads.pid))
            channel.poll()
            threads.write("1", {"type": "task_complete", "last_agent_message": None, "error": error})
            (end,) = only(channel.poll(), TurnEnded)
            assert end.outcome == "failed" and end.error == {"type": "error", **error}

    def test_a_resumed_threads_first_turn_is_told_by_the_notification(self, tmp_path: Path) -> None:
        with ExitStack() as held:
            threads = Threads(self.rollout(tmp_path).parent, held)
            threads.write("1", {"type": "user_message", "message": "one"})
            channel = open_channel("codex", around(tmp_path, child=threads.pid))
            channel.poll()
            old = threads.write("2", {"type": "user_message", "message": "long ago"}, began="2020")
            notify = {"type": "agent-turn-complete", "thread-id": old, "input-messages": ["now"]}
            facts = channel.on_event({**notify, "last-assistant-message": "ok"})
            assert [p.text for p in only(facts, PromptAccepted)] == ["now"]
            assert only(facts, TurnEnded)[0].reply == "ok"

    def test_without_a_rollout_the_notification_is_what_there_is(self, tmp_path: Path) -> None:
        channel = open_channel("codex", around(tmp_path))
        assert channel.missing()
        facts = channel.on_event({"type": "agent-turn-complete", "last-assistant-message": "ok"})
        assert only(facts, TurnEnded)[0].reply == "ok" and states(facts) == [(READY,)]


class Chats:
    """The chats of one directory, written by as many agents as there are sessions."""

    def __init__(self, home: Path) -> None:
        self._folder = home / ".gemini" / "tmp" / "project" / "chats"
        self._folder.mkdir(parents=True)
        (self._folder.parent / ".project_root").write_text(str(home))

    def write(self, session: str, *records: dict[str, Any], ago: float = 0.0) -> None:
        path = self._folder / f"session-2026-11-16T00-00-{session}.jsonl"
        begun = not path.exists()
        now = datetime.now(UTC) - timedelta(seconds=ago)
        with path.open("a") as file:
            for record in [{"sessionId": session, "kind": "main"}] * begun + list(records):
                file.write(json.dumps({"timestamp": now.isoformat(), **record}) + "\n")

    def ask(self, session: str, text: str, ago: float = 0.0) -> None:
        self.write(session, {"id": text, "type": "user", "content": [{"text": text}]}, ago=ago)


class TestGemini:
    def asked(self, facts: list[Fact]) -> list[str]:
        return [fact.text for fact in only(facts, PromptAccepted)]

    def test_the_chat_file(self, tmp_path: Path) -> None:
        chats, channel = Chats(tmp_path), open_channel("gemini", around(tmp_path))
        assert channel.missing()
        channel.submitted()
        call = {"id": "c", "name": "run_shell_command", "args": {"command": "ls"}}
        write = {"name": "write_file", "args": {"file_path": "a.py"}, "status": "success"}
        write["timestamp"] = "2026-01-01T00:00:00Z"
        denied = {**write, "args": {"file_path": "b.py"}, "status": "cancelled"}
        chats.write(
            "aaaaaaaa",
            {"id": "1", "type": "user", "content": [{"text": "hello"}]},
            {"id": "1", "type": "user", "content": [{"text": "hello"}]},
            {"id": "2", "type": "gemini", "content": "par"},
            {
                "id": "2",
                "type": "gemini",
                "content": "partial, then whole",
                "tokens": {"input": 1, "output": 2},
                "toolCalls": [call, None, write, denied],
            },
            {"type": "info", "content": "x"},
        )
        facts = channel.poll()
        assert self.asked(facts) == ["hello"]
        assert [said.key for said in only(facts, Said)] == ["2", "2"]
        assert only(facts, ToolUsed)[0].name == "run_shell_command"
        assert only(facts, FileChanged) == [FileChanged("a.py", 1767225600.0)]
        assert only(facts, TokensUsed)[0].output_tokens == 2
        assert channel.missing() == [] and channel.unfinished()

    def test_what_is_written_once_more_after_a_denied_tool_is_no_news(self, tmp_path: Path) -> None:
        chats, channel = Chats(tmp_path), open_channel("gemini", around(tmp_path))

        def said(key: str, kind: str, text: str) -> dict[str, Any]:
            return {"id": key, "type": kind, "content": [{"text": text}]}

        channel.submitted("one")
        chats.write("aaaaaaaa", said("1", "user", "one"), said("2", "gemini", "first"))
        assert self.asked(channel.poll()) == ["one"]
        chats.write(
            "aaaaaaaa",
            {"type": "info", "content": "Request cancelled."},
            said("3", "user", "<session_context>\nToday is Monday.\n</session_context>one"),
            {"$set": {"lastUpdated": "2026-11-17T07:10:12.563Z"}},
            said("4", "gemini", "first"),
            said("5", "user", "an earlier one"),
        )
        facts = channel.poll()
        assert [type(fact) for fact in facts] == [TurnEnded]
        chats.write("aaaaaaaa", said("6", "gemini", "second"), {"$set": {"messages": []}})
        chats.write("aaaaaaaa", said("7", "user", "two"))
        assert self.asked(channel.poll()) == ["two"]

    def test_the_next_prompt_counts_also_if_the_end_of_that_is_never_written(self, tmp_path: Path) -> None:
        chats, channel = Chats(tmp_path), open_channel("gemini", around(tmp_path))
        channel.submitted("one")
        chats.ask("aaaaaaaa", "one")
        channel.poll()
        chats.ask("aaaaaaaa", "<session_context>\nToday is Monday.\n</session_context>one")
        assert channel.poll() == []
        channel.submitted("two")
        chats.ask("aaaaaaaa", "two")
        assert self.asked(channel.poll()) == ["two"]

    def test_a_denied_tool_and_one_that_was_stopped_while_it_ran(self, tmp_path: Path) -> None:
        """Both are cancelled: the reason tells them apart."""
        for reason, denied in (("User denied execution.", True), ("Operation cancelled by user", False)):
            path = tmp_path / reason[:4]
            path.mkdir()
            chats, channel = Chats(path), open_channel("gemini", around(path))
            channel.submitted()
            error = {"functionResponse": {"response": {"error": f"[Operation Cancelled] Reason: {reason}"}}}
            call = {"name": "run_shell_command", "args": {"command": "ls"}, "status": "cancelled"}
            other = {"name": "read_file", "args": {"file_path": "x"}, "status": "cancelled"}
            chats.write(
                "aaaaaaaa",
                {"id": "1", "type": "user", "content": [{"text": "hello"}]},
                {
                    "id": "2",
                    "type": "gemini",
                    "content": "x",
                    "toolCalls": [{**call, "result": [error]}, other],
                },
                {"id": "3", "type": "info", "content": "Request cancelled."},
            )
            facts = channel.poll()
            assert [fact.subject for fact in only(facts, Denied)] == (["ls"] if denied else [])
            assert [fact.denied for fact in only(facts, TurnEnded)] == [denied]
            if not denied:  # then its call is written after that
                chats.ask("aaaaaaaa", "again")
                chats.write("aaaaaaaa", {"id": "5", "type": "gemini", "content": "I run it."})
                chats.write("aaaaaaaa", {"id": "6", "type": "info", "content": "Request cancelled."})
                assert [fact.denied for fact in only(channel.poll(), TurnEnded)] == [False]
            else:
                assert facts.index(only(facts, Denied)[0]) > facts.index(only(facts, ToolUsed)[-1])

    def test_what_the_cli_says_to_itself_is_no_prompt(self, tmp_path: Path) -> None:
        chats, channel = Chats(tmp_path), open_channel("gemini", around(tmp_path))
        channel.submitted()
        chats.ask("aaaaaaaa", "<session_context>\nToday is Monday.\n</session_context>hello")
        assert self.asked(channel.poll()) == []

    def test_after_clear_the_chat_that_follows(self, tmp_path: Path) -> None:
        chats, channel = Chats(tmp_path), open_channel("gemini", around(tmp_path))
        for session, text in (("aaaaaaaa", "[A2A:1:b] one"), ("bbbbbbbb", "[A2A:2:b] two")):
            channel.submitted(text)
            chats.ask(session, text)
            assert self.asked(channel.poll()) == [text]

    def test_after_clear_the_chat_with_the_humans_line(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        chats, channel = Chats(tmp_path), open_channel("gemini", around(tmp_path))
        channel.submitted("one")
        chats.ask("aaaaaaaa", "one")
        assert self.asked(channel.poll()) == ["one"]
        channel.submitted("go  on")
        chats.ask("bbbbbbbb", "go on")
        assert channel.poll() == [], "the known session may get it yet"
        now = time.time() + 1.1
        monkeypatch.setattr("synapse.agents.gemini.channel.time.time", lambda: now)
        assert self.asked(channel.poll()) == ["go on"]

    def test_a_line_with_a_file_is_known_as_it_was_typed(self, tmp_path: Path) -> None:
        chats, channel = Chats(tmp_path), open_channel("gemini", around(tmp_path))
        channel.submitted("see @a.txt")
        parts = [{"text": "see @a.txt"}, {"text": "--- Content from referenced files ---"}]
        chats.write("aaaaaaaa", {"id": "1", "type": "user", "content": parts, "displayContent": parts[:1]})
        assert len(self.asked(channel.poll())) == 1

    def test_two_in_one_directory_within_half_a_second(self, tmp_path: Path) -> None:
        """The neighbour's chat gets its message first, and ours follows."""
        chats = Chats(tmp_path)
        one, two = (open_channel("gemini", around(tmp_path)) for _ in range(2))
        for number in range(20):
            ours, theirs = f"[A2A:{number}:x] ours", f"[A2A:{number}a:x] theirs"
            one.submitted(ours)
            two.submitted(theirs)
            chats.ask("bbbbbbbb", theirs)
            assert one.poll() == []
            chats.ask("aaaaaaaa", ours)
            assert (self.asked(one.poll()), self.asked(two.poll())) == ([ours], [theirs])
            for channel in (one, two):
                channel.submitted(None)  # Enter at a question, or a line that nobody knows
            chats.ask("bbbbbbbb", f"their human {number}")
            assert one.poll() == [] and self.asked(two.poll()) == [f"their human {number}"]
            one.submitted("[A2A:never:x] not taken")

    def test_a_chat_with_the_mark_of_another_agent_is_not_ours(self, tmp_path: Path) -> None:
        chats, channel = Chats(tmp_path), open_channel("gemini", around(tmp_path))
        chats.ask("bbbbbbbb", "[A2A:1:x] for the other")
        for text in ("yes", None):
            channel.submitted(text)
            chats.ask("bbbbbbbb", "yes")
            assert channel.poll() == []
        chats.ask("aaaaaaaa", "yes")
        assert self.asked(channel.poll()) == ["yes"]

    def test_a_session_that_was_guessed_is_given_up_at_a_foreign_mark(self, tmp_path: Path) -> None:
        chats, channel = Chats(tmp_path), open_channel("gemini", around(tmp_path))
        channel.submitted(None)
        chats.ask("bbbbbbbb", "their human")
        assert self.asked(channel.poll()) == ["their human"]
        chats.ask("bbbbbbbb", "[A2A:1:x] for the other")
        assert channel.poll() == []
        channel.submitted("[A2A:2:x] ours")
        chats.ask("aaaaaaaa", "[A2A:2:x] ours")
        assert self.asked(channel.poll()) == ["[A2A:2:x] ours"]

    def test_a_new_host_finds_the_message_that_an_earlier_one_typed(self, tmp_path: Path) -> None:
        chats, channel = Chats(tmp_path), open_channel("gemini", around(tmp_path))
        chats.ask("aaaaaaaa", "before /clear")
        chats.ask("bbbbbbbb", "[A2A:1:x] of the earlier host", ago=0.9)
        os.utime(next((tmp_path / ".gemini").rglob("*bbbbbbbb*")), (time.time() - 0.9,) * 2)
        channel.submitted("[A2A:1:x]")
        assert self.asked(channel.poll()) == ["[A2A:1:x] of the earlier host"]

    def test_enter_again_looks_for_the_same_message(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        chats, channel = Chats(tmp_path), open_channel("gemini", around(tmp_path))
        channel.submitted("[A2A:1:x] slow")
        chats.ask("aaaaaaaa", "[A2A:1:x] slow")
        now = time.time() + 8
        monkeypatch.setattr("synapse.agents.gemini.channel.time.time", lambda: now)
        channel.submitted("[A2A:1:x] slow")
        assert self.asked(channel.poll()) == ["[A2A:1:x] slow"]

    def test_a_resumed_chat_tells_only_what_is_new(self, tmp_path: Path) -> None:
        chats, channel = Chats(tmp_path), open_channel("gemini", around(tmp_path))
        chats.ask("aaaaaaaa", "long ago", ago=500)
        channel.submitted()
        chats.ask("aaaaaaaa", "now")
        assert self.asked(channel.poll()) == ["now"]

    def test_what_another_agent_in_the_directory_is_asked_is_not_ours(self, tmp_path: Path) -> None:
        chats, channel = Chats(tmp_path), open_channel("gemini", around(tmp_path))
        chats.ask("bbbbbbbb", "for the other")
        assert channel.poll() == []
        channel.submitted()
        chats.ask("aaaaaaaa", "for us")
        chats.ask("bbbbbbbb", "for the other, earlier", ago=20)
        os.utime(next((tmp_path / ".gemini").rglob("*bbbbbbbb*")), (0, 0))
        assert self.asked(channel.poll()) == ["for us"]
        chats.ask("bbbbbbbb", "for the other again")
        assert channel.poll() == []

    def test_the_id_on_the_command_line_is_the_session(self, tmp_path: Path) -> None:
        chats = Chats(tmp_path)
        program = ["sh", "-c", "sleep 60; true", "--session-id", "aaaaaaaa-0000-4000-8000-000000000000"]
        agent = subprocess.Popen(program, start_new_session=True)
        try:
            channel = open_channel("gemini", around(tmp_path, child=agent.pid))
            chats.ask("bbbbbbbb", "for the other")
            chats.ask("aaaaaaaa", "for us")
            assert self.asked(channel.poll()) == ["for us"]
        finally:
            os.killpg(agent.pid, signal.SIGKILL)
            agent.wait()

    def test_an_error_and_a_cancelled_request(self, tmp_path: Path) -> None:
        chats, channel = Chats(tmp_path), open_channel("gemini", around(tmp_path))
        channel.submitted()
        chats.ask("aaaaaaaa", "one")
        chats.write("aaaaaaaa", {"type": "error", "content": "[API Error: no]"})
        assert only(channel.poll(), Failed)[0].error["message"] == "[API Error: no]"
        chats.ask("aaaaaaaa", "two")
        chats.write("aaaaaaaa", {"type": "info", "content": "Request cancelled."})
        assert only(channel.poll(), TurnEnded)[0].outcome == "interrupted"
        chats.write("aaaaaaaa", {"type": "error", "content": "Unknown command: /x"})
        assert channel.poll() == []

    def test_a_chat_of_another_directory_is_not_ours(self, tmp_path: Path) -> None:
        chats, channel = Chats(tmp_path), open_channel("gemini", around(tmp_path))
        next((tmp_path / ".gemini").rglob(".project_root")).write_text("/elsewhere")
        channel.submitted()
        chats.ask("aaaaaaaa", "x")
        assert channel.poll() == [] and channel.missing()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
keys = st.sampled_from(
    (
        *("type", "message", "content", "payload", "hook_event_name", "usage", "toolCalls", "tokens"),
        *("info", "id", "properties", "part", "status", "error", "sessionID"),
    )
)
words = st.sampled_from(
    ["assistant", "user", "gemini", "Stop", "Notification", "event_msg", "token_count", "agent-turn-complete"]
)
events = st.dictionaries(keys, json_values | words | st.dictionaries(keys, json_values | words), max_size=6)


@pytest.mark.parametrize("name", ["claude", "codex", "gemini", "none", "opencode", "qwen"])
@given(st.lists(events, max_size=5))
def test_no_event_makes_a_channel_fail(name: str, given_events: list[dict[str, Any]]) -> None:
    channel = open_channel(name, Surroundings("/nonexistent", {"HOME": "/nonexistent"}, 0.0))
    for event in given_events:
        channel.on_event(event)
    channel.poll()


@pytest.mark.parametrize("name", ["claude", "codex", "gemini"])
@given(st.lists(events, max_size=5))
def test_no_line_of_a_transcript_makes_a_channel_fail(name: str, lines: list[dict[str, Any]]) -> None:
    from synapse.agents.claude import channel as claude
    from synapse.agents.codex.channel import CodexChannel
    from synapse.agents.gemini.channel import GeminiChannel

    nowhere = Surroundings("/nonexistent", {"HOME": "/nonexistent"}, 0.0)
    for line in lines:
        if name == "claude":
            claude._line(line)
        elif name == "codex":
            CodexChannel(nowhere)._line(str(line.get("type")), line)
        else:
            GeminiChannel(nowhere)._record(line)
