"""What a relay that was killed has left behind."""

from __future__ import annotations

import logging

from synapse.base import paths, processes
from synapse.registry import AgentRegistry

logger = logging.getLogger(__name__)


def clean_up(registry: AgentRegistry, agent_id: str, child: int, start: str) -> None:
    """Do what it can no longer do: end the agent, which is process `child`, begun at `start`."""
    logger.warning("the relay is gone without a word; cleaning up")
    if processes.start_time(child) in ("", start):  # gone, or still the same process
        processes.end_session(child)
    with registry.mutex():
        if not registry.is_alive(agent_id):  # else the next agent of this id is already here
            paths.remove_sockets(agent_id)
    registry.list_agents()  # clears away what the dead left behind
