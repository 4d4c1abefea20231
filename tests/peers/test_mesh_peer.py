"""What a sender in the mesh makes of the events and documents that it reads."""

from __future__ import annotations

from typing import Any

from synapse.peers.mesh.membership import Membership
from synapse.peers.mesh.peer import MeshPeer
from synapse.peers.mesh.roster import MeshAgent
from synapse.peers.task import A2ATask
from synapse.registry import AgentRegistry

AGENT = MeshAgent("a" * 64, "a" * 16, "codex", "codex", "box")


def test_a_whole_task_after_its_events_is_no_second_reply() -> None:
    """After a lost connection the whole task is asked for; events name its artifacts otherwise."""
    peer = MeshPeer(AGENT, Membership("team", "here", []), AgentRegistry())
    task, heard = A2ATask("t1"), list[tuple[str, dict[str, Any]]]()
    artifact = {"type": "text", "name": "response", "parts": [{"type": "text", "text": "hello"}]}
    event = {"taskId": "t1", "artifactId": "7f3c", "artifact": artifact}
    whole = {"id": "t1", "status": "completed", "artifacts": [{**artifact, "data": "hello"}]}
    for document in ({"number": 1, "event": "artifact", "data": event}, {"number": 3, "task": whole}):
        peer._apply(document, task, lambda kind, data: heard.append((kind, data)))
    assert (task.status, task.text) == ("completed", "hello")
    assert [kind for kind, _ in heard] == ["partial", "partial", "delivered", "done"]
    assert not any(data.get("append") for _, data in heard)
