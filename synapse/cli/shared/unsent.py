"""Sends a message whose reply nobody waits for. If its machine does not answer, the message is kept, and the
machine's link sends it later."""

from __future__ import annotations

import uuid

from synapse.errors import WaitTimeout
from synapse.peers.base import Peer
from synapse.peers.local import chain_of
from synapse.peers.machines import known, outbox
from synapse.peers.origin import Origin
from synapse.peers.task import A2ATask, OnEvent
from synapse.registry import AgentRegistry

PATIENCE = 5.0  # seconds for a machine to be connected


async def send_or_keep(
    peer: Peer, message: str, *, priority: int, request_id: str, expires: float | None, on_event: OnEvent
) -> A2ATask:
    """The task; one without an id if the message is kept, with a note that says so."""
    machine = outbox.machine_of(peer.address)
    request_id = request_id or uuid.uuid4().hex
    try:
        return await peer.send(
            message,
            priority=priority,
            request_id=request_id,
            timeout=PATIENCE if machine else None,
            expires=expires,
            on_event=on_event,
        )
    except WaitTimeout:
        if machine is None:
            raise
        origin = Origin.of_this_process()
        document = {
            "address": peer.address,
            "name": peer.name,
            "message": message,
            "request_id": request_id,
            "priority": priority,
            "expires": expires,
            "metadata": (await chain_of(AgentRegistry(), origin, False))[0],
            "origin": origin.sender if origin else None,
        }
        try:
            outbox.keep(machine, document)
        except OSError:  # a sandbox, or a full disk
            raise WaitTimeout(
                f"{machine.name} does not answer, and the message cannot be kept here: send it again later."
            ) from None
        why = known.want(machine).note
        because = f" ({why.rstrip('.')})" if why else ""
        note = (
            f"kept for {peer.name}: {machine.name} does not answer{because}; the message is sent when it "
            "does, and `synapse machine list` shows what waits"
        )
        return A2ATask("", "submitted", note=note)
