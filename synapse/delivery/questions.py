"""The questions that an agent asks during a task: reported to the task, and answered."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from synapse.agent_terminal import AgentTerminal
from synapse.base.states import INPUT_REQUIRED as ASKS
from synapse.delivery import answers
from synapse.delivery.typist import Typist
from synapse.registry import INPUT_REQUIRED
from synapse.relay.injector import DONE, OUTPUT
from synapse.tasks.engine import TaskEngine
from synapse.tasks.task import Json, NotAllowed, Task, WrongState, sender_id
from synapse.watch.screen.questions import InputPrompt

TRIES = 10  # for an answer to a prompt that is being repainted
TRY_AGAIN = 0.1  # seconds
ANSWERED = 2.0  # seconds in which an answered prompt may still be on the screen


@dataclass(eq=False, repr=False)
class Questions:
    """`is_agent` tells whether a sender is an agent."""

    controller: AgentTerminal
    engine: TaskEngine
    typist: Typist
    is_agent: Callable[[Json], bool]
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._one_at_a_time = asyncio.Lock()
        self._answered: tuple[InputPrompt | None, float] = (None, 0.0)

    def tell(self, task: Task) -> None:
        """Report the agent's open question to the task, or that it is gone."""
        prompt = self.controller.observer.prompt
        if self.controller.status == INPUT_REQUIRED:
            answered, at = self._answered
            if prompt is None or (
                answered is not None
                and _is(answered.to_a2a_format(), prompt)
                and self.clock() - at < ANSWERED
            ):
                return
            if task.state != ASKS or not _is(task.prompt, prompt):
                self.engine.asks(task, prompt.to_a2a_format())
        elif task.state == ASKS and not task.ended:
            self.engine.store.update_status(task.id, "working", note="the prompt is gone")

    async def answer(self, task: Task, text: str, by: Json | None) -> None:
        """Answer the open prompt, if it is still the one that was reported."""
        self._check(task, by)
        async with self._one_at_a_time:
            prompt = self._open_prompt(task)
            profile = self.controller.profile
            steps = answers.answer_keys(prompt, text, profile.submit_sequence.encode(), profile.submit_delay)
            for _ in range(TRIES):
                outcome = await self.typist.inject(f"{task.id}/answer/{self.clock()}", steps)
                if outcome != OUTPUT:
                    break
                await asyncio.sleep(TRY_AGAIN)  # it may only have repainted
                self._open_prompt(task)
            if outcome != DONE:
                raise WrongState("somebody typed at the same moment: look at the task, and answer again.")
            self._answered = (prompt, self.clock())
            if prompt.permission and (turn := self.controller.observer.turns.current) is not None:
                no = answers.denies(prompt, text)
                turn.permitted, turn.denied = not no, prompt.subject or prompt.question if no else None
            self.engine.store.add_receipt(task, "answered")
            self.engine.store.provide_input(task.id, text)

    def _open_prompt(self, task: Task) -> InputPrompt:
        prompt, asked = self.controller.observer.prompt, task.prompt
        asks = self.controller.status == INPUT_REQUIRED and task.state == ASKS
        if not asks or prompt is None or (asked is not None and not _is(asked, prompt)):
            raise WrongState("the prompt is gone: somebody has answered it.")
        return prompt

    def _check(self, task: Task, by: Json | None) -> None:
        """Allowed: humans, this user's commands, the sender if it is not an agent, the profile's list."""
        if not by or sender_id(by) in self.controller.profile.answers:
            return
        if by != task.sender or self.is_agent(by):
            raise NotAllowed(
                f"{sender_id(by)} may not answer this agent's prompts: "
                "a human may, the sender of the task if it is not an agent, or those that its profile names."
            )


def _is(asked: Json | None, prompt: InputPrompt) -> bool:
    """Whether the prompt on the screen is the one that was reported."""
    reported = asked or {}
    return (reported.get("prompt"), reported.get("subject")) == (prompt.prompt_text, prompt.subject)
