"""The scripted model with the scenarios of the tests."""

from __future__ import annotations

from collections.abc import Sequence

from synapse.selftest import model
from synapse.selftest.steps import Step, Wait
from tests.real.scenarios import expected, script, texts

__all__ = ["ModelServer", "expected", "texts"]


class ModelServer(model.ModelServer):
    """`speed` multiplies every pause of a scenario: 0 for none. `thinking` is one more, before each reply."""

    def __init__(self, speed: float = 1.0) -> None:
        super().__init__(self._steps, speed)
        self.thinking = 0.0  # seconds

    def reset(self) -> None:
        """As at its start, without pauses: for the next test that shares it."""
        self.speed = self.thinking = 0.0
        for seen in (self.requests, self.replies, self.side_replies, self.failures):
            seen.clear()

    def _steps(self, prompt: str, results: Sequence[str] = ()) -> list[Step]:
        steps = script(prompt, results)
        return [Wait(self.thinking), *steps] if self.thinking else steps
