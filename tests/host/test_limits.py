"""A usage limit of the CLI is published until a turn succeeds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from synapse.host.status import LimitPublisher
from synapse.registry import AgentRegistry
from synapse.watch.turns import Turn
from tests.support.home import Home

NOW = 1_800_000_000.0
LIMIT = {"code": "USAGE_LIMIT", "message": "try again in 2 hours", "data": {"retry_after": 7200.0}}


def ended(outcome: str, error: dict[str, Any] | None = None) -> Turn:
    return Turn(1, 0.0, outcome=outcome, error=error)


def publisher(registry: AgentRegistry) -> LimitPublisher:
    controller: Any = SimpleNamespace(limited_until=None)
    return LimitPublisher(registry, "a" * 64, controller, lambda: NOW)


def test_a_limit_is_in_the_registry_until_a_turn_succeeds(home: Home) -> None:
    registry = AgentRegistry()
    registry.register("a" * 64, "claude", 8100)
    try:
        made = publisher(registry)
        made.turn_ended(ended("failed", LIMIT))
        assert made.controller.limited_until == NOW + 7200
        assert registry.list_agents()["a" * 64]["limited_until"] == NOW + 7200
        assert publisher(registry).controller.limited_until == NOW + 7200  # the next host knows it
        made.turn_ended(ended("interrupted"))
        assert made.controller.limited_until == NOW + 7200
        made.turn_ended(ended("completed"))
        assert (
            made.controller.limited_until is None and "limited_until" not in registry.list_agents()["a" * 64]
        )
        made.turn_ended(ended("failed", {"code": "OVERLOADED", "message": "try again in 2 hours"}))
        assert made.controller.limited_until is None
    finally:
        registry.unregister("a" * 64)
