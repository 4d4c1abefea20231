"""Opens the channel that a profile names."""

from __future__ import annotations

import logging

from synapse.agents import folders
from synapse.agents.base import Channel, Surroundings

logger = logging.getLogger(__name__)


def open_channel(name: str, surroundings: Surroundings) -> Channel:
    """If the channel of another package cannot be loaded, the agent runs without it."""
    try:
        module = folders.load(name, "channel")
        channel: Channel = (module.CHANNEL if module is not None else Channel)(surroundings)
    except Exception as error:
        logger.exception("the channel %s cannot be loaded", name)
        return BrokenChannel(surroundings, name, error)
    return channel


class BrokenChannel(Channel):
    """Only the screen is read; `missing` has the reason."""

    def __init__(self, surroundings: Surroundings, name: str, error: Exception) -> None:
        super().__init__(surroundings)
        self._problem = f"the channel {name} cannot be loaded: {error}"

    def missing(self) -> list[str]:
        return [self._problem]
