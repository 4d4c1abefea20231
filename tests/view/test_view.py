"""`synapse view` as a process: who gets in, and what a page is told and may do."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Iterator

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from tests.support.home import Home, hosts, wait
from tests.support.serving import as_nobody
from tests.support.view_server import Frame, View, running_view


@pytest.fixture
def view(home: Home) -> Iterator[View]:
    with running_view(home) as made:
        yield made


def get(url: str, **headers: str) -> httpx.Response:
    return httpx.get(url, headers=headers, follow_redirects=False, trust_env=False)


def test_an_address_lets_a_browser_in_once(view: View) -> None:
    assert get(view.base).status_code == 403 and "synapse view --url" in get(view.base).text
    first = get(view.url)
    assert first.status_code == 303 and first.headers["location"] == "/"
    again = get(view.url)
    assert again.status_code == 403 and "used already" in again.text
    cookie = first.headers["set-cookie"].partition(";")[0]
    page = get(view.base, Cookie=cookie)
    assert page.status_code == 200 and "<title>Synapse</title>" in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert get(view.url, Cookie=cookie).status_code == 303  # somebody who is in already
    for name in ("view.js", "view.css", "terminal.js", "icon.svg"):
        assert get(f"{view.base}/{name}", Cookie=cookie).status_code == 200
    for name in ("../access.py", "%2e%2e/access.py", "nothing.js", "static"):
        assert get(f"{view.base}/{name}", Cookie=cookie).status_code == 404
    assert get(f"{view.base}/view.js").status_code == 403
    assert httpx.post(view.base, headers={"Cookie": cookie}, trust_env=False).status_code == 405


def test_a_page_of_another_site_and_another_user_are_refused(view: View) -> None:
    cookie = view.cookie()
    assert get(view.base, Cookie=cookie, Host="evil.example").status_code == 403
    assert get(view.base, Cookie=cookie, Origin="http://evil.example").status_code == 403
    uri = f"{view.base.replace('http', 'ws')}/ws"
    attempts: list[tuple[dict[str, str], str]] = [
        ({"Cookie": cookie}, "http://evil.example"),
        ({"Cookie": "synapse_view=wrong"}, view.base),
        ({}, view.base),
    ]
    for headers, origin in attempts:
        with pytest.raises(InvalidStatus) as refused:
            connect(uri, origin=Origin(origin), additional_headers=headers, proxy=None)
        assert refused.value.response.status_code == 403
    if os.getuid() == 0:
        port = int(view.base.rpartition(":")[2])

        def ask() -> str:
            with socket.create_connection(("127.0.0.1", port), 20) as sock:
                head = f"GET / HTTP/1.1\r\nHost: localhost:{port}\r\nCookie: {cookie}\r\n\r\n"
                sock.sendall(head.encode())
                return sock.recv(100).decode()

        assert as_nobody(ask).startswith("HTTP/1.1 403 ")


def test_it_listens_on_this_machine_only(view: View) -> None:
    port = int(view.base.rpartition(":")[2])
    with open("/proc/net/tcp") as tcp, open("/proc/net/tcp6") as tcp6:
        lines = [line for line in [*tcp, *tcp6] if f":{port:04X} " in line and " 0A " in line]
    assert [line.split()[1].partition(":")[0] for line in lines] == ["0100007F"]


def test_one_view_runs_at_a_time(view: View) -> None:
    done = view.home.run("view")
    assert "is running already" in done.stdout and view.base in done.stdout


def test_without_a_view_there_is_no_address(home: Home) -> None:
    done = home.run("view", "--url", check=False)
    assert done.returncode == 1 and "start one with `synapse view`" in done.stderr


def test_a_port_that_is_taken_is_an_error(home: Home) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = home.run("view", "--port", str(taken.getsockname()[1]), check=False)
    assert done.returncode == 1 and "is taken: choose another with --port" in done.stderr


def test_agents_come_and_go_by_themselves(view: View) -> None:
    home = view.home
    with view.page() as page:
        assert page.until(lambda f: f["type"] == "hello")["profiles"]
        home.run("start", "dummy", "--name", "a")
        assert page.until_agent("a", lambda a: a["connected"])["group"] in ("idle", "working")
        home.run("start", "dummy", "--name", "b")
        page.until_agent("b", lambda a: a["group"] == "idle")
        os.kill(int(str(home.agents()["a"]["pid"])), signal.SIGKILL)
        page.until(lambda f: f["type"] == "gone" and f["name"] == "a")
        home.run("stop", "b")
        page.until(lambda f: f["type"] == "gone" and f["name"] == "b")


def test_a_host_that_is_replaced_is_found_again(view: View) -> None:
    home = view.home
    home.run("start", "dummy", "--name", "a")
    with view.page() as page:
        page.until_agent("a", lambda a: a["connected"])
        (host,) = hosts(home, "a")
        os.kill(host, signal.SIGKILL)
        page.until_agent("a", lambda a: not a["connected"])
        page.until_agent("a", lambda a: a["connected"])


def test_a_page_sends_streams_answers_and_types(view: View) -> None:
    home = view.home
    home.run("start", "dummy", "--name", "a")
    with view.page() as page:
        agent = page.until_agent("a", lambda a: a["connected"])["id"]
        page.send(watch=agent)
        page.until(lambda f: f["type"] == "screen" and "dummy>" in str(f["rows"]))
        sent = page.ask(agent=agent, send={"message": "say **done**", "priority": 2})
        task = sent["task"]["id"]

        def is_done(frame: Frame) -> object:
            mine = frame["type"] == "task" and frame["task"]["id"] == task
            return mine and frame["task"].get("reply") and frame["task"]["state"] == "completed"

        reply = page.until(is_done)["task"]
        assert reply["reply"]["elements"][0]["children"] == [{"tag": "strong", "children": ["done"]}]
        assert reply["sender"] == "user" and reply["priority"] == 2 and len(reply["receipts"]) > 2
        page.ask(agent=agent, send={"message": "confirm Delete it?"})
        asks = page.until_agent("a", lambda a: a["question"])
        assert asks["group"] == "needs_you"
        answer = {"question": asks["question"]["id"], "answer": "y"}
        assert page.ask(agent=agent, answer=answer)["type"] == "ok"
        assert "gone" in page.ask(agent=agent, answer={**answer, "question": "old"})["detail"]
        page.until_agent("a", lambda a: a["group"] == "idle" and a["question"] is None)
        assert page.ask(agent=agent, keys=["say typed", "Enter"])["type"] == "ok"
        page.until(lambda f: f["type"] == "screen" and "'typed'" in str(f["rows"]))
        assert page.ask(agent=agent, rows={"first": 0, "count": 5})["rows"] == []


def test_a_page_interrupts_cancels_starts_and_stops(view: View) -> None:
    with view.page() as page:
        started = page.ask(start={"profile": "dummy", "name": "a", "directory": str(view.home.work)})
        assert started["type"] == "ok" and "started a" in started["said"]
        agent = page.until_agent("a", lambda a: a["connected"])["id"]
        task = page.ask(agent=agent, send={"message": "honour 300"})["task"]["id"]
        page.until_agent("a", lambda a: a["work"] and a["work"]["task"] == task)
        assert page.ask(agent=agent, cancel=task)["said"] == "The task is canceled."
        assert "idle" in page.ask(agent=agent, interrupt=True)["said"]
        assert page.ask(agent=agent, stop=True)["said"] == "a has ended."
        while "a" in page.agents:
            page.next()
        assert (
            page.ask(agent=agent, send={"message": "hello"})["detail"]
            == "this agent has ended: start another."
        )


def test_keys_never_reach_the_agent_that_was_watched_before(view: View) -> None:
    home = view.home
    for name in ("a", "b"):
        home.run("start", "dummy", "--name", name)
    with view.page() as page:
        ids = [page.until_agent(name, lambda a: a["connected"])["id"] for name in ("a", "b")]
        for turn in range(6):  # typed at once, before the new connection is there
            agent = ids[turn % 2]
            page.send(watch=agent)
            assert page.ask(agent=agent, keys=["x" if agent == ids[0] else "y"])["type"] == "ok"
        wait(lambda: "dummy> xxx" in home.run("screen", "a").stdout, "the keys of a")
        wait(lambda: "dummy> yyy" in home.run("screen", "b").stdout, "the keys of b")


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"start": {"profile": "nothing"}}, "no profile"),
        ({"start": {"profile": "dummy", "directory": "/nowhere"}}, "no directory"),
        ({"start": {"profile": "dummy", "name": "all"}}, "cannot be an agent's name"),
        ({"agent": "nobody", "send": {"message": "x"}}, "has ended"),
        ({"agent": "nobody", "keys": ["x"]}, "cannot be reached"),
    ],
)
def test_a_request_that_cannot_be_done_has_a_reason(view: View, request_: Frame, words: str) -> None:
    with view.page() as page:
        assert words in page.ask(**request_)["detail"]
        page.socket.send("{")
        assert "JSON" in page.until(lambda f: f["type"] == "error")["detail"]


def test_a_run_is_shown_with_its_steps(view: View, home: Home) -> None:
    home.run("start", "dummy", "--name", "a")
    script = home.work / "two.py"
    script.write_text('from synapse.run import ask\nask("a", "say one")\nask("nobody", "say two")\n')
    with view.page() as page:
        page.until_agent("a")
        home.run("run", "--run", "mine", str(script), check=False)
        shown = page.until(lambda f: f["type"] == "runs" and f["runs"] and f["runs"][0]["state"] == "failed")
        (run,) = shown["runs"]
        assert (run["id"], run["done"], run["total"]) == ("mine", 1, 1) and "nobody" in run["error"]
        assert [(s["key"], s["agent"], s["state"]) for s in run["steps"]] == [("1", "a", "completed")]
    with view.page() as page:
        page.until(lambda f: f["type"] == "runs" and f["runs"][0]["id"] == "mine")


def test_a_run_is_canceled_on_the_page(view: View, home: Home) -> None:
    script = home.work / "long.py"
    text = 'from synapse.run import ask, worker\nwith worker("dummy") as w:\n    ask(w, "honour 600")\n'
    script.write_text(text)
    with view.page() as page, home.terminal("run", "--run", "long", str(script)) as run:
        page.until(lambda f: f["type"] == "runs" and f["runs"] and f["runs"][0]["total"] == 1)
        assert page.ask(cancel_run="long")["said"] == "The run long is canceled."
        assert run.wait_exit() != 0
        page.until(lambda f: f["type"] == "runs" and f["runs"][0]["state"] == "canceled")
        assert "there is no run 'other'" in page.ask(cancel_run="other")["detail"]
    assert home.agents() == {}
    (step,) = json.loads(home.run("runs", "show", "long", "--json").stdout)["steps"]
    assert step["state"] == "canceled"
