"""What the commands of `synapse mesh` do."""

from __future__ import annotations

import asyncio
import getpass
import os
import subprocess
import time
from dataclasses import replace
from typing import Any

from synapse.base import paths
from synapse.errors import SynapseError, UsageError
from synapse.mesh.policy import Owners
from synapse.mesh.server.process import START, reload_server, running
from synapse.mesh.server.state import (
    LOOPBACK,
    PORT,
    STORAGE,
    Machine,
    ServerState,
    load_state,
    new_keys,
    path_of,
    server_state,
)
from synapse.mesh.server.streams import (
    machine_streams,
    make_streams,
    permissions,
    remove_streams,
    team_streams,
)
from synapse.peers.mesh.link import MeshError, linked, load_client, missing
from synapse.peers.mesh.membership import Membership, load_membership
from synapse.peers.mesh.names import Names, check_name
from synapse.peers.mesh.roster import Roster, read_bucket
from synapse.peers.task import Json


def user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def prepare(
    *,
    team: str | None,
    address: str | None,
    port: int | None,
    names: list[str] | None,
    storage: int | None,
    machine: str,
) -> ServerState:
    """The state with what was said now; made anew at the first time. This machine becomes a member."""
    known = load_state()
    if known is None:
        seed, key = new_keys()
        known = ServerState(check_name(team or "synapse", "team"), seed, key)
    elif team is not None and team != known.team:
        raise UsageError(f"this machine serves the mesh {known.team!r}: --team cannot change.")
    state = replace(
        known,
        address=address or known.address or LOOPBACK,
        port=port or known.port or PORT,
        names=names if names is not None else known.names,
        storage=storage or known.storage or STORAGE,
    )
    if state.address in ("0.0.0.0", "::") and not state.names:
        raise UsageError("other machines need a name for this server: give it with `--name HOST`.")
    state.save()
    if state.has_tls:
        _make_certificates([*state.names, state.address, "localhost", LOOPBACK])
    if load_membership() is None:
        state, member = _add(state, check_name(machine, "machine"), user_name())
        state.save()
        member.save()
    return state


def _make_certificates(names: list[str]) -> None:
    try:
        from synapse.mesh.server.certificates import make_certificates
    except ModuleNotFoundError as error:
        raise missing(error) from error
    make_certificates(names)


def _add(state: ServerState, machine: str, owner: str) -> tuple[ServerState, Membership]:
    seed, key = new_keys()
    member = Membership(state.team, machine, state.urls, owner=owner, ca=state.ca(), seed=seed)
    return state.with_machine(machine, Machine(key, owner)), member


