from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from synapse.base import paths
from synapse.errors import NoSuchAgent, SynapseError, TargetError, UsageError
from synapse.keys.commands import Command, CommandParser
from synapse.peers.directory import open_directory
from synapse.peers.machines import known, ssh
from synapse.peers.machines.machine import Machine, Machines, parse
from synapse.peers.machines.source import resolve_there
from synapse.peers.remote import find_entry, key_of, remote_entries, remote_sources, source_of
from tests.support.home import Home, wait

BOX = parse("box", "ssh://anna@build:2222")
ENTRY = {
    "agent_id": "a" * 64, "name": "codex", "agent_type": "codex", "port": 8120, "status": "READY", "pid": 7,
    "working_dir": "/work", "endpoint": "http://localhost:8120", "socket": "/run/there/a.http",
}  # fmt: skip


@pytest.mark.parametrize(
    ("url", "user", "host", "port"),
    [
        ("ssh://build", "", "build", 0),
        ("ssh://anna@build.example.org:22/", "anna", "build.example.org", 22),
        ("ssh://[::1]:2222", "", "::1", 2222),
        ("ssh://a.b-c@10.0.0.1", "a.b-c", "10.0.0.1", 0),
    ],
)
def test_an_address_is_read(url: str, user: str, host: str, port: int) -> None:
    machine = parse("box", url)
    assert (machine.user, machine.host, machine.port) == (user, host, port)
    assert parse("box", machine.url) == machine


@pytest.mark.parametrize(
    "url",
    ["", "build", "ssh:build", "ssh://", "ssh://a b", "ssh://host/dir", "ssh://host?x", "ssh://u:pw@host",
     "ssh://-oProxyCommand=id", "ssh://-l@host", "ssh://host:0", "ssh://host:70000", "ssh://host:x", "SSH://h\n"],
)  # fmt: skip
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(UsageError):
        parse("box", url)


@pytest.mark.parametrize("name", ["", "a@b", "a b", "-x", "x" * 65, "ü", "../x", "x."])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        parse(name, "ssh://build")


def test_a_host_never_becomes_an_option_of_ssh() -> None:
    words = ssh.master(BOX, ["machine", "feed"])
    assert words[-3:-1] == ["--", "build"]
    assert BOX.destination == ["-l", "anna", "-p", "2222", "--", "build"]


def test_the_control_path_leaves_ssh_its_17_characters() -> None:
    longest = parse("x" * 64, "ssh://build")
    assert len(known.control_path(longest)) + 17 < 108
    assert len(paths.machine_socket(longest.name, f"-{'f' * 16}.http")) < 108


def test_machines_are_kept_in_files_that_only_their_owner_reads(home: Home) -> None:
    machines = Machines()
    assert machines.list() == [] and machines.find("box") is None
    with pytest.raises(NoSuchAgent, match="synapse machine add box"):
        machines.get("box")
    assert machines.add(BOX) is True
    assert machines.add(parse("box", "ssh://other")) is False
    assert machines.get("BOX").host == "other"
    assert os.stat(os.path.join(machines.folder, "box.json")).st_mode & 0o777 == 0o600
    Path(machines.folder, "broken.json").write_text("{")
    Path(machines.folder, "evil.json").write_text('{"url": "ssh://-oProxyCommand=x"}')
    assert [machine.name for machine in machines.list()] == ["box"]
    machines.remove("box")
    assert machines.list() == []


@pytest.mark.parametrize(
    ("status", "said", "sentence", "passes"),
    [
        (255, "ssh: Could not resolve hostname build: unknown", "host build is not known", True),
        (255, "No ED25519 host key is known for build", "run `ssh -p 2222", False),
        (255, "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key", "may be an attack", False),
        (255, "anna@build: Permission denied (publickey,password).", "ssh-copy-id", False),
        (255, "ssh: connect to host build: Connection refused", "nothing listens at build:2222", True),
        (255, "Connection timed out during banner exchange", "did not answer within 10 s", True),
        (255, "ssh: connect to host build port 22: No route to host", "there is no way to build", True),
        (255, "client_loop: send disconnect: Broken pipe", "ended (client_loop: send disconnect", True),
        (255, "", "without a reason", True),
        (127, "synapse: command not found", "no Synapse in the PATH of its login shell", False),
        (2, "synapse: unknown command 'machine'", "it may be older than this one", False),
    ],
)  # fmt: skip
def test_what_ssh_says_becomes_a_sentence(status: int, said: str, sentence: str, passes: bool) -> None:
    failure = ssh.failure(BOX, status, said)
    assert sentence in str(failure) and str(failure).endswith(".")
    assert failure.passes is passes


