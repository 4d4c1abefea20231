"""Who may speak to an agent's port, and how much."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import ASGIApp as App
from starlette.types import Receive, Scope, Send

from synapse.registry import Entry
from synapse.server.access import asgi as refusals
from synapse.server.access import peers
from synapse.server.access.checks import AccessCheck, Bodies, Names, names_for
from synapse.server.access.connections import HEAD_BYTES, Connection, at_most
from synapse.server.access.peers import NOBODY, ask_kernel, is_loopback, search_tables
from synapse.server.access.rates import MANY, Rates
from tests.support.home import Home, wait
from tests.support.serving import Answer, as_nobody, ask, echo, has_ipv6, raw, serving

needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
needs_ipv6 = pytest.mark.skipif(not has_ipv6(), reason="this machine has no ::1")
LOOPBACK = ["127.0.0.1", pytest.param("::1", marks=needs_ipv6)]
TOKEN = "a-long-secret-word"
JSON = {"Content-Type": "application/json"}


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture
def open_port() -> Iterator[int]:
    with serving(AccessCheck(echo, Names())) as port:
        yield port


@pytest.fixture
def guarded_port() -> Iterator[int]:
    with serving(AccessCheck(echo, Names(), TOKEN)) as port:
        yield port


class TestNames:
    @pytest.mark.parametrize(
        "host", ["localhost", "LocalHost", "127.0.0.1", "[::1]", "localhost:{}", "localhost:9"]
    )
    def test_loopback_by_any_name_and_port(self, open_port: int, host: str) -> None:
        host = host.format(open_port)
        assert ask(open_port, headers={"Host": host})[0] == 200
        assert ask(open_port, headers={"Host": host, "Origin": f"http://{host}"})[0] == 200

    @pytest.mark.parametrize(
        "headers",
        [
            {"Host": "evil.example"},
            {"Host": "localhost.evil.example"},
            {"Host": "localhost:8100.evil.example"},
            {"Host": "evil@localhost"},
            {"Host": "192.168.1.1"},
            {"Host": ""},
            {"Host": "localhost:"},
            {"Host": "localhost", "Origin": "http://evil.example"},
            {"Host": "localhost", "Origin": "http://localhost:3000"},
            {"Host": "localhost:8100", "Origin": "http://localhost"},
            {"Host": "localhost", "Origin": "null"},
            {"Host": "localhost", "Origin": ""},
        ],
    )
    def test_pages_from_elsewhere_are_refused(self, open_port: int, headers: dict[str, str]) -> None:
        status, _, body = ask(open_port, headers=headers)
        assert status == 403 and "localhost" in body["detail"]

    def test_no_host_and_two_hosts_are_refused(self, open_port: int) -> None:
        close = b"Connection: close\r\n\r\n"
        assert b" 403 " in raw(open_port, b"GET / HTTP/1.0\r\n" + close)
        two = b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n"
        assert b" 403 " in raw(open_port, two + close)

    def test_the_names_of_an_agent_that_listens_elsewhere(self) -> None:
        names = names_for("10.0.0.5", "http://agents.lan:8100", ["proxy.example"])
        for host in (
            "agents.lan:8100",
            "10.0.0.5",
            "192.168.7.7:1",
            "[fd00::1]:8100",
            "proxy.example",
            "localhost",
        ):
            assert names.allow([host.encode()], []), host
        for host in ("evil.example", "[evil", "10.0.0", "[fd00::1", "agents.lan.evil.example"):
            assert not names.allow([host.encode()], []), host
        assert not names_for("127.0.0.1", "http://localhost:1", []).allow([b"10.0.0.5"], [])
        assert names_for("::1", "http://[::1]:1", []).allow([b"[::1]:1"], [])

    @given(st.binary())
    def test_any_bytes_are_a_name_or_not(self, data: bytes) -> None:
        assert Names(any_address=True).allow([data], [data]) is False

    @pytest.mark.parametrize("site", ["cross-site", "same-site", "Cross-Site", "anything", ""])
    def test_what_a_page_of_another_site_loads_is_refused(self, open_port: int, site: str) -> None:
        # An image, a script or a link has no Origin, but browsers say where it comes from.
        status, headers, body = ask(open_port, "/status", headers={"Sec-Fetch-Site": site})
        assert status == 403 and "another site" in body["detail"]
        assert headers["x-content-type-options"] == "nosniff"

    @pytest.mark.parametrize("site", ["none", "same-origin"])
    def test_what_a_human_opens_is_served(self, open_port: int, site: str) -> None:
        status, headers, _ = ask(open_port, "/docs", headers={"Sec-Fetch-Site": site})
        assert status == 200 and headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["x-content-type-options"] == "nosniff"

    @pytest.mark.parametrize("kind", ["websocket", "http"])
    def test_websockets_are_checked_too(self, kind: str) -> None:
        sent = asgi(AccessCheck(echo, Names()), {"type": kind, "headers": [(b"host", b"evil.example")]})
        assert sent[0]["type"] == ("websocket.close" if kind == "websocket" else "http.response.start")
        assert sent[0].get("code", 1008) == 1008


def asgi(app: App, scope: dict[str, Any]) -> list[Any]:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    asyncio.run(app({"method": "GET", "path": "/", "client": None, "server": None, **scope}, receive, send))  # type: ignore[arg-type]
    return sent


class TestUsers:
    @pytest.mark.parametrize("host", LOOPBACK)
    def test_a_connection_of_ours_is_ours_however_it_is_asked(self, host: str) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.create_server((host, 0), family=family) as listener:
            server = listener.getsockname()[:2]
            with socket.create_connection(server) as client:
                ours = client.getsockname()[:2]
                for find in (ask_kernel, search_tables):
                    assert find(ours, server) == os.getuid(), find
                    assert find((host, 1), server) is None
                client.shutdown(socket.SHUT_WR)  # half-closed, and still there
                assert ask_kernel(ours, server) == search_tables(ours, server) == os.getuid()

    def test_ipv4_through_an_ipv6_socket(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket(socket.AF_INET6) as client:
            client.connect(("::ffff:127.0.0.1", listener.getsockname()[1]))
            peer = ("127.0.0.1", client.getsockname()[1])
            server = listener.getsockname()
            assert ask_kernel(peer, server) == search_tables(peer, server) == os.getuid()

    def test_a_socket_that_was_closed_belongs_to_nobody(self) -> None:
        # The kernel says 0 for its owner, which is root.
        with socket.create_server(("127.0.0.1", 0)) as listener:
            server = listener.getsockname()
            client = socket.create_connection(server)
            ours = client.getsockname()
            client.close()
            assert ask_kernel(ours, server) == search_tables(ours, server) == NOBODY

    def test_a_listener_on_the_clients_port_is_not_the_client(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
            assert ask_kernel(one.getsockname(), other.getsockname()) is None

    def test_what_cannot_be_told_is_refused(self) -> None:
        sent = asgi(AccessCheck(echo, Names()), {"type": "http", "headers": [(b"host", b"localhost")]})
        assert sent[0]["status"] == 403 and b"--token-file" in sent[1]["body"]

    @needs_root
    @pytest.mark.parametrize("host", LOOPBACK)
    def test_another_user_reaches_nothing(self, host: str) -> None:
        with serving(AccessCheck(echo, Names()), host=host) as port:
            assert ask(port, host=host)[0] == 200
            for path in ("/", "/status", "/.well-known/agent-card.json", "/openapi.json"):
                status, _, body = as_nobody(lambda path=path: ask(port, path, host=host))  # type: ignore[misc]
                assert status == 403 and "only the user who started this agent" in body["detail"]
            status, _, _ = as_nobody(lambda: ask(port, "/", "POST", b"{}", JSON, host=host))
            assert status == 403

    @needs_root
    def test_another_user_who_sends_and_hangs_up_is_not_taken_for_root(self) -> None:
        reached: list[str] = []

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            reached.append(scope["path"])
            await echo(scope, receive, send)

        def send_and_hang_up(port: int) -> None:
            for _ in range(200):
                with socket.create_connection(("127.0.0.1", port)) as sock:
                    sock.sendall(b"GET /theirs HTTP/1.1\r\nHost: localhost\r\n\r\n")

        with serving(AccessCheck(app, Names())) as port:
            as_nobody(lambda: send_and_hang_up(port))
            assert ask(port, "/ours")[0] == 200
        assert reached == ["/ours"]

    @needs_root
    def test_no_header_makes_another_user_ours(self) -> None:
        with serving(AccessCheck(echo, Names())) as port:
            headers = {"X-Forwarded-For": "127.0.0.1", "Forwarded": "for=127.0.0.1", "X-Real-IP": "127.0.0.1"}
            assert as_nobody(lambda: ask(port, headers=headers))[0] == 403
            assert ask(port, headers={"X-Forwarded-For": "6.6.6.6"})[2]["client"] == "127.0.0.1"

    @needs_root
    def test_with_the_token_another_user_is_welcome(self, guarded_port: int) -> None:
        assert as_nobody(lambda: ask(guarded_port, headers=bearer(TOKEN)))[0] == 200
        assert as_nobody(lambda: ask(guarded_port))[0] == 401


class TestTokens:
    def test_nothing_without_the_token(self, guarded_port: int) -> None:
        status, headers, body = ask(guarded_port)
        assert (status, headers["www-authenticate"]) == (401, "Bearer") and "Bearer TOKEN" in body["detail"]

    @pytest.mark.parametrize(
        "value",
        [
            "Bearer",
            "Bearer ",
            "Bearer wrong",
            f"Bearer {TOKEN}x",
            f"Bearer {TOKEN[:-1]}",
            f"Basic {TOKEN}",
            TOKEN,
        ],
    )
    def test_a_wrong_one_is_said_to_be_wrong(self, guarded_port: int, value: str) -> None:
        status, headers, body = ask(guarded_port, headers={"Authorization": value})
        assert status == 401 and "invalid_token" in headers["www-authenticate"]
        assert TOKEN not in json.dumps(body)

    @pytest.mark.parametrize("value", [f"Bearer {TOKEN}", f"bearer {TOKEN}", f"BEARER  {TOKEN} "])
    def test_the_right_one_opens(self, guarded_port: int, value: str) -> None:
        assert ask(guarded_port, headers={"Authorization": value})[0] == 200

    def test_as_an_api_key_too(self, guarded_port: int) -> None:
        assert ask(guarded_port, headers={"X-API-Key": TOKEN})[0] == 200
        assert ask(guarded_port, headers={"X-API-Key": TOKEN, **bearer(TOKEN)})[0] == 200
        for wrong in ({"X-API-Key": "x"}, {"X-API-Key": ""}, {"X-API-Key": "x", **bearer(TOKEN)}):
            assert ask(guarded_port, headers=wrong)[0] == 401, wrong
        assert ask(guarded_port, headers={"X-API-Key": TOKEN, "Authorization": "Bearer x"})[0] == 401
        two = f"X-API-Key: x\r\nX-API-Key: {TOKEN}\r\nConnection: close\r\n\r\n"
        assert b" 401 " in raw(guarded_port, b"GET / HTTP/1.1\r\nHost: localhost\r\n" + two.encode())

    def test_the_card_can_be_read_without_it(self, guarded_port: int) -> None:
        for path in ("/.well-known/agent-card.json", "/.well-known/agent.json"):
            assert ask(guarded_port, path)[0] == 200
            assert ask(guarded_port, path, "POST")[0] == 401
        for path in ("/.well-known/agent-card.json/", "/.well-known/", "//.well-known/agent.json"):
            assert ask(guarded_port, path)[0] == 401

    def test_a_page_from_elsewhere_does_not_get_in_with_it(self, guarded_port: int) -> None:
        assert ask(guarded_port, headers={**bearer(TOKEN), "Host": "evil.example"})[0] == 403

    def test_two_are_one_too_many(self, guarded_port: int) -> None:
        lines = f"Authorization: Bearer x\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n\r\n"
        assert b" 401 " in raw(guarded_port, b"GET / HTTP/1.1\r\nHost: localhost\r\n" + lines.encode())


class TestRates:
    def test_a_burst_and_then_so_many_a_second(self) -> None:
        now = 0.0
        rates = Rates(10, 20, lambda: now)
        assert [rates.wait("a") for _ in range(20)] == [0.0] * 20
        assert rates.wait("a") == pytest.approx(0.1)
        assert rates.wait("b") == 0.0
        now = 0.55
        assert [rates.wait("a") == 0.0 for _ in range(7)] == [True] * 5 + [False] * 2
        now = 1000.0
        assert [rates.wait("a") == 0.0 for _ in range(21)] == [True] * 20 + [False]

    @given(st.floats(0.1, 1000), st.integers(1, 50), st.lists(st.floats(0, 10), max_size=60))
    def test_never_more_than_the_burst_and_the_rate(
        self, rate: float, burst: int, waits: list[float]
    ) -> None:
        now = 0.0
        rates = Rates(rate, burst, lambda: now)
        taken = 0
        for seconds in waits:
            now += seconds
            taken += rates.wait("a") == 0.0
            assert taken <= burst + now * rate + 1e-3

    def test_many_names_are_forgotten_in_order(self) -> None:
        rates = Rates(1, 1, lambda: 0.0)
        assert rates.wait("first") == 0.0
        for number in range(MANY * 2):
            rates.wait(str(number))
        assert len(rates._full_at) == MANY

    def test_too_many_requests_are_told_when_to_come_back(self) -> None:
        with serving(AccessCheck(echo, Names(), rate=5)) as port:
            answers = [ask(port) for _ in range(15)]
        refused = [answer for answer in answers if answer[0] == 429]
        assert [status for status, _, _ in answers[:10]] == [200] * 10 and refused
        assert refused[0][1]["retry-after"] == "1" and "try again" in refused[0][2]["detail"]

    def test_guessing_tokens_is_slow(self) -> None:
        with serving(AccessCheck(echo, Names(), TOKEN, rate=5)) as port:
            answers = [ask(port, headers=bearer(f"guess-{n}"))[0] for n in range(15)]
        assert answers[:10] == [401] * 10 and 429 in answers

    @needs_root
    def test_another_user_does_not_use_up_ours(self) -> None:
        with serving(AccessCheck(echo, Names(), TOKEN, rate=5)) as port:
            assert 429 in as_nobody(lambda: [ask(port)[0] for _ in range(15)])
            assert ask(port, headers=bearer(TOKEN))[0] == 200


class TestBodies:
    @pytest.fixture
    def port(self) -> Iterator[int]:
        with serving(Bodies(echo, 100_000, patience=0.3)) as port:
            yield port

    @pytest.mark.parametrize(
        "kind", ["application/json", "Application/JSON; charset=utf-8", "application/a2a+json"]
    )
    def test_json_is_passed_on_whole(self, port: int, kind: str) -> None:
        for body in (b"{}", b"x" * 100_000):
            assert ask(port, "/", "POST", body, {"Content-Type": kind})[2]["length"] == len(body)
            pieces = (body[n : n + 999] for n in range(0, len(body), 999))
            assert ask(port, "/", "POST", pieces, {"Content-Type": kind})[2]["length"] == len(body)

    @pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
    @pytest.mark.parametrize(
        "kind", ["text/plain", "application/x-www-form-urlencoded", "", "application/jsonx"]
    )
    def test_nothing_but_json(self, port: int, method: str, kind: str) -> None:
        for body in (b"{}", iter([b"{}"])):
            status, _, answer = ask(port, "/", method, body, {"Content-Type": kind})
            assert status == 415 and "application/json" in answer["detail"]

    @pytest.mark.parametrize("method", ["GET", "DELETE", "POST", "PUT", "HEAD", "OPTIONS"])
    def test_no_body_needs_no_type(self, port: int, method: str) -> None:
        assert ask(port, "/", method)[0] == 200
        assert ask(port, "/", method, b"")[0] == 200

    def test_an_empty_chunked_body_is_empty(self, port: int) -> None:
        assert ask(port, "/", "POST", iter([]))[0] == 200

    @pytest.mark.parametrize("size", [100_001, 10_000_000])
    def test_a_body_that_is_too_long_is_refused_and_the_client_sees_why(self, port: int, size: int) -> None:
        for body in (b"x" * size, (b"x" * 9_999 for _ in range(size // 9_999 + 1))):
            status, headers, answer = ask(port, "/", "POST", body, JSON)
            assert status == 413 and "limits.body" in answer["detail"] and headers["connection"] == "close"

    def test_one_that_says_so_is_refused_before_it_sends_any(
        self, port: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(refusals, "LINGER_SECONDS", 0.1)
        head = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999\r\n"
        head += b"Content-Type: application/json\r\nExpect: 100-continue\r\n\r\n"
        answer = raw(port, head)
        assert answer.startswith(b"HTTP/1.1 413 ") and b"100 Continue" not in answer

    def test_an_endless_one_is_cut_off(self, port: int) -> None:
        sent = 0
        with socket.create_connection(("127.0.0.1", port), 10) as sock, pytest.raises(OSError):
            sock.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
            while sent < 1 << 30:
                sock.sendall(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
                sent += 0x10000
        assert sent < 100_000_000

    def test_one_that_does_not_come_is_not_waited_for(
        self, port: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(refusals, "LINGER_SECONDS", 0.1)
        head = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        head += b"Content-Length: 9\r\n\r\n"
        answer = raw(port, head, b"{")
        assert answer.startswith(b"HTTP/1.1 408 ") and b"0.3 seconds" in answer

    def test_a_client_that_vanishes_in_the_middle_reaches_nothing(self) -> None:
        reached = []

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            reached.append((await receive()).get("body"))
            await echo(scope, receive, send)

        with serving(Bodies(app, 1000)) as port:
            for _ in range(20):
                with socket.create_connection(("127.0.0.1", port)) as sock:
                    sock.sendall(
                        b"POST / HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
                    )
            time.sleep(0.1)
        assert reached == []

    def test_a_refusal_never_leaves_the_rest_to_be_read_as_a_request(self, port: int) -> None:
        hidden = b"GET /hidden HTTP/1.1\r\nHost: localhost\r\n\r\n"
        head = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n"
        answer = raw(port, head % len(hidden) + hidden)
        assert answer.count(b"HTTP/1.1 ") == 1 and b" 415 " in answer

    @given(st.lists(st.binary(min_size=1, max_size=2000), max_size=12))
    def test_the_limit_is_exact_in_any_pieces(self, pieces: list[bytes]) -> None:
        got: list[int] = []
        left = [*pieces, b""]

        async def receive() -> Any:
            return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

        async def app(_: Scope, receive: Receive, send: Send) -> None:
            got.append(len((await receive())["body"]))

        async def send(message: Any) -> None:
            if "status" in message:
                got.append(-message["status"])

        headers = [(b"transfer-encoding", b"chunked"), (b"content-type", b"application/json")]
        scope = {"type": "http", "method": "POST", "headers": headers}
        asyncio.run(Bodies(app, 5000)(scope, receive, send))
        size = sum(map(len, pieces))
        assert got == [size if size <= 5000 else -413]


class TestConnections:
    def test_headers_that_do_not_end_are_cut_off(self) -> None:
        class Hasty(at_most(10, 0.2)):  # type: ignore[misc]
            def __init__(self, *arguments: Any, **named: Any) -> None:
                super().__init__(*arguments, **named)
                self.timeout_keep_alive = 0.5  # else it waits 5 s for the next request

        with serving(echo, Hasty) as port:
            assert raw(port) == b""
            assert raw(port, b"\r\n") == b""
            assert b" 408 " in raw(port, b"GET / HT")
            assert b" 408 " in raw(port, b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ")
            whole = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
            assert raw(port, whole + b"\r\n").count(b" 200 ") == 1

    @pytest.mark.parametrize("size", [HEAD_BYTES + 1, 200_000, 1_000_000])
    def test_headers_that_are_too_long(self, size: int) -> None:
        with serving(echo, Connection) as port:
            one = {"X-Long": "x" * size}
            many = {f"X-{n}": "x" * 1000 for n in range(size // 1000 + 1)}
            for headers in (one, many):
                try:
                    status, _, body = ask(port, headers=headers)
                except OSError:
                    continue  # reset while it still sends
                assert status == 431 and "limit" in body["detail"]
            assert ask(port, headers={"X-Long": "x" * 60_000})[0] == 200
            assert b" 200 " not in raw_or_reset(
                port, b"GET /" + b"x" * size + b" HTTP/1.1\r\nHost: a\r\n\r\n"
            )

    def test_the_next_request_has_the_same_limit_while_one_is_running(self) -> None:
        async def never(scope: Scope, receive: Receive, send: Send) -> None:
            await receive()
            await receive()

        with serving(never) as port, socket.create_connection(("127.0.0.1", port), 10) as sock:
            sock.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\nGET / HTTP/1.1\r\nX: ")
            with pytest.raises(OSError):
                for _ in range(10_000):
                    sock.sendall(b"x" * 10_000)

    def test_too_many_are_told_so_and_room_comes_back(self) -> None:
        with serving(echo, at_most(4, 5)) as port:
            held = [socket.create_connection(("127.0.0.1", port)) for _ in range(4)]
            wait(lambda: ask(port)[0] == 503, "a full house")
            status, headers, body = ask(port)
            assert (status, headers["retry-after"]) == (503, "1") and "try again" in body["detail"]
            held += [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
            for sock in held:
                sock.close()
            wait(lambda: ask(port)[0] == 200, "room")

    @needs_root
    @pytest.mark.parametrize("token", [None, TOKEN])
    def test_another_users_idle_connections_leave_room_for_ours(self, token: str | None) -> None:
        def hold(port: int) -> tuple[int, bool]:
            held = [socket.create_connection(("127.0.0.1", port)) for _ in range(700)]
            for sock in held:
                sock.setblocking(False)
            ours.set()
            seen.wait(30)
            return len(held), ours.is_set()

        ours, seen = multiprocessing.Event(), multiprocessing.Event()
        checked = AccessCheck(echo, Names(), token)
        with serving(checked, at_most(20, 60)) as port, ThreadPoolExecutor(1) as pool:
            holding = pool.submit(as_nobody, lambda: hold(port))
            assert ours.wait(30)
            answers = [ask(port, headers=bearer(TOKEN))[0] for _ in range(50)]
            seen.set()
            assert holding.result(30) == [700, True]
        assert answers == [200] * 50

    def test_requests_one_after_the_other_on_one_connection(self) -> None:
        request = b"GET /%d HTTP/1.1\r\nHost: localhost\r\n\r\n"
        with serving(AccessCheck(Bodies(echo, 100), Names())) as port:
            last = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            answer = raw(port, b"".join(request % n for n in range(50)) + last)
        assert answer.count(b"HTTP/1.1 200 ") == 51

    def test_one_connection_asks_for_its_user_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = []

        def counting(*ends: tuple[str, int]) -> int | None:
            asked.append(ends)
            return ask_kernel(*ends)

        monkeypatch.setattr(peers, "ask_kernel", counting)
        with serving(AccessCheck(echo, Names())) as port:
            request = b"GET / HTTP/1.1\r\nHost: localhost\r\n"
            raw(port, request + b"\r\n" + request + b"\r\n" + request + b"Connection: close\r\n\r\n")
        assert len(asked) == 1

    @pytest.mark.parametrize("ip", ["127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"])
    def test_loopback_is_recognised(self, ip: str) -> None:
        assert is_loopback(ip) and not is_loopback("10.0.0.1") and not is_loopback("::2")


def raw_or_reset(port: int, data: bytes) -> bytes:
    try:
        return raw(port, data)
    except OSError:
        return b""


class TestAgents:
    """The same with a whole agent."""

    def ask(self, entry: Entry, path: str = "/status", **more: Any) -> Answer:
        return ask(int(str(entry["port"])), path, **more)

    def test_every_listener_of_an_agent(self, home: Home) -> None:
        home.run("start", "dummy", "--name", "a", SYNAPSE_LIMITS__BODY="2000", SYNAPSE_LIMITS__RATE="8")
        entry = home.agents()["a"]
        assert self.ask(entry)[0] == 200
        assert self.ask(entry, headers={"Host": "evil.example"})[0] == 403
        assert self.ask(entry, method="POST", body=b"x" * 2001, headers=JSON)[0] == 413
        assert self.ask(entry, method="POST", body=b"{}", headers={"Content-Type": "text/plain"})[0] == 415
        if os.getuid() == 0:
            assert as_nobody(lambda: self.ask(entry))[0] == 403
        answers = [self.ask(entry)[0] for _ in range(150)]
        assert 200 in answers and 429 in answers
        assert "READY" in home.run("status", "a").stdout or "PROCESSING" in home.run("status", "a").stdout

    @pytest.mark.parametrize("way", ["file", "variable", "option"])
    def test_a_token_opens_and_is_seen_nowhere(self, home: Home, way: str) -> None:
        secret = "s3cret-" + "x" * 20
        file = home.path / "token"
        file.write_text(secret + "\n")
        file.chmod(0o600)
        words = {"file": ["--token-file", str(file)], "option": ["--token", secret]}.get(way, [])
        more = {"SYNAPSE_TOKEN": secret} if way == "variable" else {}
        home.env.update(more)
        home.run("start", "dummy", "--name", "a", *words)
        home.env.pop("SYNAPSE_TOKEN", None)
        entry = home.agents()["a"]
        assert self.ask(entry)[0] == 401
        assert self.ask(entry, headers=bearer(secret))[0] == 200
        assert "a" in home.run("status", "a").stdout  # our own commands need none
        host, agent = self.host_of(home), self.agent_of(entry)
        for pid in (host, agent):
            for name in ("cmdline", "environ"):
                assert secret.encode() not in Path(f"/proc/{pid}/{name}").read_bytes(), (pid, name)
        os.kill(host, 9)
        wait(lambda: self.status_or_none(entry, secret) == 200, "the next host")  # it knows the token too
        assert self.ask(entry)[0] == 401
        if way != "option":
            assert secret.encode() not in Path(f"/proc/{entry['pid']}/cmdline").read_bytes()
        home.run("stop", "a")
        written = [path for path in home.path.rglob("*") if path.is_file() and path != file]
        assert written and all(secret.encode() not in path.read_bytes() for path in written)

    def status_or_none(self, entry: Entry, secret: str) -> int | None:
        try:
            return self.ask(entry, headers=bearer(secret))[0]
        except OSError:
            return None

    def host_of(self, home: Home) -> int:
        found = [
            pid for pid in home.processes() if b"synapse.host" in Path(f"/proc/{pid}/cmdline").read_bytes()
        ]
        assert len(found) == 1
        return found[0]

    def agent_of(self, entry: Entry) -> int:
        """Below the keeper, which is below the relay."""

        def below(pid: int) -> list[int]:
            return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

        return next(agent for keeper in below(int(str(entry["pid"]))) for agent in below(keeper))

    @pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7"])
    def test_elsewhere_is_refused_without_a_token(self, home: Home, host: str) -> None:
        done = home.run("start", "dummy", "--host", host, check=False)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"--host {host} lets other machines" in done.stderr and "--token-file" in done.stderr
        assert done.stderr.count("\n") == 1 and home.agents() == {}

    @pytest.mark.parametrize(
        ("words", "says"),
        [
            (["--host", "192.0.2.7", "--token", "x"], "not an address of this machine"),
            (["--host", "no such name", "--token", "x"], "not an address of this machine"),
            (["--host", "", "--token", "x"], "not an address of this machine"),
            (["--host"], "needs a value"),
            (["--token-file", "/nonexistent"], "cannot read the token file"),
            (["--token", ""], "is empty"),
            (["--token", "a b"], "not a token that a header can carry"),
        ],
    )
    def test_what_is_wrong_is_one_sentence(self, home: Home, words: list[str], says: str) -> None:
        done = home.run("start", "dummy", *words, check=False)
        assert done.returncode == 2 and says in done.stderr and done.stderr.count("\n") == 1
        assert home.agents() == {}
        home.wait_no_process()

    def test_everywhere_with_a_token(self, home: Home) -> None:
        home.run("start", "dummy", "--name", "a", "--host", "0.0.0.0", SYNAPSE_TOKEN=TOKEN)
        entry = home.agents()["a"]
        assert entry["endpoint"] == f"http://localhost:{entry['port']}"
        assert self.ask(entry)[0] == 401 and self.ask(entry, headers=bearer(TOKEN))[0] == 200
        assert self.ask(entry, headers={**bearer(TOKEN), "Host": "10.1.2.3"})[0] == 200
        assert self.ask(entry, headers={**bearer(TOKEN), "Host": "evil.example"})[0] == 403

    @needs_ipv6
    @pytest.mark.parametrize("host", ["::1", "[::1]"])
    def test_ipv6_loopback(self, home: Home, host: str) -> None:
        done = home.run("start", "dummy", "--name", "a", "--host", host)
        entry = home.agents()["a"]
        assert entry["endpoint"] == f"http://[::1]:{entry['port']}" and str(entry["endpoint"]) in done.stdout
        assert self.ask(entry, host="::1")[0] == 200
        home.run("start", "dummy", "--name", "b")
        assert home.agents()["b"]["port"] != entry["port"]  # localhost may mean either address
        if os.getuid() == 0:
            assert as_nobody(lambda: self.ask(entry, host="::1"))[0] == 403

    def test_another_loopback_address_needs_no_token(self, home: Home) -> None:
        home.run("start", "dummy", "--name", "a", "--host", "127.0.0.5")
        entry = home.agents()["a"]
        assert entry["endpoint"] == f"http://127.0.0.5:{entry['port']}"
        assert self.ask(entry, host="127.0.0.5")[0] == 200

    def test_in_a_terminal_too(self, home: Home) -> None:
        with home.terminal("dummy", "--host", "0.0.0.0") as terminal:
            terminal.wait_for("--token-file")
            assert terminal.wait_exit() == 2
        with home.terminal("dummy", "--host=0.0.0.0", SYNAPSE_TOKEN=TOKEN) as terminal:
            terminal.wait_for("dummy>")
            wait(lambda: "dummy" in home.agents(), "the entry")
            entry = home.agents()["dummy"]
            wait(lambda: self.status_or_none(entry, TOKEN) == 200, "the host")
            terminal.type("env SYNAPSE_TOKEN\r")
            terminal.wait(lambda: terminal.screen.text().count("dummy>") >= 2, "an answer")
            assert TOKEN not in terminal.screen.text()

    def test_the_machines_own_names_can_be_added(self, home: Home) -> None:
        home.run("start", "dummy", "--name", "a", SYNAPSE_ALLOWED_HOSTS="agents.example proxy.example")
        entry = home.agents()["a"]
        for host, expected in (("agents.example", 200), ("proxy.example:80", 200), ("evil.example", 403)):
            assert self.ask(entry, headers={"Host": host})[0] == expected
