"""What an agent asks in a run: asked at the terminal of the run, or left until it is answered elsewhere."""

from __future__ import annotations

import asyncio
import sys

from synapse.base.text import for_output
from synapse.errors import AgentAsks, SynapseError
from synapse.peers.base import Peer
from synapse.peers.prompts import plain_question, unseen

SETTLED = 0.2  # seconds: the stream of a task begins with questions that were answered before

WAIT, FAIL = "wait", "fail"


class Questions:
    """`mode` says what happens without a terminal: `wait` or `fail`."""

    def __init__(self, mode: str = WAIT) -> None:
        self._mode = mode
        self._here = sys.stdin.isatty() and sys.stderr.isatty()
        self._turn = asyncio.Lock()  # several steps may ask at once; there is one keyboard

    async def answer(self, key: str, peer: Peer, task_id: str) -> None:
        """Ask the human here and send the answer. Cancelled when the question is answered elsewhere.

        Raises AgentAsks if the run is not to wait."""
        await asyncio.sleep(SETTLED)
        task = await peer.get(task_id)
        if not task.asks:
            return
        answers = peer.commands(task_id).answers
        question = for_output(plain_question(task.prompt))
        if not self._here:
            if self._mode == FAIL:
                raise AgentAsks(
                    f"{peer.name} asks: {question}\nAnswer it with `{answers} …`, then resume.", task
                )
            print(f"step {key}: {peer.name} asks: {question}\nanswer it with `{answers} …`", file=sys.stderr)
            return
        async with self._turn:
            while True:
                said = await self._typed(
                    key, peer, question, secret=(task.prompt or {}).get("type") == "password"
                )
                if unseen(task.prompt or {}) and said.isdecimal():
                    print("synapse: answer in words, and look at its screen first.", file=sys.stderr)
                    continue
                if not said:
                    print(f"it waits: answer it with `{answers} …`", file=sys.stderr)
                    return
                try:
                    await peer.answer(task_id, said)
                    return
                except SynapseError as error:
                    print(f"synapse: {error}", file=sys.stderr)
                    if not (task := await peer.get(task_id)).asks:
                        return

    async def _typed(self, key: str, peer: Peer, question: str, secret: bool) -> str:
        from synapse.terminal.input_line import read_hidden_line, read_line

        hidden = " (not shown)" if secret else ""
        print(
            f"\nstep {key}: {peer.name} asks: {question}\nanswer{hidden}: ",
            end="",
            file=sys.stderr,
            flush=True,
        )
        try:
            return await (read_hidden_line() if secret else read_line())
        except asyncio.CancelledError:
            print("\n(this is not asked here any more)", file=sys.stderr)
            raise
