"""The cards of external agents: reading them, and keeping what they say up to date."""

from dataclasses import asdict, replace
from datetime import UTC, datetime
from urllib.parse import urlsplit

from synapse.errors import NoSuchAgent, Refused, SynapseError, UsageError
from synapse.peers.external.agents import ExternalAgent, ExternalAgentRegistry, check_alias, now
from synapse.peers.external.card import CARD_PATHS, CardRefused, changes, read_card
from synapse.peers.external.credentials import API_KEY_HEADER, Credentials
from synapse.peers.external.http import LARGEST_CARD, Access, NotThere, network_of, open_caller
from synapse.peers.task import OnEvent

CARD_AGE = 600.0  # seconds after which a card is read again before something is sent


class ExternalClient:
    """`allow_private`: whether agents in private networks may be added."""

    def __init__(self, registry: ExternalAgentRegistry | None = None, allow_private: bool = True) -> None:
        self.registry = registry or ExternalAgentRegistry()
        self._allow_private = allow_private

    def known(self, alias: str) -> ExternalAgent:
        agent = self.registry.get(alias)
        if agent is None:
            raise NoSuchAgent(
                f"no external agent is registered as {alias!r}: `synapse external list` shows them."
            )
        return agent

    async def discover(
        self,
        url: str,
        alias: str | None = None,
        token: str | None = None,
        credentials: Credentials | None = None,
    ) -> ExternalAgent:
        """Read the card at a URL and register the agent, or update it if it is known. `credentials` has an
        API key, or a client id and secret: the card says how they are used."""
        url = _base(url)
        if alias is not None:
            check_alias(alias)
        before = self._same(url, alias)
        network = await network_of(url, self._allow_private)
        _check_token(url, network, token or (credentials.kind if credentials else None))
        if token is None and before is not None:
            token = self.registry.token(before.alias)
        found = replace(await _read_card(url, url, network, token), network=network)
        given = None if credentials is None else _completed(credentials, found)
        if before is not None:
            agent = _renewed(before, found)
        else:
            wanted = alias or self.registry.free_alias(found.name)
            agent = replace(found, alias=wanted, added_at=now(), last_seen=now(), card_read_at=now())
        self.registry.add(agent, None if given else token, given)
        return self.known(agent.alias)

    def _same(self, url: str, alias: str | None) -> ExternalAgent | None:
        if alias is None:
            return next((agent for agent in self.registry.list_agents() if agent.url == url), None)
        known = self.registry.get(alias)
        if known is not None and known.url != url:
            raise UsageError(
                f"{alias!r} is {known.url} already: choose another alias, "
                f"or forget it with `synapse external remove {alias}`."
            )
        return known

    async def refresh(self, alias: str) -> tuple[ExternalAgent, list[str]]:
        """Read the card again. Returns the agent, and which parts of the card have changed."""
        before = self.known(alias)
        token = self.registry.token(before.alias)
        found = await _read_card(before.url, before.alias, before.network, token)
        renewed = _renewed(before, replace(found, network=before.network))
        after = self.registry.update(before.alias, **asdict(renewed))
        return after or before, changes(before, found)

    async def up_to_date(self, alias: str, on_event: OnEvent) -> ExternalAgent:
        """An unreadable card does not keep us from sending; one that is refused does."""
        agent = self.known(alias)
        if _age(agent.card_read_at) < CARD_AGE:
            return agent
        try:
            agent, changed = await self.refresh(alias)
        except CardRefused:
            raise
        except SynapseError:
            return agent
        if changed:
            on_event("card_changed", {"alias": agent.alias, "changed": changed, "note": agent.note})
        return agent


def _completed(given: Credentials, agent: ExternalAgent) -> Credentials:
    """With what the card says of their use. The token URL is kept: a card that changes later cannot send the
    secret elsewhere."""
    if given.kind == "api_key":
        place = agent.wants.get("api_key") or {"name": API_KEY_HEADER, "in": "header"}
        return replace(given, key_name=place["name"], key_in=place["in"])
    flow = agent.wants.get("oauth2")
    if flow is None:
        raise UsageError(
            f"the card of {agent.name} has no token URL for client credentials: "
            "use --token-file or --api-key-file."
        )
    _check_token(flow["token_url"], agent.network, given.client_secret)
    return replace(given, token_url=flow["token_url"], scopes=given.scopes or tuple(flow["scopes"]))


def _renewed(before: ExternalAgent, found: ExternalAgent) -> ExternalAgent:
    changed = changes(before, found)
    note = f"its card changed, seen {now()}: {', '.join(changed)}" if changed else before.note
    mine = {key: getattr(before, key) for key in ("alias", "added_at", "has_token")}
    return replace(found, **mine, note=note, last_seen=now(), card_read_at=now())


async def _read_card(url: str, name: str, network: str, token: str | None) -> ExternalAgent:
    """Without the token first: cards are public, and the server may no longer be the agent we know."""
    async with open_caller(name, network) as caller:
        for path in CARD_PATHS:
            where = url + path
            try:
                card = await caller.ask("GET", where, largest=LARGEST_CARD)
            except NotThere:
                continue
            except Refused:
                if token is None:
                    raise
                async with open_caller(name, network, Access(Credentials(token=token))) as trusted:
                    card = await trusted.ask("GET", where, largest=LARGEST_CARD)
            return read_card(card, url, where)
    raise CardRefused(f"there is no agent at {url}: it has no card under {' or '.join(CARD_PATHS)}.")


def _base(url: str) -> str:
    url = url.strip()
    for path in CARD_PATHS:
        url = url.removesuffix(path)
    return url.partition("#")[0].rstrip("/")


def _check_token(url: str, network: str, token: str | None) -> None:
    if token is not None and network == "public" and urlsplit(url).scheme != "https":
        raise UsageError("a token over http:// can be read by everybody on the way: use https://.")


def _age(timestamp: str) -> float:
    try:
        return (datetime.now(UTC) - datetime.fromisoformat(timestamp)).total_seconds()
    except (ValueError, TypeError):  # TypeError: without a time zone
        return CARD_AGE
