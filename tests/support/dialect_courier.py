"""A courier that does what the message says, without a terminal, to test what is around the engine.

`say X` answers X, `chunks N` streams N pieces of 1 KB, `ask X` asks and answers with the answer, `secret`
asks for a password, `park X` asks and lets go, `fail X` fails, `hang` works until it is canceled, `hold`
waits for `release`. Anything else is answered with itself.
"""

from __future__ import annotations

import asyncio

from synapse.tasks.engine import TaskEngine
from synapse.tasks.task import Json, NotAllowed, Task, WrongState, message_text
from tests.support.parking import park

KILOBYTE = "x" * 1023 + "\n"


class ScriptedCourier:
    def __init__(self, engine: TaskEngine) -> None:
        self.engine = engine
        self.seen: list[str] = []  # every message, in the order in which the agent was given them
        self.answers: list[tuple[str, Json | None]] = []
        self.release = asyncio.Event()
        self._news = asyncio.Event()
        self._answer: asyncio.Future[str] | None = None
        engine.courier = self
        self._work = asyncio.create_task(self._carry())

    def wake(self) -> None:
        self._news.set()

    async def answer(self, task: Task, text: str, by: Json | None, question: str = "") -> None:
        if by == {"id": "stranger"}:
            raise NotAllowed("stranger may not answer: the profile does not allow it.")
        if self._answer is None or self._answer.done():
            raise WrongState("the prompt is gone.")
        self.answers.append((text, by))
        self.engine.store.provide_input(task.id, text)
        self._answer.set_result(text)

    async def close(self) -> None:
        self._work.cancel()
        await asyncio.gather(self._work, return_exceptions=True)

    async def _carry(self) -> None:
        while True:
            task = self.engine.first()
            if task is None:
                self._news.clear()
                await self._news.wait()
                continue
            text = message_text(self.engine.start(task))
            self.seen.append(text)
            self.engine.given(task)
            await asyncio.sleep(0)
            await self._do(task, *text.partition(" ")[::2])

    async def _do(self, task: Task, word: str, rest: str) -> None:
        engine = self.engine
        match word:
            case "say":
                engine.progress(task, rest, append=False)
                engine.finish(task, rest, "exact")
            case "chunks":
                for _ in range(int(rest)):
                    engine.progress(task, KILOBYTE, append=True)
                engine.finish(task, KILOBYTE * int(rest), "exact")
            case "ask" | "secret":
                kind = "password" if word == "secret" else "confirmation"
                self._answer = asyncio.get_running_loop().create_future()
                engine.asks(task, {"type": kind, "prompt": rest or "Password:", "options": ["y", "n"]})
                answer = await self._answer
                engine.finish(task, "thanks" if word == "secret" else f"you said {answer}", "exact")
            case "park":
                park(engine, task, {"type": "text", "prompt": rest})
            case "fail":
                engine.fail(task, {"code": "AGENT_ERROR", "message": rest})
            case "hang":
                while not task.cancel_wanted:
                    self._news.clear()
                    await self._news.wait()
                engine.canceled(task, "interrupted")
            case "hold":
                await self.release.wait()
                engine.finish(task, "held", "exact")
            case _:
                engine.finish(task, f"{word} {rest}".strip(), "exact")
