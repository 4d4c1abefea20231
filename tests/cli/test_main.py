"""The commands, as a user types them."""

from __future__ import annotations

import gzip
import json
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from synapse.base import paths
from synapse.base.commands import COMMANDS
from tests.support.home import SYNAPSE, Home, wait
from tests.support.patience import PATIENCE


class TestHelp:
    @pytest.mark.parametrize("words", [[], *([name] for name in COMMANDS), ["dummy"], ["claude"]])
    def test_help_prints_help_and_nothing_else(self, home: Home, words: list[str]) -> None:
        done = home.run(*words, "--help")
        assert "usage: synapse" in done.stdout and done.stderr == ""
        assert home.agents() == {}

    def test_no_command_is_wrong_usage(self, home: Home) -> None:
        done = home.run(check=False)
        assert done.returncode == 2 and "usage: synapse" in done.stdout

    def test_version(self, home: Home) -> None:
        assert home.run("--version").stdout.startswith("synapse 0.")

    def test_help_of_the_program_itself_is_one_dash_away(self, home: Home) -> None:
        done = home.run("dummy", "--", "--help")  # not an interactive session: runs bare, needs no terminal
        assert "--alt-screen" in done.stdout

    def test_light_commands_import_nothing_heavy(self, home: Home) -> None:
        for words in (["--help"], ["list"], ["list", "--json"], ["start", "--help"], ["dummy", "--help"]):
            probe = (
                "import sys; from synapse.cli.main import main; main(sys.argv[1:]); "
                "print([m for m in ('yaml', 'dataclasses', 'pathlib', 'asyncio', 'fastapi', 'cffi',"
                " 'inspect', 'subprocess', 'http') if m in sys.modules], file=sys.stderr)"
            )
            for _ in range(2):  # the first fills the cache of profiles
                done = subprocess.run(
                    [sys.executable, "-c", probe, *words], env=home.env, capture_output=True, text=True
                )
            assert done.stderr.strip() == "[]", (words, done.stderr)


class TestWords:
    """What people type who know other tools."""

    def test_help_of_a_command(self, home: Home) -> None:
        for word, command in (("send", "send"), ("ps", "list"), ("dummy", "dummy")):
            assert home.run("help", word).stdout.startswith(f"usage: synapse {command} ")
        done = home.run("help", "nonsense", check=False)
        assert done.returncode == 2 and "neither a command nor a profile" in done.stderr

    def test_version(self, home: Home) -> None:
        assert home.run("version").stdout == home.run("--version").stdout

    def test_other_words_for_commands(self, home: Home) -> None:
        home.run("start", "dummy", "--name", "a")
        assert home.run("ps").stdout == home.run("list").stdout
        assert home.run("kill", "a").stdout == "stopped a\n"
        done = home.run("rm", "a", check=False)
        assert done.returncode == 2 and "`synapse stop NAME`" in done.stderr
        home.profile("kill", "command: x")
        assert "'x', which is not installed" in home.run("kill", check=False).stderr

    def test_an_agent_may_be_written_with_its_at_sign(self, home: Home) -> None:
        home.run("start", "dummy", "--name", "a")
        assert home.run("send", "@a", "--return", "say x").stdout == "x\n"
        assert home.run("url", "@a").stdout == f"{home.agents()['a']['endpoint']}\n"
        card = json.loads(home.run("url", "@a", "--json").stdout)["card"]
        assert home.run("url", "a", "--card").stdout.strip() == card
        assert card.startswith(f"{home.agents()['a']['endpoint']}/.well-known/")
        assert home.run("stop", "@a", "@a").stdout == "stopped a\n"

    def test_stop_stops_those_that_run(self, home: Home) -> None:
        for name in ("a", "b"):
            home.run("start", "dummy", "--name", name)
        done = home.run("stop", "a", "ghost", "b", check=False)
        assert done.returncode == 3 and home.agents() == {}
        assert done.stdout == "stopped a\nstopped b\n"
        assert done.stderr.startswith("synapse: no agent named 'ghost' is running")
        assert done.stderr.count("\n") == 1

    def test_another_synapse_in_path(self, home: Home) -> None:
        other = home.path / "bin"
        other.mkdir()
        (other / "synapse").write_text("#!/usr/bin/python3\n")
        (other / "synapse").chmod(0o755)
        done = home.run("doctor", PATH=f"{other}:{home.env['PATH']}")
        assert f"another `synapse` is first in PATH ({other}/synapse): put " in done.stdout
        assert "another `synapse`" not in home.run("doctor").stdout
        assert "`synapse` is not in PATH" in home.run("doctor", PATH=str(home.path)).stdout


