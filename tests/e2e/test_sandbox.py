"""Commands of an agent whose sandbox refuses every connection: they go through the agent's FIFO."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from synapse.base import paths
from synapse.peers.fifo import Request, Way, pack
from tests.support import no_connect
from tests.support.home import SYNAPSE, Home, hosts, new_home, wait

pytestmark = pytest.mark.skipif(not no_connect.AVAILABLE, reason="no seccomp filter for this system")
SANDBOX = [sys.executable, no_connect.__file__]
AT_ONCE = 200


class Sandbox:
    """The commands of agent `a`, beside which `b` runs."""

    def __init__(self, home: Home) -> None:
        self.home = home
        for name in ("a", "b"):
            home.run("start", "dummy", "--name", name)
        self.env = {**home.env, **home.inside("a")}
        self.ids = {name: str(entry["agent_id"]) for name, entry in home.agents().items()}
        with home.ours():
            self.way = Way("a", paths.request_fifo(self.ids["a"]))

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*SANDBOX, *SYNAPSE, *words],
            env=self.env,
            cwd=self.home.work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *words: str, status: int = 0) -> str:
        command = self.start(*words)
        out, err = command.communicate(timeout=60)
        assert command.returncode == status, f"{words}: {command.returncode}\n{out}{err}"
        return out + err

    def request(self, method: str, path: str, body: object = None, agent: str = "b") -> Request:
        return Request(self.way, self.ids[agent], method, path, body)

    def write(self, data: bytes) -> None:
        with open(self.way.fifo, "wb", buffering=0) as fifo:
            fifo.write(data)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with new_home() as home:
        yield Sandbox(home)


def answered(request: Request) -> tuple[int, dict[str, object]]:
    found, deadline = b"", time.monotonic() + 60
    while (piece := request.step()) != b"":
        found += piece or b""
        assert time.monotonic() < deadline
        time.sleep(request.pause)
    request.close()
    head, _, body = found.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


def test_a_message_and_its_reply(sandbox: Sandbox) -> None:
    assert sandbox.run("send", "b", "--return", "say hello") == "hello\n"
    task = json.loads(sandbox.run("tasks", "--json"))[0]
    assert task["sender"]["id"] == sandbox.ids["a"] and task["state"] == "completed"
    assert "hello" in sandbox.run("task", task["id"][:8])


def test_a_long_message_and_a_long_reply(sandbox: Sandbox) -> None:
    text = "long " * 40_000
    (sandbox.home.work / "long").write_text(f"say {text}")
    done = sandbox.run("send", "b", "--return", "--json", "--file", "long")
    assert json.loads(done)["status"] == "completed"
    assert sandbox.run("send", "b", "--return", "lines 3000").count("line ") == 3000


def test_a_message_without_waiting(sandbox: Sandbox) -> None:
    task = sandbox.run("send", "b", "--no-wait", "say quietly").split()[1]
    wait(lambda: "quietly" in sandbox.run("task", task).split("\n")[-2], "the reply")


def test_who_runs_is_listed(sandbox: Sandbox) -> None:
    assert [entry["name"] for entry in json.loads(sandbox.run("list", "--json"))] == ["a", "b"]


def test_what_is_asked_is_listed_and_an_agent_may_not_answer_it(sandbox: Sandbox) -> None:
    assert "ok?" in sandbox.run("send", "b", "--return", "confirm ok?", status=5)
    [question] = json.loads(sandbox.run("questions", "--json"))
    assert "may not answer" in sandbox.run("answer", question["id"], "y", status=1)
    assert "may not answer" in sandbox.run("input", question["task"], "y", status=1)
    sandbox.home.run("answer", question["id"], "y")
    wait(lambda: not json.loads(sandbox.run("questions", "--json")), "the end of the question")


def test_an_agent_does_not_wait_for_itself(sandbox: Sandbox) -> None:
    assert "waits for an answer" in sandbox.run("send", "a", "--return", "hi", status=1)


def test_the_sender_is_the_agent_whatever_the_request_says(sandbox: Sandbox) -> None:
    body = {"message": "say x", "sender": {"id": "somebody", "name": "human"}}
    status, answer = answered(sandbox.request("POST", "/tasks/send", body))
    task = answer["task"]
    assert status == 200 and isinstance(task, dict)
    assert task["sender"] == {"id": sandbox.ids["a"], "name": "a"}


def test_other_commands_say_that_they_need_to_run_outside(sandbox: Sandbox) -> None:
    assert "run the command outside of it" in sandbox.run("keys", "b", "x", status=1)


def test_an_unknown_name_is_said_at_once(sandbox: Sandbox) -> None:
    assert "no agent named 'nobody'" in sandbox.run("send", "nobody", "hi", status=3)


def test_a_process_of_nobody_is_told_to_run_outside(sandbox: Sandbox) -> None:
    command = [*SANDBOX, *SYNAPSE, "send", "b", "hi"]
    done = subprocess.run(command, env=sandbox.home.env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "does not run in an agent of Synapse" in done.stderr


def test_many_requests_at_once_are_not_mixed(sandbox: Sandbox) -> None:
    requests = {n: sandbox.request("GET", f"/tasks/none-{n}") for n in range(AT_ONCE)}
    found: dict[int, bytes] = dict.fromkeys(requests, b"")
    left, deadline = set(requests), time.monotonic() + 60
    while left:
        assert time.monotonic() < deadline, f"{len(left)} without a reply"
        for n in sorted(left):
            if (piece := requests[n].step()) == b"":
                left.remove(n)
                requests[n].close()
            found[n] += piece or b""
        time.sleep(0.001)
    wrong = {n: said for n, said in found.items() if not re.search(rf"none-{n}['\"]".encode(), said)}
    assert not wrong, f"{len(wrong)} of {AT_ONCE}, the first: {next(iter(wrong.items()))}"


def test_garbage_and_a_writer_that_was_killed_harm_nobody(sandbox: Sandbox) -> None:
    sandbox.write(random.Random(1).randbytes(3000))
    sandbox.write(pack(b"k" * 16, b"x" * 20_000)[0])
    sandbox.write(b"\0SYNAPSE")
    assert sandbox.run("send", "b", "--return", "say still here") == "still here\n"
    writer = sandbox.start("send", "b", "--return", "silent 20 no")
    wait(lambda: "working" in sandbox.run("tasks", "b"), "the task")
    writer.kill()
    writer.communicate()
    sandbox.home.run("cancel", json.loads(sandbox.run("tasks", "b", "--json"))[0]["id"])
    assert sandbox.run("send", "b", "--return", "say and now") == "and now\n"


def test_the_reply_comes_though_the_host_is_replaced(sandbox: Sandbox) -> None:
    command = sandbox.start("send", "b", "--return", "silent 3 after all")
    wait(lambda: "working" in sandbox.run("tasks", "b"), "the task")
    [host] = hosts(sandbox.home, "a")
    os.kill(host, signal.SIGKILL)
    out, err = command.communicate(timeout=60)
    assert out == "after all\n", err
    assert hosts(sandbox.home, "a") != [host]
    assert sandbox.run("send", "b", "--return", "say again") == "again\n"


def test_a_request_waits_for_the_next_host(sandbox: Sandbox) -> None:
    [host] = hosts(sandbox.home, "a")
    os.kill(host, signal.SIGSTOP)
    command = sandbox.start("send", "b", "--return", "say patience")
    wait(lambda: "T (stopped)" in Path(f"/proc/{host}/status").read_text(), "the host to stop")
    time.sleep(0.2)
    os.kill(host, signal.SIGKILL)
    out, err = command.communicate(timeout=60)
    assert out == "patience\n", err


def test_only_the_user_may_write_and_read(sandbox: Sandbox) -> None:
    assert os.stat(sandbox.way.fifo).st_mode & 0o777 == 0o600
    assert os.stat(sandbox.way.replies).st_mode & 0o777 == 0o700


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_another_user_cannot_forge_a_request_or_read_a_reply(sandbox: Sandbox) -> None:
    code = (
        "import os, sys; os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "write = lambda path: os.open(path, os.O_WRONLY | os.O_NONBLOCK)\n"
        "for act, path in ((write, sys.argv[1]), (os.listdir, sys.argv[2])):\n"
        "    try: act(path)\n"
        "    except PermissionError: print('refused')"
    )
    argv = [sys.executable, "-c", code, str(sandbox.way.fifo), str(sandbox.way.replies)]
    done = subprocess.run(argv, cwd="/", capture_output=True, text=True)
    assert done.stdout == "refused\nrefused\n", done.stderr


def test_a_fifo_that_is_gone_is_named(sandbox: Sandbox) -> None:
    os.rename(sandbox.way.fifo, sandbox.way.fifo + "-")
    try:
        assert "if the file is gone, restart the agent" in sandbox.run("send", "b", "hi", status=1)
    finally:
        os.rename(sandbox.way.fifo + "-", sandbox.way.fifo)


def test_a_full_fifo_is_waited_for(sandbox: Sandbox) -> None:
    [host] = hosts(sandbox.home, "a")
    os.kill(host, signal.SIGSTOP)
    try:
        fifo = os.open(sandbox.way.fifo, os.O_WRONLY | os.O_NONBLOCK)
        with pytest.raises(BlockingIOError):
            while os.write(fifo, bytes(4096)):
                pass
        os.close(fifo)
        command = sandbox.start("send", "b", "--return", "say through")
        wait(lambda: _has_open(command.pid, sandbox.way.fifo), "the command at the FIFO")
    finally:
        os.kill(host, signal.SIGCONT)
    out, err = command.communicate(timeout=60)
    assert out == "through\n", err


def _has_open(pid: int, path: str) -> bool:
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with suppress(FileNotFoundError):  # it was closed meanwhile
            if os.readlink(f"/proc/{pid}/fd/{fd}") == path:
                return True
    return False


@contextmanager
def small_disk(folder: str, limit: str) -> Iterator[None]:
    mount = ["mount", "-t", "tmpfs", "-o", f"{limit},mode=0700", "small", folder]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no disk can be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can mount a small disk")
def test_a_full_disk_under_the_replies(sandbox: Sandbox) -> None:
    """The command says so, the message has arrived all the same, and with room all is as before."""
    with small_disk(sandbox.way.replies, "size=16k"):
        filling = Path(sandbox.way.replies) / "filling"
        with pytest.raises(OSError, match="No space left"):
            filling.write_bytes(bytes(1 << 20))
        assert "make room on that disk" in sandbox.run("send", "b", "--no-wait", "say arrived", status=1)
        filling.unlink()
        assert sandbox.run("send", "b", "--return", "say there is room") == "there is room\n"
        said = sandbox.run("tasks", "b")
        assert "say arrived" in said and "failed" not in said.split("say arrived")[0].splitlines()[-1]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can mount a small disk")
def test_a_disk_without_inodes_under_the_replies(sandbox: Sandbox) -> None:
    """No file can be created for a reply: the command finds the reason itself, and names the task."""
    with small_disk(sandbox.way.replies, "nr_inodes=40"):
        waiting = sandbox.start("send", "b", "--return", "silent 8 nobody reads this")
        wait(lambda: "working" in sandbox.home.run("tasks", "b").stdout, "the task")
        task = json.loads(sandbox.home.run("tasks", "b", "--json").stdout)[0]["id"][:8]
        _fill(sandbox.way.replies)
        began = time.monotonic()
        said = sandbox.run("send", "b", "--return", "say hi", status=1)
        assert time.monotonic() - began < 15
        assert f"under {sandbox.way.replies} (no more files can be created on the disk)" in said
        [host] = hosts(sandbox.home, "a")
        os.kill(host, signal.SIGKILL)  # the reply breaks off, and the next one cannot be created
        while waiting.poll() is None:
            _fill(sandbox.way.replies)
            time.sleep(0.01)
        out, err = waiting.communicate()
        assert waiting.returncode == 1, out
        assert f"the task goes on, and `synapse task {task}` shows" in err and "no more files" in err, err
    wait(lambda: "nobody reads this" in sandbox.run("task", task), "the result")


def _fill(folder: str) -> None:
    """Create files until that is refused."""
    with suppress(OSError):
        while True:
            fd, _ = tempfile.mkstemp(dir=folder)
            os.close(fd)


def test_replies_whose_directory_is_gone(sandbox: Sandbox) -> None:
    shutil.rmtree(sandbox.way.replies)
    assert sandbox.run("send", "b", "--return", "say made again") == "made again\n"
    assert os.stat(sandbox.way.replies).st_mode & 0o777 == 0o700


def test_the_agent_is_told_the_fifo_and_the_program(sandbox: Sandbox) -> None:
    assert (
        sandbox.home.run("send", "b", "--return", "env SYNAPSE_REQUESTS").stdout.strip().endswith(".requests")
    )
    program = sandbox.home.run("send", "b", "--return", "env SYNAPSE_COMMAND").stdout.split()[0]
    assert os.path.isabs(program) and os.access(program, os.X_OK)


def test_fifo_and_replies_go_with_the_agent(home: Home) -> None:
    made = Sandbox(home)
    assert made.run("send", "b", "--return", "say bye") == "bye\n"
    folder = Path(made.way.fifo).parent
    home.run("stop", "a", "b")
    wait(lambda: not folder.exists() or not list(folder.iterdir()), "an empty directory")
