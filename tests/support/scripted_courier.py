"""A courier without an agent: each line of a task's text is a step that it does.

`say TEXT` is the reply; `stream A|B|C` the reply in pieces; `ask QUESTION` waits for an answer and says it;
`park QUESTION` asks and holds nothing; `fail TEXT`, `reject TEXT`; `wait SECONDS`; `hold` waits for ever;
`silent SECONDS TEXT` and `pause SECONDS TEXT` as the reference agent has them;
`file NAME MIME TEXT`, `link URL NAME MIME`, `data JSON` make artifacts. Anything else is said back.
"""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode

from synapse.tasks.engine import TaskEngine
from synapse.tasks.task import Json, NotAllowed, Task, message_text
from tests.support.parking import park, reject


class ScriptedCourier:
    def __init__(self, engine: TaskEngine) -> None:
        self._engine = engine
        self._playing: asyncio.Task[None] | None = None
        self._answer: asyncio.Future[str] | None = None
        self.given: list[str] = []  # what the agent was told, in order
        self.answered_by: list[Json | None] = []
        engine.courier = self

    def wake(self) -> None:
        asyncio.get_running_loop().call_soon(self._look)

    async def answer(self, task: Task, text: str, by: Json | None, question: str = "") -> None:
        if by and by.get("id") == "stranger":
            raise NotAllowed("a stranger may not answer what the agent asks.")
        assert self._answer is not None
        self.answered_by.append(by)
        self._engine.store.provide_input(task.id, text)
        self._answer.set_result(text)

    async def close(self) -> None:
        if self._playing is not None:
            self._playing.cancel()
            await asyncio.gather(self._playing, return_exceptions=True)

    def _look(self) -> None:
        running = self._engine.running
        if running is not None:
            if running.cancel_wanted and self._playing is not None:
                self._playing.cancel()
                self._engine.canceled(running, "canceled while the agent was at it")
            return
        task = self._engine.first()
        if task is not None:
            message = self._engine.start(task)
            self._engine.given(task)
            self._playing = asyncio.get_running_loop().create_task(self._play(task, message_text(message)))

    async def _play(self, task: Task, text: str) -> None:
        self.given.append(text)
        reply: str | None = None
        for line in text.splitlines():
            word, _, rest = line.strip().partition(" ")
            match word:
                case "say":
                    reply = rest
                case "stream":
                    pieces = rest.split("|")
                    for piece in pieces:
                        self._engine.progress(task, piece, append=True)
                        await asyncio.sleep(0)
                    reply = "".join(pieces)
                case "wait":
                    await asyncio.sleep(float(rest))
                case "silent" | "pause":
                    reply = await self._slowly(task, word, rest)
                case "hold":
                    await asyncio.Event().wait()
                case "ask":
                    reply = await self._ask(task, rest)
                case "park":
                    park(
                        self._engine, task, {"type": "text", "prompt": rest, "options": None, "default": None}
                    )
                    return
                case "fail":
                    self._engine.fail(task, {"code": "AGENT_ERROR", "message": rest})
                    return
                case "reject":
                    reject(self._engine, task, {"code": "REJECTED", "message": rest})
                    return
                case "file" | "link" | "data":
                    self._engine.store.add_artifact(task.id, made_artifact(word, rest))
                    reply = reply or ""
                case _:
                    reply = text
        if reply or not task.artifacts:
            self._engine.finish(task, reply or "", "exact")
        else:
            self._engine._end(task, "completed")

    async def _slowly(self, task: Task, word: str, rest: str) -> str:
        seconds, _, text = rest.partition(" ")
        middle = text.rfind(" ") + 1 if word == "pause" else 0
        if middle:
            self._engine.progress(task, text[:middle], append=True)
        await asyncio.sleep(float(seconds))
        if middle:
            self._engine.progress(task, text[middle:], append=True)
        return text

    async def _ask(self, task: Task, question: str) -> str:
        self._answer = asyncio.get_running_loop().create_future()
        prompt = {"type": "confirmation", "prompt": question, "options": ["y", "n"], "default": "y"}
        self._engine.asks(task, {**prompt, "keys": {"y": "y", "n": "n"}})
        return await self._answer


def made_artifact(kind: str, rest: str) -> Json:
    if kind == "data":
        return {"type": "data", "name": "data", "parts": [{"type": "data", "data": json.loads(rest)}]}
    first, second, third = rest.split(" ", 2)
    if kind == "file":
        content = b64encode(third.encode()).decode()
        part = {"type": "file", "name": first, "mime_type": second, "bytes": content}
    else:
        part = {"type": "file", "uri": first, "name": second, "mime_type": third}
    return {"type": "file", "name": part["name"], "parts": [part]}
