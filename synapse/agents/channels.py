"""What is special about one CLI: the flags it is started with, its hooks, its transcript."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from synapse.agents.base import Channel, Surroundings


def open_channel(name: str, surroundings: Surroundings) -> Channel:
    """The channel of this name, as a profile gives it."""
    from synapse.agents.base import Channel
    from synapse.agents.claude import ClaudeChannel
    from synapse.agents.codex import CodexChannel
    from synapse.agents.gemini import GeminiChannel
    from synapse.agents.told import ToldChannel

    known = (ClaudeChannel, CodexChannel, GeminiChannel, ToldChannel, Channel)
    kinds = {kind.name: kind for kind in known}
    return kinds[name](surroundings)