class TestErrors:
    @pytest.mark.parametrize(
        ("words", "status", "says"),
        [
            (["cluade"], 2, "did you mean claude?"),
            (["strat", "dummy"], 2, "did you mean start"),
            (["--frobnicate"], 2, "synapse --help"),
            (["start", "nobody-knows"], 2, "synapse profiles"),
            (["start", "--port", "8200"], 2, "the profile comes first"),
            (["start", "dummy", "--port", "high"], 2, "1 to 65535"),
            (["start", "dummy", "--port"], 2, "needs a value"),
            (["start", "dummy", "--name", "all"], 2, "cannot be an agent's name"),
            (["start", "claude", "--", "--version"], 2, "in the background"),
            (["start", "dummy", "--name", "x" * 300], 2, "up to 64"),
            (["stop"], 2, "or use --all"),
            (["stop", "a", "--all"], 2, "leave the names out"),
            (["url", "ghost"], 3, "no agent named 'ghost'"),
            (["restart", "ghost"], 3, "no agent named 'ghost'"),
            (["rm", "ghost"], 2, "synapse stop NAME"),
            (["stop", "ghost"], 3, "no agent named 'ghost'"),
            (["stop", "dummy"], 3, "start one with `synapse start dummy`."),
            (["screen", "ghost"], 3, "`synapse list` shows who is."),
            (["status", "ghost"], 3, "no agent"),
            (["logs", "ghost"], 3, "`synapse list`"),
            (["logs", "claude"], 3, "synapse start claude"),
            (["logs", "../../etc/passwd"], 3, "no agent"),
            (["keys", "ghost", "Enter"], 3, "no agent"),
            (["claude"], 1, "npm install -g @anthropic-ai/claude-code"),
            (["start", "claude"], 1, "which is not installed"),
        ],
    )
    def test_one_sentence_and_the_right_status(
        self, home: Home, words: list[str], status: int, says: str
    ) -> None:
        done = home.run(*words, check=False, PATH="/nonexistent")
        assert (done.returncode, done.stdout) == (status, "")
        assert says in done.stderr and done.stderr.startswith("synapse: ")
        assert done.stderr.count("\n") == 1 and "Traceback" not in done.stderr

    def test_no_terminal(self, home: Home) -> None:
        assert "dummy> " in home.run("dummy").stdout, "it runs bare"
        done = home.run("dummy", "--name", "a", check=False)
        assert done.returncode == 2 and "`synapse start dummy` runs it in the background" in done.stderr

    def test_a_taken_port_is_named_and_a_free_one_is_found(self, home: Home) -> None:
        with socket.socket() as sock:
            sock.bind(("127.0.0.1", 0))
            sock.listen()
            port = sock.getsockname()[1]
            done = home.run("start", "dummy", "--port", str(port), check=False)
            assert done.returncode == 2 and f"port {port} cannot be used" in done.stderr
            home.profile("mine", f"extends: dummy\nports: {port}")
            home.run("start", "mine")
        assert int(str(home.agents()["mine"]["port"])) >= 8200

    def test_a_broken_profile_names_file_field_and_cure(self, home: Home) -> None:
        home.profile("bad", "command: x\nidle_detection:\n  strategy: pattern\n  pattern: '('\n")
        done = home.run("bad", check=False)
        assert done.returncode == 2
        assert "bad.yaml" in done.stderr and "idle_detection.pattern" in done.stderr

    def test_a_home_that_cannot_be_written(self, home: Home) -> None:
        for variable, blocked in (("SYNAPSE_HOME", "logs"), ("A2A_HOME", "registry")):
            root = home.path / variable
            root.mkdir()
            (root / blocked).write_text("a file where a directory should be")
            done = home.run("start", "dummy", check=False, **{variable: str(root)})
            assert done.returncode == 1 and variable in done.stderr, done.stderr
            assert done.stderr.count("\n") == 1

    def test_a_program_that_fails_is_shown_with_its_last_lines(self, home: Home) -> None:
        home.profile("fails", "command: [sh, -c, 'echo one; echo the reason; exit 3']")
        done = home.run("start", "fails", check=False)
        assert done.returncode == 1
        assert "status 3" in done.stderr and "  the reason" in done.stderr
        assert home.agents() == {}

    def test_a_program_that_cannot_be_executed(self, home: Home) -> None:
        script = home.path / "noexec"
        script.write_text("not a program")
        script.chmod(0o755)
        home.profile("noexec", f"command: {script}")
        done = home.run("start", "noexec", check=False)
        assert done.returncode == 1 and "cannot start" in done.stderr
        assert home.agents() == {}

    def test_no_traceback_wherever_it_is_run(self, home: Home) -> None:
        synapse = " ".join(SYNAPSE)
        for shell in (
            f"{synapse} list >&-",
            f"{synapse} list > /dev/full",
            f"mkdir gone; cd gone; rmdir ../gone; {synapse} stop nobody",
        ):
            done = subprocess.run(
                ["bash", "-c", shell], env=home.env, capture_output=True, text=True, cwd=home.work
            )
            assert "Traceback" not in done.stderr and done.stderr.count("\n") <= 1, done.stderr

    def test_a_closed_pipe_is_silent(self, home: Home) -> None:
        shell = f"{' '.join(SYNAPSE)} --help | true; {' '.join(SYNAPSE)} profiles --json | head -c 1"
        done = subprocess.run(
            ["bash", "-c", shell], env=home.env, capture_output=True, text=True, cwd=home.work
        )
        assert done.stderr == ""


