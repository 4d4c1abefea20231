"""An agent's terminal as the host has it, without a relay: tests feed it what the agent writes."""

import time
from collections.abc import Callable
from pathlib import Path

from synapse.agent_terminal import AgentTerminal
from synapse.agents.base import Channel, Surroundings
from synapse.profiles.loader import load_profile


def agent_terminal(profile: str, folder: Path, clock: Callable[[], float] = time.monotonic) -> AgentTerminal:
    channel = Channel(Surroundings(str(folder), {}, 0.0, 0))
    return AgentTerminal(load_profile(profile), channel, lambda _: None, 80, 24, clock=clock)
