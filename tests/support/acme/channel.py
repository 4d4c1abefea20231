"""What Acme writes into its journal."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from synapse.agents.base import TRANSCRIPT, Channel, Surroundings
from synapse.agents.errors import ReportedError
from synapse.agents.facts import Fact, PromptAccepted, StateSeen, TurnEnded
from synapse.agents.tail import JsonlTail
from synapse.registry import PROCESSING, READY


class AcmeChannel(Channel):
    name = "acme"
    tells = tells_all = True

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self._journal = JsonlTail(os.path.join(surroundings.home, "acme.jsonl"))

    def poll(self) -> list[Fact]:
        facts: list[Fact] = []
        for line in self._journal.read_new():
            if "asked" in line:
                facts += [
                    PromptAccepted(TRANSCRIPT, line["asked"]),
                    StateSeen(TRANSCRIPT, (PROCESSING,), "asked"),
                ]
            elif "broke" in line:
                facts += [
                    TurnEnded(TRANSCRIPT, "failed", None, line),
                    StateSeen(TRANSCRIPT, (READY,), "broke"),
                ]
            else:
                facts += [
                    TurnEnded(TRANSCRIPT, "completed", line["answered"]),
                    StateSeen(TRANSCRIPT, (READY,), "answered"),
                ]
        return facts

    @staticmethod
    def read_error(event: Mapping[str, Any]) -> ReportedError | None:
        return ReportedError(str(event["broke"]), ends=True, known=True, means="USAGE_LIMIT")

    def missing(self) -> list[str]:
        return [] if self.surroundings.argument("--journal") else ["Acme was started without its journal"]


CHANNEL = AcmeChannel