class TestManaging:
    def test_start_list_status_stop(self, home: Home) -> None:
        done = home.run("start", "dummy", "--name", "a")
        assert done.stdout.startswith("started a at http://localhost:82")
        home.run("start", "dummy", "--name", "b")
        home.run("start", "dummy")
        agents = json.loads(home.run("list", "--json").stdout)
        assert [agent["name"] for agent in agents] == ["a", "b", "dummy"]
        assert len({agent["port"] for agent in agents}) == len({a["agent_id"] for a in agents}) == 3
        for agent in agents:
            assert agent["working_dir"] == str(home.work) and agent["agent_type"] == "dummy"
        table = home.run("list").stdout
        assert table.split("\n")[0].split() == ["NAME", "TYPE", "STATUS", "PORT", "PID", "DIRECTORY"]
        wait(lambda: home.agents()["a"]["status"] == "READY", "READY in the registry")
        assert "READY" in home.run("status", "a").stdout
        assert json.loads(home.run("status", "b", "--json").stdout)["name"] == "b"
        assert home.run("stop", "a", "b").stdout == "stopped a\nstopped b\n"
        assert list(home.agents()) == ["dummy"]
        home.run("stop", str(agents[2]["agent_id"])[:8])
        assert "no agent is running" in home.run("list").stdout
        assert json.loads(home.run("list", "--json").stdout) == []
        home.wait_no_process()

    def test_the_agent_knows_who_it_is(self, home: Home) -> None:
        home.run("start", "dummy", "--name", "a", "--", "--tui")
        entry = home.agents()["a"]
        for variable, key in (("ID", "agent_id"), ("NAME", "name")):
            home.run("keys", "a", f"env SYNAPSE_AGENT_{variable}", "Enter")
            wait(lambda key=key: f"● {entry[key]}" in home.run("screen", "a").stdout, key)  # type: ignore[misc]
        home.run("keys", "a", "env SYNAPSE_ENDPOINT", "Enter")
        wait(lambda: f"● {entry['endpoint']}" in home.run("screen", "a").stdout, "endpoint")

    def test_stop_all_with_nobody_there(self, home: Home) -> None:
        assert home.run("stop", "--all").stdout == "no agent is running\n"

    def test_twenty_at_the_same_moment_get_twenty_names_and_ports(self, home: Home) -> None:
        with ThreadPoolExecutor(20) as pool:
            results = list(pool.map(lambda _: home.run("start", "dummy"), range(20)))
        assert all("started dummy" in done.stdout for done in results)
        agents = home.agents()
        assert sorted(agents) == sorted(["dummy", *(f"dummy-{n}" for n in range(2, 21))])
        assert len({entry["port"] for entry in agents.values()}) == 20
        assert len({entry["agent_id"] for entry in agents.values()}) == 20
        home.run("stop", "--all")
        home.wait_no_process()

    def test_a_configured_port_comes_first(self, home: Home) -> None:
        with socket.socket() as sock:
            sock.bind(("127.0.0.1", 0))
            port = sock.getsockname()[1]
        (home.path / "synapse").mkdir(exist_ok=True)
        (home.path / "synapse" / "config.yaml").write_text(f"agents:\n  dummy:\n    port: {port}\n")
        home.run("start", "dummy")
        home.run("start", "dummy")
        assert home.agents()["dummy"]["port"] == port
        assert home.agents()["dummy-2"]["port"] != port

    def test_the_list_can_be_watched_and_leaves_the_terminal_clean(self, home: Home) -> None:
        with home.program(
            ["sh", "-c", f"trap : INT; stty -a; {' '.join(SYNAPSE)} list -w -i 0.1; echo status $?; stty -a"]
        ) as terminal:
            terminal.wait_for("no agent is running")
            assert terminal.screen.alternate_screen
            home.run("start", "dummy", "--name", "watched")
            terminal.wait_for("watched")
            home.run("stop", "watched")
            terminal.wait_until_gone("watched")
            terminal.type("\x03")
            terminal.wait_exit()
            assert "status 0" in terminal.screen.contents()
            assert not terminal.screen.alternate_screen and terminal.screen.cursor_visible


