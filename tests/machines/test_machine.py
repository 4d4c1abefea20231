"""Agents of another machine, over a real sshd."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support import no_connect
from tests.support.checkpoints import Checkpoints
from tests.support.home import SYNAPSE, hosts, wait
from tests.support.sshd import Sshd


def start(sshd: Sshd, url: str = "ssh://box") -> None:
    sshd.there.run("start", "dummy", "--name", "codex")
    sshd.here.run("machine", "add", "box", url)


def listed(sshd: Sshd) -> dict[str, dict[str, object]]:
    entries = json.loads(sshd.here.run("list", "--json").stdout)
    return {entry["name"]: entry for entry in entries}


def is_stale(sshd: Sshd) -> bool:
    return bool(listed(sshd)["codex@box"]["stale"])


def test_an_agent_of_another_machine_is_used_as_a_local_one(sshd: Sshd) -> None:
    sshd.there.run("start", "dummy", "--name", "codex")
    added = sshd.here.run("machine", "add", "box", sshd.url)
    assert "added box" in added.stdout and "its agents: codex@box" in added.stdout
    entry = listed(sshd)["codex@box"]
    assert (entry["machine"], entry["stale"], entry["endpoint"]) == ("box", False, sshd.url)
    assert entry["host"] == os.uname().nodename
    table = sshd.here.run("list").stdout
    assert "HOST" in table and "codex@box" in table
    assert sshd.here.run("send", "codex@box", "--return", "say hello").stdout == "hello\n"
    assert "say hello" in sshd.here.run("screen", "codex@box").stdout
    assert sshd.here.run("status", "codex@box").stdout.startswith("name       codex@box")
    assert "codex@box is" in sshd.here.run("why", "codex@box").stdout
    sshd.here.run("keys", "codex@box", "say typed", "Enter")
    wait(lambda: "\ntyped" in sshd.here.run("screen", "codex@box").stdout, "what was typed")
    offered = sshd.here.run("completion", "--words", "synapse", "send", "co").stdout
    assert offered.startswith("codex@box\t")


def test_a_task_of_another_machine_is_named_with_the_machine(sshd: Sshd) -> None:
    start(sshd)
    task = sshd.here.run("send", "codex@box", "honour 600").stdout.split()[1] + "@box"
    wait(lambda: "working" in sshd.here.run("task", task).stdout, "the task to begin")
    assert task in sshd.here.run("tasks").stdout
    assert task in sshd.here.run("tasks", "codex@box").stdout
    assert sshd.here.run("cancel", task).stdout == f"{task} is canceled\n"
    again = sshd.here.run("cancel", task, check=False)
    assert (again.returncode, "is canceled already" in again.stderr) == (1, True)
    missing = sshd.here.run("task", "ffffffff@box", check=False)
    assert "there is no task 'ffffffff'" in missing.stderr


def test_a_question_of_another_machine_is_answered_here(sshd: Sshd) -> None:
    start(sshd)
    task = sshd.here.run("send", "codex@box", "confirm Proceed?").stdout.split()[1] + "@box"
    wait(lambda: "codex@box asks" in sshd.here.run("questions").stdout, "the question")
    [question] = json.loads(sshd.here.run("questions", "--json").stdout)
    assert question["agent"] == "codex@box"
    sshd.here.run("answer", question["id"], "y")
    wait(lambda: "Confirmed." in sshd.here.run("task", task).stdout, "the reply")
    second = sshd.here.run("send", "codex@box", "confirm Again?").stdout.split()[1] + "@box"
    wait(lambda: "it asks" in sshd.here.run("task", second).stdout, "the second question")
    sshd.here.run("input", second, "n")
    wait(lambda: "Declined." in sshd.here.run("task", second).stdout, "the reply")


def test_the_list_does_not_wait_for_a_machine_that_is_down(sshd: Sshd) -> None:
    start(sshd)
    sshd.here.run("list")
    sshd.stop()
    wait(lambda: is_stale(sshd), "the machine to be stale")
    gone = "box does not answer: nothing listens"
    wait(lambda: gone in sshd.here.run("list").stdout, "the reason")
    shown = sshd.here.run("list").stdout
    assert "codex@box" in shown and "stale" in shown
    sshd.start()
    assert "box is connected" in sshd.here.run("machine", "test", "box").stdout
    wait(lambda: not is_stale(sshd), "the machine to be back")


def test_a_frozen_machine_is_stale_and_comes_back(sshd: Sshd) -> None:
    start(sshd)
    sshd.freeze()
    try:
        wait(lambda: is_stale(sshd), "the machine to be stale")
        began = time.monotonic()
        assert is_stale(sshd)
        assert time.monotonic() - began < 30
    finally:
        sshd.thaw()
    wait(lambda: not is_stale(sshd), "the machine to be back")


def test_a_message_waits_for_its_machine_and_arrives_once(sshd: Sshd) -> None:
    start(sshd)
    sshd.stop()
    wait(lambda: is_stale(sshd), "the machine to be stale")
    with sshd.here.terminal("send", "codex@box", "--return", "say later") as terminal:
        terminal.wait_for("cannot be reached")
        sshd.start()
        terminal.wait_for("later")
    assert sshd.there.run("tasks").stdout.count("say later") == 1


def test_a_reply_comes_after_the_connection_was_lost_in_the_middle(sshd: Sshd) -> None:
    start(sshd)
    with sshd.here.terminal("send", "codex@box", "--return", "silent 4 done at last") as terminal:
        wait(lambda: "working" in sshd.there.run("tasks").stdout, "the task to begin")
        sshd.stop()
        time.sleep(1)
        sshd.start()
        terminal.wait_for("done at last")
    assert sshd.there.run("tasks").stdout.count("silent 4") == 1


def test_the_reply_of_an_agent_that_ends_is_still_found(sshd: Sshd) -> None:
    start(sshd)
    done = sshd.here.run("send", "codex@box", "--return", "exit 3", check=False)
    assert done.returncode == 1
    assert "failed" in done.stderr
    late = sshd.here.run("send", "codex@box", "x", check=False)
    wait(lambda: "codex@box" not in listed(sshd), "the agent to be gone")
    late = sshd.here.run("send", "codex@box", "x", check=False)
    assert late.returncode == 3
    assert "no agent named 'codex' is running on box" in late.stderr


def test_attach_runs_there(sshd: Sshd) -> None:
    start(sshd)
    with sshd.here.terminal("attach", "codex@box") as terminal:
        terminal.wait_for("dummy>")
        terminal.type("say attached\r")
        terminal.wait_for("\nattached")
        terminal.type("\x1dd")
        terminal.wait_for("detached from codex")


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("box", "is no address of a machine: write ssh://[user@]host[:port]"),
        ("http://box", "is no address of a machine"),
        ("ssh://", "is no address of a machine"),
        ("ssh://box/path", "is no address of a machine"),
        ("ssh://-oProxyCommand=x", "is no address of a machine"),
        ("ssh://box:99999", "99999 is no port"),
    ],
)
def test_a_bad_address_is_refused(sshd: Sshd, url: str, sentence: str) -> None:
    done = sshd.here.run("machine", "add", "box", url, check=False)
    assert (done.returncode, sentence in done.stderr) == (2, True), done.stderr
    assert "no machine is known" in sshd.here.run("machine", "list").stdout


def fails(sshd: Sshd, url: str, *words: str) -> str:
    done = sshd.here.run("machine", "add", "box", url, *words, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stderr.startswith("synapse: box cannot be reached: ")
    assert done.stderr.count("\n") == 1 and done.stderr.endswith(".\n")
    return done.stderr


def test_what_is_wrong_with_a_machine_is_said_in_a_sentence(sshd: Sshd) -> None:
    assert "the host nowhere.invalid is not known" in fails(sshd, "ssh://nowhere.invalid")
    with socket.create_server(("127.0.0.1", 0)) as other:
        closed = other.getsockname()[1]
    assert f"nothing listens at 127.0.0.1:{closed}" in fails(sshd, f"ssh://127.0.0.1:{closed}")
    sshd.set_known(1)
    assert "the host key of 127.0.0.1 is not known: run `ssh -p" in fails(sshd, sshd.url)
    known = (sshd.folder / "other.pub").read_text()
    (sshd.folder / "known").write_text(f"[127.0.0.1]:{sshd.port} {known}")
    assert "has changed, which may be an attack" in fails(sshd, sshd.url)
    sshd.set_known(sshd.port)
    sshd.configure_client(IdentityFile=str(sshd.folder / "other"))
    assert "asks for a password or does not accept your key" in fails(sshd, sshd.url)
    sshd.configure_client()
    assert "there is no Synapse at /nowhere/synapse on box" in fails(
        sshd, sshd.url, "--synapse", "/nowhere/synapse"
    )
    refused = sshd.here.run("send", "codex@box", "x", check=False, SYNAPSE_RESPONSE_TIMEOUT="1")
    assert refused.returncode != 0


def test_a_host_that_never_answers_does_not_hang(sshd: Sshd) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        assert "did not answer within 10 s" in fails(sshd, f"ssh://127.0.0.1:{port}")
        sshd.here.run("list")


def test_no_synapse_in_the_path_there(sshd: Sshd) -> None:
    sshd.stop()
    sshd.configure(path="/usr/bin:/bin")
    sshd.start()
    assert "there is no Synapse in the PATH of its login shell on box" in fails(sshd, sshd.url)
    profile = Path(sshd.there.env["HOME"]) / ".profile"
    profile.write_text(f"echo welcome\nPATH={sshd.there.env['PATH']}\n")
    assert "box is connected" in sshd.here.run("machine", "test", "box").stdout


def test_another_version_is_said(sshd: Sshd) -> None:
    other = sshd.folder / "synapse"
    other.write_text(
        '#!/bin/sh\necho \'{"synapse": "9.9", "host": "there"}\'\necho \'{"agents": []}\'\ncat\n'
    )
    other.chmod(0o700)
    said = sshd.here.run("machine", "add", "box", sshd.url, "--synapse", str(other)).stdout
    assert "Synapse there is 9.9, and here" in said
    assert "Synapse there is 9.9" in sshd.here.run("machine", "list").stdout


def test_the_name_of_an_external_agent_is_taken(sshd: Sshd) -> None:
    folder = sshd.here.path / "a2a" / "external"
    folder.mkdir(parents=True)
    document = {"name": "far", "url": "http://x", "alias": "box", "endpoint": "http://x"}
    (folder / "box.json").write_text(json.dumps(document))
    done = sshd.here.run("machine", "add", "box", sshd.url, check=False)
    assert (done.returncode, "is the alias of an external agent" in done.stderr) == (2, True)


def test_an_unknown_machine_is_said(sshd: Sshd) -> None:
    for words in (("send", "codex@nobox", "x"), ("screen", "codex@nobox"), ("task", "ffffffff@nobox")):
        done = sshd.here.run(*words, check=False)
        assert (done.returncode, "no machine named 'nobox' is known" in done.stderr) == (3, True), done.stderr
    start(sshd)
    for words in (("logs", "codex@box"), ("stop", "codex@box"), ("url", "codex@box")):
        done = sshd.here.run(*words, check=False)
        assert "works only there" in done.stderr


def test_an_unused_connection_ends(sshd: Sshd) -> None:
    sshd.here.env["SYNAPSE_MACHINES__KEEP"] = "1"
    start(sshd)
    wait(lambda: "not connected" in sshd.here.run("machine", "list").stdout, "the connection to end")
    sshd.here.wait_no_process()
    sshd.here.run("send", "codex@box", "--return", "say again")


def test_a_line_at_an_agents_prompt_goes_to_another_machine(sshd: Sshd) -> None:
    start(sshd)
    with (
        Checkpoints(sshd.here) as points,
        sshd.here.terminal("dummy", *points.option, "--name", "claude") as terminal,
    ):
        terminal.wait_for("dummy>")
        terminal.wait(lambda: sshd.here.agents()["claude"]["status"] == "READY", "the host")
        terminal.wait(lambda: points.knows("codex@box"), "the names")
        terminal.type("@codex@box say over there\r")
        terminal.wait_for("codex@box: replied")
        sshd.stop()
        terminal.wait(lambda: is_stale(sshd), "the machine to be stale")
        terminal.type("@codex@box say after all\r")
        terminal.wait_for("cannot be reached")
        sshd.start()
        terminal.wait_for("after all")
        terminal.wait(lambda: sshd.there.run("tasks").stdout.count("completed") == 2, "both replies")
        tasks = sshd.there.run("tasks").stdout
        assert tasks.count("say after all") == 1
        assert f"claude@{os.uname().nodename.partition('.')[0]}" in tasks
        terminal.type("/exit\r")
        terminal.wait_exit()


def test_an_agent_gets_a_notice_of_the_reply_of_another_machine(sshd: Sshd) -> None:
    start(sshd)
    sshd.here.run("start", "dummy", "--name", "claude")
    inside = sshd.here.inside("claude")
    sshd.here.run("send", "codex@box", "--no-wait", "silent 2 the answer", **inside)
    sshd.stop()
    wait(lambda: is_stale(sshd), "the machine to be stale")
    sshd.start()
    wait(lambda: "the answer" in sshd.here.run("screen", "claude").stdout, "the notice")
    shown = sshd.here.run("tasks", "claude").stdout
    assert shown.count("Reply to your message") == 1 and "codex@box" in shown
    assert f"claude@{os.uname().nodename.partition('.')[0]}" in sshd.there.run("tasks").stdout


@pytest.mark.skipif(not no_connect.AVAILABLE, reason="no seccomp filter for this system")
def test_a_sandboxed_agent_sends_to_another_machine(sshd: Sshd) -> None:
    start(sshd)
    sshd.here.run("start", "dummy", "--name", "claude")
    env = {**sshd.here.env, **sshd.here.inside("claude")}

    def run(*words: str) -> str:
        command = [sys.executable, no_connect.__file__, *SYNAPSE, *words]
        done = subprocess.run(
            command, env=env, cwd=sshd.here.work, capture_output=True, text=True, timeout=90
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert "codex@box" in run("list")
    assert run("send", "codex@box", "--return", "say from inside") == "from inside\n"
    assert run("questions") == "no agent asks anything\n"


def test_a_killed_link_is_started_again(sshd: Sshd) -> None:
    start(sshd)
    sshd.here.run("send", "codex@box", "--return", "say one")
    links = [
        pid
        for pid in sshd.here.processes()
        if b"synapse.peers.machines.link" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
    assert len(links) == 1
    os.kill(links[0], signal.SIGKILL)
    assert sshd.here.run("send", "codex@box", "--return", "say two").stdout == "two\n"


def test_top_shows_and_drives_an_agent_of_another_machine(sshd: Sshd) -> None:
    start(sshd)
    with sshd.here.terminal("top") as terminal:
        terminal.wait_for("codex@box")
        terminal.type("s")
        terminal.type("confirm Really?\r")
        terminal.wait_for("codex@box asks")
        terminal.type("1")
        wait(lambda: "Confirmed." in sshd.there.run("screen", "codex").stdout, "the answer")
        terminal.type(" ")
        terminal.wait_for("Confirmed.")
        terminal.type(" ")
        terminal.type("q")
        terminal.wait_exit()


def test_a_line_in_a_shell_goes_to_another_machine(sshd: Sshd) -> None:
    start(sshd)
    done = sshd.here.run("send", "--line", input="@codex@box --return say from a shell")
    assert done.stdout == "from a shell\n"
    with sshd.here.terminal("shell") as terminal:
        terminal.wait_for("synapse>")
        terminal.type("@codex@box --return say from our shell\r")
        terminal.wait_for("codex@box: from our shell")
        terminal.wait(lambda: terminal.screen.text().count("synapse>") == 2, "the next prompt")
        terminal.type("exit\r")
        terminal.wait_exit()


def test_a_script_asks_an_agent_of_another_machine(sshd: Sshd) -> None:
    start(sshd)
    script = "import synapse; print(synapse.ask('codex@box', 'say it'), synapse.list_agents()[0]['name'])"
    done = subprocess.run(
        [sys.executable, "-P", "-c", script], env=sshd.here.env, capture_output=True, text=True
    )
    assert done.stdout == "it codex@box\n", done.stderr


def test_a_message_that_waits_survives_the_end_of_the_host(sshd: Sshd) -> None:
    start(sshd)
    with (
        Checkpoints(sshd.here) as points,
        sshd.here.terminal("dummy", *points.option, "--name", "claude") as terminal,
    ):
        terminal.wait_for("dummy>")
        terminal.wait(lambda: sshd.here.agents()["claude"]["status"] == "READY", "the host")
        terminal.wait(lambda: points.knows("codex@box"), "the names")
        sshd.stop()
        terminal.wait(lambda: is_stale(sshd), "the machine to be stale")
        terminal.type("@codex@box say kept\r")
        terminal.wait_for("cannot be reached")
        [host] = hosts(sshd.here, "claude")
        os.kill(host, signal.SIGKILL)
        sshd.start()
        terminal.wait_for("codex@box: replied", 60)
        assert sshd.there.run("tasks").stdout.count("say kept") == 1
        terminal.type("/exit\r")
        terminal.wait_exit()


def down(sshd: Sshd) -> None:
    start(sshd)
    sshd.here.run("list")
    sshd.stop()
    wait(lambda: is_stale(sshd), "the machine to be stale")


def machines(sshd: Sshd) -> str:
    """What `machine list` prints, in one line."""
    return " ".join(sshd.here.run("machine", "list").stdout.split())


def test_a_message_without_a_wait_is_kept_and_arrives_once(sshd: Sshd) -> None:
    down(sshd)
    began = time.monotonic()
    for _ in range(2):
        said = sshd.here.run("send", "codex@box", "--no-wait", "say kept").stdout
        assert said.startswith("kept for codex@box: box does not answer"), said
    assert time.monotonic() - began < 60  # a message that is waited for waits 300 s
    assert "box: 2 messages wait here until it answers" in machines(sshd)
    sshd.start()
    wait(lambda: sshd.there.run("tasks").stdout.count("say kept") == 2, "both messages")
    wait(lambda: "messages wait here" not in machines(sshd), "the end of the wait")
    assert sshd.there.run("tasks").stdout.count("say kept") == 2


def test_a_kept_message_that_cannot_be_delivered_says_why(sshd: Sshd) -> None:
    down(sshd)
    sshd.here.run("send", "codex@box", "--no-wait", "say never")
    sshd.there.run("stop", "codex")
    sshd.start()
    wait(lambda: "a message to codex@box was not sent: codex@box has ended" in machines(sshd), "the reason")
    assert sshd.here.run("machine", "remove", "box").stdout == "removed box\n"


def test_an_agent_gets_the_reply_to_a_kept_message(sshd: Sshd) -> None:
    down(sshd)
    sshd.here.run("start", "dummy", "--name", "me")
    inside = sshd.here.inside("me")
    sshd.here.run("send", "codex@box", "--no-wait", "say much later", **inside)
    sshd.start()
    wait(lambda: "much later" in sshd.here.run("screen", "me").stdout, "the notice")
    assert sshd.here.run("tasks", "me").stdout.count("Reply to your message") == 1


def test_a_broadcast_reaches_another_machine(sshd: Sshd) -> None:
    start(sshd)
    sshd.there.run("start", "dummy", "--name", "second")
    sshd.here.run("start", "dummy", "--name", "local")
    wait(lambda: "second@box" in listed(sshd), "the second agent")
    there = sshd.here.run("send", "all@box", "--return", "say here").stdout
    assert sorted(there.splitlines()) == ["codex@box: here", "second@box: here"]
    everywhere = sshd.here.run("send", "all@all", "--return", "say all").stdout
    assert sorted(everywhere.splitlines()) == ["codex@box: all", "local: all", "second@box: all"]
    nowhere = sshd.here.run("send", "all@nowhere", "say x", check=False)
    assert nowhere.returncode == 3 and "nowhere" in nowhere.stderr
    refused = sshd.here.run("machine", "add", "all", "ssh://box", check=False)
    assert refused.returncode == 2 and "cannot be called all" in refused.stderr
