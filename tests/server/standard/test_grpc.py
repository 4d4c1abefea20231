"""The standard over gRPC, where the extra is installed."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from importlib.util import find_spec
from typing import Any

import pytest
from a2a.types import a2a_pb2 as pb

from synapse.server.standard.grpc import GrpcMissing, open_grpc
from synapse.server.standard.handler import A2AHandler
from tests.support.a2a_server import served
from tests.support.home import Home, hosts, wait

HERE = find_spec("grpc") is not None


@pytest.mark.skipif(HERE, reason="gRPC is installed")
def test_without_the_extra_it_is_said_how_to_get_it() -> None:
    async def test() -> None:
        async with served() as server:
            with pytest.raises(GrpcMissing, match="synapse-a2a\\[grpc\\]"):
                await open_grpc(A2AHandler(server.engine, server.push), "127.0.0.1:0")

    asyncio.run(test())


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def test_an_agent_without_a_token_is_not_started_with_grpc(home: Home) -> None:
    refused = home.run("start", "dummy", check=False, SYNAPSE_GRPC_PORT=str(free_port()))
    assert refused.returncode == 2 and "needs a token" in refused.stderr and not home.agents()


@pytest.mark.skipif(HERE, reason="gRPC is installed")
def test_an_agent_without_the_extra_serves_all_else(home: Home) -> None:
    home.run("start", "dummy", "--name", "a", SYNAPSE_GRPC_PORT=str(free_port()), SYNAPSE_TOKEN="secret")
    assert "gRPC is not served" in home.log("a") and "synapse-a2a[grpc]" in home.log("a")
    assert home.run("status", "a").stdout


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
                timeout=20,
            )
            return str(answer.task.artifacts[0].parts[0].text)

    port = free_port()
    home.run("start", "dummy", "--name", "a", SYNAPSE_GRPC_PORT=str(port), SYNAPSE_TOKEN="secret")
    assert asyncio.run(ask()) == "hi"
    for pid in hosts(home):
        os.kill(pid, signal.SIGKILL)
    wait(lambda: home.log("a").count("gRPC is served") == 2, "the next host")
    assert asyncio.run(ask()) == "hi"
    home.run("start", "dummy", "--name", "b", SYNAPSE_GRPC_PORT=str(port), SYNAPSE_TOKEN="secret")
    assert "gRPC is not served" in home.log("b")


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
                answer = await stub.SendMessage(request, metadata=known)
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
