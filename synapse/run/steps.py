"""Executes the steps of a run: each is a task, asked once, whatever is killed in between."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from synapse.api import aio
from synapse.api.reply import Reply, usage_of
from synapse.base.digest import sha256_hex
from synapse.errors import (
    AgentAsks,
    NoSuchAgent,
    Refused,
    StepFailed,
    SynapseError,
    TargetError,
    TaskFailed,
    UsageError,
)
from synapse.peers.base import Peer
from synapse.peers.local import KIND as LOCAL
from synapse.peers.task import A2ATask, Json, OnEvent
from synapse.run.budget import Budget, spent
from synapse.run.journal import ASKED, DONE, FAILED, TASK, Journal, Step
from synapse.run.questions import Questions
from synapse.run.schema import Expected, Mismatch

if TYPE_CHECKING:
    from synapse.run.schema import Schema

SHOWN = 300  # characters of a prompt or a reply in an error


class Steps:
    """`run` is a name that no other run has or had; `tell(key, sentence)` reports progress."""

    def __init__(
        self,
        run: str,
        journal: Journal,
        budget: Budget,
        *,
        questions: Questions,
        tell: Callable[[str, str], object],
    ) -> None:
        self._run = run
        self._journal = journal
        self._budget = budget
        self._questions = questions
        self._tell = tell

    async def ask(
        self,
        key: str,
        agent: str,
        prompt: str,
        *,
        schema: Schema | None = None,
        timeout: float | None = None,
        fallback: str | None = None,
    ) -> Reply:
        """The reply of a step, from the journal if it has it. Raises StepFailed."""
        if schema is None:
            return await self._reply(key, agent, prompt, timeout, fallback)
        expected = Expected(schema)
        first = await self._reply(key, agent, expected.prompt(prompt), timeout, fallback)
        try:
            return first.with_data(expected.value(first))
        except Mismatch as why:
            # The agent that replied knows what it said.
            repaired = await self._reply(f"{key}.repair", first.agent, expected.repair(why), timeout, None)
            try:
                return repaired.with_data(expected.value(repaired))
            except Mismatch as still:
                for failed in (f"{key}.repair", key):  # a resumed run asks both again
                    self._write(FAILED, failed, error=str(still))
                raise StepFailed(
                    f"step {key}: the reply of {first.agent} does not fit the schema ({still}): it "
                    f"said first {_cut(first)!r}, and then {_cut(repaired)!r}.",
                    key,
                ) from still

    async def _reply(
        self, key: str, agent: str, prompt: str, timeout: float | None, fallback: str | None
    ) -> Reply:
        digest = sha256_hex(prompt)
        step = self._journal.record.steps.get(key)
        if step is not None and step.prompt_hash != digest and (step.task is not None or not step.ended_at):
            raise UsageError(
                f"step {key} was asked with another prompt: {_cut(step.prompt)!r}, and is now "
                f"{_cut(prompt)!r}; start a new run, or give the step another key."
            )
        if step is not None and step.task is not None:
            self._tell(key, f"{step.agent}: known from before")
            return _reply_of(step)
        if step is not None and not step.ended_at:
            found = await self._continue(step, timeout)
            if found is not None:
                return found
        attempt = step.attempt if step is not None else 0
        for name in filter(None, (agent, fallback)):
            if name != fallback and fallback is not None and (until := _limited_until(name)):
                self._tell(key, f"{name} is at its usage limit until {until}; trying {fallback}")
                continue
            attempt += 1
            try:
                return await self._attempt(key, attempt, name, prompt, digest, timeout)
            except StepFailed as failed:
                if name == fallback or fallback is None or not _may_go_on(failed.__cause__):
                    raise
                self._tell(key, f"{failed}; trying {fallback}")
        raise AssertionError("there is always one agent")

    async def _attempt(
        self, key: str, attempt: int, agent: str, prompt: str, digest: str, timeout: float | None
    ) -> Reply:
        try:
            peer = await aio.find(agent)
        except (TargetError, SynapseError) as error:
            raise StepFailed(f"step {key}: {error}", key) from error
        # Nothing is awaited between the check and the line, so that steps asked at once count each other.
        self._budget.check(spent(self._journal.record), key)
        request_id = sha256_hex(f"{self._run}\0{key}\0{attempt}")[:32]
        self._write(
            ASKED,
            key,
            attempt=attempt,
            agent=peer.name,
            address=peer.address,
            request_id=request_id,
            prompt_hash=digest,
            prompt=prompt,
        )
        self._tell(key, f"{peer.name}: asked")
        return await self._finish(self._journal.record.steps[key], peer, timeout)

    def _write(self, kind: str, key: str, durable: bool = True, **line: Any) -> None:
        try:
            self._journal.write(kind, durable, key=key, **line)
        except SynapseError as error:
            raise StepFailed(f"step {key}: {error}", key) from error

    async def _continue(self, step: Step, timeout: float | None) -> Reply | None:
        """What has become of a step that was under way when the run ended; None: it is to be asked again."""
        peer = aio.directory().at(step.address, step.agent)
        kind, _, place = step.address.partition(":")
        if kind == LOCAL and not _is_alive(place):
            from synapse.tasks.shelf import find_request

            kept = find_request(place, step.request_id)
            if kept is not None and kept.state == "completed":
                return self._keep(step, A2ATask.from_dict(kept.to_dict()), peer)
            why = f"{step.agent} has ended"
        elif peer.idempotent or step.task_id:
            self._tell(step.key, f"{step.agent}: followed")
            try:
                return await self._finish(step, peer, timeout)
            except StepFailed as failed:
                if not isinstance(failed.__cause__, TaskFailed | TargetError):
                    raise
                return None  # `_finish` has noted it
        else:
            why = f"{step.agent} may have got the message, and cannot be asked about it"
        self._write(FAILED, step.key, error=why)
        return None

    async def _finish(self, step: Step, peer: Peer, timeout: float | None) -> Reply:
        """Send the message, or the same message again, and wait for the end of its task."""
        key = step.key

        def note(_: str, data: Json) -> None:
            task_id = str(data.get("task_id") or "")
            if task_id and self._journal.record.steps[key].task_id != task_id:
                self._write(TASK, key, durable=not peer.idempotent, task_id=task_id)

        try:
            async with asyncio.timeout(timeout):
                task = await self._wait(step, peer, note)
        except TimeoutError as error:
            raise StepFailed(
                f"step {key}: {peer.name} has not replied within {timeout:g} s, and goes on: resume the "
                "run to wait for it.",
                key,
            ) from error
        except AgentAsks as asks:
            raise StepFailed(f"step {key}: {asks}", key) from asks
        except (TargetError, Refused) as error:
            self._write(FAILED, key, error=str(error))
            raise StepFailed(f"step {key}: {error}", key) from error
        return self._keep(step, task, peer)

    async def _wait(self, step: Step, peer: Peer, note: OnEvent) -> A2ATask:
        """Wait for the end of the task. What it asks is asked here, unless somebody answers it elsewhere."""
        asking: asyncio.Future[None] | None = None
        unanswered: BaseException | None = None

        def on_event(kind: str, data: Json) -> None:
            nonlocal asking
            note(kind, data)
            if asking is not None:
                asking.cancel()
                asking = None
            if kind == "asks":
                asking = asyncio.ensure_future(self._questions.answer(step.key, peer, str(data["task_id"])))
                asking.add_done_callback(asked)

        def asked(done: asyncio.Future[None]) -> None:
            nonlocal unanswered
            if not done.cancelled() and (error := done.exception()) is not None:
                unanswered = error
                waiting.cancel()

        if step.task_id and not peer.idempotent:
            call = peer.follow(step.task_id, on_event=on_event, through_questions=True)
        else:
            call = peer.send(
                step.prompt, wait=True, request_id=step.request_id, on_event=on_event, through_questions=True
            )
        waiting = asyncio.ensure_future(call)
        try:
            return await waiting
        except asyncio.CancelledError:
            if unanswered is not None:
                raise unanswered from None
            raise
        finally:
            waiting.cancel()
            if asking is not None:
                asking.cancel()

    def _keep(self, step: Step, task: A2ATask, peer: Peer) -> Reply:
        try:
            aio.finished(task, peer)
        except TaskFailed as failed:
            self._write(FAILED, step.key, error=str(failed), canceled=task.status == "canceled")
            raise StepFailed(f"step {step.key}: {failed}", step.key) from failed
        self._write(DONE, step.key, task=task.to_dict(), tokens=usage_of(task).tokens)
        self._tell(step.key, f"{peer.name}: replied")
        return _reply_of(self._journal.record.steps[step.key])


def _reply_of(step: Step) -> Reply:
    task = A2ATask.from_dict(step.task or {})
    task.agent, task.address = step.agent, step.address
    return Reply.of(task)


def _may_go_on(cause: object) -> bool:
    """Whether another agent may do it: not if a human has canceled or denied it."""
    if isinstance(cause, TaskFailed):
        return bool(cause.task.status == "failed")
    return isinstance(cause, TargetError | Refused | NoSuchAgent)


def _is_alive(agent_id: str) -> bool:
    from synapse.registry import AgentRegistry

    return AgentRegistry().is_alive(agent_id)


def _limited_until(name: str) -> str:
    """When the usage limit of a local agent ends; empty if it has none."""
    from synapse.registry import AgentRegistry

    try:
        until = AgentRegistry().resolve(name).get("limited_until")
    except TargetError:
        return ""
    if not isinstance(until, float) or until <= time.time():
        return ""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(until))


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
