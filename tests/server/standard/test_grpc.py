"""The standard over gRPC, where the extra is installed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import pytest
from a2a.types import a2a_pb2 as pb

from synapse.server.standard.grpc import GrpcListener, GrpcMissing, open_grpc
from synapse.server.standard.handler import A2AHandler
from tests.support.a2a_server import about, served
from tests.support.home import Home, hosts, wait
from tests.support.patience import PATIENCE
from tests.support.ports import free_port

HERE = find_spec("grpc") is not None


def test_without_the_extra_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "grpc", None)

    async def test() -> None:
        async with served() as server:
            with pytest.raises(GrpcMissing, match="a2a-synapse\\[grpc\\]"):
                await open_grpc(A2AHandler(server.engine, server.push), "127.0.0.1:0")

    asyncio.run(test())


def test_an_agent_without_a_token_is_not_started_with_grpc(home: Home) -> None:
    refused = home.run("start", "dummy", check=False, SYNAPSE_GRPC_PORT=str(free_port()))
    assert refused.returncode == 2 and "needs a token" in refused.stderr and not home.agents()


def card(home: Home, name: str) -> list[dict[str, str]]:
    found = httpx.get(f"{home.agents()[name]['endpoint']}/.well-known/agent-card.json", timeout=30)
    return list(found.json()["supportedInterfaces"])


def test_without_the_extra_all_else_is_served(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "grpc", None)

    async def test() -> None:
        async with served(token_set=True) as server:
            here = about(server.url)
            listener = GrpcListener(server.engine, here, server.push, "127.0.0.1:0", "secret")
            await listener.open()
            assert here.grpc_port == 0 and "a2a-synapse[grpc]" in caplog.text
            await listener.close()

    asyncio.run(test())


def loaded(home: Home) -> list[bool]:
    """Whether each host has gRPC in its memory."""
    return ["grpc" in Path(f"/proc/{pid}/maps").read_text() for pid in hosts(home)]


def test_who_does_not_serve_grpc_does_not_load_it(home: Home) -> None:
    home.run("start", "dummy", "--name", "a")
    assert "GRPC" not in [one["protocolBinding"] for one in card(home, "a")]
    assert loaded(home) == [False]


@pytest.mark.skipif(not HERE, reason="gRPC is an extra")
def test_an_agent_is_spoken_to_by_grpc_and_so_is_its_next_host(home: Home) -> None:
    async def ask() -> str:
        import grpc
        from a2a.types import a2a_pb2_grpc

        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            make: Any = a2a_pb2_grpc.A2AServiceStub
            said = pb.Message(message_id="m", role=pb.Role.ROLE_USER, parts=[pb.Part(text="say hi")])
            answer = await make(channel).SendMessage(
                pb.SendMessageRequest(message=said),
                metadata=(("authorization", "Bearer secret"),),
                wait_for_ready=True,
                timeout=PATIENCE,
            )
            return str(answer.task.artifacts[0].parts[0].text)

    port = free_port()
    home.run("start", "dummy", "--name", "a", SYNAPSE_GRPC_PORT=str(port), SYNAPSE_TOKEN="secret")
    assert asyncio.run(ask()) == "hi"
    there = {"url": f"localhost:{port}", "protocolBinding": "GRPC", "protocolVersion": "1.0"}
    assert there in card(home, "a") and loaded(home) == [True]
    for pid in hosts(home):
        os.kill(pid, signal.SIGKILL)
    wait(lambda: home.log("a").count("gRPC is served") == 2, "the next host")
    assert asyncio.run(ask()) == "hi"
    home.run("start", "dummy", "--name", "b", SYNAPSE_GRPC_PORT=str(port), SYNAPSE_TOKEN="secret")
    assert "gRPC is not served" in home.log("b")
    assert "GRPC" not in [one["protocolBinding"] for one in card(home, "b")]


@pytest.mark.skipif(not HERE, reason="gRPC is an extra")
def test_the_same_handler_with_a_token() -> None:
    async def test() -> None:
        import grpc
        from a2a.types import a2a_pb2_grpc

        async with served() as server:
            listener, port = await open_grpc(
                A2AHandler(server.engine, server.push), "127.0.0.1:0", "secret", rate=2
            )
            async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
                make: Any = a2a_pb2_grpc.A2AServiceStub
                stub = make(channel)
                said = pb.Message(message_id="m", role=pb.Role.ROLE_USER, parts=[pb.Part(text="say hi")])
                request = pb.SendMessageRequest(message=said)
                with pytest.raises(grpc.aio.AioRpcError) as refused:
                    await stub.SendMessage(request)
                assert refused.value.code() == grpc.StatusCode.UNAUTHENTICATED
                known = (("authorization", "Bearer secret"), ("a2a-version", "1.0"))
                for header in (known[0], ("x-api-key", "secret")):
                    answer = await stub.SendMessage(request, metadata=(header, known[1]))
                    assert answer.task.artifacts[0].parts[0].text == "hi"
                with pytest.raises(grpc.aio.AioRpcError) as old:
                    await stub.SendMessage(request, metadata=(known[0], ("a2a-version", "0.9")))
                assert "0.9 is not supported" in str(old.value.details())
                with pytest.raises(grpc.aio.AioRpcError) as again:
                    for _ in range(20):
                        await stub.SendMessage(request, metadata=known)
                assert again.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
                assert "try again in" in str(again.value.details())
            await listener.stop(0)

    asyncio.run(test())
