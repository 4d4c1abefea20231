"""The host alone, with a relay that says what it likes, or nothing, and is gone."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from pathlib import Path

import pytest

from synapse.base import paths
from synapse.config import load_settings
from synapse.profiles.loader import pack_profile
from synapse.relay import wire
from tests.support.home import Home, wait
from tests.support.serving import ask

PATIENCE = 30.0  # on a machine that has other things to do


class Relay:
    """The relay's end of a real host."""

    def __init__(self, home: Home, module: tuple[str, ...] = ("-m", "synapse.host")) -> None:
        paths.private_dir(paths.logs_dir())
        self.wire, theirs = socket.socketpair()
        tcp = socket.create_server(("127.0.0.1", 0))
        listeners = [tcp, self._listener(home, "c"), self._listener(home, "e")]
        self.port = tcp.getsockname()[1]
        requests, writing = os.pipe()
        inherited = [*(sock.detach() for sock in (theirs, *listeners)), requests]
        for fd in inherited:
            os.set_inheritable(fd, True)
        argv = [*paths.our_python(), *module, *map(str, inherited)]
        self.host = os.posix_spawn(sys.executable, argv, home.env, setsid=True)
        for fd in (*inherited, writing):
            os.close(fd)
        self._home = home

    def _listener(self, home: Home, name: str) -> socket.socket:
        sock = socket.socket(socket.AF_UNIX)
        sock.bind(str(home.path / name))
        sock.listen()
        return sock

    def hello(self) -> bytes:
        entry = {
            "agent_id": "a" * 64,
            "name": "a",
            "agent_type": "dummy",
            "port": self.port,
            "status": "READY",
            "pid": 1,
            "working_dir": str(self._home.work),
            "endpoint": "",
        }
        return wire.pack_json(
            wire.HELLO,
            {
                "entry": entry,
                "profile": pack_profile("dummy"),
                "child": 2**22 - 1,
                "generation": 1,
                "whole": True,
                "started_at": time.time(),
                "cols": 80,
                "rows": 24,
                "console": None,
                "keys": 0,
                "written": 0,
                "injected": [],
                "settings": load_settings().values,
                "token": None,
            },
        )

    def leave(self) -> int:
        """Close the wire; the host's exit status, when it has followed."""
        self.wire.close()
        done: list[int] = []

        def ended() -> bool:
            pid, status = os.waitpid(self.host, os.WNOHANG)
            if pid:
                done.append(os.waitstatus_to_exitcode(status))
            return bool(pid)

        try:
            wait(ended, "the end of the host", PATIENCE)
        except AssertionError:
            os.kill(self.host, signal.SIGKILL)
            os.waitpid(self.host, 0)
            raise
        return done[0]


@pytest.mark.parametrize("said", ["nothing", "half a hello", "hello"])
def test_a_host_ends_with_its_relay_however_little_that_has_said(home: Home, said: str) -> None:
    relay = Relay(home)
    hello = relay.hello()
    relay.wire.sendall({"nothing": b"", "half a hello": hello[:100], "hello": hello}[said])
    assert relay.leave() == 0


def test_what_an_agent_said_that_ended_at_once_is_in_the_log(home: Home) -> None:
    relay = Relay(home)
    relay.wire.sendall(
        relay.hello() + wire.pack(wire.OUTPUT, b"last words\r\n") + wire.pack_json(wire.EXIT, 3)
    )
    assert relay.leave() == 0
    assert (home.path / "synapse" / "logs" / "a.out").read_text() == "last words\n"


@pytest.mark.parametrize("level", ["info", "error"])
def test_the_log_holds_what_its_level_lets_in(
    home: Home, monkeypatch: pytest.MonkeyPatch, level: str
) -> None:
    monkeypatch.setenv("SYNAPSE_LOG_LEVEL", level)
    relay = Relay(home)
    relay.wire.sendall(relay.hello() + wire.pack_json(wire.EXIT, 0))
    assert relay.leave() == 0
    log = Path(paths.log_file("a"))
    assert ("is here" in log.read_text() if log.exists() else False) == (level == "info")


def test_a_host_that_serves_ends_with_a_relay_that_has_not_read_its_words(home: Home) -> None:
    relay = Relay(home)
    relay.wire.sendall(relay.hello())
    assert relay.wire.recv(1)  # the first byte of READY, and the rest left unread
    assert relay.leave() == 0


IN_A_SECOND = """
import runpy
from synapse.host import host
host.LAST_SECONDS = 1
runpy.run_module("synapse.host", run_name="__main__", alter_sys=True)
"""


def test_a_host_ends_even_when_a_lock_is_never_released(home: Home) -> None:
    relay = Relay(home, ("-c", IN_A_SECOND))
    relay.wire.sendall(relay.hello())
    assert relay.wire.recv(100)
    with home.registry.mutex():
        assert relay.leave() == -signal.SIGALRM
    assert "cleaning up" in Path(paths.log_file("a")).read_text()


def test_a_server_is_loaded_at_the_first_connection_and_the_standard_when_asked_for(home: Home) -> None:
    relay = Relay(home)
    relay.wire.sendall(relay.hello())
    assert relay.wire.recv(100)

    def loaded() -> list[bool]:
        libraries = Path(f"/proc/{relay.host}/maps").read_text()
        return ["pydantic_core" in libraries, "google/_upb" in libraries]

    assert loaded() == [False, False]
    assert ask(relay.port, "/status")[0] == 200 and loaded() == [True, False]
    assert ask(relay.port, "/.well-known/agent-card.json")[2]["name"] == "a" and loaded() == [True, True]
    for path, status in (("/a2a/nothing", 404), ("/a2a", 404), ("/", 405)):
        assert ask(relay.port, path)[0] == status
    assert relay.leave() == 0


def test_a_host_that_has_loaded_only_what_it_needs_serves_the_old_version(home: Home) -> None:
    """In a process of its own: in the tests' process, others have imported what that version needs."""
    relay = Relay(home)
    relay.wire.sendall(relay.hello())
    assert relay.wire.recv(100)
    body = b'{"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": "nothing"}}'
    headers = {"Content-Type": "application/json", "A2A-Version": "0.3"}
    for path, method, code in (("/", "POST", -32001), ("/a2a/v1/tasks/nothing", "GET", 404)):
        _, _, answer = ask(relay.port, path, method, body if method == "POST" else None, headers)
        assert answer["error"]["code"] == code, answer
    assert relay.leave() == 0
