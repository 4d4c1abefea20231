"""A human's half-typed line that is in the way of a message: taken out of the composer, put back after it.

Only a line that is known to the letter is touched, and only when its author has paused for long enough. It is
on disk for as long as it is not in the composer.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable

from synapse.agent_terminal import AgentTerminal
from synapse.base import files
from synapse.delivery import composer
from synapse.delivery.typist import Typist
from synapse.profiles.loader import clear_steps
from synapse.relay.injector import DONE

logger = logging.getLogger(__name__)

PATIENCE = 20.0  # seconds without a key
RESTORE_PAUSE = 0.5  # seconds without a key before it is put back
WAITS = "a human has a half-typed line in the agent's prompt"


class DraftStash:
    """`run` names this run of the agent: what another has left behind belongs to nobody any more."""

    def __init__(
        self,
        controller: AgentTerminal,
        typist: Typist,
        path: str,
        run: str = "",
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._controller = controller
        self._typist = typist
        self._path = path
        self._run = run
        self._patience = patience
        self._clock = clock
        self._count = 0
        self.held = self._left_behind()

    def in_the_way(self) -> tuple[str, float | None]:
        """Why nothing can be typed over the draft, and in how many seconds that may be different."""
        if not self._patience or not self._controller.draft_text or self.held:  # one at a time: none is lost
            return WAITS, None
        quiet = self._clock() - self._controller.last_key
        return ("", None) if quiet >= self._patience else (WAITS, self._patience - quiet)

    def take(self) -> list[tuple[float, bytes]]:
        """The writes that take the draft out; from now on it is kept here."""
        text = self._controller.draft_text
        assert text
        try:
            self._keep(text)
        except OSError as error:
            logger.warning("a draft cannot be kept on disk: %s", error)
        self.held = text
        return clear_steps(self._controller.profile, text)

    def drop(self) -> None:
        """It is in the composer, or back in it."""
        self.held = ""
        try:
            os.unlink(self._path)
        except FileNotFoundError:
            pass
        except OSError as error:
            logger.warning("cannot remove %s: %s", self._path, error)

    async def give_back(self, now: bool) -> None:
        """Type it again if the composer is empty and its human pauses; `now`: the agent takes keys now."""
        controller, text = self._controller, self.held
        paused = self._clock() - controller.last_key >= RESTORE_PAUSE
        if not text or not now or controller.draft or not paused:
            return
        if "\n" in text and not controller.takes_pastes:
            logger.warning("a draft of several lines cannot be put back: it is in %s", self._path)
            self.held = ""
            return
        data = text.encode()
        if "\n" in text or ("\t" in text and controller.takes_pastes):  # a tab is a key of its own
            data = composer.PASTE_START + data + composer.PASTE_END
        self._count += 1
        name = f"draft/{self._run}/{self._clock()}/{self._count}"
        if await self._typist.inject(name, [(0.0, data)], known_output=False, draft=text) == DONE:
            controller.set_draft(False, text)
            self.drop()

    # --- on disk ------------------------------------------------------------------------------------------

    def _keep(self, text: str) -> None:
        document = json.dumps({"run": self._run, "text": text}, ensure_ascii=False)
        files.replace(self._path, document.encode("utf-8", "replace"))

    def _left_behind(self) -> str:
        """What a host before this one had taken out and not put back."""
        try:
            with open(self._path, encoding="utf-8") as file:
                kept = json.load(file)
            text = str(kept["text"]) if kept["run"] == self._run else ""
        except (OSError, ValueError, KeyError, TypeError):
            return ""
        if not text or text == self._controller.draft_text:  # it was never taken out
            self.drop()
            return ""
        return text
