"""The agent that a command is meant for."""

from __future__ import annotations

from synapse.errors import NoSuchAgent
from synapse.registry import AgentRegistry, Entry


def find_agent(target: str) -> Entry:
    """The one running agent that `target` means. Who is not running, but could be, can be started."""
    try:
        return AgentRegistry().resolve(target)
    except NoSuchAgent as error:
        from synapse.profiles import profile_names

        if target not in profile_names():
            raise
        raise NoSuchAgent(
            f"no agent named {target!r} is running: start one with `synapse start {target}`."
        ) from error
