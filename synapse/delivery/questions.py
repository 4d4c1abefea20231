"""What an agent asks while it works on a task: told to the task, and answered by who may."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from synapse.agent_terminal import AgentTerminal
from synapse.base.states import INPUT_REQUIRED as ASKS
from synapse.delivery import answers
from synapse.delivery.typist import Typist
from synapse.registry import INPUT_REQUIRED
from synapse.relay.injector import DONE, OUTPUT
from synapse.tasks.engine import TaskEngine
from synapse.tasks.task import Json, NotAllowed, Task, WrongState, sender_id
from synapse.watch.questions import InputPrompt

TRIES = 10  # for an answer to a prompt that is being repainted
TRY_AGAIN = 0.1  # seconds
ANSWERED = 2.0  # seconds for a prompt that was answered to go away


class Questions:
    """`is_agent` tells whether a sender is an agent."""

    def __init__(
        self,
        controller: AgentTerminal,
        engine: TaskEngine,
        typist: Typist,
        is_agent: Callable[[Json], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._controller = controller
        self._engine = engine
        self._typist = typist
        self._is_agent = is_agent
        self._clock = clock
        self._one_at_a_time = asyncio.Lock()
        self._answered: tuple[str, float] = ("", 0.0)

    def tell(self, task: Task) -> None:
        """Tell the task what its agent asks now, or that it no longer does."""
        prompt = self._controller.observer.prompt
        if self._controller.status == INPUT_REQUIRED:
            text, at = self._answered
            if prompt is None or (prompt.prompt_text == text and self._clock() - at < ANSWERED):
                return
            if task.state != ASKS or (task.prompt or {}).get("prompt") != prompt.prompt_text:
                self._engine.asks(task, prompt.to_a2a_format())
        elif task.state == ASKS and not task.ended:
            self._engine.store.update_status(task.id, "working", note="the prompt is gone")

    async def answer(self, task: Task, text: str, by: Json | None) -> None:
        """Give the open prompt its answer, if it is still the one that was asked about."""
        self._check(task, by)
        async with self._one_at_a_time:
            prompt = self._open_prompt(task)
            profile = self._controller.profile
            steps = answers.answer_keys(prompt, text, profile.submit_sequence.encode(), profile.submit_delay)
            for _ in range(TRIES):
                outcome = await self._typist.inject(f"{task.id}/answer/{self._clock()}", steps)
                if outcome != OUTPUT:
                    break
                await asyncio.sleep(TRY_AGAIN)  # it may only have repainted
                self._open_prompt(task)
            if outcome != DONE:
                raise WrongState("somebody typed at the same moment: look at the task, and answer again.")
            self._answered = (prompt.prompt_text, self._clock())
            self._engine.store.add_receipt(task, "answered")
            self._engine.store.provide_input(task.id, text)

    def _open_prompt(self, task: Task) -> InputPrompt:
        """The prompt that the task has told of."""
        prompt = self._controller.observer.prompt
        asks = self._controller.status == INPUT_REQUIRED and task.state == ASKS
        if not asks or prompt is None or not _same(prompt, task.prompt):
            raise WrongState("the prompt is gone: somebody has answered it.")
        return prompt

    def _check(self, task: Task, by: Json | None) -> None:
        """A human and commands of this user may, and who sent the task; an agent if the profile names it."""
        if not by or sender_id(by) in self._controller.profile.answers:
            return
        if by != task.sender or self._is_agent(by):
            raise NotAllowed(
                f"{sender_id(by)} may not answer this agent's prompts: "
                "a human may, who sent the task if that is no agent, or who its profile names."
            )


def _same(prompt: InputPrompt, asked: Json | None) -> bool:
    return asked is None or asked.get("prompt") == prompt.prompt_text
