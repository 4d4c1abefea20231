"""Who may send requests: the agent's own user on this machine; with a token, every client that has it."""

import hmac
import math

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from synapse.server.access.asgi import Header, Refusal, refuse
from synapse.server.access.bodies import Bodies
from synapse.server.access.names import Names, names_for
from synapse.server.access.peers import Peer, is_own
from synapse.server.access.rates import Rates

__all__ = ["AccessCheck", "Bodies", "Names", "names_for"]

BURST = 2.0  # how many seconds' requests may come at once
PUBLIC = frozenset(("/.well-known/agent-card.json", "/.well-known/agent.json"))
CHALLENGE = b"www-authenticate"
API_KEY = b"x-api-key"
# What browsers say of a request that no page, or one of this server, has caused. Requests that a page makes
# for images, scripts and links have no Origin.
OWN_SITES = (b"none", b"same-origin")
HEADERS: list[Header] = [
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
UNKNOWN_USER = (
    "the user who sends this request is not known: start the agent with --token-file and send the token"
)
OTHER_USER = (
    "only the user who started this agent may send it requests: "
    "others need the token of an agent that was started with --token-file"
)


class AccessCheck:
    """Passes a request on or refuses it with a sentence. `rate` is in requests a second; 0 is no limit."""

    def __init__(self, app: ASGIApp, names: Names, token: str | None = None, rate: float = 0) -> None:
        self._app = app
        self._names = names
        self._token = token.encode() if token else None
        self._rates = Rates(rate, rate * BURST) if rate else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        checked = scope["type"] in ("http", "websocket")
        if scope["type"] == "http":
            send = _with_headers(send)
        if checked and (refusal := await self._refusal(scope)) is not None:
            await refuse(scope, receive, send, *refusal)
        else:
            await self._app(scope, receive, send)

    async def _refusal(self, scope: Scope) -> Refusal | None:
        if not self._names.allow(_all(scope, b"host"), _all(scope, b"origin")):
            return 403, f"only requests to {self._names} are served, and none from a page of another site"
        if any(site.strip().lower() not in OWN_SITES for site in _all(scope, b"sec-fetch-site")):
            return 403, "a browser sends this request for a page of another site: open the address itself"
        peer = scope.get("state", {}).get("peer") or Peer(scope.get("client"), scope.get("server"))
        if self._token is None and not is_own(uid := await peer.uid()):
            return 403, UNKNOWN_USER if uid is None else OTHER_USER
        # Before the token is compared, so that a client cannot try many tokens.
        if self._rates and (wait := self._rates.wait(await peer.key())):
            seconds = math.ceil(wait)
            sentence = f"too many requests: try again in {seconds} s (limits.rate)"
            return 429, sentence, (b"retry-after", b"%d" % seconds)
        if self._token is None or _is_public(scope):
            return None
        given, keys = _all(scope, b"authorization"), _all(scope, API_KEY)
        if not given and not keys:
            sentence = "this agent needs a token: send it as Authorization: Bearer TOKEN, or as X-API-Key"
            return 401, sentence, (CHALLENGE, b"Bearer")
        right = all(_is_bearer(header, self._token) for header in given)
        right = right and all(hmac.compare_digest(key.strip(), self._token) for key in keys)
        if len(given) > 1 or len(keys) > 1 or not right:
            sentence = "this is not the token that the agent was started with"
            return 401, sentence, (CHALLENGE, b'Bearer error="invalid_token"')
        return None


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *HEADERS]}
        await send(message)

    return sending


def _all(scope: Scope, wanted: bytes) -> list[bytes]:
    return [value for name, value in scope["headers"] if name == wanted]


def _is_public(scope: Scope) -> bool:
    """Whether this reads the agent card, which tells clients that they need a token."""
    return scope["type"] == "http" and scope["method"] in ("GET", "HEAD") and scope["path"] in PUBLIC


def _is_bearer(header: bytes, token: bytes) -> bool:
    scheme, _, given = header.partition(b" ")
    return scheme.lower() == b"bearer" and hmac.compare_digest(given.strip(), token)
