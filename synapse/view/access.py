"""Who may use the view: a browser that was opened with an address from `synapse view`.

The address carries a token that works once. The browser gets a cookie for it, which no script can read and no
page of another site can send.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable

TOKEN_SECONDS = 600.0  # in which a token must be used
MOST_TOKENS = 20
MOST_SESSIONS = 50


class Access:
    def __init__(self, port: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.cookie = f"synapse_view_{port}"  # browsers send cookies to every port of a host
        self._clock = clock
        self._tokens: dict[str, float] = {}  # with the time until which each can be used
        self._sessions: list[str] = []

    def new_token(self) -> str:
        self._tokens = {t: until for t, until in self._tokens.items() if until > self._clock()}
        while len(self._tokens) >= MOST_TOKENS:
            del self._tokens[next(iter(self._tokens))]
        token = secrets.token_urlsafe(24)
        self._tokens[token] = self._clock() + TOKEN_SECONDS
        return token

    def enter(self, token: str) -> str | None:
        """The header that sets the cookie, if the token is good. It is used up then."""
        found = next((t for t in self._tokens if hmac.compare_digest(t.encode(), token.encode())), None)
        if found is None or self._tokens.pop(found) <= self._clock():
            return None
        session = secrets.token_urlsafe(32)
        self._sessions = [*self._sessions, session][-MOST_SESSIONS:]
        return f"{self.cookie}={session}; Path=/; HttpOnly; SameSite=Strict"

    def allows(self, cookies: str) -> bool:
        pairs = (pair.strip().partition("=") for pair in cookies.split(";"))
        given = [value for name, _, value in pairs if name == self.cookie]
        return any(hmac.compare_digest(s.encode(), g.encode()) for s in self._sessions for g in given)
