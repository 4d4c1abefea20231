"""The subjects, streams, buckets and headers of a mesh: docs/mesh.md has them in words.

Every subject on which a machine sends ends in that machine's name, and the server lets nobody else publish
there: the last token of a subject is who sent it.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from typing import NamedTuple

from synapse.errors import UsageError
from synapse.registry import ALL

BINDING = "https://synapse-a2a.dev/bindings/nats/v1"  # the protocol's name in an agent card
VERSION = "1"
HEADER = "Synapse-Mesh"  # every message has it, with VERSION; what the server itself writes has not
OPERATION = "Synapse-Operation"
MESSAGE_ID = "Nats-Msg-Id"
KV_OPERATION = "KV-Operation"

ENTRY_TTL = 60.0  # seconds until the entry of an agent expires that is not renewed
RENEW = 20.0  # seconds between two renewals
EVENTS_KEPT = 24 * 3600.0  # seconds that events and replies wait for their reader
TASKS_KEPT = 7 * 24 * 3600.0  # seconds that a task waits in a mailbox
FILES_KEPT = 7 * 24 * 3600.0
DUPLICATES = 600.0  # seconds in which the server recognises a repeated message id
LARGEST_INLINE = 512 * 1024  # bytes of a document; a larger one travels by the object store
MAILBOX_MESSAGES = 100_000  # for one machine

TASK, URGENT, CALL, EVENT = "task", "urgent", "call", "event"
_TASK_SPACE = uuid.UUID("6f1f0c5e-4f43-4d0e-9d7c-2f0a6f5b2a11")
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?")


def check_name(name: str, what: str) -> str:
    """Returns the name. Raises UsageError for one that a subject or a stream cannot carry."""
    if name == ALL and what == "machine":
        raise UsageError("a machine cannot be called all: `all@all` means every agent of every machine.")
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name[:40]!r} cannot be the name of a {what}: use up to 32 small letters, digits and -."
        )
    return name


def agent_key(agent_id: str) -> str:
    """An agent in a subject."""
    return agent_id[:16]


def task_id(sender: str, agent: str, request_id: str) -> str:
    """The id of the task that a request becomes: the sender and the agent compute the same one."""
    return str(uuid.uuid5(_TASK_SPACE, f"{sender}|{agent}|{request_id}"))


class Address(NamedTuple):
    """What a subject says: `kind.machine.key.from.sender`."""

    kind: str
    machine: str
    key: str
    sender: str


class Names(NamedTuple):
    """The names of one team."""

    team: str

    @property
    def prefix(self) -> str:
        return f"synapse.{self.team}"

    def subject(self, kind: str, machine: str, key: str, sender: str) -> str:
        return f"{self.prefix}.{kind}.{machine}.{key}.from.{sender}"

    def parse(self, subject: str) -> Address | None:
        parts = subject.split(".")
        if len(parts) != 7 or f"{parts[0]}.{parts[1]}" != self.prefix or parts[5] != "from":
            return None
        return Address(parts[2], parts[3], parts[4], parts[6])

    def inbox(self, machine: str) -> str:
        return f"{self.prefix}.inbox.{machine}"

    @property
    def agents(self) -> str:
        """The bucket of the running agents."""
        return f"synapse-{self.team}-agents"

    @property
    def members(self) -> str:
        """The bucket of the machines, which only the administrator writes."""
        return f"synapse-{self.team}-members"

    def mail(self, machine: str) -> str:
        """The work-queue stream of a machine's mailboxes."""
        return f"synapse-{self.team}-mail-{machine}"

    def events(self, machine: str) -> str:
        """The stream of events and replies for a machine."""
        return f"synapse-{self.team}-events-{machine}"

    def files(self, machine: str) -> str:
        """The object store bucket of documents for a machine."""
        return f"synapse-{self.team}-files-{machine}"

    def entry(self, machine: str, agent: str) -> str:
        return f"{kv_subject(self.agents)}.{machine}.{agent}"

    def member(self, machine: str) -> str:
        return f"{kv_subject(self.members)}.{machine}"


def kv_stream(bucket: str) -> str:
    return f"KV_{bucket}"


def kv_subject(bucket: str) -> str:
    return f"$KV.{bucket}"


def object_stream(bucket: str) -> str:
    return f"OBJ_{bucket}"


def token(text: str) -> str:
    """A part of a subject that stands for any text."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]
