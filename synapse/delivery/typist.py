"""Types for Synapse into an agent's terminal: a few keys as one piece, and what interrupts the agent."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from synapse.agent_terminal import AgentTerminal
from synapse.keys import names as keys
from synapse.profiles.loader import clear_bytes
from synapse.registry import INPUT_REQUIRED, READY

PRESS_AGAIN = 2.0  # seconds for an interrupt to work
PRESSES = 5
RESTORED = 0.3  # seconds after which an interrupted prompt is back in the composer


class Typist:
    """`pause` waits for news, or so many seconds."""

    def __init__(
        self,
        controller: AgentTerminal,
        pause: Callable[[float | None], Awaitable[None]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._controller = controller
        self._pause = pause
        self._clock = clock

    async def inject(
        self,
        name: str,
        steps: list[tuple[float, bytes]],
        careful: bool = True,
        known_output: bool = True,
        draft: str | None = None,
    ) -> str:
        """What became of it."""
        told: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def tell(outcome: str) -> None:
            if not told.done():
                told.set_result(outcome)

        self._controller.inject(name, steps, tell, careful, known_output, draft)
        return await told

    async def interrupt(self, done: Callable[[], bool], length: int) -> None:
        """Press what interrupts this agent until it is READY, or does not care.

        `length` is that of the prompt, which some CLIs put back into their composer."""
        controller = self._controller
        for attempt in range(PRESSES):
            if done() or controller.status == READY:
                break
            prompt = controller.observer.prompt if controller.status == INPUT_REQUIRED else None
            press = controller.profile.interrupt_keys
            if prompt is not None and prompt.cancel:
                press = keys.encode([prompt.cancel])
            await self.inject(f"interrupt/{self._clock()}/{attempt}", [(0.0, press)], careful=False)
            until = self._clock() + PRESS_AGAIN
            while not done() and controller.status != READY and self._clock() < until:
                await self._pause(until - self._clock())
        else:
            if not done() and controller.status != READY:
                await self._pause(PRESS_AGAIN)
                return
        await self._empty_composer(length)

    async def _empty_composer(self, length: int) -> None:
        """The next message would be added to what is there."""
        profile = self._controller.profile
        if self._controller.status == READY and not self._controller.draft:
            steps = [(RESTORED, clear_bytes(profile, length)), (profile.clear_delay, b"")]
            await self.inject(f"clear/{self._clock()}", steps, careful=False)
