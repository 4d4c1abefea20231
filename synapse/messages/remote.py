"""One message to an agent elsewhere: sent once, followed from host to host, its questions answered here."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable

from synapse.a2a_client import AsyncA2AClient
from synapse.errors import SynapseError
from synapse.messages.pending import FOREVER, Errand
from synapse.messages.prompts import chosen
from synapse.peers.task import A2ATask, Json, OnEvent, StillWorking

GONE = "it does not ask any more: nothing was sent."


class ExternalErrand:
    """`keep` stores the errand and says whether it could; `tell` is told what happens; `not_taken` is given
    an answer that was not, and why."""

    def __init__(
        self,
        errand: Errand,
        client: AsyncA2AClient,
        keep: Callable[[Errand], bool],
        tell: OnEvent,
        not_taken: Callable[[str, str], None],
    ) -> None:
        self._errand = errand
        self._client = client
        self._keep = keep
        self._tell = tell
        self._not_taken = not_taken
        self._task = A2ATask(errand.task, context_id=errand.context)
        self._answer: asyncio.Future[str] | None = None

    async def carry(self) -> A2ATask:
        """The task when it has ended; if nobody waits for that, when the agent has it."""
        errand = self._errand
        patience = errand.timeout or FOREVER
        try:
            async with asyncio.timeout(patience):
                if not errand.task:
                    await self._send()
                while errand.wait and not self._task.ended:
                    await self._follow()
        except TimeoutError:
            late = f"{errand.target} has not finished within {patience:g} s."
            raise StillWorking(late + self._where, self._task) from None
        except SynapseError as error:
            raise SynapseError(f"{error}{self._where}") from error
        return self._task

    async def _send(self) -> None:
        """What may have been sent by a host before this one is not sent again."""
        errand = self._errand
        if errand.begun:
            raise SynapseError("this was being sent when Synapse was interrupted: it may have arrived.")
        errand.begun = True
        if not self._keep(errand):
            raise SynapseError("it cannot be stored that this is being sent: it was not. Is the disk full?")
        self._task = await self._client.send_message(
            errand.alias, errand.message, errand.wait, FOREVER, on_event=self._on_event
        )

    def _on_event(self, kind: str, data: Json) -> None:
        if kind == "accepted":
            self._errand.task, self._errand.context = str(data["task_id"]), str(data["context_id"])
            self._keep(self._errand)
        self._tell(kind, data)

    @property
    def _where(self) -> str:
        if not self._errand.task:
            return ""
        there = f"synapse external task {self._errand.alias} {shlex.quote(self._errand.task)}"
        return f" `{there}` says what becomes of it."

    # --- questions ----------------------------------------------------------------------------------------

    async def _follow(self) -> None:
        """Until it has ended or a question is answered here; somebody there may answer it just as well."""
        self._answer = answer = asyncio.get_running_loop().create_future()
        following = asyncio.ensure_future(
            self._client.follow_task(
                self._errand.alias, self._task, FOREVER, self._on_event, through_questions=True
            )
        )
        try:
            await asyncio.wait({following, answer}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._answer = None
            if not following.done():
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)
        if not following.cancelled():
            if answer.done():
                self._not_taken(answer.result(), GONE)
            following.result()
        else:
            await self._give(answer.result())

    def answer(self, text: str) -> None:
        """What the human answers. Nothing is kept for a question that he has not seen."""
        if self._answer is None or self._answer.done() or not self._task.asks:
            self._not_taken(text, GONE)
        else:
            self._answer.set_result(text)

    async def _give(self, text: str) -> None:
        """Sent once: whether it arrived is seen by the task, which is followed on."""
        said = chosen(self._task.prompt or {}, text)
        try:
            await self._client.answer_task(
                self._errand.alias, self._task, said, wait=True, timeout=FOREVER, on_event=self._on_event
            )
        except SynapseError as error:
            self._not_taken(text, str(error))
