"""Takes a human's half-typed line out of the composer for a message, and puts it back afterwards.

Only a line whose text is known is moved, and only after a pause in typing. It is on disk while it is not in
the composer.
"""

import json
import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass

from synapse.agent_terminal import AgentTerminal
from synapse.base import files
from synapse.delivery import composer
from synapse.delivery.typist import LEFT, Typist
from synapse.relay.injector import DONE

logger = logging.getLogger(__name__)

PATIENCE = 20.0  # seconds without a key
RESTORE_PAUSE = 0.5  # seconds without a key before it is put back
WAITS = "a human has a half-typed line in the agent's prompt"


@dataclass(eq=False, repr=False)
class DraftStash:
    """`run` names this run of the agent: a draft of another run is ignored."""

    controller: AgentTerminal
    typist: Typist
    path: str
    run: str = ""
    patience: float = PATIENCE
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._count = 0
        self.held = self._left_behind()

    def in_the_way(self) -> tuple[str, float | None]:
        """Why the draft cannot be moved now, and the seconds until that may change."""
        if not self.patience or not self.controller.draft_text or self.held:  # only one can be held
            return WAITS, None
        quiet = self.clock() - self.controller.last_key
        return ("", None) if quiet >= self.patience else (WAITS, self.patience - quiet)

    async def take(self, name: str) -> str:
        """Store the draft and take it out of the composer: the outcome, as of Typist.clear."""
        text = self.controller.draft_text
        assert text
        self._store(text)
        outcome = await self.typist.clear(name, text, draft="")
        if outcome == DONE:
            self.controller.set_draft(True, "")
        elif outcome == LEFT:  # it comes back when the human has emptied the prompt
            self.controller.set_draft(False, None)
        else:
            self.drop()
        return outcome

    def _store(self, text: str) -> None:
        document = json.dumps({"run": self.run, "text": text}, ensure_ascii=False)
        try:
            files.replace(self.path, document.encode("utf-8", "replace"))
        except OSError as error:
            logger.warning("a draft cannot be kept on disk: %s", error)
        self.held = text

    def drop(self) -> None:
        self.held = ""
        try:
            os.unlink(self.path)
        except FileNotFoundError:
            pass
        except OSError as error:
            logger.warning("cannot remove %s: %s", self.path, error)

    async def give_back(self, now: bool) -> None:
        """Type it again if the composer is empty and the human pauses; `now`: the agent accepts keys."""
        controller, text = self.controller, self.held
        paused = self.clock() - controller.last_key >= RESTORE_PAUSE
        if not text or not now or controller.draft or not paused:
            return
        if "\n" in text and not controller.takes_pastes:
            logger.warning("a draft of several lines cannot be put back: it is in %s", self.path)
            self.held = ""
            return
        data = text.encode()
        if "\n" in text or ("\t" in text and controller.takes_pastes):  # a tab is a key of its own
            data = composer.PASTE_START + data + composer.PASTE_END
        self._count += 1
        name = f"draft/{self.run}/{self.clock()}/{self._count}"
        if await self.typist.inject(name, [(0.0, data)], known_output=False, draft=text) == DONE:
            controller.set_draft(False, text)
            self.drop()

    def _left_behind(self) -> str:
        try:
            with open(self.path, encoding="utf-8") as file:
                kept = json.load(file)
            text = str(kept["text"]) if kept["run"] == self.run else ""
        except (OSError, ValueError, KeyError, TypeError):
            return ""
        if not text or text == self.controller.draft_text:  # it was never taken out
            self.drop()
            return ""
        return text
