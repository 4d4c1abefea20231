"""The streams and buckets of a mesh. Only its administrator makes them: a machine that could make a stream
could read the mailbox of another one by mirroring it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from synapse.peers.mesh.link import ApiError, Link
from synapse.peers.mesh.names import (
    CALL,
    DUPLICATES,
    ENTRY_TTL,
    EVENT,
    EVENTS_KEPT,
    FILES_KEPT,
    MAILBOX_MESSAGES,
    TASK,
    TASKS_KEPT,
    URGENT,
    Names,
    kv_stream,
    kv_subject,
    object_stream,
)
from synapse.peers.task import Json

NO_STREAM = 10059  # the error code of JetStream


def team_streams(names: Names) -> list[Json]:
    """Both on disk: a server that was killed has them as soon as it is back."""
    return [
        _bucket(names.agents, max_age=_ns(ENTRY_TTL), duplicate_window=_ns(ENTRY_TTL)),
        _bucket(names.members),
    ]


def machine_streams(names: Names, machine: str) -> list[Json]:
    files = names.files(machine)
    return [
        _stream(
            names.mail(machine),
            [f"{names.prefix}.{kind}.{machine}.*.from.*" for kind in (TASK, URGENT)],
            retention="workqueue",
            max_age=_ns(TASKS_KEPT),
            max_msgs=MAILBOX_MESSAGES,
        ),
        _stream(
            names.events(machine),
            [f"{names.prefix}.{EVENT}.{machine}.*.from.*"],
            max_age=_ns(EVENTS_KEPT),
            discard="old",
        ),
        _stream(
            object_stream(files),
            [f"$O.{files}.C.>", f"$O.{files}.M.>"],
            max_age=_ns(FILES_KEPT),
            allow_rollup_hdrs=True,
        ),
    ]


def _bucket(name: str, **more: Any) -> Json:
    return _stream(
        kv_stream(name), [f"{kv_subject(name)}.>"], max_msgs_per_subject=1, allow_rollup_hdrs=True, **more
    )


def _stream(name: str, subjects: list[str], **more: Any) -> Json:
    """No direct reads: with them a machine could let the server publish any content on any subject. No limit
    of bytes: the server would reserve that much for each stream; the storage of the server is the limit."""
    config: Json = {
        "name": name,
        "subjects": subjects,
        "retention": "limits",
        "storage": "file",
        "discard": "new",
        "max_msgs": -1,
        "max_bytes": -1,
        "max_age": 0,
        "duplicate_window": _ns(DUPLICATES),
        "num_replicas": 1,
        "allow_direct": False,
    }
    return config | more


def _ns(seconds: float) -> int:
    return int(seconds * 1e9)


async def make_streams(link: Link, owners: Mapping[str, str]) -> None:
    """Make what is missing, bring the rest up to date, and write whose machines there are."""
    names = link.names
    wanted = team_streams(names)
    for machine in owners:
        wanted += machine_streams(names, machine)
    for config in wanted:
        try:
            await link.api(f"STREAM.INFO.{config['name']}")
        except ApiError as error:
            if error.code != NO_STREAM:
                raise
            await link.api(f"STREAM.CREATE.{config['name']}", config)
        else:
            await link.api(f"STREAM.UPDATE.{config['name']}", config)
    for machine, owner in owners.items():
        await link.publish(names.member(machine), json.dumps({"owner": owner}).encode())


async def remove_streams(link: Link, machine: str) -> None:
    """All that was kept for a machine that is no member any more."""
    for config in machine_streams(link.names, machine):
        try:
            await link.api(f"STREAM.DELETE.{config['name']}")
        except ApiError as error:
            if error.code != NO_STREAM:
                raise
    await link.publish(link.names.member(machine), b"", headers={"KV-Operation": "DEL"})


def permissions(names: Names, machine: str, machines: list[str]) -> Json:
    """What the server lets a machine do. `$JS.API` subjects name a stream, so that a machine reads its own
    streams and the two buckets, and makes consumers of its own mailboxes only."""
    mail, events = names.mail(machine), names.events(machine)
    files, agents = object_stream(names.files(machine)), kv_stream(names.agents)
    members = kv_stream(names.members)
    publish = [
        *(f"{names.prefix}.{kind}.*.*.from.{machine}" for kind in (TASK, URGENT, CALL, EVENT)),
        f"{kv_subject(names.agents)}.{machine}.>",
        *(f"$O.{names.files(other)}.>" for other in machines),
        "$JS.API.INFO",
        *(f"$JS.API.STREAM.INFO.{stream}" for stream in (mail, events, files, agents, members)),
        *(f"$JS.API.STREAM.MSG.GET.{stream}" for stream in (mail, events, files, agents, members)),
        f"$JS.API.STREAM.MSG.DELETE.{mail}",
        f"$JS.API.STREAM.PURGE.{files}",
        f"$JS.API.CONSUMER.CREATE.{mail}.>",
        f"$JS.API.CONSUMER.INFO.{mail}.>",
        f"$JS.API.CONSUMER.DELETE.{mail}.>",
        f"$JS.API.CONSUMER.MSG.NEXT.{mail}.>",
        f"$JS.ACK.{mail}.>",
        f"$JS.API.CONSUMER.CREATE.{agents}",
        f"$JS.API.CONSUMER.CREATE.{agents}.>",
        f"$JS.API.CONSUMER.MSG.NEXT.{agents}.>",
    ]
    subscribe = [
        f"{names.inbox(machine)}.>",
        f"{names.prefix}.{CALL}.{machine}.>",
        f"{names.prefix}.{EVENT}.{machine}.>",
        f"{kv_subject(names.agents)}.>",
        f"{kv_subject(names.members)}.>",
    ]
    return {"publish": {"allow": publish}, "subscribe": {"allow": subscribe}}