def start_in_background() -> int:
    """Returns the process id once the server accepts connections."""
    with open(path_of("serve.log"), "ab") as log:
        started = subprocess.Popen(
            [*paths.our_python(), "-m", "synapse", "mesh", "serve"],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    until = time.monotonic() + START
    while time.monotonic() < until:
        if started.poll() is not None:
            raise SynapseError(f"the server did not start: see {path_of('serve.log')}.")
        if asyncio.run(_answers(server_state().admin())):
            return started.pid
        time.sleep(0.1)
    raise SynapseError(f"the server does not answer within {START:g} s: see {path_of('nats.log')}.")


async def _answers(admin: Membership) -> bool:
    await load_client()
    try:
        async with linked(admin) as link:
            await link.ready(2.0)
            await link.api(f"STREAM.INFO.KV_{link.names.members}")
    except MeshError:
        return False
    return True


async def check_joining(member: Membership) -> None:
    """Raises SynapseError if the server does not accept the machine, or another machine has its name."""
    await load_client()
    async with linked(member) as link:
        await link.ready(10.0)
        entries = await read_bucket(link)
    others = [
        a for a in entries.values() if a and a.machine == member.machine and a.instance != member.instance
    ]
    if others:
        where = ", ".join(sorted({agent.directory for agent in others}))
        raise SynapseError(
            f"another machine is in the mesh as {member.machine!r} (its agents: {where}): "
            "one of the two needs an invitation of its own."
        )


async def invite(machine: str, owner: str | None) -> tuple[Membership, bool]:
    """The new member, and whether the server runs and knows it."""
    state = server_state()
    state, member = _add(state, check_name(machine, "machine"), owner or user_name())
    state.save()
    if not reload_server():
        return member, False
    await _until_known(state, member)
    return member, True


async def _until_known(state: ServerState, member: Membership) -> None:
    """Until the server has read its configuration and the streams are there."""
    await load_client()
    until = time.monotonic() + START
    while True:
        try:
            async with linked(member) as link:
                await link.ready(2.0)
                for config in machine_streams(link.names, member.machine):
                    await link.api(f"STREAM.INFO.{config['name']}")
            return
        except MeshError as error:
            if time.monotonic() > until:
                raise SynapseError(f"the server does not know {member.machine} yet: {error}") from error
        await asyncio.sleep(0.1)


async def revoke(machine: str) -> bool:
    state = server_state().without_machine(machine)
    state.save()
    if not reload_server():
        return False
    await load_client()
    async with linked(state.admin()) as link:
        await link.ready(10.0)
        await remove_streams(link, machine)
    return True


def configuration(team: str, owners: dict[str, str]) -> Json:
    """What the administrator of another server sets: users with their permissions, and streams."""
    names = Names(check_name(team, "team"))
    for machine in owners:
        check_name(machine, "machine")
    streams = team_streams(names)
    for machine in owners:
        streams += machine_streams(names, machine)
    return {
        "users": {machine: {"permissions": permissions(names, machine, list(owners))} for machine in owners},
        "streams": streams,
        "members": {names.member(machine): {"owner": owner} for machine, owner in owners.items()},
    }


async def apply(admin: Membership, owners: dict[str, str]) -> None:
    await load_client()
    async with linked(admin) as link:
        await link.ready(10.0)
        await make_streams(link, owners)


async def describe() -> Json:
    """The mesh as this machine sees it. `problem` is empty, or a sentence."""
    found: Json = {"machine": "", "team": "", "urls": [], "problem": "", "agents": []}
    state, member = load_state(), load_membership()
    if state is not None:
        pid = running()
        state_word = f"running (process {pid})" if pid else "not running, `synapse mesh serve` starts it"
        found["serves"] = {
            "team": state.team,
            "state": state_word,
            "machines": ", ".join(f"{name} ({owner})" for name, owner in state.owners.items()),
        }
    if member is None:
        return found | {"problem": "this machine has not joined a mesh: `synapse mesh join` does that."}
    found |= {"machine": member.machine, "team": member.team, "urls": member.urls}
    try:
        await load_client()
        found |= await _measured(member)
    except (MeshError, TimeoutError) as error:
        return found | {"problem": str(error)}
    return found


async def _measured(member: Membership) -> Json:
    async with linked(member) as link:
        await link.ready(5.0)
        began = time.perf_counter()
        mail = await link.api(f"STREAM.INFO.{link.names.mail(member.machine)}")
        took = (time.perf_counter() - began) * 1000
        owners, entries = Owners(link), await read_bucket(link)
        agents: list[Json] = []
        for agent in sorted(filter(None, entries.values()), key=lambda each: each.address):
            shown: dict[str, Any] = {"owner": await owners.of(agent.machine), "address": agent.address}
            agents.append(agent.to_dict() | shown)
        stale = [a for a in Roster(member).known() if a.stale and f"{a.machine}.{a.key}" not in entries]
        agents += [a.to_dict() | {"owner": "", "address": a.address} for a in stale]
    twice = {a["instance"] for a in agents if a["machine"] == member.machine} - {member.instance, ""}
    problem = (
        f"another machine is in the mesh as {member.machine!r}: one of the two must join anew."
        if twice
        else ""
    )
    waiting = int((mail.get("state") or {}).get("messages") or 0)
    return {"round_trip_ms": round(took, 1), "waiting": waiting, "agents": agents, "problem": problem}
