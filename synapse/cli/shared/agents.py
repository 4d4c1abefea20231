"""Finds the running agent that a command is for."""

from synapse.errors import NoSuchAgent
from synapse.registry import AgentRegistry, Entry


def agent_of(agent_id: str) -> Entry:
    entry = AgentRegistry().list_agents().get(agent_id)
    if entry is None:
        raise NoSuchAgent(
            "the agent of this task has ended: `synapse task` shows the last state of the task."
        )
    return entry


def find_agent(target: str) -> Entry:
    """The running agent that `target` means. The error for the name of a profile says how to start it."""
    try:
        return AgentRegistry().resolve(target)
    except NoSuchAgent as error:
        from synapse.profiles.files import profile_names

        if target not in profile_names():
            raise
        raise NoSuchAgent(
            f"no agent named {target!r} is running: start one with `synapse start {target}`."
        ) from error
