"""One message and its reply, as a terminal or a pipe shows them: progress aside, the reply alone."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from typing import Protocol

from synapse.a2a_client import AsyncA2AClient, Origin
from synapse.base.text import for_output
from synapse.cli.leaving import Underway, elsewhere, leave
from synapse.errors import NoSuchAgent, Refused, SynapseError, TargetError
from synapse.launch.starter import find_or_start
from synapse.messages.prompts import chosen
from synapse.peers.task import A2ATask, Json, StillWorking
from synapse.registry import AgentRegistry, Entry, current_dir
from synapse.terminal.cells import crop

SHOWN_EVERY = 1.0
ASKS = 5  # the exit status


class Reply(Protocol):
    """How a reply is shown: `partial` is given all of it so far, `end` all of it."""

    @property
    def begun(self) -> bool: ...

    def partial(self, text: str) -> None: ...

    def settle(self) -> None: ...

    def end(self, text: str) -> None: ...


class PlainReply:
    """As it is. A terminal is given nothing that would drive it, and each piece when it comes."""

    def __init__(self) -> None:
        self._printed = ""
        self._streams = sys.stdout.isatty()

    @property
    def begun(self) -> bool:
        return bool(self._printed)

    def partial(self, text: str) -> None:
        text = for_output(text)
        if self._streams and text.startswith(self._printed):
            sys.stdout.write(text[len(self._printed) :])
            sys.stdout.flush()
            self._printed = text

    def settle(self) -> None:
        pass

    def end(self, text: str) -> None:
        if not self._streams:
            sys.stdout.write(text if text.endswith("\n") else text + "\n")
            return
        text = for_output(text)
        if self._printed and text.startswith(self._printed):
            sys.stdout.write(text[len(self._printed) :] + "\n")
        else:
            sys.stdout.write(("\n\n" if self._printed else "") + text + "\n")


class Conversation:
    def __init__(self, timeout: float, priority: int, as_json: bool) -> None:
        self._client = AsyncA2AClient(Origin.from_environment(), timeout=timeout)
        self._timeout = timeout
        self._priority = priority
        self._json = as_json
        self._talks = sys.stderr.isatty() and not as_json
        self.reply: Reply = PlainReply()
        self._sent: list[Underway] = []
        self._said = ""  # so far
        self._status = "sent"
        self._asking = False  # then no progress is drawn over the question

    # --- one agent ----------------------------------------------------------------------------------------

    async def send(self, target: str, message: str, wait: bool) -> int:
        try:
            entry = AgentRegistry().resolve(target)
        except TargetError as error:
            if self._client.registry.get(target) is not None:
                return await self._send_elsewhere(target, message, wait)
            if not isinstance(error, NoSuchAgent):
                raise
            entry = await asyncio.to_thread(find_or_start, target, _tell)
        sent = self._sending_to(entry)
        task = sent.take(await self._client.send_to_local(entry, message, self._priority, waits=wait))
        if not wait:
            self._tell_sent(task, str(entry["name"]))
            return 0
        try:
            task = sent.take(await self._until_done(entry, task))
        except StillWorking as late:
            if self._json:
                print_json(late.task.to_dict())
            raise
        except TargetError:
            task = await _last_known(task)  # the agent has ended: what became of the task is in its file
            if not task.ended:
                raise
        return self._ended(task, str(entry["name"]))

    def _sending_to(self, entry: Entry) -> Underway:
        async def cancel(task_id: str) -> A2ATask:
            return await self._client.cancel_local_task(entry, task_id)

        self._sent.append(Underway(str(entry["name"]), cancel))
        return self._sent[-1]

    async def _until_done(self, entry: Entry, task: A2ATask) -> A2ATask:
        """One stream for all of it: what the agent asks is asked here, where somebody can answer."""
        ticking = asyncio.ensure_future(self._tick(str(entry["name"]))) if self._talks else None
        asks_here = sys.stdin.isatty() and self._talks
        asking: asyncio.Task[None] | None = None

        def on_event(kind: str, data: Json) -> None:
            nonlocal asking
            self._on_event(kind, data)
            if kind == "asks" and asks_here and (asking is None or asking.done()):
                asking = asyncio.ensure_future(self._ask_here(entry, task.id, data, following))

        following = asyncio.ensure_future(
            self._client.follow_local(entry, task.id, self._timeout, on_event, through_questions=asks_here)
        )
        try:
            return await following
        except asyncio.CancelledError:
            if asking is None or not asking.done():
                raise
            return await self._client.get_local_task(entry, task.id)  # nothing was answered
        finally:
            for running in (ticking, asking):
                if running is not None:
                    running.cancel()
            self._clear_line()

    async def _ask_here(
        self, entry: Entry, task_id: str, data: Json, following: asyncio.Future[A2ATask]
    ) -> None:
        while True:
            self._clear_line()
            self.reply.settle()
            self._asking = True
            try:
                answer = await _ask(data.get("prompt") or {})
            finally:
                self._asking = False
            if not answer:
                following.cancel()
                return
            try:
                await self._client.answer_local(entry, task_id, answer)
                return
            except SynapseError as error:
                print(f"synapse: {error}", file=sys.stderr)

    async def _send_elsewhere(self, alias: str, message: str, wait: bool) -> int:
        self._sent.append(elsewhere(self._client, alias))
        task = await self._say_elsewhere(self._sent[-1], message, wait)
        if not wait:
            self._tell_sent(task, alias)
            return 0
        while task.asks and sys.stdin.isatty() and self._talks:
            self.reply.settle()
            prompt = task.prompt or {}
            answer = await _ask(prompt)
            if not answer:
                break
            try:
                task = await self._say_elsewhere(self._sent[-1], chosen(prompt, answer), wait, task)
            except Refused as error:
                print(f"synapse: {error}", file=sys.stderr)
                task = await self._client.follow_task(alias, task.id, self._timeout)  # it may be answered
        return self._ended(task, alias)

    async def _say_elsewhere(
        self, sent: Underway, message: str, wait: bool, asked: A2ATask | None = None
    ) -> A2ATask:
        """A message, or the answer to what was `asked`."""

        def on_event(kind: str, data: Json) -> None:
            sent.task = str(data.get("task_id") or sent.task)
            if wait:
                self._on_event(kind, data)

        ticking = asyncio.ensure_future(self._tick(sent.name)) if self._talks and wait else None
        try:
            if asked is None:
                saying = self._client.send_message(sent.name, message, wait, self._timeout, on_event=on_event)
            else:
                saying = self._client.answer_task(
                    sent.name, asked, message, wait, self._timeout, on_event=on_event
                )
            return sent.take(await saying)
        finally:
            if ticking is not None:
                ticking.cancel()
                self._clear_line()

    def _tell_sent(self, task: A2ATask, name: str) -> None:
        if self._json:
            print_json(task.to_dict())
        else:
            print(f"sent {task.id[:8]} to {name}: `{self._sent[-1].shows}` shows what becomes of it")

    def _ended(self, task: A2ATask, name: str) -> int:
        if self._json:
            print_json(task.to_dict())
        elif task.text or task.status == "completed":
            self.reply.end(task.text)
        if task.asks:
            prompt = task.prompt or {}
            question = for_output(str(prompt.get("prompt", "")))
            offered = for_output(", ".join(map(str, prompt.get("options") or ())))
            print(
                f"{name} asks: {question}{f' [{offered}]' if offered else ''}\n"
                f'answer it with `{self._sent[-1].answers} "…"`',
                file=sys.stderr,
            )
            return ASKS
        if task.status == "completed":
            return 0
        print(f"synapse: {name} has not done it: {task.status}, {for_output(_why(task))}", file=sys.stderr)
        return 1

    # --- all of them --------------------------------------------------------------------------------------

    async def broadcast(self, message: str, wait: bool, here: bool = False) -> int:
        """To everybody who runs on this machine, or in this directory, but for whoever sends; each reply as
        it comes."""
        me = self._client.origin.id if self._client.origin else None
        entries = [e for e in AgentRegistry().list_agents().values() if e["agent_id"] != me]
        if here:
            entries = [e for e in entries if e["working_dir"] == current_dir()]
        if here and not entries:
            raise TargetError("no other agent runs in this directory: `synapse send all` reaches all.")
        if not entries:
            raise TargetError("no other agent is running: `synapse start <profile>` starts one.")
        documents: list[Json] = []
        statuses: set[int] = set()
        for done in asyncio.as_completed([self._one_of_all(entry, message, wait) for entry in entries]):
            name, task, status, said = await done
            statuses.add(status)
            document = {"agent": name, **(task.to_dict() if task else {})}
            documents.append(document | {"error": said} if status else document)
            if not self._json:
                print(f"{name}: {for_output(said)}", flush=True)
        if self._json:
            print_json(documents)
        statuses.discard(0)
        return statuses.pop() if len(statuses) == 1 else int(bool(statuses))

    async def _one_of_all(
        self, entry: Entry, message: str, wait: bool
    ) -> tuple[str, A2ATask | None, int, str]:
        """Its name, the task, what would be the exit status, and what there is to say."""
        name, task = str(entry["name"]), None
        sent = self._sending_to(entry)
        try:
            task = sent.take(await self._client.send_to_local(entry, message, self._priority, waits=wait))
            if not wait:
                return name, task, 0, f"sent {task.id[:8]}"
            task = sent.take(await self._client.follow_local(entry, task.id, self._timeout))
        except SynapseError as error:
            if task and isinstance(error, TargetError):
                task = sent.take(await _last_known(task))
            sent.refused = task is None
            if task is None or not task.ended:
                return name, task, error.exit_status, str(error)
        if task.asks:
            question = (task.prompt or {}).get("prompt")
            return name, task, ASKS, f"it asks: {question} (answer with `synapse input {task.id[:8]} …`)"
        if task.status == "completed":
            return name, task, 0, task.text
        return name, task, 1, f"it has not done it: {task.status}, {_why(task)}"

    # --- what is shown ------------------------------------------------------------------------------------

    def _on_event(self, kind: str, data: Json) -> None:
        if kind == "partial" and not self._json:
            text = str(data.get("text", ""))
            self._said = self._said + text if data.get("append") else text
            self._clear_line()
            self.reply.partial(self._said)
        elif kind in ("queued", "working") and self._talks and not self.reply.begun:
            self._status = str(data.get("note") or kind)

    async def _tick(self, name: str) -> None:
        began = time.monotonic()
        while True:
            if not self.reply.begun and not self._asking:
                note = f"→ {name}: {for_output(self._status)} {time.monotonic() - began:.0f} s"
                sys.stderr.write(f"\r\x1b[K{crop(note, _columns() - 1)}")
                sys.stderr.flush()
            await asyncio.sleep(SHOWN_EVERY)

    def _clear_line(self) -> None:
        if self._talks and not self.reply.begun:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def interrupted(self) -> int:
        """Ctrl-C ends the wait; whether it ends the task is asked where somebody can answer."""
        self._clear_line()
        self.reply.settle()
        return leave(self._sent)


async def _last_known(task: A2ATask) -> A2ATask:
    """The task as its agent's file has it."""
    from synapse.tasks.shelf import last_known

    known = await last_known(task.id)
    return A2ATask.from_dict(known.to_dict()) if known is not None else task


