"""External agents: reading their cards, sending, following, in the protocol that the card offers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from synapse.errors import NoSuchAgent, Refused, SynapseError, UsageError
from synapse.peers.external.agents import ExternalAgent, ExternalAgentRegistry, check_alias, now
from synapse.peers.external.card import CARD_PATHS, CardRefused, changes, read_card
from synapse.peers.external.http import LARGEST_CARD, Caller, NotThere, network_of
from synapse.peers.external.talk import Talk, protocol_of
from synapse.peers.task import A2ATask, OnEvent, StillWorking
from synapse.peers.wire import task_of

if TYPE_CHECKING:
    from synapse.peers.external.dialect import Dialect
    from synapse.peers.external.standard import Standard

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

    # --- cards --------------------------------------------------------------------------------------------

    async def discover(self, url: str, alias: str | None = None, token: str | None = None) -> ExternalAgent:
        """Read the card there and remember the agent; one that is known already is brought up to date."""
        url = _base(url)
        if alias is not None:
            check_alias(alias)
        before = self._same(url, alias)
        network = await network_of(url, self._allow_private)
        _check_token(url, network, token)
        if token is None and before is not None:
            token = self.registry.token(before.alias)
        found = replace(await _read_card(url, url, network, token), network=network)
        if before is not None:
            agent = self._renewed(before, found)
        else:
            wanted = alias or self.registry.free_alias(found.name)
            agent = replace(found, alias=wanted, added_at=now(), last_seen=now(), card_read_at=now())
        self.registry.add(agent, token)
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

    @staticmethod
    def _renewed(before: ExternalAgent, found: ExternalAgent) -> ExternalAgent:
        changed = changes(before, found)
        note = f"its card changed, seen {now()}: {', '.join(changed)}" if changed else before.note
        mine = {key: getattr(before, key) for key in ("alias", "added_at", "has_token")}
        return replace(found, **mine, note=note, last_seen=now(), card_read_at=now())

    async def refresh(self, alias: str) -> tuple[ExternalAgent, list[str]]:
        """Read the card again: the agent, and what has changed of it."""
        before = self.known(alias)
        token = self.registry.token(before.alias)
        found = await _read_card(before.url, before.alias, before.network, token)
        found = replace(found, network=before.network)
        changed = changes(before, found)
        after = self.registry.update(before.alias, **asdict(self._renewed(before, found)))
        return after or before, changed

    async def _up_to_date(self, alias: str, on_event: OnEvent) -> ExternalAgent:
        """A card that cannot be read just now is no hindrance; one that lies is."""
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

    # --- tasks --------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def talk(
        self, alias: str, task: A2ATask, timeout: float | None, on_event: OnEvent | None
    ) -> AsyncGenerator[Talk, None]:
        """To send and to follow `task`, which is kept up to date."""
        tell = on_event or (lambda kind, data: None)
        try:
            async with asyncio.timeout(timeout):
                agent = await self._up_to_date(alias, tell)
                async with self._caller(agent) as caller:
                    yield Talk(agent, await protocol_of(agent, caller), task, tell)
        except TimeoutError:
            where = f" It goes on there: `synapse external task {alias} {task.id}`." if task.id else ""
            raise StillWorking(f"{alias} has not finished within {timeout:g} s.{where}", task) from None
        self.registry.update_last_seen(agent.alias)

    async def get_task(self, alias: str, task_id: str) -> A2ATask:
        async with self._protocol(alias) as protocol:
            return _identified(task_of(await protocol.get(task_id)), task_id)

    async def cancel_task(self, alias: str, task_id: str) -> A2ATask:
        async with self._protocol(alias) as protocol:
            return _identified(task_of(await protocol.cancel(task_id)), task_id)

    @asynccontextmanager
    async def _protocol(self, alias: str) -> AsyncGenerator[Standard | Dialect, None]:
        agent = self.known(alias)
        async with self._caller(agent) as caller:
            yield await protocol_of(agent, caller)
        self.registry.update_last_seen(agent.alias)

    def _caller(self, agent: ExternalAgent) -> Caller:
        return Caller(agent.alias, agent.network, self.registry.token(agent.alias))


async def _read_card(url: str, name: str, network: str, token: str | None) -> ExternalAgent:
    """Without the token first: everybody may read a card, and it may not be the agent we know."""
    async with Caller(name, network) as caller:
        for path in CARD_PATHS:
            where = url + path
            try:
                card = await caller.ask("GET", where, largest=LARGEST_CARD)
            except NotThere:
                continue
            except Refused:
                if token is None:
                    raise
                async with Caller(name, network, token) as trusted:
                    card = await trusted.ask("GET", where, largest=LARGEST_CARD)
            return read_card(card, url, where)
    raise CardRefused(f"there is no agent at {url}: it has no card under {' or '.join(CARD_PATHS)}.")


def _identified(task: A2ATask, task_id: str) -> A2ATask:
    task.id = task.id or task_id
    return task


def _base(url: str) -> str:
    """Without the card's own path, which people paste too."""
    url = url.strip()
    for path in CARD_PATHS:
        url = url.removesuffix(path)
    return url.partition("#")[0].rstrip("/")


def _check_token(url: str, network: str, token: str | None) -> None:
    if token is not None and network == "public" and urlsplit(url).scheme != "https":
        raise UsageError("a token over http:// can be read by everybody on the way: use https://.")


def _age(timestamp: str) -> float:
    try:
        at = datetime.strptime(timestamp, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError:
        return CARD_AGE
    return (datetime.now(UTC) - at).total_seconds()
