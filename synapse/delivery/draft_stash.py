"""Takes a human's half-typed line out of the composer for a message, and puts it back afterwards.

It is on disk until the screen shows it in the composer again.
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
from synapse.delivery.gate import content, has_text
from synapse.delivery.typist import LEFT, Typist
from synapse.keys.line_editor import NORMAL
from synapse.profiles.loader import in_insert_mode
from synapse.relay.wire import DONE
from synapse.watch.screen.composer import EMPTY, UNKNOWN

logger = logging.getLogger(__name__)

RESTORE_PAUSE = 0.5  # seconds without a key before it is put back
SHOWN = 2.0  # seconds in which the screen must show it; a CLI that works may draw other things first
RESTORES = 3  # how often it is typed, if the screen does not show it


@dataclass(eq=False, repr=False)
class DraftStash:
    """`run` names this run of the agent: a draft of another run is ignored."""

    controller: AgentTerminal
    typist: Typist
    path: str
    run: str = ""
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._count = 0
        self._typed_after: int | None = None  # the number of human keys when it was typed again
        self._typed_at = 0.0
        self._stayed_after: int | None = None  # the number of human keys when nothing of a draft went away
        self.held = self._left_behind()

    @property
    def is_full(self) -> bool:
        """Whether no draft can be taken now: one is held, or the one in the composer has not gone away."""
        return bool(self.held) or self._stayed_after == self.controller.keys

    async def take(self, name: str, text: str) -> str:
        """Store the draft and take it out of the composer: the outcome, as of Typist.clear."""
        self._store(text)
        outcome = await self.typist.clear(name, text, draft="")
        if outcome == DONE:
            self.controller.set_draft(True, "")
            if not has_text(text):
                self.drop()
        elif outcome == LEFT and self._still_shows(text):  # else it would come back a second time
            self.drop()
            self._stayed_after = self.controller.keys
        elif outcome == LEFT:  # it comes back when the human has emptied the prompt
            self.controller.set_draft(False, None)
        else:
            self.drop()
        return outcome

    def _still_shows(self, text: str) -> bool:
        shown = self.controller.composer.text
        return shown is not None and shown.split() == text.split()

    def _store(self, text: str) -> None:
        document = json.dumps({"run": self.run, "text": text}, ensure_ascii=False)
        try:
            files.replace(self.path, document.encode("utf-8", "replace"))
        except OSError as error:
            logger.warning("a draft cannot be kept on disk: %s", error)
        self.held, self._count = text, 0

    def drop(self) -> None:
        self.held, self._typed_after = "", None
        try:
            os.unlink(self.path)
        except FileNotFoundError:
            pass
        except OSError as error:
            logger.warning("cannot remove %s: %s", self.path, error)

    async def give_back(self, now: bool) -> None:
        """Type it again if the composer is empty and the human pauses; `now`: the agent accepts keys."""
        controller = self.controller
        if self._typed_after is not None:
            self._check()
            if self._typed_after is not None:
                return
        text = self.held
        paused = self.clock() - controller.last_key >= RESTORE_PAUSE
        if not text or not now or not paused or content(controller).state != EMPTY:
            return
        if "\n" in text and not controller.takes_pastes:
            logger.warning("a draft of several lines cannot be put back: it is in %s", self.path)
            self.held = ""
            return
        data, is_normal = text.encode(), controller.composer.vim_mode == NORMAL
        is_pasted = "\n" in text or (controller.takes_pastes and self._is_pasted(text, is_normal))
        if is_pasted:
            data = composer.PASTE_START + data + composer.PASTE_END
        steps = [(0.0, data)]
        if is_normal and not is_pasted:
            steps = in_insert_mode(controller.profile, steps)
        self._count += 1
        name = f"draft/{self.run}/{self.clock()}/{self._count}"
        outcome = await self.typist.inject(
            name, steps, known_output=False, draft=text, in_front=not controller.observer.sees_composer
        )
        if outcome == DONE:
            controller.set_draft(False, text)
            self._typed_after, self._typed_at = controller.keys, self.clock()

    def _is_pasted(self, text: str, is_normal: bool) -> bool:
        """A tab is a key of its own, and in the normal mode of vim keys every letter is. What begins with
        another character is typed, since a CLI may switch to another mode at `!` or `/`; and into a shell,
        which marks what was pasted."""
        if is_normal and text[0] != "!":
            return True
        return "\t" in text or (self.controller.observer.sees_composer and text[0].isalnum())

    def _check(self) -> None:
        """Keep it, to type it again, if the screen shows an empty composer and nobody has typed since."""
        controller = self.controller
        seen = controller.composer
        if controller.keys == self._typed_after and seen.state != UNKNOWN:
            if not controller.observer.is_composer_current:
                return
            if seen.state == EMPTY and self.clock() - self._typed_at < SHOWN:
                return
            if seen.state == EMPTY and self._count < RESTORES:
                controller.set_draft(True, "")
                self._typed_after = None
                return
            if seen.text is not None and seen.text.split() != self.held.split():
                logger.warning("a draft was put back, and the screen shows something else")
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
