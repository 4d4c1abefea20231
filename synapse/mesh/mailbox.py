"""Takes messages from a mailbox: two consumers of the machine's work-queue stream, one for each lane.

A message is acknowledged once its task is stored, or once its sender was told why not. The ordinary lane is
read only while the agent's queue has room, so that any number of messages can wait in the mailbox.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

from synapse.peers.mesh.link import ApiError, Link, MeshError
from synapse.peers.mesh.names import TASK, URGENT

logger = logging.getLogger(__name__)

PULL = 60.0  # seconds that one request for messages lasts
BATCH = 50
ACK_WAIT = 30.0  # seconds until a message that was not acknowledged is delivered again
ACK, LATER = b"+ACK", b'-NAK {"delay": 1000000000}'
NO_CONSUMER = 10014  # the error code of JetStream
NEXT_LOOK = 0.5  # seconds until a full queue is looked at again


class NotNow(Exception):
    """The message stays in the mailbox."""


Take = Callable[[str, Any, float], Awaitable[None]]  # the subject, the message, and its age in seconds


class Lane:
    """One consumer. `room` says how many messages may be taken now."""

    def __init__(self, link: Link, kind: str, key: str, room: Callable[[], int], take: Take) -> None:
        self._link = link
        self._kind = kind
        self._key = key
        self._room = room
        self._take = take
        self._skew = 0.0  # seconds that the server's clock is ahead of ours

    @property
    def _stream(self) -> str:
        return self._link.names.mail(self._link.member.machine)

    @property
    def _consumer(self) -> str:
        return f"{self._key}-{self._kind}"

    async def run(self) -> None:
        while True:
            await self._link.ready(timeout=3600)
            connection = self._link.connections
            try:
                await self._open()
                await self._read(connection)
            except (MeshError, TimeoutError) as error:
                logger.info("the mailbox cannot be read: %s", error)
                await asyncio.sleep(NEXT_LOOK)

    async def _open(self) -> None:
        """Make the consumer anew: what was delivered over a lost connection and not acknowledged comes again
        at once, not after ACK_WAIT. Nobody else reads this mailbox."""
        names, me = self._link.names, self._link.member.machine
        try:
            await self._link.api(f"CONSUMER.DELETE.{self._stream}.{self._consumer}")
        except ApiError as error:
            if error.code != NO_CONSUMER:
                raise
        subject = names.subject(self._kind, me, self._key, "*")
        config = {
            "name": self._consumer,
            "durable_name": self._consumer,
            "filter_subject": subject,
            "ack_policy": "explicit",
            "ack_wait": int(ACK_WAIT * 1e9),
            "deliver_policy": "all",
            "max_ack_pending": 2 * BATCH,
        }
        made = await self._link.api(
            f"CONSUMER.CREATE.{self._stream}.{self._consumer}.{subject}",
            {"stream_name": self._stream, "config": config},
        )
        if stamp := str(made.get("ts") or ""):
            self._skew = _seconds(stamp) - datetime.now().timestamp()

    async def _read(self, connection: int) -> None:
        """Until the connection is another one."""
        client = await self._link.ready()
        arrived: asyncio.Queue[Any] = asyncio.Queue()
        inbox = client.new_inbox()
        end = await self._link.subscribe(inbox, arrived.put)
        try:
            while self._link.connections == connection and self._link.is_open:
                room = min(self._room(), BATCH)
                if room <= 0:
                    await asyncio.sleep(NEXT_LOOK)
                    continue
                body = json.dumps({"batch": room, "expires": int(PULL * 1e9)}).encode()
                await self._link.send(
                    f"$JS.API.CONSUMER.MSG.NEXT.{self._stream}.{self._consumer}", body, reply=inbox
                )
                await self._batch(arrived, room, connection)
        finally:
            await end()

    async def _batch(self, arrived: asyncio.Queue[Any], count: int, connection: int) -> None:
        loop = asyncio.get_running_loop()
        until = loop.time() + PULL + 5
        while count > 0 and loop.time() < until and self._link.connections == connection:
            if not self._link.is_open:
                return
            try:
                async with asyncio.timeout(1.0 if arrived.empty() else None):
                    message = await arrived.get()
            except TimeoutError:
                continue
            if (message.headers or {}).get("Status") and not message.data:
                return  # the request has expired
            count -= 1
            await self._handle(message)

    async def _handle(self, message: Any) -> None:
        try:
            await self._take(message.subject, message, self._age(message.reply))
        except NotNow as reason:
            logger.info("a message stays in the mailbox: %s", reason)
            await self._link.send(message.reply, LATER)
        except Exception:
            logger.exception("a message of the mailbox cannot be taken")
            await self._link.send(message.reply, LATER)
        else:
            await self._link.send(message.reply, ACK)

    def _age(self, reply: str) -> float:
        """Seconds in the mailbox, by the server's clock. `$JS.ACK.<stream>.<consumer>.….<time>.<pending>`"""
        try:
            stored = int(reply.split(".")[-2]) / 1e9
        except (ValueError, IndexError):
            return 0.0
        return max(datetime.now().timestamp() + self._skew - stored, 0.0)


def _seconds(stamp: str) -> float:
    """RFC 3339 with nanoseconds, which `fromisoformat` does not read."""
    head, _, rest = stamp.rstrip("Z").partition(".")
    try:
        return datetime.fromisoformat(f"{head}.{(rest or '0')[:6]:0<6}+00:00").timestamp()
    except ValueError:
        return datetime.now().timestamp()


def lanes(link: Link, key: str, room: Callable[[], int], take: Take) -> list[Lane]:
    return [Lane(link, TASK, key, room, take), Lane(link, URGENT, key, lambda: BATCH, take)]
