"""An agent that sends events itself, over the socket that SYNAPSE_EVENTS names.

{"event": "turn_started", "prompt": "…"}
{"event": "said", "text": "…", "key": "1"}          one with the same key replaces the earlier one
{"event": "state", "state": "processing"}            or ready, or input_required
{"event": "file_changed", "path": "…"}               relative to its working directory, or absolute
{"event": "usage", "input_tokens": 1, "output_tokens": 2, "key": "1"}   of one request to the model
{"event": "turn_ended", "outcome": "completed", "reply": "…"}   or interrupted, or failed with "error"
"""

from collections.abc import Mapping
from typing import Any

from synapse.agents.base import HOOK, Channel, Surroundings, text_of
from synapse.agents.facts import Fact, FileChanged, PromptAccepted, Said, StateSeen, TurnEnded, tokens_used
from synapse.registry import PROCESSING, READY, STATUSES

OUTCOMES = ("completed", "interrupted", "failed")


class EventsChannel(Channel):
    name = "events"
    tells = True

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self._heard = False

    def on_event(self, event: Mapping[str, Any]) -> list[Fact]:
        self._heard = True
        what = event.get("event")
        if what == "turn_started":
            prompt = PromptAccepted(HOOK, text_of(event.get("prompt")))
            return [prompt, StateSeen(HOOK, (PROCESSING,), "event turn_started")]
        if what == "said":
            said = Said(HOOK, text_of(event.get("text")), text_of(event.get("key")))
            return [said, StateSeen(HOOK, (PROCESSING,), "event said")]
        if what == "state":
            state = text_of(event.get("state")).upper()
            return [StateSeen(HOOK, (state,), f"event state {state}")] if state in STATUSES else []
        if what == "file_changed":
            path = text_of(event.get("path"))
            return [FileChanged(path)] if path and "\0" not in path else []
        if what == "usage":
            return tokens_used(event, "input_tokens", "output_tokens", text_of(event.get("key")))
        if what == "turn_ended":
            outcome, reply, error = (event.get(name) for name in ("outcome", "reply", "error"))
            ended = TurnEnded(
                HOOK,
                text_of(outcome) if outcome in OUTCOMES else "completed",
                reply if isinstance(reply, str) else None,
                error if isinstance(error, dict) else None,
            )
            return [ended, StateSeen(HOOK, (READY,), "event turn_ended")]
        return []

    def missing(self) -> list[str]:
        return [] if self._heard else ["the agent has sent no event yet"]


CHANNEL = EventsChannel
