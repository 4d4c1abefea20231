"""A running agent's terminal as a stream of asciicast events. Status changes and turns are markers in it."""

import asyncio
import codecs
import json
import time
from collections.abc import AsyncIterator

from synapse.agent_terminal import AgentTerminal
from synapse.base import checkpoints
from synapse.watch.turns import Turn

BACKLOG = 10_000  # events a reader may be behind before it is dropped


async def record(controller: AgentTerminal) -> AsyncIterator[bytes]:
    """Lines of asciicast v2: the header, the current screen, then all output until the reader disconnects.

    Keys are left out, because a human may type a password. A submitted line is marked.
    """
    checkpoints.reached("recording asked for")
    queue: asyncio.Queue[list[object]] = asyncio.Queue(BACKLOG)
    started = time.monotonic()
    decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def put(kind: str, data: str) -> None:
        if not queue.full():
            queue.put_nowait([round(time.monotonic() - started, 4), kind, data])

    def on_output(data: bytes) -> None:
        put("o", decoder.decode(data))

    def on_status(status: str) -> None:
        put("m", f"status {status}")

    def on_ended(turn: Turn) -> None:
        put("m", "turn " + json.dumps({"prompt": turn.prompt, "reply": turn.reply, "source": turn.source}))

    cols, rows = controller.screen.size
    header = {"version": 2, "width": cols, "height": rows, "timestamp": int(time.time())}
    put("o", controller.screen.snapshot().decode("utf-8", "replace"))
    on_status(controller.status)
    controller.add_output_callback(on_output)
    controller.add_status_callback(on_status)
    forget = controller.observer.turns.on_turn(lambda _: put("m", "turn begun"), on_ended)
    try:
        yield json.dumps({**header, "command": controller.profile.name}).encode() + b"\n"
        while not queue.full():
            yield json.dumps(await queue.get(), ensure_ascii=False).encode() + b"\n"
    finally:
        controller.remove_output_callback(on_output)
        controller.remove_status_callback(on_status)
        forget()