def test_an_error_of_a_session_is_not_mistaken_for_one_of_ssh() -> None:
    assert "password" not in str(ssh.failure(BOX, 1, "cat: secret: Permission denied"))


def test_synapse_is_looked_up_there_in_every_shell(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "synapse"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$@"\n')
    program.chmod(0o755)
    words = ["task", "it's $HOME; `id`"]
    path = {"PATH": f"{program.parent}:/usr/bin:/bin", "HOME": str(tmp_path), "SHELL": "/bin/sh"}
    assert _run(ssh.there(BOX, words), path) == "task it's $HOME; `id`\n"
    (tmp_path / ".profile").write_text(f'echo welcome\nPATH="{program.parent}:$PATH"\n')
    assert _run(ssh.there(BOX, words), {**path, "PATH": "/usr/bin:/bin"}) == "task it's $HOME; `id`\n"
    named = parse("box", "ssh://build", str(program))
    assert _run(ssh.there(named, words), {**path, "PATH": "/usr/bin:/bin"}) == "task it's $HOME; `id`\n"


def _run(command: str, env: dict[str, str]) -> str:
    return subprocess.run(["/bin/sh", "-c", command], env=env, capture_output=True, text=True).stdout


def connect(machine: Machine, *agents: dict[str, object], state: str = known.CONNECTED) -> int:
    """What a link of the machine would write; the descriptor of its lock."""
    Machines().add(machine)
    lock = known.take_link(machine)
    assert lock is not None
    known.write(
        machine, {"state": state, "agents": list(agents), "host": "there", "version": "1", "since": 1.0}
    )
    return lock


def test_agents_of_a_machine_are_entries(home: Home) -> None:
    assert remote_sources() == [] and remote_entries() == []
    lock = connect(BOX, ENTRY)
    [entry] = remote_entries()
    assert entry["name"] == "codex@box" and entry["machine"] == "box" and entry["stale"] is False
    assert entry["endpoint"] == BOX.url and entry["host"] == "there"
    assert str(entry["socket"]).startswith(paths.runtime_dir())
    assert key_of(entry) == f"{'a' * 64}@box"
    directory = open_directory()
    assert {"codex@box", "@box"} <= set(directory.names())
    assert [(one.name, one.about) for one in directory.listed()] == [
        ("codex@box", "codex, ready on there"),
        ("all@box", "every agent of box"),
        ("all@all", "every agent of every machine"),
    ]
    assert "@all" in directory.names()
    assert [peer.name for peer in directory.everybody("all@BOX")] == ["codex@box"]
    assert [peer.name for peer in directory.everybody("all@all")] == ["codex@box"]
    with pytest.raises(TargetError, match="elsewhere"):
        directory.everybody("all@elsewhere")
    peer = directory.find("CODEX@Box")
    assert (peer.name, peer.address) == ("codex@box", f"machine:{'a' * 64}@box")
    assert directory.at(peer.address, peer.name).address == peer.address
    assert peer.commands("12345678-9")[1:] == (
        "synapse task 12345678@box", "synapse input 12345678@box", "synapse cancel 12345678@box",
    )  # fmt: skip
    with pytest.raises(NoSuchAgent, match="no agent named 'gemini' is running on box"):
        directory.find("gemini@box")
    with pytest.raises(NoSuchAgent, match="no machine named 'nobox' is known"):
        directory.find("codex@nobox")
    with pytest.raises(NoSuchAgent, match="no machine named 'nobox'"):
        find_entry("codex@nobox")
    assert source_of("BOX").kind == "machine"
    os.close(lock)


def test_without_its_link_a_machine_is_stale(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Machine] = []
    monkeypatch.setattr(known, "_start", started.append)
    os.close(connect(BOX, ENTRY))
    [entry] = remote_entries(0.0)
    assert entry["stale"] is True and started
    assert open_directory().find("other@box").name == "other@box"  # it may have been started since
    started.clear()
    lock = connect(BOX, ENTRY, state=known.WAITING)
    assert remote_entries(5.0)[0]["stale"] is True  # and at once: the link waits for its next attempt
    assert started == []
    os.close(lock)


def test_entries_that_make_no_sense_are_left_out(home: Home) -> None:
    bad: list[dict[str, object]] = [
        {**ENTRY, "name": "evil; rm"},
        {**ENTRY, "name": "a@b"},
        {**ENTRY, "agent_id": "../../x"},
        {key: value for key, value in ENTRY.items() if key != "status"},
    ]
    lock = connect(BOX, ENTRY, *bad)
    assert [entry["name"] for entry in remote_entries()] == ["codex@box"]
    os.close(lock)


def test_an_agent_there_is_found_by_the_names_that_it_has_there(home: Home) -> None:
    second = {**ENTRY, "agent_id": "b" * 64, "name": "codex-2", "port": 8121, "working_dir": "/other"}
    lock = connect(BOX, ENTRY, second)
    found = known.read(BOX)
    for name in ("codex", "Codex", "codex-8120", "aaaa"):
        assert resolve_there(found, name)["name"] == "codex@box"
    assert resolve_there(found, "codex-8121")["name"] == "codex-2@box"
    with pytest.raises(TargetError):
        resolve_there(found, "bb")
    os.close(lock)


def test_every_agent_of_a_known_machine_can_be_addressed_in_a_line() -> None:
    parser = CommandParser(names=["claude", "codex@box", "@Lab"])
    for line, name in (
        ("@codex@box hi", "codex@box"), ("@Codex@BOX hi", "codex@box"), ("@new@lab hi", "new@Lab"),
    ):  # fmt: skip
        found = parser.parse(line)
        assert isinstance(found, Command) and found.name == name
    for line in ("@codex@nobox hi", "@lab hi", "anna@lab hi", "@new@box hi"):
        assert parser.parse(line) is None


def test_the_feed_says_who_runs_and_ends_with_its_input(home: Home) -> None:
    feed = subprocess.Popen(
        [sys.executable, "-P", "-m", "synapse", "machine", "feed"],
        env=home.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert feed.stdin is not None and feed.stdout is not None
    assert "synapse" in json.loads(feed.stdout.readline())
    assert json.loads(feed.stdout.readline()) == {"agents": []}
    home.run("start", "dummy", "--name", "codex")
    while not (told := json.loads(feed.stdout.readline()).get("agents")):
        pass
    assert told[0]["name"] == "codex"
    feed.stdin.close()
    assert feed.wait(10) == 0
    feed.stdout.close()


def test_no_ssh_is_said(home: Home) -> None:
    done = home.run("machine", "add", "box", "ssh://build", check=False, SYNAPSE_MACHINES__SSH="/nowhere/ssh")
    assert done.returncode == 1
    assert "/nowhere/ssh cannot be run" in done.stderr and "machines.ssh" in done.stderr
    home.run("machine", "remove", "box")
    wait(lambda: not home.processes(), "the link to end")


def test_a_failure_that_cannot_pass_refuses_a_message_at_once(home: Home) -> None:
    home.run("machine", "add", "box", "ssh://build", check=False, SYNAPSE_MACHINES__SSH="/nowhere/ssh")
    done = home.run("send", "codex@box", "hello", check=False, SYNAPSE_MACHINES__SSH="/nowhere/ssh")
    assert (done.returncode, "it was not sent, because box cannot be reached" in done.stderr) == (1, True)
    assert issubclass(ssh.Failure, SynapseError)
    home.run("machine", "remove", "box")