class TestReaching:
    def test_screen_as_text_colours_and_json(self, home: Home) -> None:
        home.run("start", "dummy", "--name", "a", "--", "--tui")
        home.run("keys", "a", "say 日本語", "Enter")
        wait(lambda: "● 日本語" in home.run("screen", "a").stdout, "the answer")
        assert "\x1b" not in home.run("screen", "a").stdout
        assert "● 日本語" in home.run("screen", "a", "--ansi").stdout.replace("\x1b[0m", "")
        screen = json.loads(home.run("screen", "a", "--json").stdout)
        assert (screen["cols"], screen["rows"]) == (120, 40)
        assert "● 日本語" in screen["text"] and screen["title"].endswith("dummy")

    def test_keys_have_tmux_names_and_text_is_text(self, home: Home) -> None:
        home.run("start", "dummy", "--name", "a", "--", "--tui")
        home.run("keys", "a", "abX", "BSpace", "c", "Home", "[", "End", "]", "Enter")
        wait(lambda: "You said: [abc]" in home.run("screen", "a").stdout, "the answer")
        home.run("keys", "a", "-l", "Enter")
        home.run("keys", "a", "--", "--not-an-option", "Enter")
        wait(lambda: "You said: Enter--not-an-option" in home.run("screen", "a").stdout, "literal text")

    def test_a_dialog_in_the_background_is_answered(self, home: Home) -> None:
        home.run("start", "dummy", "--name", "a", "--", "--tui", "--trust")
        wait(lambda: "Do you trust" in home.run("screen", "a").stdout, "the dialog")
        home.run("keys", "a", "1", "Enter")
        wait(lambda: "? for shortcuts" in home.run("screen", "a").stdout, "the prompt")


