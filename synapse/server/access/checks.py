"""Who may speak to the server: on this machine its own user, from elsewhere whoever has the token."""

import hmac
import math
import os
from collections.abc import Iterable

from synapse.server.access.asgi import App, Receive, Scope, Send, refuse
from synapse.server.access.bodies import Bodies
from synapse.server.access.names import Names, names_for
from synapse.server.access.peers import Peer
from synapse.server.access.rates import Rates

__all__ = ["AccessCheck", "App", "Bodies", "Names", "Peer", "Receive", "Scope", "Send", "names_for", "refuse"]

ROOT = 0  # may do anything anyway
BURST = 2.0  # seconds' worth of requests at once
PUBLIC = frozenset(("/.well-known/agent-card.json", "/.well-known/agent.json"))
CHALLENGE = b"www-authenticate"


class AccessCheck:
    """Passes a request on or refuses it with a sentence. `rate` is in requests a second, 0 for any number."""

    def __init__(self, app: App, names: Names, token: str | None = None, rate: float = 0) -> None:
        self._app = app
        self._names = names
        self._token = token.encode() if token else None
        self._rates = Rates(rate, rate * BURST) if rate else None
        self._users = {os.getuid(), ROOT}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        if not self._names.allow(_all(headers, b"host"), _all(headers, b"origin")):
            sentence = f"only requests to {self._names} are served here, and none from a page of another site"
            await refuse(scope, receive, send, 403, sentence)
            return
        peer = scope.get("state", {}).get("peer") or Peer(scope.get("client"), scope.get("server"))
        if self._token is None and await peer.uid() not in self._users:
            await refuse(scope, receive, send, 403, await self._why(peer))
            return
        # Before the token is looked at, so that nobody can try many.
        wait = self._rates.wait(await peer.key()) if self._rates else 0.0
        if wait:
            seconds = math.ceil(wait)
            sentence = f"too many requests: try again in {seconds} s (limits.rate)"
            await refuse(scope, receive, send, 429, sentence, (b"retry-after", b"%d" % seconds))
            return
        if self._token is None or _is_public(scope):
            await self._app(scope, receive, send)
            return
        given = _all(headers, b"authorization")
        if not given:
            sentence = "a token is needed here: send it as Authorization: Bearer TOKEN"
            await refuse(scope, receive, send, 401, sentence, (CHALLENGE, b"Bearer"))
        elif len(given) > 1 or not _is_bearer(given[0], self._token):
            sentence = "this is not the token that the agent was started with"
            await refuse(scope, receive, send, 401, sentence, (CHALLENGE, b'Bearer error="invalid_token"'))
        else:
            await self._app(scope, receive, send)

    async def _why(self, peer: Peer) -> str:
        if await peer.uid() is None:
            return (
                "it cannot be told which user of this machine is speaking: "
                "start the agent with --token-file and send the token"
            )
        return (
            "only the user who started this agent may speak to it: "
            "others need the token of an agent that was started with --token-file"
        )


def _all(headers: Iterable[tuple[bytes, bytes]], wanted: bytes) -> list[bytes]:
    return [value for name, value in headers if name == wanted]


def _is_public(scope: Scope) -> bool:
    """The agent card: it says, among others, that a token is needed."""
    return scope["type"] == "http" and scope["method"] in ("GET", "HEAD") and scope["path"] in PUBLIC


def _is_bearer(header: bytes, token: bytes) -> bool:
    scheme, _, given = header.partition(b" ")
    return scheme.lower() == b"bearer" and hmac.compare_digest(given.strip(), token)
