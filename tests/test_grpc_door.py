"""The standard over gRPC, where the extra is installed."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from typing import Any

import pytest
from a2a.types import a2a_pb2 as pb

from synapse.a2a_compat import A2AHandler
from synapse.grpc_door import GrpcMissing, open_grpc
from tests.a2a_server import served

HERE = find_spec("grpc") is not None


@pytest.mark.skipif(HERE, reason="gRPC is installed")
def test_without_the_extra_it_is_said_how_to_get_it() -> None:
    async def test() -> None:
        async with served() as server:
            with pytest.raises(GrpcMissing, match="synapse-a2a\\[grpc\\]"):
                await open_grpc(A2AHandler(server.engine), "127.0.0.1:0")

    asyncio.run(test())


@pytest.mark.skipif(not HERE, reason="gRPC is an extra")
def test_the_same_handler_with_a_token() -> None:
    async def test() -> None:
        import grpc
        from a2a.types import a2a_pb2_grpc

        async with served() as server:
            door, port = await open_grpc(A2AHandler(server.engine), "127.0.0.1:0", "secret")
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
                assert "0.9 is not spoken" in str(old.value.details())
            await door.stop(0)

    asyncio.run(test())
