"""What an external agent is shown so that it lets us in: a bearer token, an API key, or OAuth2 client
credentials, with which access tokens are fetched from the token URL that its card named when it was added."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from synapse.peers.task import objects

API_KEY_HEADER = "X-API-Key"  # of a card that does not name one
EARLY = 30.0  # seconds before its end at which an access token is renewed
USUAL_LIFE = 300.0  # seconds of an access token that does not say how long it lives


@dataclass(frozen=True)
class Credentials:
    """One of `token`, `api_key` and `client_secret`, and what belongs to it."""

    token: str = ""
    api_key: str = ""
    key_name: str = API_KEY_HEADER
    key_in: str = "header"  # or query, or cookie
    client_id: str = ""
    client_secret: str = ""
    token_url: str = ""
    scopes: tuple[str, ...] = ()
    access_token: str = ""
    expires_at: float = 0.0  # wall clock, seconds

    @property
    def kind(self) -> str:
        if self.client_secret:
            return "oauth2"
        return "api_key" if self.api_key else "token" if self.token else ""

    @property
    def stale(self) -> bool:
        """Whether an access token has to be fetched first."""
        return self.kind == "oauth2" and (not self.access_token or time.time() > self.expires_at - EARLY)

    def headers(self) -> dict[str, str]:
        if self.kind == "api_key":
            if self.key_in == "cookie":
                return {"Cookie": f"{self.key_name}={self.api_key}"}
            return {self.key_name: self.api_key} if self.key_in == "header" else {}
        bearer = self.access_token if self.kind == "oauth2" else self.token
        return {"Authorization": f"Bearer {bearer}"} if bearer else {}

    def query(self) -> dict[str, str]:
        return {self.key_name: self.api_key} if self.kind == "api_key" and self.key_in == "query" else {}

    def to_dict(self) -> dict[str, Any]:
        return {key: value for key, value in asdict(self).items() if value}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Credentials:
        known = {f.name for f in fields(cls)}
        values = {key: value for key, value in document.items() if key in known}
        return cls(**{**values, "scopes": tuple(values.get("scopes", ()))})


def lifetime(answer: Mapping[str, Any]) -> float:
    """The seconds that an access token lives, as its server says."""
    said = answer.get("expires_in")
    try:
        return max(float(said), 0.0) if isinstance(said, (int, float, str)) else USUAL_LIFE
    except ValueError:
        return USUAL_LIFE


def wanted(card: Mapping[str, Any]) -> dict[str, Any]:
    """What a card asks for, from its security schemes in the form of 1.0 or 0.3: `api_key` with the place of
    the key, `oauth2` with token URL and scopes. Schemes that no requirement names are left out, if there are
    requirements."""
    schemes = card.get("securitySchemes")
    if not isinstance(schemes, dict):
        return {}
    required = dict(_required(card))
    found: dict[str, Any] = {}
    for name, scheme in schemes.items():
        if not isinstance(scheme, dict) or (required and name not in required):
            continue
        key = scheme.get("apiKeySecurityScheme") or (scheme if scheme.get("type") == "apiKey" else None)
        if isinstance(key, dict) and isinstance(key.get("name"), str):
            where = str(key.get("location") or key.get("in") or "header")
            found.setdefault("api_key", {"name": key["name"], "in": where})
        oauth = scheme.get("oauth2SecurityScheme") or (scheme if scheme.get("type") == "oauth2" else None)
        flows = oauth.get("flows") if isinstance(oauth, dict) else None
        flow = flows.get("clientCredentials") if isinstance(flows, dict) else None
        if isinstance(flow, dict) and isinstance(flow.get("tokenUrl"), str):
            scopes = required.get(name) or list(flow.get("scopes") or ())
            found.setdefault("oauth2", {"token_url": flow["tokenUrl"], "scopes": [str(s) for s in scopes]})
    return found


def _required(card: Mapping[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    for item in objects(card.get("securityRequirements")):  # 1.0
        schemes = item.get("schemes")
        for name, scopes in schemes.items() if isinstance(schemes, dict) else ():
            yield name, list(scopes.get("list", ())) if isinstance(scopes, dict) else []
    for item in objects(card.get("security")):  # 0.3
        for name, scopes in item.items():
            yield name, list(scopes) if isinstance(scopes, list) else []
