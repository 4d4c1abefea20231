"""The HTTP listeners of a running agent."""

from __future__ import annotations

import http.client
import json
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from synapse.peers import control
from synapse.registry import READY, Entry
from tests.support.home import Home, wait
from tests.support.patience import PATIENCE
from tests.support.running import Lasting


@pytest.fixture(scope="module")
def lasting() -> Iterator[Lasting]:
    with Lasting() as made:
        yield made


@pytest.fixture
def running(lasting: Lasting) -> Iterator[Home]:
    with lasting.lent() as made:
        yield made.home


@pytest.fixture
def agent(running: Home) -> Entry:
    return running.agents()["a"]


def get(entry: Entry, path: str, headers: dict[str, str] | None = None) -> tuple[int, object]:
    connection = http.client.HTTPConnection("127.0.0.1", int(str(entry["port"])), timeout=PATIENCE)
    connection.request("GET", path, headers=headers or {})
    response = connection.getresponse()
    body = json.loads(response.read())
    connection.close()
    return response.status, body


def test_status_has_the_status_and_the_last_of_the_rendered_text(running: Home, agent: Entry) -> None:
    control.call(agent, "POST", "/terminal/keys", {"keys": ["lines 300", "Enter"]})
    wait(lambda: "line 300" in str(get(agent, "/status")[1]), "the answer")
    wait(lambda: running.agents()["a"]["status"] == READY, "READY")
    code, body = get(agent, "/status")
    assert code == 200 and isinstance(body, dict)
    assert body["status"] == READY
    assert body["context"].endswith("line 300\ndummy>") and len(body["context"]) == 2000
    assert body["name"] == "a" and body["agent_type"] == "dummy"


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:8200"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
    ],
)
def test_a_page_from_elsewhere_is_refused(agent: Entry, headers: dict[str, str]) -> None:
    code, body = get(agent, "/status", headers)
    assert code == 403 and isinstance(body, dict) and "localhost" in body["detail"]


def test_the_terminal_is_on_the_private_socket_only(agent: Entry) -> None:
    for path in ("/terminal/screen", "/terminal/contents", "/terminal/keys"):
        assert get(agent, path)[0] == 404
    assert "dummy" in str(control.call(agent, "GET", "/terminal/screen")["text"])


def test_only_this_user_can_connect_to_the_private_socket(agent: Entry) -> None:
    path = Path(str(agent["socket"]))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert path.parent.stat().st_uid == os.getuid()


def test_only_loopback_is_listened_on(agent: Entry) -> None:
    with socket.socket() as sock, pytest.raises(OSError):
        sock.bind(("127.0.0.1", int(str(agent["port"]))))
        sock.listen()
    listening = Path("/proc/net/tcp").read_text()
    port = f":{int(str(agent['port'])):04X} "
    addresses = [line.split()[1] for line in listening.split("\n") if port in line and " 0A " in line]
    assert addresses and all(address.startswith("0100007F") for address in addresses)


def test_background_agents_get_answers_to_terminal_queries(home: Home) -> None:
    program = home.path / "query.py"
    program.write_text(
        "import os, tty\ntty.setraw(0)\nos.write(1, b'\\x1b[c\\x1b[6n\\x1b]11;?\\x07')\n"
        "data = b''\n"
        "while data.count(b'\\x1b') < 3: data += os.read(0, 100)\n"
        "os.write(1, b'answers ' + data.hex().encode())\nos.read(0, 1)\n"
    )
    home.profile("query", f"command: [python3, {program}]")
    home.run("start", "query")
    wait(lambda: b"\x1b[?62".hex() in home.run("screen", "query").stdout, "answers")


def test_in_the_foreground_the_terminal_answers_and_not_we(home: Home) -> None:
    program = home.path / "query.py"
    program.write_text(
        "import os, select, tty\ntty.setraw(0)\nos.write(1, b'\\x1b[c')\n"
        "while True:\n"
        "    got = os.read(0, 100)\n"
        "    os.write(1, b'[' + got.hex().encode() + b']')\n"
    )
    home.profile("query", f"command: [python3, {program}]")
    with home.terminal("query") as terminal:
        terminal.screen.on_reply(None)  # this one is answered by hand
        wait(lambda: "is here" in home.log("query"), "host")
        wait(lambda: home.run("status", "query", check=False).returncode == 0, "host answers")
        terminal.type("\x1b[?1c")  # the one answer, from the human's terminal
        terminal.wait_for("[1b5b3f3163]")
        terminal.type("x")
        terminal.wait_for("[78]")
        assert terminal.screen.text().count("[") == 2


def test_the_server_does_not_chat_into_the_log(home: Home) -> None:
    home.run("start", "dummy", "--name", "a")
    assert get(home.agents()["a"], "/status")[0] == 200
    home.run("stop", "a")
    lines = home.log("a").splitlines()
    assert [line for line in lines if "uvicorn" in line] == []
    assert sum(" is here" in line for line in lines) == 1
