"""The scripted model with the scenarios of the tests."""

from __future__ import annotations

from synapse.selftest import model
from tests.real.scenarios import expected, script, texts

__all__ = ["ModelServer", "expected", "texts"]


class ModelServer(model.ModelServer):
    """`speed` multiplies every pause of a scenario: 0 for none at all."""

    def __init__(self, speed: float = 1.0) -> None:
        super().__init__(script, speed)
