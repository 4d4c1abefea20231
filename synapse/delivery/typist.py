"""Types into an agent's terminal: keys as one piece, and those that interrupt the agent."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from synapse.agent_terminal import AgentTerminal
from synapse.keys import names as keys
from synapse.profiles.loader import clear_bytes
from synapse.registry import INPUT_REQUIRED, READY

PRESS_AGAIN = 2.0  # seconds until the interrupt keys are pressed again
PRESSES = 5
RESTORED = 0.3  # seconds after which an interrupted prompt is back in the composer


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
        in_front: bool = False,
    ) -> str:
        """The outcome; see AgentTerminal.inject for the arguments."""
        told: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def tell(outcome: str) -> None:
            if not told.done():
                told.set_result(outcome)

        self.controller.inject(name, steps, tell, careful, known_output, draft, in_front)
        return await told

    async def interrupt(self, done: Callable[[], bool], length: int) -> None:
        """Press the interrupt keys until the agent is READY, `done` holds, or PRESSES are used up.

        `length` is that of the prompt, which some CLIs put back into their composer."""
        controller = self.controller
        for attempt in range(PRESSES):
            if done() or controller.status == READY:
                break
            prompt = controller.observer.prompt if controller.status == INPUT_REQUIRED else None
            press = controller.profile.interrupt_keys
            if prompt is not None and prompt.cancel:
                press = keys.encode([prompt.cancel])
            await self.inject(f"interrupt/{self.clock()}/{attempt}", [(0.0, press)], careful=False)
            until = self.clock() + PRESS_AGAIN
            while not done() and controller.status != READY and self.clock() < until:
                await self.pause(until - self.clock())
        else:
            if not done() and controller.status != READY:
                await self.pause(PRESS_AGAIN)
                return
        if controller.status == READY and not controller.draft:  # clear what the CLI has put back
            profile = controller.profile
            steps = [(RESTORED, clear_bytes(profile, length)), (profile.clear_delay, b"")]
            await self.inject(f"clear/{self.clock()}", steps, careful=False)
