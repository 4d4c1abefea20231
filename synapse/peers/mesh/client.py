"""The client library's connection: how it is opened, and when it has ended."""

from __future__ import annotations

import asyncio
import logging
import ssl
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from synapse.peers.mesh.membership import Membership
from synapse.peers.task import Json

if TYPE_CHECKING:
    from nats.aio.client import Client

CLOSED = 1.0  # seconds for a connection to be closed


def credentials(member: Membership) -> Json:
    found: Json = {}
    if member.seed:
        found["nkeys_seed_str"] = member.seed
    elif member.creds:
        found["user_credentials"] = member.creds
    elif member.user:
        found |= {"user": member.user, "password": member.password}
    elif member.token:
        found["token"] = member.token
    if member.ca or any(url.startswith("tls:") for url in member.urls):
        found["tls"] = ssl.create_default_context(cadata=member.ca or None)
        logging.getLogger("asyncio").addFilter(_is_news)
    return found


def _is_news(record: logging.LogRecord) -> bool:
    """asyncio warns at the end of every TLS connection of its own streams."""
    return "eof_received" not in str(record.msg)


async def until_lost(client: Client, closed: asyncio.Event) -> None:
    """Until the connection has ended. If it breaks while something is to be written, the client library calls
    no callback; the end of its reader is certain."""
    told = asyncio.ensure_future(closed.wait())
    ends: set[asyncio.Future[Any]] = {told}
    if client._reading_task is not None:
        ends.add(client._reading_task)
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    finally:
        told.cancel()


async def end(client: Client | None) -> None:
    if client is not None:
        transport = client._transport  # a client that was refused leaves it open
        with suppress(Exception):  # whatever is wrong with it, it is not used any more
            async with asyncio.timeout(CLOSED):  # after a failed handshake the library waits for ever
                await client.close()
        if transport is not None:
            transport.close()  # type: ignore[no-untyped-call]
