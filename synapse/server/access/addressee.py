"""Requests may say which agent they are for: a port that was an agent's may be another's by now."""

from starlette.types import ASGIApp, Receive, Scope, Send

from synapse.server.access.asgi import refuse

HEADER = b"x-synapse-agent"
WRONG_AGENT = (
    "this is another agent than the one that X-Synapse-Agent names, which has ended or has moved: "
    "`synapse list` shows the agents and their addresses"
)


class Addressee:
    """Refuses (421) what is for another agent than `agent_id`."""

    def __init__(self, app: ASGIApp, agent_id: str) -> None:
        self._app = app
        self._agent_id = agent_id.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        named = (value.strip() for name, value in scope.get("headers", ()) if name == HEADER)
        if any(value != self._agent_id for value in named):
            await refuse(scope, receive, send, 421, WRONG_AGENT)
        else:
            await self._app(scope, receive, send)
