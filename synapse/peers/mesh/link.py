"""The connection of a process to the server of its mesh. It is opened again, with growing pauses, until it is
closed; all users in one event loop share it.

JetStream is spoken in its own JSON: requests to `$JS.API.…`, and a publish is a request whose answer says
where the message is stored.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from synapse.base.loading import load
from synapse.errors import SynapseError, WaitTimeout
from synapse.peers.mesh.client import credentials, end, until_lost
from synapse.peers.mesh.membership import Membership
from synapse.peers.mesh.names import HEADER, MESSAGE_ID, VERSION
from synapse.peers.task import Json

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription

logger = logging.getLogger(__name__)

CONNECT = 5  # seconds for one attempt
ANSWER = 5.0  # seconds for an answer of the server
PAUSE, LONGEST_PAUSE = 0.1, 1.0  # seconds before the next attempt
REFUSED_PAUSE = 30.0  # seconds: credentials change rarely
PING = 10  # seconds; two that are not answered end the connection, after a sleep for example
_DENIED = re.compile(r'permissions violation for publish to "([^"]+)"', re.IGNORECASE)
_UNHEARD = re.compile(r'permissions violation for subscription to "([^"]+)"', re.IGNORECASE)
_FULL = {10023, 10047, 10077, 10122}  # error codes of JetStream: no more memory, storage, messages or bytes

TakeMessage = Callable[["Msg"], Awaitable[None]]


class MeshError(SynapseError):
    pass


class MeshRefused(MeshError):
    """The server does not accept this machine."""


class MeshFull(MeshError):
    pass


class ApiError(MeshError):
    """`code` is the error code of JetStream, such as 10059 for a stream that is not there."""

    def __init__(self, told: Json) -> None:
        super().__init__(f"the mesh's server refused: {told.get('description')} ({told.get('err_code')}).")
        self.code = int(told.get("err_code") or 0)
        self.status = int(told.get("code") or 0)


async def load_client() -> None:
    """Raises SynapseError with the way to get the extra if it is missing."""
    try:
        await load("nats.aio.client", without="aiohttp")
    except ModuleNotFoundError as error:
        raise missing(error) from error


def missing(error: ModuleNotFoundError) -> SynapseError:
    return SynapseError(
        f"the mesh needs a package that is not installed ({error.name}): install it with "
        "`pip install 'a2a-synapse[mesh]'`."
    )


def stamped(**more: str) -> dict[str, str]:
    """The headers of a message."""
    return {HEADER: VERSION, **more}


class Link:
    """`on_open` callbacks are called after every connection: what was missed meanwhile is to be fetched."""

    def __init__(self, member: Membership) -> None:
        self.member = member
        self.names = member.names
        self.users = 0
        self.problem: Exception | None = None  # why there is no connection
        self.connections = 0
        self.on_open: list[Callable[[], None]] = []
        self._client: Client | None = None
        self._open = asyncio.Event()
        self._tried = asyncio.Event()
        self._wanted: dict[int, tuple[str, TakeMessage]] = {}
        self._subscribed: dict[int, Subscription] = {}
        self._count = 0
        # Requests that wait, by subject; in small letters, as the client library reports errors.
        self._denials: dict[str, set[asyncio.Future[str]]] = {}
        self._unheard: set[str] = set()  # subjects to which this connection may not subscribe, likewise
        self._lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()  # this connection
        self._running = asyncio.ensure_future(self._run())

    async def close(self) -> None:
        self._running.cancel()
        with suppress(asyncio.CancelledError):
            await self._running

    @property
    def is_open(self) -> bool:
        return self._open.is_set()

    async def ready(self, timeout: float = ANSWER) -> Client:
        """The connected client. Raises MeshError with the reason if there is none in time; at once if the
        server refuses this machine."""
        try:
            async with asyncio.timeout(timeout):
                while self._client is None:
                    if isinstance(self.problem, MeshRefused):
                        raise self.problem
                    self._tried.clear()
                    opened = asyncio.ensure_future(self._open.wait())
                    tried = asyncio.ensure_future(self._tried.wait())
                    try:
                        await asyncio.wait({opened, tried}, return_when=asyncio.FIRST_COMPLETED)
                    finally:
                        opened.cancel()
                        tried.cancel()
                return self._client
        except TimeoutError:
            raise MeshError(f"{self._where} cannot be reached ({self._why}): is it running?") from None

    @property
    def _where(self) -> str:
        return f"the mesh's server {', '.join(self.member.urls)}"

    @property
    def _why(self) -> str:
        return str(self.problem or "no answer").rstrip(".") or type(self.problem).__name__

    async def subscribe(self, subject: str, take: TakeMessage) -> Callable[[], Awaitable[None]]:
        """`take` gets the messages of the subject, after every connection. Returns what ends that."""
        self._count += 1
        number = self._count
        self._wanted[number] = (subject, take)
        if self._client is not None:
            from nats import errors

            with suppress(errors.Error, OSError):  # just lost: the next connection subscribes
                await self._subscribe(self._client, number)

        async def end() -> None:
            self._wanted.pop(number, None)
            subscription = self._subscribed.pop(number, None)
            if subscription is not None and self._client is not None:
                with suppress(Exception):  # the connection is gone, and the subscription with it
                    await subscription.unsubscribe()

        return end

    async def _subscribe(self, client: Client, number: int) -> None:
        subject, take = self._wanted[number]

        async def contained(message: Msg) -> None:
            try:
                await take(message)
            except Exception:
                logger.exception("a message on %s could not be taken", message.subject)

        self._subscribed[number] = await client.subscribe(subject, cb=contained)

    async def request(
        self,
        subject: str,
        payload: bytes = b"",
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float = ANSWER,
    ) -> Msg:
        """The answer to one request. Raises MeshError; the request may have arrived."""
        from nats import errors

        client = await self.ready(timeout)
        asked = asyncio.ensure_future(
            client.request(subject, payload, timeout=timeout, headers=dict(headers or {}))
        )
        denied: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._denials.setdefault(subject.lower(), set()).add(denied)
        try:
            either: set[asyncio.Future[Any]] = {asked, denied, self._lost}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if denied.done() and not asked.done():
                raise MeshRefused(denied.result())
            if not asked.done():  # the client library would wait for its timeout
                raise MeshError(
                    f"{self._where} did not answer (the connection was lost): see `synapse mesh status`."
                )
            return asked.result()
        except errors.NoRespondersError:
            raise MeshError(
                f"nothing on {self._where} serves {subject}: see `synapse mesh status`."
            ) from None
        except (errors.Error, OSError, TimeoutError) as error:
            raise MeshError(
                f"{self._where} did not answer ({error or type(error).__name__}): see `synapse mesh status`."
            ) from error
        finally:
            asked.cancel()
            waiting = self._denials.get(subject.lower(), set())
            waiting.discard(denied)
            if not waiting:
                self._denials.pop(subject.lower(), None)

    async def api(self, what: str, body: Json | None = None, timeout: float = ANSWER) -> Json:
        """One request to JetStream. Raises ApiError if it refuses."""
        payload = json.dumps(body).encode() if body is not None else b""
        return _checked((await self.request(f"$JS.API.{what}", payload, timeout=timeout)).data)

    async def publish(
        self,
        subject: str,
        payload: bytes,
        message_id: str = "",
        *,
        timeout: float = ANSWER,
        headers: Mapping[str, str] | None = None,
    ) -> Json:
        """Store a message in the stream of its subject. With a message id it may be repeated."""
        named = {MESSAGE_ID: message_id} if message_id else {}
        try:
            answer = await self.request(
                subject, payload, headers={**stamped(**named), **(headers or {})}, timeout=timeout
            )
            return _checked(answer.data)
        except ApiError as error:
            if error.code in _FULL:
                raise MeshFull(
                    f"the mesh's server has no room for the message ({error}): send it later."
                ) from error
            raise

    async def publish_surely(
        self, subject: str, payload: bytes, message_id: str, timeout: float, **more: Any
    ) -> Json:
        """The same, until it is stored or the time is up."""
        pause, until = PAUSE, asyncio.get_running_loop().time() + timeout
        while True:
            left = until - asyncio.get_running_loop().time()
            try:
                return await self.publish(
                    subject, payload, message_id, timeout=max(min(left, ANSWER), 0.05), **more
                )
            except (MeshRefused, MeshFull, ApiError):
                raise
            except MeshError as error:
                if until - asyncio.get_running_loop().time() <= pause:
                    raise WaitTimeout(str(error)) from error
            await asyncio.sleep(pause)
            pause = min(pause * 2, 1.0)

    async def send(self, subject: str, payload: bytes, reply: str = "", **headers: str) -> None:
        """Publish without an answer. Raises MeshError if there is no connection."""
        from nats import errors

        client = self._client
        if client is None:
            raise MeshError(f"{self._where} is not connected ({self._why}): see `synapse mesh status`.")
        try:
            await client.publish(subject, payload, reply=reply, headers=headers or None)
        except (errors.Error, OSError) as error:
            raise MeshError(
                f"{self._where} is not connected ({error}): see `synapse mesh status`."
            ) from error

    async def send_at_once(self, subject: str, payload: bytes, **headers: str) -> None:
        """The same, and written before this returns. The client library leaves that to a task of its own, and
        a host that has just got a task is busy for some milliseconds before it comes to that."""
        await self.send(subject, payload, **headers)
        client = self._client
        if client is not None and client._transport is not None and client._pending:
            client._transport.writelines(client._pending[:])
            client._pending = []
            client._pending_data_size = 0

    async def _run(self) -> None:
        pause = PAUSE
        while True:
            closed = asyncio.Event()
            client: Client | None = None
            self._unheard.clear()
            try:
                client = await self._connect(closed)
                for number in list(self._wanted):
                    await self._subscribe(client, number)
                await client.flush()
            except asyncio.CancelledError:
                await end(client)
                raise
            except Exception as error:
                await end(client)
                self.problem = self._refusal(error)
                logger.info("no connection to the mesh: %s", self.problem)
                self._tried.set()
                is_refused = isinstance(self.problem, MeshRefused)
                await asyncio.sleep(REFUSED_PAUSE if is_refused else pause)
                pause = min(pause * 2, LONGEST_PAUSE)
                continue
            pause, self.problem = PAUSE, None
            self._client = client
            self._lost = asyncio.get_running_loop().create_future()
            self.connections += 1
            self._open.set()
            try:
                for told in self.on_open:
                    told()
                await until_lost(client, closed)
            finally:
                self._client = None
                self._lost.set_result(None)
                self._open.clear()
                self._subscribed.clear()
                await end(client)
            self.problem = MeshError("the connection was lost")

    async def _connect(self, closed: asyncio.Event) -> Client:
        await load_client()
        from nats.aio.client import Client

        async def on_closed() -> None:
            closed.set()

        async def on_error(error: Exception) -> None:
            self._note_error(error)

        client = Client()
        try:
            await client.connect(
                servers=self.member.urls,
                name=f"synapse {self.member.machine}",
                allow_reconnect=False,
                connect_timeout=CONNECT,
                ping_interval=PING,
                closed_cb=on_closed,
                disconnected_cb=on_closed,
                error_cb=on_error,
                inbox_prefix=self.names.inbox(self.member.machine),
                **credentials(self.member),
            )
        except BaseException:
            await end(client)
            raise
        return client

    def is_denied(self, subject: str) -> bool:
        """Whether the server has refused a subscription to it."""
        return subject.lower() in self._unheard

    def _note_error(self, error: Exception) -> None:
        found = _DENIED.search(str(error))
        if unheard := _UNHEARD.search(str(error)):
            self._unheard.add(unheard.group(1).lower())
        logger.info("the mesh's server says: %s", error)
        for denied in self._denials.get(found.group(1).lower(), ()) if found else ():
            if not denied.done():
                denied.set_result(f"the mesh does not let {self.member.machine} do that ({error}).")

    def _refusal(self, error: Exception) -> Exception:
        """The reason in words that say what to do."""
        from nats import errors

        said = str(error).lower()
        words = ("authorization", "authentication", "nkey", "expired", "certificate", "signature")
        if isinstance(error, errors.AuthorizationError | ssl.SSLError) or any(w in said for w in words):
            return MeshRefused(
                f"{self._where} does not accept {self.member.machine} ({error}): its credentials are wrong, "
                "expired or revoked; ask for a new invitation and `synapse mesh join` again."
            )
        return error


def _checked(data: bytes) -> Json:
    try:
        answer = json.loads(data)
    except ValueError as error:
        raise MeshError(f"the mesh's server sent an answer that is not JSON: {error}.") from error
    if "error" in answer:
        raise ApiError(answer["error"])
    return dict(answer)


_links: dict[tuple[int, str], Link] = {}  # by event loop and membership


@asynccontextmanager
async def linked(member: Membership) -> AsyncGenerator[Link, None]:
    """The connection of this event loop. The last user closes it."""
    key = (id(asyncio.get_running_loop()), member.instance)
    link = _links.get(key)
    if link is None:
        link = _links[key] = Link(member)
    link.users += 1
    try:
        yield link
    finally:
        link.users -= 1
        if not link.users:
            _links.pop(key, None)
            await link.close()
