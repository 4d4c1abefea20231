"""The A2A standard over gRPC, on a listener of its own, if the extra `grpc` is installed."""

from __future__ import annotations

import functools
import hmac
import logging
import math
from typing import TYPE_CHECKING, Any, cast

from synapse.base.loading import load
from synapse.server.about import About
from synapse.server.access.checks import BURST
from synapse.server.access.rates import Rates
from synapse.server.push import PushSender
from synapse.server.standard.card import agent_card
from synapse.server.standard.handler import A2AHandler
from synapse.tasks.engine import TaskEngine

if TYPE_CHECKING:
    import grpc
    from a2a.server.request_handlers.request_handler import RequestHandler


logger = logging.getLogger(__name__)

LARGEST = 4 << 20  # bytes of a message, as in gRPC


class GrpcMissing(Exception):
    """The extra is not installed."""


class GrpcListener:
    """An agent's gRPC port. If it cannot be opened, the error is logged, and the other listeners go on."""

    def __init__(
        self,
        engine: TaskEngine,
        about: About,
        push: PushSender,
        address: str,
        token: str,
        largest: int = LARGEST,
        rate: float = 0,
    ) -> None:
        extended = functools.partial(agent_card, about, token_set=True, full=True)
        self._about = about
        self._address = address
        handler = A2AHandler(engine, push, extended)
        self._open = functools.partial(open_grpc, handler, address, token, largest, rate)
        self._server: grpc.aio.Server | None = None  # while it is open

    async def open(self) -> None:
        try:
            self._server, port = await self._open()
        except (GrpcMissing, RuntimeError, OSError) as error:
            logger.error("gRPC is not served at %s: %s", self._address, error)
            return
        self._about.grpc_port = port  # now the card names it
        logger.info("gRPC is served at port %d", port)

    async def close(self) -> None:
        if self._server is not None:
            self._about.grpc_port = 0
            await self._server.stop(0)


async def open_grpc(
    handler: A2AHandler, address: str, token: str | None = None, largest: int = LARGEST, rate: float = 0
) -> tuple[grpc.aio.Server, int]:
    """Serve at `address` (`127.0.0.1:0`, `unix:/…`); returns the server and its port.

    A TCP port is open to every user of the machine, and users are not checked here: give it a token.
    """
    try:
        await load("grpc", "a2a.server.request_handlers.grpc_handler")
        import grpc
        from a2a.server.request_handlers.grpc_handler import DefaultGrpcServerCallContextBuilder, GrpcHandler
        from a2a.types import a2a_pb2_grpc
        from a2a.utils.errors import VersionNotSupportedError
    except ImportError as error:
        raise GrpcMissing("gRPC is not installed: `pip install 'a2a-synapse[grpc]'`.") from error

    class Context(DefaultGrpcServerCallContextBuilder):
        def build(self, context: Any) -> Any:
            said = dict(context.invocation_metadata() or ()).get("a2a-version", "1.0")
            if ".".join(str(said).split(".")[:2]) != "1.0":
                raise VersionNotSupportedError(f"version {said} is not supported: use 1.0.")
            built = super().build(context)
            built.state["headers"] = {"a2a-version": "1.0"}
            return built

    options = [
        ("grpc.so_reuseport", 0),  # otherwise two agents could share a port, and calls go to either
        ("grpc.max_receive_message_length", largest),
    ]
    server = grpc.aio.server(interceptors=[_guard(grpc, token, rate)] if token else [], options=options)
    add: Any = a2a_pb2_grpc.add_A2AServiceServicer_to_server
    add(GrpcHandler(cast("RequestHandler", handler), Context()), server)  # it has all the methods
    port = server.add_insecure_port(address)
    await server.start()
    return server, port


def _guard(grpc: Any, token: str, rate: float) -> Any:
    """Refuses calls without the token, and more than `rate` calls a second of all clients together."""
    rates = Rates(rate, rate * BURST)

    def refusal(code: Any, sentence: str) -> Any:
        async def refuse(request: Any, context: Any) -> None:
            await context.abort(code, sentence)

        return grpc.unary_unary_rpc_method_handler(refuse)

    class Guard(grpc.aio.ServerInterceptor):  # type: ignore[misc]
        async def intercept_service(self, continuation: Any, details: Any) -> Any:
            said = dict(details.invocation_metadata)
            key = said.get("x-api-key")
            given, wanted = (key, token) if key else (said.get("authorization", ""), f"Bearer {token}")
            known = hmac.compare_digest(str(given).encode(), wanted.encode())
            # Calls without the token have a limit of their own, so that a client cannot try many tokens.
            if rate and (wait := rates.wait("known" if known else "unknown")):
                sentence = f"too many requests: try again in {math.ceil(wait)} s (limits.rate)"
                return refusal(grpc.StatusCode.RESOURCE_EXHAUSTED, sentence)
            if known:
                return await continuation(details)
            return refusal(grpc.StatusCode.UNAUTHENTICATED, "the token is missing or wrong")

    return Guard()