def _why(task: A2ATask) -> str:
    return str((task.error or {}).get("message") or task.note or "it gave no reason")


def _columns() -> int:
    """Of the terminal: a line that wraps could not be taken back."""
    try:
        return os.get_terminal_size(2).columns or 80
    except OSError:
        return 80


def _tell(progress: str) -> None:
    print(f"synapse: {progress} …", file=sys.stderr)


def print_json(document: object) -> None:
    print(json.dumps(document, ensure_ascii=False, indent=2))


async def _ask(prompt: Json) -> str:
    secret = prompt.get("type") == "password"
    question = for_output(str(prompt.get("question") or prompt.get("prompt") or ""))
    sys.stderr.write(f"{question}\n")
    options = prompt.get("options")
    for number, option in enumerate(options if isinstance(options, list) else (), 1):
        sys.stderr.write(f"  {number}. {for_output(str(option))}\n")
    sys.stderr.write("answer (not shown): " if secret else "answer: ")
    sys.stderr.flush()
    return await (_hidden_line() if secret else _line())


async def _line() -> str:
    """What is typed on the terminal. Not in a thread: that would go on reading after Ctrl-C."""
    loop = asyncio.get_running_loop()
    typed = asyncio.Event()
    loop.add_reader(0, typed.set)
    try:
        await typed.wait()
        return os.read(0, 65536).decode("utf-8", "replace").strip()
    finally:
        loop.remove_reader(0)


async def _hidden_line() -> str:
    import termios

    saved = termios.tcgetattr(0)
    termios.tcsetattr(0, termios.TCSAFLUSH, [*saved[:3], saved[3] & ~termios.ECHO, *saved[4:]])
    try:
        return await _line()
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, saved)
        sys.stderr.write("\n")
