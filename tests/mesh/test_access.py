"""What the server lets a machine do. The server is the real one, with the configuration that Synapse writes;
the machine that attacks uses the client library directly."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from nats.aio.client import Client

from synapse.mesh.server.process import find_binary
from synapse.mesh.server.state import Machine, ServerState, new_keys, path_of
from synapse.mesh.server.streams import make_streams
from synapse.peers.mesh.events import EventReader
from synapse.peers.mesh.link import Link, MeshError, linked, stamped
from synapse.peers.mesh.membership import Membership
from synapse.peers.mesh.names import HEADER, VERSION, object_stream
from tests.support.home import new_home, wait
from tests.support.mesh import accepts
from tests.support.ports import free_port

MACHINES = ("alpha", "beta", "gamma")
KEY = "0123456789abcdef"


class Bare:
    """A server with three machines, and no agent."""

    def __init__(self) -> None:
        seed, key = new_keys()
        self.state = ServerState("t", seed, key, port=free_port())
        self.members: dict[str, Membership] = {}
        for name in MACHINES:
            seed, key = new_keys()
            self.state = self.state.with_machine(name, Machine(key, "me" if name != "gamma" else "you"))
            self.members[name] = Membership("t", name, self.state.urls, seed=seed)
        self.state.save()

    async def prepare(self) -> None:
        async with linked(self.state.admin()) as link:
            await link.ready(30)
            await make_streams(link, self.state.owners)
            for machine in MACHINES:
                await link.publish(subject(link, machine, "alpha"), b"secret", headers=stamped())

    def run(self, attack: Callable[[Attacker], Awaitable[None]], machine: str = "beta") -> None:
        async def main() -> None:
            async with self.attacker(machine) as attacker:
                await attack(attacker)

        asyncio.run(main())

    @asynccontextmanager
    async def attacker(self, machine: str) -> AsyncGenerator[Attacker, None]:
        async with linked(self.state.admin()) as admin:
            await admin.ready(30)
            client = Client()
            attacker = Attacker(client, self.members[machine], admin)
            await client.connect(
                self.state.urls[0],
                nkeys_seed_str=self.members[machine].seed,
                inbox_prefix=f"synapse.t.inbox.{machine}",
                error_cb=attacker.note,
            )
            try:
                yield attacker
            finally:
                await client.close()


class Attacker:
    def __init__(self, client: Client, member: Membership, admin: Link) -> None:
        self.client = client
        self.names = member.names
        self.admin = admin
        self._errors: list[str] = []

    async def note(self, error: Exception) -> None:
        self._errors.append(str(error))

    async def is_denied(self, subject: str, body: object = None) -> bool:
        """Whether the server refuses a publish on this subject."""
        self._errors.clear()
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        await self.client.publish(subject, data, reply=self.client.new_inbox())
        await self.client.flush()
        await asyncio.sleep(0.05)
        return any("permissions violation" in e.lower() and subject.lower() in e for e in self._errors)

    async def mailbox(self, machine: str) -> list[Any]:
        """What is in the mailbox stream of a machine."""
        told = await self.admin.api(f"STREAM.INFO.{self.names.mail(machine)}")
        found = []
        for sequence in range(told["state"]["first_seq"], told["state"]["last_seq"] + 1):
            try:
                got = await self.admin.api(f"STREAM.MSG.GET.{self.names.mail(machine)}", {"seq": sequence})
            except MeshError:
                continue
            found.append(got["message"])
        return found


def subject(link: Link, machine: str, sender: str, kind: str = "task") -> str:
    return link.names.subject(kind, machine, KEY, sender)


@pytest.fixture(scope="module")
def bare() -> Iterator[Bare]:
    with new_home() as home, home.ours():
        made = Bare()
        server = subprocess.Popen([find_binary(), "-c", path_of("nats.conf")])
        try:
            wait(lambda: accepts(made.state.port), "the server")
            asyncio.run(made.prepare())
            yield made
        finally:
            server.terminate()
            server.wait(30)


def test_a_machine_may_do_what_it_needs(bare: Bare) -> None:
    async def main() -> None:
        async with linked(bare.members["beta"]) as link:
            await link.ready(30)
            stored = await link.publish(subject(link, "alpha", "beta"), b"{}", "beta/1")
            assert stored["stream"] == link.names.mail("alpha")
            await link.publish(link.names.entry("beta", KEY), b"{}")
            await link.api(f"STREAM.INFO.{link.names.mail('beta')}")

    asyncio.run(main())


@pytest.mark.parametrize("kind", ["task", "urgent", "call", "event"])
def test_a_sender_cannot_be_forged(bare: Bare, kind: str) -> None:
    async def attack(beta: Attacker) -> None:
        assert await beta.is_denied(beta.names.subject(kind, "alpha", KEY, "gamma"), {"message": "x"})
        assert not await beta.is_denied(beta.names.subject(kind, "alpha", KEY, "beta"), {"message": "x"})

    bare.run(attack)


def test_a_machine_cannot_listen_to_what_is_not_its_own(bare: Bare) -> None:
    async def attack(beta: Attacker) -> None:
        heard: list[Any] = []

        async def hear(message: Any) -> None:
            heard.append(message)

        for wanted in (
            ">",
            "synapse.t.>",
            "synapse.t.task.alpha.>",
            "synapse.t.task.beta.>",  # its own mail comes by its consumer only
            "synapse.t.event.alpha.>",
            "synapse.t.event.*.>",
            "synapse.t.inbox.alpha.>",
            "$JS.ACK.>",
            f"$O.{beta.names.files('alpha')}.>",
        ):
            beta._errors.clear()
            await beta.client.subscribe(wanted, cb=hear)
            await beta.client.flush()
            await asyncio.sleep(0.05)
            assert any("permissions violation" in e.lower() for e in beta._errors), wanted
        await beta.admin.publish(subject(beta.admin, "alpha", "gamma"), b"secret")
        await asyncio.sleep(0.2)
        assert heard == []

    bare.run(attack)


def test_the_api_of_jetstream_opens_no_mailbox_of_another_machine(bare: Bare) -> None:
    async def attack(beta: Attacker) -> None:
        names = beta.names
        for stream in (names.mail("alpha"), names.events("alpha"), object_stream(names.files("alpha"))):
            config = {"durable_name": "x", "ack_policy": "none", "deliver_policy": "all"}
            consumer = {"stream_name": stream, "config": config}
            for request, body in {
                f"CONSUMER.CREATE.{stream}": consumer,
                f"CONSUMER.CREATE.{stream}.x": consumer,
                f"CONSUMER.CREATE.{stream}.x.synapse.t.task.beta.>": consumer,
                f"CONSUMER.DURABLE.CREATE.{stream}.x": consumer,
                f"CONSUMER.MSG.NEXT.{stream}.{KEY}-task": 1,
                f"CONSUMER.DELETE.{stream}.{KEY}-task": None,
                f"CONSUMER.LIST.{stream}": {},
                f"STREAM.MSG.GET.{stream}": {"seq": 1},
                f"STREAM.MSG.DELETE.{stream}": {"seq": 1},
                f"DIRECT.GET.{stream}": {"seq": 1},
                f"STREAM.PURGE.{stream}": None,
                f"STREAM.DELETE.{stream}": None,
                f"STREAM.SNAPSHOT.{stream}": {"deliver_subject": "synapse.t.event.beta.x"},
                f"STREAM.UPDATE.{stream}": {"name": stream, "subjects": []},
            }.items():
                assert await beta.is_denied(f"$JS.API.{request}", body), request

    bare.run(attack)


def test_a_machine_cannot_make_a_stream_that_copies_another_one(bare: Bare) -> None:
    async def attack(beta: Attacker) -> None:
        mail = beta.names.mail("alpha")
        mirror = {"name": "copy", "mirror": {"name": mail}}
        assert await beta.is_denied("$JS.API.STREAM.CREATE.copy", mirror)
        own = beta.names.mail("beta")
        sourced = {"name": own, "sources": [{"name": mail}]}
        assert await beta.is_denied(f"$JS.API.STREAM.UPDATE.{own}", sourced)
        assert await beta.is_denied("$JS.API.STREAM.LIST", {})
        assert await beta.is_denied("$JS.API.STREAM.NAMES", {})

    bare.run(attack)


def test_a_consumer_of_the_own_stream_cannot_name_another_stream(bare: Bare) -> None:
    """The subject of the request says the stream; the server compares it with the body."""

    async def attack(beta: Attacker) -> None:
        mine, mail = beta.names.mail("beta"), beta.names.mail("alpha")
        body = {"stream_name": mail, "config": {"durable_name": "x", "ack_policy": "explicit"}}
        answer = await beta.client.request(f"$JS.API.CONSUMER.CREATE.{mine}.x", json.dumps(body).encode())
        assert "error" in json.loads(answer.data)
        with pytest.raises(MeshError):
            await beta.admin.api(f"CONSUMER.INFO.{mail}.x")

    bare.run(attack)


def test_entries_and_members_of_others_cannot_be_written(bare: Bare) -> None:
    async def attack(beta: Attacker) -> None:
        assert await beta.is_denied(beta.names.entry("alpha", KEY), {"name": "x"})
        assert not await beta.is_denied(beta.names.entry("beta", KEY), {"name": "x"})
        assert await beta.is_denied(beta.names.member("beta"), {"owner": "you"})

    bare.run(attack)


def test_the_server_does_not_forge_for_a_machine_either(bare: Bare) -> None:
    """An answer of the server goes to the reply subject of the request, which nobody checks. So a machine
    lets it answer into a mailbox: nothing that arrives there has both another sender and our header."""

    async def attack(beta: Attacker) -> None:
        client, names = beta.client, beta.names
        forged = names.subject("task", "alpha", KEY, "gamma")
        await beta.admin.api(f"STREAM.PURGE.{names.mail('alpha')}")
        mine, events = names.mail("beta"), names.events("beta")
        own = names.subject("task", "beta", KEY, "beta")
        for number in range(3):
            await client.publish(own, b'{"message": "evil"}', headers={**stamped(), "n": str(number)})
        await client.publish(names.subject("event", "beta", KEY, "beta"), b"{}", headers=stamped())
        await client.publish(names.entry("beta", KEY), b"{}", headers=stamped())
        body = {"stream_name": mine, "config": {"durable_name": "p", "ack_policy": "explicit"}}
        told = await client.request(f"$JS.API.CONSUMER.CREATE.{mine}.p", json.dumps(body).encode())
        assert "error" not in json.loads(told.data), told.data
        for request, data in {
            f"$JS.API.CONSUMER.MSG.NEXT.{mine}.p": b"1",
            f"$JS.API.STREAM.MSG.GET.{mine}": b'{"seq": 1}',
            f"$JS.API.STREAM.MSG.GET.{events}": b'{"seq": 1}',
            f"$JS.API.DIRECT.GET.{mine}": b'{"seq": 1}',
            f"$JS.API.DIRECT.GET.{events}": b'{"seq": 1}',
            f"$JS.API.DIRECT.GET.KV_{names.agents}": b'{"seq": 1}',
            f"$JS.API.STREAM.INFO.{mine}": b"",
        }.items():
            await client.publish(request, data, reply=forged)
        await client.publish(own, b"{}", reply=forged, headers=stamped())
        await client.publish(own, b"{}", headers={**stamped(), "Nats-Trace-Dest": forged})
        push = {"durable_name": "q", "ack_policy": "none", "deliver_subject": forged}
        await client.publish(
            f"$JS.API.CONSUMER.CREATE.{mine}.q",
            json.dumps({"stream_name": mine, "config": push}).encode(),
            reply=forged,
        )
        await client.flush()
        await asyncio.sleep(0.5)
        await client.request(f"$JS.API.CONSUMER.DELETE.{mine}.p", b"")
        arrived = await beta.mailbox("alpha")
        assert len(arrived) >= 3  # it does answer there
        for message in arrived:
            address = names.parse(message["subject"])
            if address is not None and address.machine == "alpha" and address.sender == "gamma":
                assert f"{HEADER}: {VERSION}".encode() not in _raw(message), message

    bare.run(attack)


def test_an_event_that_the_server_was_made_to_deliver_is_not_believed(bare: Bare) -> None:
    """A pull request names the subject to which the server sends what it finds, header and all."""

    async def attack(beta: Attacker) -> None:
        client, names, mine = beta.client, beta.names, beta.names.mail("beta")
        target = names.subject("event", "alpha", "some-task", "gamma")
        own, heard = names.subject("task", "beta", KEY, "beta"), asyncio.Event()

        async def hear(_: Any) -> None:
            heard.set()

        async with linked(bare.members["alpha"]) as alpha:
            await alpha.ready(30)
            await alpha.subscribe(target, hear)
            async with EventReader(alpha, "gamma", "some-task") as reader:
                await client.publish(own, b'{"number": 9, "task": {}}', headers=stamped())
                body = {"stream_name": mine, "config": {"durable_name": "d", "ack_policy": "explicit"}}
                await client.request(f"$JS.API.CONSUMER.CREATE.{mine}.d", json.dumps(body).encode())
                await client.publish(f"$JS.API.CONSUMER.MSG.NEXT.{mine}.d", b"1", reply=target)
                await asyncio.wait_for(heard.wait(), 30)  # it does arrive
                await beta.admin.publish(target, b'{"number": 1, "event": "true"}')
                assert (await asyncio.wait_for(reader.next(), 30))["event"] == "true"
        await client.request(f"$JS.API.CONSUMER.DELETE.{mine}.d", b"")

    bare.run(attack)


def _raw(message: dict[str, Any]) -> bytes:
    import base64

    return base64.b64decode(message.get("hdrs") or "")


# Known, and not fixed: a pull request that still waits when its consumer is deleted is answered on its reply
# subject, and that answer counts as a request (6 of 25 runs; there the message was not there in time).
@pytest.mark.xfail(strict=False, reason="a member can make the server purge the mailbox of another machine")
def test_a_machine_cannot_let_the_server_make_a_request_for_it(bare: Bare) -> None:
    async def attack(beta: Attacker) -> None:
        client, mine, mail = beta.client, beta.names.mail("beta"), beta.names.mail("alpha")
        await beta.admin.publish(beta.names.subject("task", "alpha", KEY, "alpha"), b"secret")
        before = len(await beta.mailbox("alpha"))
        config = {"durable_name": "evil", "deliver_subject": "synapse.t.event.beta.x.from.beta"}
        create = json.dumps({"stream_name": mail, "config": config | {"ack_policy": "none"}}).encode()
        own = beta.names.subject("task", "beta", KEY, "beta")
        for target, body in {
            f"$JS.API.CONSUMER.CREATE.{mail}.evil": create,
            f"$JS.API.STREAM.PURGE.{mail}": b"",
            f"$JS.API.STREAM.DELETE.{mail}": b"",
        }.items():
            await beta.admin.api(f"STREAM.PURGE.{mine}")
            await client.publish(own, body)
            config = {"name": "r", "ack_policy": "explicit", "filter_subject": own}
            made = json.dumps({"stream_name": mine, "config": config}).encode()
            told = await client.request(f"$JS.API.CONSUMER.CREATE.{mine}.r.{own}", made)
            assert "error" not in json.loads(told.data), told.data
            await client.publish(f"$JS.API.CONSUMER.MSG.NEXT.{mine}.r", b"1", reply=target)
            await client.request(f"$JS.API.CONSUMER.DELETE.{mine}.r", b"")
        await asyncio.sleep(0.3)
        assert len(await beta.mailbox("alpha")) >= before
        with pytest.raises(MeshError):
            await beta.admin.api(f"CONSUMER.INFO.{mail}.evil")

    bare.run(attack)


def test_a_stranger_is_refused_with_a_sentence(bare: Bare) -> None:
    seed, _ = new_keys()
    stranger = Membership("t", "beta", bare.state.urls, seed=seed)

    async def main() -> None:
        async with linked(stranger) as link:
            await link.ready(30)

    with pytest.raises(MeshError, match="its credentials are wrong, expired or revoked"):
        asyncio.run(main())


def test_without_credentials_nothing_is_served(bare: Bare) -> None:
    async def main() -> None:
        async with linked(Membership("t", "beta", bare.state.urls)) as link:
            await link.ready(30)

    with pytest.raises(MeshError, match="does not accept beta"):
        asyncio.run(main())
