"""The channel of one CLI, as its profile names it."""

from __future__ import annotations

import logging

from synapse.agents import folders
from synapse.agents.base import Channel, Surroundings

logger = logging.getLogger(__name__)


def open_channel(name: str, surroundings: Surroundings) -> Channel:
    """Somebody else's channel that cannot be loaded costs what it would have told, and nothing more."""
    try:
        module = folders.load(name, "channel")
        channel: Channel = (module.CHANNEL if module is not None else Channel)(surroundings)
    except Exception as error:
        logger.exception("the channel %s cannot be loaded", name)
        return BrokenChannel(surroundings, name, error)
    return channel


class BrokenChannel(Channel):
    """Nothing but the screen, and the reason."""

    def __init__(self, surroundings: Surroundings, name: str, error: Exception) -> None:
        super().__init__(surroundings)
        self._problem = f"the channel {name} cannot be loaded: {error}"

    def missing(self) -> list[str]:
        return [self._problem]
