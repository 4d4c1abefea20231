"""Agents elsewhere, on real sockets: every protocol, and every way to behave badly."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from synapse.a2a_client import (
    A2AClient,
    A2AMessage,
    AsyncA2AClient,
    Credentials,
    ExternalAgentRegistry,
    Origin,
    StillWorking,
)
from synapse.errors import NoSuchAgent, Refused, SynapseError, UsageError
from synapse.peers.external import client as external_client
from synapse.peers.external import http as external_http
from synapse.peers.external.card import CardRefused
from synapse.peers.external.http import AddressRefused, Unreachable
from tests.support.a2a_server import served
from tests.support.fake_agent import CARD, OLD_CARD, PROTOCOLS, Answering, FakeAgent, fake_agent, never, says
from tests.support.patience import PATIENCE


@pytest.fixture
def client(tmp_path: Path) -> A2AClient:
    return A2AClient(ExternalAgentRegistry(tmp_path / "external"), timeout=PATIENCE)


def rpc(answer: Callable[[Answering], Any]) -> Any:
    async def handler(request: Answering) -> None:
        await answer(request)

    return handler


# --- each protocol, against our own server -----------------------------------------------------------------


@pytest.mark.parametrize(("protocol", "binding", "path"), PROTOCOLS)
@pytest.mark.parametrize("streaming", [True, False])
def test_every_protocol(tmp_path: Path, protocol: str, binding: str, path: str, streaming: bool) -> None:
    async def main() -> None:
        async with served() as server, asyncio.timeout(PATIENCE):
            me = Origin("me-id", "claude", in_turn=False)
            client = AsyncA2AClient(me, external=ExternalAgentRegistry(tmp_path))
            found = await client.discover(server.url, "dummy")
            assert (found.name, found.protocol, found.binding) == ("dummy", "1.0", "JSONRPC")
            client.registry.update(
                "dummy", protocol=protocol, binding=binding, endpoint=server.url + path,
                capabilities={"streaming": streaming},
            )  # fmt: skip
            events: list[str] = []
            task = await client.send_message(
                "dummy", "stream a|b|明日", wait=True, on_event=lambda kind, data: events.append(kind)
            )
            assert (task.status, task.text) == ("completed", "ab明日")
            assert events[-1] == "done" and "delivered" in events
            assert server.engine.store.get(task.id).sender == {"id": "me-id", "name": "claude"}
            assert (await client.get_task("dummy", task.id)).text == "ab明日"

            asked = await client.send_message("dummy", "ask sure?", wait=True)
            assert asked.asks and asked.prompt is not None and asked.prompt["prompt"] == "sure?"
            assert await client.cancel_task("dummy", asked.id)
            failed = await client.send_message("dummy", "fail no luck", wait=True)
            assert (
                failed.status == "failed"
                and failed.error is not None
                and "no luck" in failed.error["message"]
            )

            sent = await client.send_message("dummy", "hold")
            assert sent.id and not sent.ended
            with pytest.raises(StillWorking, match=r"after 0\.3 s") as late:
                await client.send_message("dummy", "say never", wait=True, timeout=0.3)
            assert late.value.task.id and not server.engine.store.get(late.value.task.id).ended
            hops = server.engine.store.get(sent.id).message["metadata"]["synapse"]["hops"]
            assert hops == ["me-id"]
            with pytest.raises(SynapseError, match=r"dummy refused|nothing there"):
                await client.get_task("dummy", "unknown")

    asyncio.run(main())


def test_data_is_sent_too(tmp_path: Path) -> None:
    async def main() -> None:
        async with served() as server:
            client = AsyncA2AClient(external=ExternalAgentRegistry(tmp_path))
            await client.discover(server.url, "dummy")
            parts: list[dict[str, Any]] = [
                {"type": "text", "text": "these"},
                {"type": "data", "data": {"p50": 12}},
            ]
            for protocol, binding, path in PROTOCOLS:
                client.registry.update(
                    "dummy", protocol=protocol, binding=binding, endpoint=server.url + path
                )
                task = await client.send_message("dummy", A2AMessage("user", parts), wait=True)
                assert '"p50": 12' in task.text, (protocol, binding)
            with pytest.raises(SynapseError, match="type file"):
                await client.send_message("dummy", A2AMessage("user", [{"type": "file", "uri": "x"}]))

    asyncio.run(main())


def test_the_old_dialect(client: A2AClient, fake: FakeAgent) -> None:
    polls = iter(["working", "working", "completed"])

    async def send(request: Answering) -> None:
        assert request.body["message"]["parts"] == [{"type": "text", "text": "rain?"}]
        await request.json({"task": {"id": "t", "status": "working", "message": request.body["message"]}})

    async def get(request: Answering) -> None:
        state = next(polls)
        artifacts = [{"type": "text", "data": "sun"}] if state == "completed" else []
        await request.json({"id": "t", "status": {"state": state}, "artifacts": artifacts})

    del fake.on[CARD]
    fake.card({"name": "Old", "url": fake.url, "version": "1"}, OLD_CARD)
    fake.on |= {"/tasks/send": send, "/tasks/t": get}
    assert client.discover(fake.url).alias == "old"
    task = client.send_message("old", "rain?", wait=True)
    assert (task.status, task.text) == ("completed", "sun")


def test_an_agent_that_answers_with_a_message(client: A2AClient, fake: FakeAgent) -> None:
    message = {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "sun"}]}
    fake.on["/rpc"] = rpc(lambda request: request.result({"message": message}))  # and does not stream
    client.discover(fake.url, "weather")
    for wait in (True, False):
        task = client.send_message("weather", "rain?", wait)
        assert (task.id, task.status, task.text) == ("m", "completed", "sun")


# --- tokens, redirects, lies -------------------------------------------------------------------------------


def test_a_token_goes_to_the_agent_and_not_to_its_card(client: A2AClient, fake: FakeAgent) -> None:
    async def answer(request: Answering) -> None:
        if request.headers.get("authorization") == "Bearer s3cret":
            await request.result(says("sun"))
        else:
            await request.json({"detail": "who are you?"}, 401)

    fake.on["/rpc"] = answer
    client.discover(fake.url, "weather")
    with pytest.raises(Refused, match="wants a token"):
        client.send_message("weather", "rain?")
    shown = client.discover(fake.url, "weather", token="s3cret").to_dict()
    assert "s3cret" not in json.dumps(shown) and shown["has_token"]
    assert client.send_message("weather", "rain?", wait=True).text == "sun"
    assert all("authorization" not in request.headers for request in fake.calls(CARD))


OAUTH = {"tokenUrl": "/token", "scopes": {"ask": "to ask"}}
OAUTH_CARDS = {
    "1.0": {
        "securitySchemes": {"o": {"oauth2SecurityScheme": {"flows": {"clientCredentials": OAUTH}}}},
        "securityRequirements": [{"schemes": {"o": {"list": ["ask"]}}}],
    },
    "0.3": {
        "securitySchemes": {"o": {"type": "oauth2", "flows": {"clientCredentials": OAUTH}}},
        "security": [{"o": ["ask"]}],
    },
}


def ask_for_oauth(fake: FakeAgent, version: str = "1.0") -> dict[str, Any]:
    """Access tokens `t1`, `t2` …; only `state["good"]` is let in."""
    card = json.loads(json.dumps(OAUTH_CARDS[version]).replace("/token", f"{fake.url}/token"))
    fake.card(**card)
    state: dict[str, Any] = {"good": "t1", "issued": 0, "expires_in": 3600, "basic": True}

    async def token(request: Answering) -> None:
        form = parse_qs(request.text)
        basic = request.headers.get("authorization") == "Basic " + b64encode(b"me:s3cret").decode()
        known = basic if state["basic"] else form.get("client_secret") == ["s3cret"]
        if not known or form["grant_type"] != ["client_credentials"] or form.get("scope") != ["ask"]:
            await request.json({"error": "invalid_client"}, 401)
            return
        state["issued"] += 1
        issued = {"access_token": f"t{state['issued']}", "expires_in": state["expires_in"]}
        await request.json({**issued, "token_type": "Bearer"})

    async def answer(request: Answering) -> None:
        if request.headers.get("authorization") == f"Bearer {state['good']}":
            await request.result(says("sun"))
        else:
            await request.json({"detail": "who are you?"}, 401)

    fake.on |= {"/token": token, "/rpc": answer}
    return state


OURS = Credentials(client_id="me", client_secret="s3cret")


@pytest.mark.parametrize(("version", "basic"), [("1.0", True), ("1.0", False), ("0.3", True)])
def test_client_credentials_are_exchanged_for_a_token(
    client: A2AClient, fake: FakeAgent, version: str, basic: bool
) -> None:
    state = ask_for_oauth(fake, version)
    state["basic"] = basic
    client.discover(fake.url, "weather")
    with pytest.raises(Refused, match="--client-id ID --client-secret-file"):
        client.send_message("weather", "rain?")
    shown = client.discover(fake.url, "weather", credentials=OURS).to_dict()
    assert "s3cret" not in json.dumps(shown) and shown["has_token"]
    for _ in range(3):
        assert client.send_message("weather", "rain?", wait=True).text == "sun"
    assert state["issued"] == 1, "it is kept"
    (file,) = Path(client.registry.registry_dir).glob("*.secret")
    assert file.stat().st_mode & 0o777 == 0o600
    client.remove_agent("weather")
    assert not file.exists()


def test_an_access_token_is_renewed_when_it_ends_and_when_it_is_refused(
    client: A2AClient, fake: FakeAgent
) -> None:
    state = ask_for_oauth(fake)
    state["expires_in"] = 10  # so near its end that it is not used again
    client.discover(fake.url, "weather", credentials=OURS)
    for number in (1, 2):
        state["good"] = f"t{number}"
        assert client.send_message("weather", "rain?", wait=True).text == "sun"
    assert state["issued"] == 2
    state["expires_in"], state["good"] = 3600, "t3"
    assert client.send_message("weather", "rain?", wait=True).text == "sun"
    state["good"] = "t4"  # the server has forgotten t3
    assert client.send_message("weather", "rain?", wait=True).text == "sun" and state["issued"] == 4
    state["good"] = "another"
    with pytest.raises(Refused, match="who are you"):
        client.send_message("weather", "rain?")
    assert state["issued"] == 5, "one attempt"


def test_a_changed_card_does_not_get_the_secret(client: A2AClient, fake: FakeAgent) -> None:
    state = ask_for_oauth(fake)
    client.discover(fake.url, "weather", credentials=OURS)
    fake.card(**json.loads(json.dumps(OAUTH_CARDS["1.0"]).replace("/token", f"{fake.url}/elsewhere")))
    asyncio.run(client.core.refresh("weather"))
    assert client.send_message("weather", "rain?", wait=True).text == "sun" and state["issued"] == 1
    assert not fake.calls("/elsewhere")


@pytest.mark.parametrize(
    ("where", "scheme"),
    [
        ("header", {"apiKeySecurityScheme": {"location": "header", "name": "X-Weather"}}),
        ("header", {"type": "apiKey", "in": "header", "name": "X-Weather"}),
        ("query", {"apiKeySecurityScheme": {"location": "query", "name": "X-Weather"}}),
        ("cookie", {"type": "apiKey", "in": "cookie", "name": "X-Weather"}),
    ],
)
def test_an_api_key_goes_where_the_card_says(
    client: A2AClient, fake: FakeAgent, where: str, scheme: dict[str, Any]
) -> None:
    async def answer(request: Answering) -> None:
        found = {
            "header": request.headers.get("x-weather"),
            "query": request.query.removeprefix("X-Weather="),
            "cookie": request.headers.get("cookie", "").removeprefix("X-Weather="),
        }
        right = found[where] == "k3y" and "authorization" not in request.headers
        await (request.result(says("sun")) if right else request.json({}, 401))

    fake.on["/rpc"] = answer
    fake.card(securitySchemes={"k": scheme})
    client.discover(fake.url, "weather")
    with pytest.raises(Refused, match="--api-key-file"):
        client.send_message("weather", "rain?")
    client.discover(fake.url, "weather", credentials=Credentials(api_key="k3y"))
    assert client.send_message("weather", "rain?", wait=True).text == "sun"


def test_a_required_extension_is_used_or_the_card_refused(client: A2AClient, fake: FakeAgent) -> None:
    def card(uri: str, required: bool) -> None:
        extensions = [{"uri": uri, "required": required}]
        fake.card(capabilities={"streaming": True, "extensions": extensions})

    card("https://example.com/quantum", True)
    with pytest.raises(SynapseError, match=r"requires an extension .*quantum"):
        client.discover(fake.url, "weather")
    for uri, required, sent in (
        ("https://x.example", False, None),
        ("x-synapse-task", True, "x-synapse-task"),
    ):
        card(uri, required)
        fake.on["/rpc"] = rpc(lambda request: request.result(says("sun")))
        client.discover(fake.url, "weather")
        assert client.send_message("weather", "rain?", wait=True).text == "sun"
        assert fake.calls("/rpc")[-1].headers.get("a2a-extensions") == sent


@pytest.mark.parametrize("code", [-32601, -32004])
def test_a_refused_stream_is_polled(client: A2AClient, fake: FakeAgent, code: int) -> None:
    async def answer(request: Answering) -> None:
        if request.body["method"] == "SendStreamingMessage":
            error = {"code": code, "message": "no streams here"}
            await request.json({"jsonrpc": "2.0", "id": request.body["id"], "error": error})
        elif request.body["method"] == "SendMessage":
            await request.result(says("", "TASK_STATE_WORKING"))
        else:
            await request.result(says("sun")["task"])

    fake.on["/rpc"] = answer
    client.discover(fake.url, "weather")
    assert client.send_message("weather", "rain?", wait=True).text == "sun"
    methods = [call.body["method"] for call in fake.calls("/rpc")]
    assert methods[:2] == ["SendStreamingMessage", "SendMessage"] and set(methods[2:]) == {"GetTask"}


@pytest.mark.parametrize("streams", [True, False])
def test_the_answer_to_another_request_is_an_error(client: A2AClient, fake: FakeAgent, streams: bool) -> None:
    async def answer(request: Answering) -> None:
        other = json.dumps({"jsonrpc": "2.0", "id": "other", "result": says("sun")})
        if streams:
            await request.begin()
            await request.piece(f"data: {other}\n\n".encode())
            await request.end()
        else:
            await request.json(json.loads(other))

    fake.on["/rpc"] = answer
    client.discover(fake.url, "weather")
    with pytest.raises(SynapseError, match="another request"):
        client.send_message("weather", "rain?", wait=streams)


def test_redirects_are_followed_on_the_same_host_only(client: A2AClient, fake: FakeAgent) -> None:
    stolen: list[Answering] = []

    async def here(request: Answering) -> None:
        await request.json({}, 307, location="/moved")

    async def round_and_round(request: Answering) -> None:
        await request.json({}, 307, location="/rpc")

    fake.on |= {"/rpc": here, "/moved": rpc(lambda request: request.result(says("sun")))}
    client.discover(fake.url, "weather", token="s3cret")
    assert client.send_message("weather", "rain?").text == "sun"
    fake.on["/rpc"] = round_and_round
    with pytest.raises(SynapseError, match="without end"):
        client.send_message("weather", "rain?")
    with fake_agent() as thief:
        thief.on["/"] = thief.on["/rpc"] = rpc(lambda request: stolen.append(request))
        fake.on["/rpc"] = rpc(lambda request: request.json({}, 307, location=f"{thief.url}/"))
        fake.on["/.well-known/agent-card.json"] = rpc(
            lambda request: request.json({}, 302, location=thief.url + CARD)
        )
        for call in (lambda: client.send_message("weather", "rain?"), lambda: client.discover(fake.url)):
            with pytest.raises(SynapseError, match="somewhere else"):
                call()
        assert thief.seen == [] and not stolen


@pytest.mark.parametrize(
    ("card", "word"),
    [
        ({"name": "X", "url": "http://evil.example/", "protocolVersion": "0.3.0"}, "another host"),
        ({"name": ["X"], "url": "http://127.0.0.1/"}, "name is not text"),
        ("hello", "no JSON object"),
    ],
)
def test_a_card_that_lies(client: A2AClient, fake: FakeAgent, card: object, word: str) -> None:
    fake.card(card)
    with pytest.raises(CardRefused, match=word):
        client.discover(fake.url)
    assert client.list_agents() == []


def test_no_agent_there(client: A2AClient, fake: FakeAgent) -> None:
    del fake.on[CARD]
    with pytest.raises(CardRefused, match="no agent at"):
        client.discover(fake.url)
    fake.on[CARD] = rpc(lambda request: request.json({}, 500))
    with pytest.raises(Refused, match="500"):
        client.discover(fake.url)


def test_nobody_there_and_what_is_no_address(client: A2AClient) -> None:
    with pytest.raises(Unreachable, match="cannot be reached"):
        client.discover("http://127.0.0.1:9")
    with pytest.raises(AddressRefused, match="http://"):
        client.discover("localhost:9000")
    with pytest.raises(AddressRefused, match="never called"):
        client.discover("http://169.254.169.254/")
    with pytest.raises(UsageError, match="alias"):
        client.discover("http://127.0.0.1:9", alias="all")
    with pytest.raises(NoSuchAgent, match="nobody"):
        client.send_message("nobody", "hi")


def test_private_networks_only_if_allowed(tmp_path: Path) -> None:
    async def main() -> None:
        client = AsyncA2AClient(external=ExternalAgentRegistry(tmp_path), allow_private=False)
        with pytest.raises(AddressRefused, match="private network"):
            await client.discover("http://10.0.0.1/")

    asyncio.run(main())


def test_an_agent_is_held_to_the_network_it_was_added_in(client: A2AClient, fake: FakeAgent) -> None:
    client.discover(fake.url, "weather")
    client.registry.update("weather", network="public")  # its name means this machine now
    with pytest.raises(AddressRefused, match="this machine"):
        client.send_message("weather", "rain?")


def test_a_token_in_the_open_is_refused(client: A2AClient) -> None:
    with pytest.raises(UsageError, match="https://"):
        external_client._check_token("http://agents.example", "public", "s3cret")


def test_aliases(client: A2AClient, fake: FakeAgent) -> None:
    assert client.discover(fake.url).alias == "weather"
    assert client.discover(fake.url + "/").alias == "weather", "the same agent"
    with fake_agent() as other:
        other.card()
        with pytest.raises(UsageError, match="already"):
            client.discover(other.url, "weather")
        assert client.discover(other.url + CARD).alias == "weather-2"
    assert client.remove_agent("weather") and not client.remove_agent("weather")
    assert [agent.alias for agent in client.list_agents()] == ["weather-2"]


# --- changed cards, last seen ------------------------------------------------------------------------------


def test_a_changed_card_is_noticed_and_said(
    client: A2AClient, fake: FakeAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.on["/rpc"] = rpc(lambda request: request.result(says("sun")))
    client.discover(fake.url, "weather")
    client.send_message("weather", "rain?")
    assert len(fake.calls(CARD)) == 1, "a young card is not read again"
    monkeypatch.setattr(external_client, "CARD_AGE", -1)
    fake.card(version="2", skills=[{"id": "snow"}])
    events: list[tuple[str, Any]] = []
    client.send_message("weather", "rain?", on_event=lambda kind, data: events.append((kind, data)))
    assert events[0][0] == "card_changed" and events[0][1]["changed"] == ["version", "skills"]
    known = client.registry.get("weather")
    assert known is not None and known.version == "2" and "version, skills" in known.note
    del fake.on[CARD]
    fake.on[CARD] = rpc(lambda request: request.json({}, 500))
    assert client.send_message("weather", "rain?").text == "sun", "no card just now: no hindrance"
    fake.card({"name": "X", "url": "http://evil.example/"})
    with pytest.raises(CardRefused, match="another host"):
        client.send_message("weather", "rain?")


def test_last_seen_is_when_it_answered(client: A2AClient, fake: FakeAgent) -> None:
    client.discover(fake.url, "weather")
    client.registry.update("weather", last_seen="")
    fake.on["/rpc"] = rpc(
        lambda request: request.json({"error": {"code": -1, "message": "no"}, "jsonrpc": "2.0"})
    )
    with pytest.raises(Refused, match="refused: no"):
        client.send_message("weather", "rain?")
    fake.on["/rpc"] = rpc(lambda request: request.result(says("sun")))
    client.send_message("weather", "rain?")
    known = client.registry.get("weather")
    assert known is not None and known.last_seen


# --- slow, large, endless, broken --------------------------------------------------------------------------


def test_five_megabytes_arrive(client: A2AClient, fake: FakeAgent) -> None:
    text = "日" * 1_700_000

    async def answer(request: Answering) -> None:
        await request.begin()
        await request.event(says(text))
        await request.end()

    fake.on["/rpc"] = answer
    client.discover(fake.url, "weather")
    assert client.send_message("weather", "all of it", wait=True).text == text


@pytest.mark.parametrize("streaming", [True, False])
def test_line_separators_and_broken_text(client: A2AClient, fake: FakeAgent, streaming: bool) -> None:
    """U+2028 and U+0085 end a line for Python, not for JSON; half a surrogate pair has no bytes."""
    text = "one\u2028two\u0085three"

    async def answer(request: Answering) -> None:
        await request.begin(kind="text/event-stream" if streaming else "application/json")
        answered = {"jsonrpc": "2.0", "id": request.body["id"], "result": says(text)}
        document = json.dumps(answered, ensure_ascii=False).encode()
        await request.piece(b"data: " + document + b"\n\n" if streaming else document)
        await request.end()

    fake.on["/rpc"] = answer
    client.discover(fake.url, "weather")
    assert client.send_message("weather", "half \ud83d", wait=True).text == text
    (request,) = fake.calls("/rpc")
    assert request.body["params"]["message"]["parts"] == [{"text": "half ?"}]


def test_what_is_too_large_or_never_ends_is_cut(
    client: A2AClient, fake: FakeAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def endless(request: Answering) -> None:
        streaming = request.body["method"] == "SendStreamingMessage"
        await request.begin(kind="text/event-stream" if streaming else "application/json")
        await request.event(says("", "TASK_STATE_WORKING"))
        while True:
            await request.piece(b"data: " + b"x" * 65536)

    fake.on["/rpc"] = endless
    client.discover(fake.url, "weather")
    monkeypatch.setattr(external_http, "LARGEST_STREAM", 1 << 20)
    with pytest.raises(SynapseError, match=r"more than|makes no sense"):
        client.send_message("weather", "rain?", wait=True)
    with pytest.raises(SynapseError, match="more than 32 MB"):
        client.send_message("weather", "rain?")

    async def chatter(request: Answering) -> None:
        await request.begin()
        while True:
            await request.event({"statusUpdate": {"taskId": "t", "status": {"state": "TASK_STATE_WORKING"}}})

    fake.on["/rpc"] = chatter
    with pytest.raises(SynapseError, match="more than 1 MB, and was cut off"):
        client.send_message("weather", "rain?", wait=True, timeout=60)


def test_a_slow_agent(client: A2AClient, fake: FakeAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    client.discover(fake.url, "weather")
    fake.on["/rpc"] = never
    with pytest.raises(StillWorking, match=r"0.3 s"):
        client.send_message("weather", "rain?", wait=True, timeout=0.3)
    fake.on[CARD] = never
    monkeypatch.setattr(external_http, "ANSWER", 0.3)
    with pytest.raises(Unreachable, match=r"within 0.3 s"):
        client.discover(fake.url, "weather")

    async def trickle(request: Answering) -> None:
        await request.begin(kind="application/json")
        while True:
            await request.piece(b" ")
            await asyncio.sleep(0.05)

    fake.on["/rpc"] = trickle
    with pytest.raises(Unreachable, match=r"within 0.3 s"):
        client.send_message("weather", "rain?")


def test_a_stream_that_breaks_is_taken_up_and_nothing_is_sent_twice(
    client: A2AClient, fake: FakeAgent
) -> None:
    methods: list[str] = []

    async def answer(request: Answering) -> None:
        methods.append(request.body["method"])
        await request.begin()
        if request.body["method"] == "SendStreamingMessage":
            await request.event(says("su", "TASK_STATE_WORKING"))
            raise ConnectionError("it breaks")
        await request.event(says("sun"))
        await request.end()

    fake.on["/rpc"] = answer
    client.discover(fake.url, "weather")
    assert client.send_message("weather", "rain?", wait=True).text == "sun"
    assert methods == ["SendStreamingMessage", "SubscribeToTask"]


def test_a_stream_that_cannot_be_taken_up_is_asked_after(client: A2AClient, fake: FakeAgent) -> None:
    async def answer(request: Answering) -> None:
        method = request.body["method"]
        if method == "SendStreamingMessage":
            await request.begin()
            await request.event(says("su", "TASK_STATE_WORKING"))
            await request.end()
        elif method == "GetTask":
            await request.result(says("sun")["task"])
        else:
            await request.json({"jsonrpc": "2.0", "id": 1, "error": {"code": -32004, "message": "no"}})

    fake.on["/rpc"] = answer
    client.discover(fake.url, "weather")
    assert client.send_message("weather", "rain?", wait=True).text == "sun"


@pytest.mark.parametrize("document", [[], {}, {"result": 1}, {"result": {}}, {"result": {"task": {"id": 1}}}])
def test_answers_that_make_no_sense(client: A2AClient, fake: FakeAgent, document: object) -> None:
    fake.on["/rpc"] = rpc(lambda request: request.json(document))
    client.discover(fake.url, "weather")
    try:
        assert client.send_message("weather", "rain?").id == "1"
    except SynapseError as error:
        assert "weather" in str(error)
    assert len(fake.calls("/rpc")) == 1, "never sent again"