class TestLogs:
    def test_output_and_log_are_told_apart_while_it_runs_and_after(self, home: Home) -> None:
        home.run("start", "dummy", "--name", "a")
        home.run("keys", "a", "lines 5", "Enter")
        wait(lambda: "line 5" in home.run("logs", "a").stdout, "the lines")
        text = home.run("logs", "a").stdout
        output, _, log = text.partition("── synapse: a")
        assert "line 5" in output and "started a" not in output
        assert "started a" in log and "line 5" not in log
        home.run("stop", "a")
        after = home.run("logs", "a", "--output", "-n", "3").stdout
        assert "line 5" in after and len(after.splitlines()) == 3
        assert "ended with status" in home.run("logs", "a", "--log").stdout

    def test_following(self, home: Home) -> None:
        home.run("start", "dummy", "--name", "a")
        with home.terminal("logs", "a", "-f") as terminal:
            terminal.wait_for("synapse │")
            home.run("keys", "a", "say new line here", "Enter")
            terminal.wait_for("output  │ new line here")
            terminal.type("\x03")
            assert terminal.wait_exit() == 130

    def test_nothing_of_ours_is_on_the_humans_screen(self, home: Home) -> None:
        with home.terminal("dummy") as terminal:
            terminal.wait_for("dummy>")
            wait(lambda: "is here" in home.log("dummy"), "host")
            terminal.type("/exit\r")
            assert terminal.wait_exit() == 0
            lines = [line for line in terminal.screen.contents().split("\n") if line]
            assert len(lines) == 2, lines  # the banner and the prompt


