"""The documents that travel: JSON in a message, or in the object store if it is large."""

from __future__ import annotations

import base64
import hashlib
import json
import uuid
from typing import Any

from synapse.peers.mesh.link import ApiError, Link, MeshError
from synapse.peers.mesh.names import LARGEST_INLINE, object_stream
from synapse.peers.task import Json

CHUNK = 128 * 1024  # bytes, as the object store's own clients write
OBJECT = "object"
LARGEST = 256 * 1024 * 1024  # bytes of a document
NOT_FOUND = 10037  # the error code of JetStream: no message


async def packed(link: Link, machine: str, document: Json) -> bytes:
    """The document for `machine`; if it is large, it is stored and the result says where."""
    data = json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")
    if len(data) <= LARGEST_INLINE:
        return data
    return json.dumps({OBJECT: await _put(link, link.names.files(machine), data)}).encode()


async def unpacked(link: Link, data: bytes) -> Json:
    """Raises ValueError for what is no document, MeshError if the object store does not have it."""
    document = json.loads(data)
    if isinstance(document, dict) and isinstance(told := document.get(OBJECT), dict):
        document = json.loads(await _get(link, told))
    if not isinstance(document, dict):
        raise ValueError("it is no JSON object")
    return document


async def _put(link: Link, bucket: str, data: bytes) -> Json:
    """As an object of that bucket. Its name cannot be guessed, and the document names its digest."""
    name, number = uuid.uuid4().hex, uuid.uuid4().hex
    pieces = [data[at : at + CHUNK] for at in range(0, len(data), CHUNK)]
    for piece in pieces:
        await link.publish(f"$O.{bucket}.C.{number}", piece)
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode()
    told = {
        "name": name,
        "bucket": bucket,
        "nuid": number,
        "size": len(data),
        "chunks": len(pieces),
        "digest": f"SHA-256={digest}",
        "options": {"max_chunk_size": CHUNK},
    }
    encoded = base64.urlsafe_b64encode(name.encode()).decode()
    await link.publish(f"$O.{bucket}.M.{encoded}", json.dumps(told).encode(), headers={"Nats-Rollup": "sub"})
    return told


async def _get(link: Link, told: Json) -> bytes:
    bucket, number = link.names.files(link.member.machine), str(told.get("nuid"))
    if told.get("bucket") != bucket or not number.isalnum():
        raise ValueError("it names an object of somebody else")
    stream, subject = object_stream(bucket), f"$O.{bucket}.C.{number}"
    data, sequence = bytearray(), 0
    while len(data) < int(told.get("size") or 0):
        found = await read_message(link, stream, subject, sequence + 1)
        if found is None or len(data) > LARGEST:
            raise MeshError(
                "the object store does not have all of a document any more: send the message again."
            )
        data += found.data
        sequence = found.sequence
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode()
    if told.get("digest") != f"SHA-256={digest}":
        raise ValueError("its content is not what its sender wrote")
    return bytes(data)


async def drop_object(link: Link, data: bytes) -> None:
    """Remove the object that a message names, if it names one: its document is stored here now."""
    told = json.loads(data).get(OBJECT) if len(data) < LARGEST_INLINE else None
    if isinstance(told, dict):
        bucket = link.names.files(link.member.machine)
        encoded = base64.urlsafe_b64encode(str(told.get("name")).encode()).decode()
        for subject in (f"$O.{bucket}.C.{told.get('nuid')}", f"$O.{bucket}.M.{encoded}"):
            await link.api(f"STREAM.PURGE.{object_stream(bucket)}", {"filter": subject})


class Stored:
    """A message of a stream."""

    def __init__(self, told: Json) -> None:
        self.subject = str(told["subject"])
        self.sequence = int(told["seq"])
        self.data = base64.b64decode(told.get("data") or "")
        self.headers = _headers(base64.b64decode(told.get("hdrs") or ""))


def _headers(raw: bytes) -> dict[str, str]:
    found = {}
    for line in raw.decode("utf-8", "replace").split("\r\n")[1:]:
        name, colon, value = line.partition(":")
        if colon:
            found[name.strip()] = value.strip()
    return found


async def read_message(link: Link, stream: str, subject: str, sequence: int) -> Stored | None:
    """The first message of the subject from that sequence on; None if there is none."""
    try:
        body: dict[str, Any] = {"seq": max(sequence, 1), "next_by_subj": subject}
        return Stored((await link.api(f"STREAM.MSG.GET.{stream}", body))["message"])
    except ApiError as error:
        if error.code == NOT_FOUND:
            return None
        raise


async def read_last(link: Link, stream: str, subject: str) -> Stored | None:
    try:
        return Stored((await link.api(f"STREAM.MSG.GET.{stream}", {"last_by_subj": subject}))["message"])
    except ApiError as error:
        if error.code == NOT_FOUND:
            return None
        raise
