"""Types into an agent's terminal: keys as one piece, and those that interrupt the agent."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from synapse.agent_terminal import AgentTerminal
from synapse.keys import names as keys
from synapse.profiles.loader import interrupt_steps
from synapse.registry import INPUT_REQUIRED, READY
from synapse.relay.wire import DONE
from synapse.watch.screen.composer import DRAFT

PRESS_AGAIN = 2.0  # seconds until the interrupt keys are pressed again
PRESSES = 5
RESTORED = 0.3  # seconds after which an interrupted prompt is back in the composer
CLEARS = 2
SEEN = 1.5  # seconds in which the screen must show that the composer is empty
LOOK_AGAIN = 0.05  # seconds between two looks at it
LEFT = "the prompt could not be cleared"  # an outcome beside those of the injector


@dataclass(eq=False, repr=False)
class Typist:
    """`pause` waits for news, or for so many seconds."""

    controller: AgentTerminal
    pause: Callable[[float | None], Awaitable[None]]
    clock: Callable[[], float] = time.monotonic

    async def inject(
        self,
        name: str,
        steps: list[tuple[float, bytes]],
        careful: bool = True,
        known_output: bool = True,
        draft: str | None = None,
        clear: str | None = None,
        in_front: bool = False,
        unless: Callable[[], object] | None = None,
    ) -> str:
        """The outcome; see AgentTerminal.inject for the arguments. If `unless` holds in a pause between two
        writes, the rest is not typed."""
        told: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def tell(outcome: str) -> None:
            if not told.done():
                told.set_result(outcome)

        self.controller.inject(name, steps, tell, careful, known_output, draft, clear, in_front)
        while unless is not None and not told.done():
            await asyncio.wait({told}, timeout=LOOK_AGAIN)
            if not told.done() and unless():
                self.controller.stop_injection(name)
                break
        return await told

    async def clear(self, name: str, text: str, careful: bool = True, draft: str | None = None) -> str:
        """Remove `text` from the composer and look at it: DONE, LEFT, or why the relay did not type.

        `careful` and `draft` are as in AgentTerminal.inject."""
        for attempt in range(CLEARS):
            outcome = await self.inject(
                f"{name}/clear/{attempt}",
                [],
                careful=careful,
                known_output=not attempt,  # the first one has changed the screen
                draft=draft,
                clear=text,
                in_front=not self.controller.observer.sees_composer,
            )
            if outcome != DONE or await self.sees_no_draft():
                return outcome
        return LEFT

    async def sees_no_draft(self) -> bool:
        """Whether the screen shows no draft in the composer, or does within SEEN seconds."""
        until = self.clock() + SEEN
        while self.controller.composer.state == DRAFT:
            if self.clock() >= until:
                return False
            await self.pause(LOOK_AGAIN)
        return True

    async def interrupt(self, done: Callable[[], bool], text: str) -> None:
        """Press the interrupt keys until the agent is READY, `done` holds, or PRESSES are used up.

        `text` is the prompt, which some CLIs put back into their composer."""
        controller = self.controller
        for attempt in range(PRESSES):
            controller.observer.leave(self.clock())
            if done() or controller.status == READY:
                break
            prompt = controller.observer.prompt if controller.status == INPUT_REQUIRED else None
            steps = interrupt_steps(controller.profile)
            if prompt is not None and prompt.cancel:
                steps = [(0.0, keys.encode([prompt.cancel]))]
            await self.inject(f"interrupt/{self.clock()}/{attempt}", steps, careful=False)
            until = self.clock() + PRESS_AGAIN
            while not done() and controller.status != READY and self.clock() < until:
                await self.pause(until - self.clock())
        else:
            if not done() and controller.status != READY:
                await self.pause(PRESS_AGAIN)
                return
        restored = self.clock() + RESTORED
        while (left := restored - self.clock()) > 0:
            await self.pause(left)
        if controller.status == READY and not controller.draft:  # clear what the CLI has put back
            await self.clear(f"interrupt/{self.clock()}", text, careful=False)