class TestDoctorAndDemo:
    def test_doctor_of_a_new_user(self, home: Home) -> None:
        done = home.run("doctor")
        assert "screen model: ghostty" in done.stdout
        assert "npm install -g @openai/codex" in done.stdout

    def test_doctor_finds_what_is_broken_and_what_was_left(self, home: Home) -> None:
        home.profile("bad", "command: 7")
        home.run("start", "dummy")
        entry = home.agents()["dummy"]
        os.kill(int(str(entry["pid"])), 9)
        home.wait_no_process()
        registry = home.path / "a2a" / "registry"
        left, foreign = registry / f"{entry['agent_id']}.json", registry / "feed.json"
        left.write_text(json.dumps(entry))
        foreign.write_text("{}")
        done = home.run("doctor", check=False)
        assert done.returncode == 1
        assert "bad.yaml" in done.stdout and f"{left}: left by an agent that has died, removed" in done.stdout
        assert not left.exists() and foreign.exists()

    @pytest.mark.parametrize(("version", "is_old"), [("1.9.12", True), ("2.1.0", False), ("2.10", False)])
    def test_doctor_says_that_a_cli_is_too_old(self, home: Home, version: str, is_old: bool) -> None:
        home.profile("acme", f"command: [echo, acme {version}]\ninstall: get acme\nmeasured: '2.1.0'\n")
        said = home.run("doctor", "acme").stdout
        told = "older than 2.1.0, with which its profile was measured: update it (`get acme`), or see what"
        assert f"acme {version}" in said and (told in " ".join(said.split())) == is_old, said

    def test_doctor_says_which_home_cannot_be_made(self, home: Home) -> None:
        file = home.work / "file"
        file.write_text("")
        (home.work / "link").symlink_to("nowhere/at/all")
        for where in (f"{file}/x/y", str(file), "/proc/nowhere/x", str(home.work / "link")):
            done = home.run("doctor", check=False, SYNAPSE_HOME=where, A2A_HOME=where)
            assert done.returncode == 1 and "Traceback" not in done.stderr, done
            assert done.stdout.count(f"✗ {where}: cannot be created") == 2, done.stdout
            assert "set SYNAPSE_HOME to" in done.stdout and "set A2A_HOME to" in done.stdout
            assert "\nterminal\n" in done.stdout, "it goes on to the end"
        done = home.run("doctor", check=True, SYNAPSE_HOME="not/yet")
        assert "- not/yet: will be created when needed" in done.stdout
        assert not list(home.work.glob(".*")), "nothing that it tried is left"

    @pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
    def test_doctor_of_a_home_that_may_not_be_written(self, home: Home) -> None:
        home.work.chmod(0o500)
        for where in (home.work, home.work / "x"):
            done = home.run("doctor", check=False, SYNAPSE_HOME=str(where))
            assert done.returncode == 1 and f"✗ {where}: " in done.stdout
        home.work.chmod(0o700)

    def test_doctor_says_what_broadcast_is_not(self, home: Home) -> None:
        done = home.run("doctor", SYNAPSE_DEFAULT_RESPONSE_MODE="broadcast")
        assert "does not wait; send to `@all` to reach every agent" in done.stdout

    def test_doctor_leaves_what_shells_use(self, home: Home) -> None:
        beside = os.path.join(paths.runtime_dir(), "shell-x")
        os.mkdir(beside)
        assert "removed now" not in home.run("doctor").stdout and os.path.isdir(beside)

    def test_doctor_of_one_profile(self, home: Home) -> None:
        done = home.run("doctor", "dummy")
        assert "is valid (built-in)" in done.stdout and "is free" in done.stdout
        assert home.run("doctor", "nope", check=False).returncode == 1

    @pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
    def test_a_demo_whose_window_is_closed_leaves_nothing(self, home: Home, number: int) -> None:
        """Its agents run in the background, and in a home of the demo."""
        with home.terminal("demo", TMPDIR=str(home.work)) as terminal:
            wait(
                lambda: terminal.pump() and list(home.work.glob("synapse-demo-*/a2a/registry/*.json")),
                "agent",
            )
            (folder,) = home.work.glob("synapse-demo-*")
            os.kill(terminal.pid, number)
            wait(lambda: not terminal.pump() or not folder.exists(), "the end")
        mark = f"SYNAPSE_HOME={folder}".encode()

        def has_mark(pid: str) -> bool:
            try:
                return mark in Path(f"/proc/{pid}/environ").read_bytes()
            except OSError:
                return False  # it has ended

        def left() -> bool:
            return any(has_mark(name) for name in os.listdir("/proc") if name.isdigit())

        wait(lambda: not folder.exists() and not left(), "nothing left")

    def test_the_demo_runs_and_leaves_nothing(self, home: Home) -> None:
        done = home.run("demo")
        for seen in (
            "← b: replied",
            "def greet",
            "answer › y",
            "the answer is 42",
            "canceled",
            "hello, standard",
        ):
            assert seen in done.stdout, done.stdout
        assert "Every step worked" in done.stdout
        home.wait_no_process()


class TestOddTerminals:
    def test_no_term_variable(self, home: Home) -> None:
        home.env.pop("TERM")
        with home.terminal("dummy") as terminal:
            terminal.wait_for("dummy>")
            terminal.type("env TERM\r")
            terminal.wait_for("dummy>")

    def test_one_by_one(self, home: Home) -> None:
        with home.terminal("dummy", "--tui", cols=1, rows=1) as terminal:
            wait(lambda: "is here" in home.log("dummy"), "host")
            terminal.resize(80, 24)
            terminal.wait_for("? for shortcuts")
            terminal.type("hello\r")
            terminal.wait_for("You said: hello")

    def test_zero_by_zero(self, home: Home) -> None:
        with home.terminal("dummy", cols=0, rows=0) as terminal:
            wait(lambda: b"dummy>" in terminal.raw or not terminal.pump(), "prompt")
            wait(lambda: home.run("screen", "dummy", check=False).returncode == 0, "host")


