"""The agent that a command is meant for."""

from __future__ import annotations

from synapse.errors import NoSuchAgent
from synapse.registry import AgentRegistry, Entry


def agent_of(agent_id: str) -> Entry:
    """The running agent of this id."""
    entry = AgentRegistry().list_agents().get(agent_id)
    if entry is None:
        raise NoSuchAgent(
            "the agent of this task is not running any more: `synapse task` shows what became of it."
        )
    return entry


def find_agent(target: str) -> Entry:
    """The one running agent that `target` means. Who is not running, but could be, can be started."""
    try:
        return AgentRegistry().resolve(target)
    except NoSuchAgent as error:
        from synapse.profiles.loader import profile_names

        if target not in profile_names():
            raise
        raise NoSuchAgent(
            f"no agent named {target!r} is running: start one with `synapse start {target}`."
        ) from error
