"""Speaking with agents elsewhere: reading their cards, sending, following. By whatever the card offers."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import asdict, replace
from datetime import UTC, datetime
from urllib.parse import urlsplit

from synapse.a2a_task import A2AMessage, A2ATask, Json, OnEvent, StillWorking
from synapse.errors import NoSuchAgent, Refused, SynapseError, UsageError
from synapse.external_agents import ExternalAgent, ExternalAgentRegistry, check_alias, now
from synapse.external_card import CARD_PATHS, CardRefused, changes, read_card
from synapse.external_http import LARGEST_CARD, LARGEST_STREAM, Caller, NotThere, Unreachable, network_of
from synapse.external_wire import Call, Wire, events_of, task_of
from synapse.sse import EventTooLong, SSEReader

CARD_AGE = 600.0  # seconds after which a card is read again before something is sent
POLL, LONGEST_POLL = 0.2, 3.0  # seconds between two looks at a task that cannot be followed
RETURNS = 5  # times to a stream that broke, without an event in between


class ExternalClient:
    """`allow_private`: whether agents in private networks may be added."""

    def __init__(self, registry: ExternalAgentRegistry | None = None, allow_private: bool = True) -> None:
        self.registry = registry or ExternalAgentRegistry()
        self._allow_private = allow_private

    def known(self, alias: str) -> ExternalAgent:
        agent = self.registry.get(alias)
        if agent is None:
            raise NoSuchAgent(
                f"no agent elsewhere is known as {alias!r}: `synapse external list` shows them."
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

    async def send(
        self,
        alias: str,
        message: A2AMessage,
        wait: bool = False,
        timeout: float | None = None,
        on_event: OnEvent | None = None,
        metadata: Json | None = None,
        context_id: str = "",
        task_id: str = "",
    ) -> A2ATask:
        """The task that came of it, or that it is the answer to; with `wait`, when it has ended or asks
        something."""
        tell = on_event or (lambda kind, data: None)
        task = A2ATask("")
        try:
            async with asyncio.timeout(timeout):
                agent = await self._up_to_date(alias, tell)
                async with self._caller(agent) as caller:
                    talk = _Talk(agent, caller, task, tell)
                    await talk.send(message, metadata or {}, context_id, task_id, wait)
        except TimeoutError:
            where = f" It goes on there: `synapse external task {alias} {task.id}`." if task.id else ""
            raise StillWorking(f"{alias} has not finished within {timeout:g} s.{where}", task) from None
        task.message = message.to_dict()
        self.registry.update_last_seen(agent.alias)
        return task

    async def get_task(self, alias: str, task_id: str) -> A2ATask:
        return await self._about(alias, task_id, "get")

    async def cancel_task(self, alias: str, task_id: str) -> A2ATask:
        return await self._about(alias, task_id, "cancel")

    async def _about(self, alias: str, task_id: str, what: str) -> A2ATask:
        agent = self.known(alias)
        wire = Wire(agent)
        call = wire.cancel(task_id) if what == "cancel" else wire.get(task_id)
        async with self._caller(agent) as caller:
            task = task_of(wire.result(await caller.ask(call)))
        self.registry.update_last_seen(agent.alias)
        task.id = task.id or task_id
        return task

    def _caller(self, agent: ExternalAgent) -> Caller:
        return Caller(agent.alias, agent.network, self.registry.token(agent.alias))


class _Talk:
    """One message and what becomes of it."""

    def __init__(self, agent: ExternalAgent, caller: Caller, task: A2ATask, tell: OnEvent) -> None:
        self._agent = agent
        self._caller = caller
        self._wire = Wire(agent)
        self._task = task
        self._tell = tell
        self._left = LARGEST_STREAM  # bytes, over all its streams

    async def send(
        self, message: A2AMessage, metadata: Json, context_id: str, task_id: str, wait: bool
    ) -> None:
        body = self._wire.message(message, uuid.uuid4().hex, metadata, context_id, task_id)
        if wait and self._agent.streams:
            await self._follow(self._wire.stream(body))
            return
        self._take(self._wire.result(await self._caller.ask(self._wire.send(body, wait=False))))
        if wait:
            await self._poll()

    @property
    def _done(self) -> bool:
        return self._task.ended or self._task.asks

    def _take(self, result: Json) -> None:
        for event, data in events_of(result):
            self._task.id = str(self._task.id or data.get("taskId") or "")
            self._task.context_id = str(self._task.context_id or data.get("contextId") or "")
            for kind, told in self._task.take(event, data):
                self._tell(kind, told)
        if not self._task.id:
            raise SynapseError(f"{self._agent.alias} did not say what became of the message.")

    async def _follow(self, call: Call) -> None:
        """A stream, taken up again where it breaks."""
        returns = 0
        while True:
            before = self._left
            try:
                async with aclosing(self._results(call)) as results:
                    async for result in results:
                        self._take(result)
                        if self._done:
                            return
            except (Unreachable, NotThere, Refused) as error:
                if not self._task.id or returns == RETURNS:
                    raise
                if not isinstance(error, Unreachable):  # it streams no more of this task
                    break
            if not self._task.id:
                raise SynapseError(f"{self._agent.alias} left before it said what became of the message.")
            returns = returns + 1 if self._left == before else 1
            if returns == RETURNS:
                break
            await asyncio.sleep(min(POLL * 2**returns, LONGEST_POLL))
            call = self._wire.subscribe(self._task.id)
        await self._poll()

    async def _results(self, call: Call) -> AsyncGenerator[Json, None]:
        """What a stream brings. An agent that answers with plain JSON instead is taken at its word."""
        async with self._caller.open(call) as response:
            if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
                yield self._wire.result(await self._caller.read(response))
                return
            reader = SSEReader(LARGEST_STREAM)
            async with aclosing(self._caller.pieces(response, self._left)) as pieces:
                async for piece in pieces:
                    self._left -= len(piece)
                    for document in self._documents(reader, piece):
                        yield self._wire.result(document)

    def _documents(self, reader: SSEReader, piece: bytes) -> list[object]:
        try:
            return [json.loads(event.data) for event in reader.feed(piece)]
        except (EventTooLong, ValueError, RecursionError) as error:
            raise SynapseError(f"{self._agent.alias} sent a stream that makes no sense: {error}.") from error

    async def _poll(self) -> None:
        """For those that cannot stream."""
        pause = POLL
        while not self._done:
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, LONGEST_POLL)
            self._take(self._wire.result(await self._caller.ask(self._wire.get(self._task.id))))


async def _read_card(url: str, name: str, network: str, token: str | None) -> ExternalAgent:
    """Without the token first: everybody may read a card, and it may not be the agent we know."""
    async with Caller(name, network) as caller:
        for path in CARD_PATHS:
            where = url + path
            try:
                card = await caller.ask(Call("GET", where, None, {}), LARGEST_CARD)
            except NotThere:
                continue
            except Refused:
                if token is None:
                    raise
                async with Caller(name, network, token) as trusted:
                    card = await trusted.ask(Call("GET", where, None, {}), LARGEST_CARD)
            return read_card(card, url, where)
    raise CardRefused(f"there is no agent at {url}: it has no card under {' or '.join(CARD_PATHS)}.")


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