class TestKnowing:
    def test_why_says_what_and_on_what_grounds(self, home: Home) -> None:
        home.run("start", "dummy", "--name", "a", "--", "--tui", "--mute")
        wait(lambda: home.agents()["a"]["status"] == "READY", "READY")
        text = home.run("why", "a").stdout
        assert text.startswith("a is READY: ") and "title" in text and "s ago" in text
        home.run("keys", "a", "half a line")
        wait(lambda: "composer: draft: 'half a line' (" in home.run("why", "a").stdout, "the draft")
        home.run("keys", "a", "C-u", "confirm Shall I?", "Enter")
        wait(lambda: home.agents()["a"]["status"] == "INPUT_REQUIRED", "INPUT_REQUIRED in the registry")
        why = json.loads(home.run("why", "a", "--json").stdout)
        assert why["prompt"]["options"] == ["Yes", "No"] and "Shall I?" in why["prompt"]["prompt"]
        assert why["composer"]["state"] == "dialog"
        home.run("keys", "a", "1")
        wait(lambda: home.agents()["a"]["status"] == "READY", "READY again")

    def test_an_event_of_another_program_is_refused_and_why_says_so(self, home: Home) -> None:
        """It would have ended the turn with a reply of its own."""
        home.run("start", "dummy", "--name", "a", "--", "--tui")
        task = home.run("send", "a", "silent 600", "--no-wait", "--json").stdout
        wait(lambda: home.agents()["a"]["status"] == "PROCESSING", "PROCESSING")
        with home.ours(), socket.socket(socket.AF_UNIX) as forger:
            forger.connect(paths.events_socket(str(home.agents()["a"]["agent_id"])))
            forger.settimeout(PATIENCE)
            with suppress(OSError):
                forger.sendall(
                    b'events\n{"event": "turn_ended", "outcome": "completed", "reply": "forged"}\n'
                )
            with suppress(ConnectionResetError):
                assert forger.recv(1) == b""
        why = home.run("why", "a").stdout
        program = Path("/proc/self/comm").read_text().strip()
        note = f"process {os.getpid()} ({program}) does not belong to the agent's session"
        assert "note: events were refused (connections: 1, " in why and note in " ".join(why.split())
        assert "an event was refused: process" in home.log("a")
        assert json.loads(home.run("task", json.loads(task)["id"], "--json").stdout)["state"] == "working"
        assert json.loads(home.run("why", "a", "--json").stdout)["status"] == "PROCESSING"

    def test_record_makes_a_case(self, home: Home) -> None:
        home.run("start", "dummy", "--name", "a", "--", "--tui", "--mute")
        wait(lambda: home.agents()["a"]["status"] == "READY", "READY")
        case = home.path / "case"
        with home.terminal("record", "a", str(case)) as terminal:
            terminal.wait_for("recording a")
            home.run("keys", "a", "silent 0.5 hello there", "Enter")
            wait(lambda: "● hello there" in home.run("screen", "a").stdout, "the answer")
            wait(lambda: home.agents()["a"]["status"] == "READY", "READY")
            time.sleep(0.5)
            terminal.type("\x03")
            assert terminal.wait_exit() == 0
        (turn,) = json.loads((case / "replies.json").read_text())
        assert turn["reply"] == "hello there" and turn["source"] == "screen"
        statuses = [status for _, status in json.loads((case / "timeline.json").read_text())]
        assert statuses == ["READY", "PROCESSING", "READY"]
        with gzip.open(case / "session.cast.gz", "rt") as file:
            head, *events = [json.loads(line) for line in file]
        assert (head["width"], head["height"], head["command"]) == (120, 40, "dummy")
        assert any("hello there" in data for _, kind, data in events if kind == "o")
        done = home.run("record", "a", str(case), check=False)
        assert done.returncode == 1 and "name a new folder" in done.stderr
