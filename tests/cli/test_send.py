"""`synapse send`, as a person, a pipe and an agent use it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from synapse.cli import send
from synapse.peers import control
from tests.support.home import SYNAPSE, Home, wait
from tests.support.running import Lasting


@pytest.fixture(scope="module")
def lasting() -> Iterator[Lasting]:
    with Lasting("--tui") as made:
        yield made


@pytest.fixture
def agent(lasting: Lasting) -> Iterator[Home]:
    with lasting.lent() as made:
        yield made.home


def test_the_reply_alone_is_printed(agent: Home) -> None:
    done = agent.run("send", "a", "--return", "say いろは\\n```sh\\nls\\n```")
    assert done.stdout == "いろは\n```sh\nls\n```\n" and done.stderr == ""


def test_without_waiting(agent: Home) -> None:
    for flag in ((), ("--no-wait",), ("--display",)):
        assert agent.run("send", *flag, "a", "hello").stdout.startswith("sent ")
    (task, *_) = json.loads(agent.run("send", "a", "--json", "--no-wait", "hello").stdout), None
    assert task["state"] == "submitted"
    assert agent.run("send", "a", "say x", SYNAPSE_DEFAULT_RESPONSE_MODE="return").stdout == "x\n"
    sent = agent.run("send", "a", "say x", SYNAPSE_DEFAULT_RESPONSE_MODE="broadcast").stdout
    assert sent.startswith("sent ") and " to a: " in sent, "whom it goes to is said by the address alone"


def test_words_pipes_files_and_what_looks_like_an_option(agent: Home, tmp_path: Path) -> None:
    assert agent.run("send", "a", "--return", "say", "two", "words").stdout == "two words\n"
    assert agent.run("send", "a", "--return", "--", "--help", "me").stdout.endswith("--help me\n")
    path = tmp_path / "message"
    path.write_text("say from a file")
    assert agent.run("send", "a", "--return", "--file", str(path)).stdout == "from a file\n"
    assert agent.run("send", "a", "--return", "-", input="say from a pipe\n").stdout == "from a pipe\n"


def test_json_is_one_document(agent: Home) -> None:
    task = json.loads(agent.run("send", "a", "--return", "--json", "say x").stdout)
    assert task["state"] == "completed" and task["artifacts"][0]["data"] == "x"


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("nobody", "hi"), 3, "no agent"),
        (("a",), 2, "no message"),
        (("a", "   "), 2, "no message"),
        (("a", "fix", "the", "--colour", "flag"), 2, "--colour is no flag (nearest: --"),
        (
            ("a", "--expire", "hi"),
            2,
            "--expire is no flag (nearest: --expires; `--` ends the flags): nothing was sent.",
        ),
        (("a", "--priority", "9", "hi"), 2, "from 1 to 5"),
        (("a", "--timeout", "-1", "hi"), 2, "timeout"),
        (("a", "--file", "/nowhere/at/all"), 2, "cannot read"),
        (("a", "--return", "--timeout", "0.5", "silent 20 x"), 4, "synapse task"),
        (("a", "--return", "confirm Shall I?"), 5, "synapse input"),
    ],
)
def test_what_goes_wrong_is_one_sentence_and_a_status(
    agent: Home, words: tuple[str, ...], status: int, said: str
) -> None:
    done = agent.run("send", *words, check=False)
    assert done.returncode == status and said in done.stderr and done.stdout == "", done
    assert "Traceback" not in done.stderr


def test_what_a_message_waits_for_is_said(agent: Home) -> None:
    agent.run("send", "a", "confirm Shall I?")
    wait(lambda: "Shall I?" in agent.run("status", "a").stdout, "the question")
    sent = agent.run("send", "a", "say later").stdout
    assert "it waits (the agent asks something: " in sent and "Shall I?" in sent
    late = agent.run("send", "a", "--return", "--timeout", "0.5", "say later", check=False)
    assert late.returncode == 4 and late.stderr.startswith("synapse: a has not begun with it after 0.5 s (")
    for words in ("Shall I?", "2 messages are ahead of it", "the reply is kept: `synapse task "):
        assert words in late.stderr
    gone = agent.run("send", "a", "--return", "--expires", "0.5", "say x", check=False)
    assert gone.returncode == 1 and "it expired after 0.5 s and was not typed: " in gone.stderr
    assert json.loads(agent.run("send", "a", "--json", "--expires", "60", "say x").stdout)["expires_at"]
    line = agent.run("send", "--line", input="@a --return --expires 0.5 say x", check=False)
    assert line.returncode == 1 and "it expired after 0.5 s" in line.stderr
    refused = agent.run("send", "--line", input="@a --expired 5 say x", check=False)
    assert refused.returncode == 2 and refused.stderr == (
        "synapse: --expired is no flag (nearest: --expires; `--` ends the flags): nothing was sent.\n"
    )


def test_an_agent_that_ends_is_said(home: Home) -> None:
    home.run("start", "dummy", "--name", "a", "--", "--tui")
    done = home.run("send", "a", "--return", "exit 3", check=False)
    assert done.returncode == 1 and "status 3" in done.stderr and done.stdout == "", done
    assert "Traceback" not in done.stderr


def test_an_agent_that_sends_is_the_sender(home: Home) -> None:
    for name in ("a", "b"):
        home.run("start", "dummy", "--name", name)
    done = home.run("send", "a", "--return", "a2a-mark", check=True, **home.inside("b"))
    assert ":b]" in done.stdout


def test_a_command_under_an_agents_relay_is_the_agents(home: Home) -> None:
    """And one that has only inherited its variables is not: tmux, or a server that several agents share."""
    home.run("start", "dummy", "--name", "a")
    home.profile("sh", "command: sh\nidle_detection: {timeout: 0.5}\n")
    send = f"{' '.join(SYNAPSE)} send a --return a2a-mark"
    with home.terminal("sh", PS1="$ ") as terminal:
        terminal.wait_for("$")
        terminal.type(f"{send}\r")
        terminal.wait_for(":sh]")
        me: dict[str, Any] = {
            "SYNAPSE_AGENT_ID": str(home.agents()["sh"]["agent_id"]),
            "SYNAPSE_AGENT_NAME": "sh",
        }
        assert ":user]" in home.run(*send.split()[-4:], **me).stdout
        terminal.type(f"TEST_SESSION='session of another' {send}\r")
        terminal.wait(lambda: terminal.screen.text().count(":sh]") == 2, "the mark of a variable nobody uses")
        home.inside("a")
        terminal.type(f"TEST_SESSION='session of another' {send}\r")
        terminal.wait_for(":user]")


def test_an_agent_that_another_one_starts_does_not_send_for_it(home: Home) -> None:
    home.run("start", "dummy", "--name", "a")
    home.run("start", "dummy", "--name", "b", **home.inside("a"))
    assert home.run("send", "b", "--return", "env TEST_SESSION").stdout.strip() == "TEST_SESSION is not set"


def test_to_all_but_oneself(home: Home) -> None:
    for name in ("a", "b", "c"):
        home.run("start", "dummy", "--name", name)
    done = home.run("send", "all", "--return", "say here", check=True, **home.inside("c"))
    assert sorted(done.stdout.split("\n")) == ["", "a: here", "b: here"]
    documents = json.loads(home.run("send", "all", "--return", "--json", "say here").stdout)
    assert sorted(d["agent"] for d in documents) == ["a", "b", "c"]


def test_one_that_fails_does_not_stop_the_others(home: Home) -> None:
    for name in ("a", "c"):
        home.run("start", "dummy", "--name", name)
    home.run("send", "c", "silent 60 x")
    wait(lambda: home.agents()["c"]["status"] == "PROCESSING", "a turn of c")
    with home.terminal("send", "all", "--return", "say here") as terminal:
        terminal.wait_for("a: here")  # as it comes
        os.kill(int(str(home.agents()["c"]["pid"])), signal.SIGTERM)
        terminal.wait_for("c: ")
        assert terminal.wait_exit() == 1
        assert "a: here" in terminal.screen.text() and "Traceback" not in terminal.screen.text()


@pytest.mark.parametrize("line", [False, True])
def test_one_who_asks_and_one_who_is_late(agent: Home, line: bool) -> None:
    words = ("send", "--line") if line else ("send", "all", "--return", "confirm Shall I?")
    done = agent.run(*words, check=False, input="@all --return confirm Shall I?" if line else "")
    assert done.returncode == 5 and "a: it asks: " in done.stdout and "synapse input" in done.stdout


def test_a_reader_that_leaves(agent: Home) -> None:
    for target in ("a", "all"):
        script = f'"$@" send {target} --return "lines 3000" | head -1; exit "${{PIPESTATUS[0]}}"'
        done = subprocess.run(
            ["bash", "-c", script, "-", *SYNAPSE], env=agent.env, capture_output=True, text=True, timeout=60
        )
        assert "line 1" in done.stdout and done.stdout.count("\n") == 1 and done.stderr == ""
        assert done.returncode in (0, 1)  # it may have written all before


def test_closed_streams(agent: Home) -> None:
    for redirection, said in ((">&-", ""), ("2>&-", "x\n"), ("<&-", "x\n"), ("<&- >&- 2>&-", "")):
        script = f'"$@" send a --return "say x" {redirection}'
        done = subprocess.run(
            ["bash", "-c", script, "-", *SYNAPSE], env=agent.env, capture_output=True, text=True, timeout=60
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, said, "")


def test_bytes_that_are_no_text_a_home_that_cannot_be_written_and_proxies(agent: Home) -> None:
    for words, data in (((b"say x\xff",), b""), ((b"-",), b"say x\xff")):
        command = [*map(os.fsencode, SYNAPSE), b"send", b"a", b"--return", *words]
        done = subprocess.run(command, env=agent.env, input=data, capture_output=True, timeout=60)
        assert done.stdout.decode() == "x\ufffd\n" and done.stderr == b""
    agent.env |= dict.fromkeys(("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"), "http://127.0.0.1:1")
    answer = agent.run("send", "a", "--return", "say x", SYNAPSE_HOME="/proc/nowhere", NO_COLOR="1")
    assert (answer.stdout, answer.stderr) == ("x\n", "")


def test_a_long_message_from_a_pipe(agent: Home) -> None:
    long = "x" * 1_000_000
    done = agent.run("send", "a", "--no-wait", "--json", "-", input=long)
    assert json.loads(done.stdout)["message"]["parts"][0]["text"] == long
    done = agent.run("send", "a", "-", input="x" * 1_000_001, check=False)
    assert done.returncode == 1 and "has 1000001 bytes" in done.stderr and "limits.message" in done.stderr
    done = agent.run("send", "a", "-", input="x" * 3_000_000, check=False)
    assert done.returncode == 1 and "limits." in done.stderr and done.stderr.count("\n") == 1


def test_a_question_is_asked_in_the_terminal(agent: Home) -> None:
    with agent.terminal("send", "a", "--return", "choose red|green") as terminal:
        terminal.wait_for("answer:")
        assert "2. green" in terminal.screen.text()
        terminal.type("green\r")
        terminal.wait_for("You chose: green")
        assert terminal.wait_exit() == 0


def test_progress_on_a_narrow_terminal_leaves_nothing_behind(agent: Home) -> None:
    with agent.terminal("send", "a", "--return", "silent 2 done", cols=12) as terminal:
        terminal.wait_for("→ a:")
        terminal.wait_for("done")
        assert terminal.wait_exit() == 0
        assert terminal.screen.text().strip() == "done"


def test_ctrl_c_ends_the_wait_and_asks_about_the_task(agent: Home) -> None:
    with agent.terminal("send", "a", "--return", "silent 60 x") as terminal:
        terminal.wait_for("→ a:")
        wait(lambda: agent.agents()["a"]["status"] == "PROCESSING", "the turn")
        terminal.type("\x03")
        terminal.wait_for("Cancel the task?")
        terminal.type("y\r")
        terminal.wait_for("canceled")
        assert terminal.wait_exit() == 130
    wait(lambda: agent.agents()["a"]["status"] == "READY", "READY")


def test_ctrl_c_where_nobody_can_answer_says_how_to_cancel(agent: Home) -> None:
    words = [*SYNAPSE, "send", "a", "--return", "silent 60 x"]
    with agent.program(["/bin/sh", "-c", 'exec "$@" </dev/null', "-", *words], 120) as terminal:
        terminal.wait_for("→ a:")
        terminal.type("\x03")
        terminal.wait_for("a goes on: `synapse task ")
        assert terminal.wait_exit() == 130
        (_, cancel) = terminal.screen.text().split("`")[1::2]
    assert "is canceled" in agent.run(*cancel.split()[1:]).stdout


def test_ctrl_c_in_a_broadcast_asks_once_about_those_that_go_on(home: Home) -> None:
    for name in ("a", "b", "c"):
        home.run("start", "dummy", "--name", name)
    for name in ("a", "b"):
        home.run("send", name, "silent 60 busy")

    def tasks() -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = json.loads(home.run("tasks", "--json").stdout)
        return listed

    for answer, told in (("n", "go on: `synapse task ID` shows a reply"), ("y", "canceled ")):
        known = len(tasks())
        with home.terminal("send", "all", "--return", "say here", cols=120) as terminal:
            terminal.wait_for("c: here")
            wait(lambda before=known: len(tasks()) == before + 3, "a task for each")  # type: ignore[misc]
            terminal.type("\x03")
            terminal.wait_for("\na and b go on with it. Cancel the tasks? [y/N]")
            terminal.type(f"{answer}\r")
            terminal.wait_for(told)
            assert terminal.wait_exit() == 130
            shown = terminal.screen.text()
            assert answer == "n" or (" of a" in shown and " of b" in shown and "go on:" not in shown)
    states = [task["state"] for task in tasks()]
    assert sorted(states) == ["canceled"] * 2 + ["completed"] * 2 + ["submitted"] * 2 + ["working"] * 2


def test_everybody_here_is_not_everybody(home: Home) -> None:
    home.run("start", "dummy", "--name", "near")
    elsewhere = home.path / "elsewhere"
    elsewhere.mkdir()
    command = [*SYNAPSE, "start", "dummy", "--name", "far"]
    subprocess.run(command, env=home.env, cwd=elsewhere, check=True, stdin=subprocess.DEVNULL)
    assert home.run("send", "all-here", "--return", "say me").stdout == "near: me\n"
    assert sorted(home.run("send", "all", "--return", "say me").stdout.split("\n")) == [
        "",
        "far: me",
        "near: me",
    ]
    home.run("stop", "near")
    alone = home.run("send", "all-here", "x", check=False)
    assert alone.returncode == 3 and "runs in this directory" in alone.stderr


def test_a_message_without_a_wait_loads_little(agent: Home) -> None:
    heavy = ("asyncio", "dataclasses", "inspect", "typing", "json", "http", "yaml", "sqlite3", "subprocess")
    probe = (
        "import sys; from synapse.cli.main import main; status = main(sys.argv[1:]); "
        f"print([m for m in {heavy!r} if m in sys.modules], file=sys.stderr); sys.exit(status)"
    )
    for _ in range(2):  # the first fills the cache of settings
        done = subprocess.run(
            [*SYNAPSE[:2], "-c", probe, "send", "a", "--no-wait", "hello"],
            env=agent.env,
            capture_output=True,
            text=True,
        )
    assert done.returncode == 0 and done.stdout.startswith("sent ")
    assert done.stderr.strip() == "[]", done.stderr


def test_a_message_whose_answer_is_lost_is_sent_again_and_arrives_once(
    agent: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lost = []

    def exchange(*arguments: Any) -> Any:
        lost.append(real(*arguments))
        raise ConnectionResetError("the host was killed")

    real = control.exchange
    monkeypatch.setattr(control, "exchange", exchange)
    with agent.ours():
        assert send.main(["a", "--no-wait", "say only once"]) == 0
    assert len(lost) == 1
    task = lost[0][1]["task"]["id"]
    assert capsys.readouterr().out.startswith(f"sent {task[:8]} to a: ")
    listed = json.loads(agent.run("tasks", "a", "--json").stdout)
    assert [found["id"] for found in listed if "only once" in str(found["message"])] == [task]
