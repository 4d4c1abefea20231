"""Finds the running agent that a command is for."""

from synapse.errors import NoSuchAgent, UsageError
from synapse.peers import remote
from synapse.registry import AgentRegistry, Entry


def find_agent(target: str) -> Entry:
    """The running agent that `target` means, here or, as `agent@machine`, on another machine. The error for
    the name of a profile says how to start it."""
    if remote.is_remote(target):
        return remote.find_entry(target)
    return find_agent_here(target)


def find_agent_here(target: str) -> Entry:
    """The same, for what can be done only on the agent's own machine."""
    if remote.is_remote(target):
        name, _, machine = target.partition("@")
        raise UsageError(f"{name} runs on {machine}, and this command works only there: log in and use it.")
    try:
        return AgentRegistry().resolve(target)
    except NoSuchAgent as error:
        from synapse.profiles.files import profile_names

        if target not in profile_names():
            raise
        raise NoSuchAgent(
            f"no agent named {target!r} is running: start one with `synapse start {target}`."
        ) from error
