"""Who sends, when a command is run inside an agent: that agent."""

from __future__ import annotations

import os


def sender_of_this_process() -> dict[str, str] | None:
    """Nobody in particular, in a terminal of a human's."""
    agent_id, name = os.environ.get("SYNAPSE_AGENT_ID"), os.environ.get("SYNAPSE_AGENT_NAME")
    return {"id": agent_id, "name": name} if agent_id and name else None
