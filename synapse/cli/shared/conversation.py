"""Sends a message and shows its reply: the reply alone on standard output, progress on standard error."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from typing import TYPE_CHECKING

from synapse.base.text import for_line, for_output
from synapse.cli.shared.interruption import Underway, leave
from synapse.cli.shared.output import print_json, say
from synapse.cli.shared.submit import sent_line
from synapse.cli.shared.unsent import send_or_keep
from synapse.errors import NoSuchAgent, Refused, SynapseError
from synapse.launch.starter import find_or_start
from synapse.peers.base import Peer
from synapse.peers.directory import open_directory
from synapse.peers.fifo import is_forbidden
from synapse.peers.origin import Origin
from synapse.peers.prompts import QUESTION_GONE, STILL_ASKED, plain_question, question_id, unseen
from synapse.peers.remote import in_thread, is_remote, remote_entries
from synapse.peers.task import A2ATask, Json, StillWorking
from synapse.registry import is_group
from synapse.terminal.cells import crop
from synapse.terminal.input_line import read_hidden_line, read_line

if TYPE_CHECKING:
    from synapse.config import Settings
    from synapse.keys.commands import Command
    from synapse.shell.reply import Reply

SHOWN_EVERY = 1.0  # seconds
UNKNOWN = 3.0  # seconds before progress is shown of a message that the agent has not taken yet
REASONS = 5  # why a message waits, that are said at most
ASKS = 5  # the exit status
CONNECTED = 5.0  # seconds at most for a broadcast to learn which agents other machines have


class PlainReply:
    """Prints a reply as it is; on a terminal as it arrives, with control characters made visible."""

    def __init__(self) -> None:
        self._printed = ""
        self._streams = sys.stdout.isatty()

    @property
    def begun(self) -> bool:
        return bool(self._printed)

    def partial(self, text: str) -> None:
        text = for_output(text.removesuffix("\r"))  # its `\n` may come with the next piece
        if self._streams and text.startswith(self._printed):
            print(text[len(self._printed) :], end="", flush=True)
            self._printed = text

    def settle(self) -> None:
        """Nothing to do: no part of it is redrawn."""

    def end(self, text: str) -> None:
        """Print the rest of the whole reply, or all of it if it does not begin as it was printed."""
        if not self._streams:
            print(text, end="" if text.endswith("\n") else "\n")
            return
        text = for_output(text)
        if not text.startswith(self._printed):
            say("\n")
            self._printed = ""
        print(text[len(self._printed) :])


class Conversation:
    def __init__(
        self,
        timeout: float,
        priority: int,
        as_json: bool = False,
        reply: Reply | None = None,
        expires: float | None = None,
        request_id: str = "",
    ) -> None:
        self._directory = open_directory(Origin.of_this_process())
        self._timeout = timeout
        self._priority = priority
        self._expires = expires
        self._request_id = request_id  # of a message for one agent that may have been sent already
        self._json = as_json
        self._talks = sys.stderr.isatty() and not as_json
        self._reply = reply or PlainReply()
        self._sent: list[Underway] = []
        self._received = ""  # the reply so far
        self._status = "sent"
        self._waits_for = ""  # what keeps the agent from beginning
        self._asking = False  # no progress is drawn over a question
        self._prompt: Json = {}  # what the agent asks, as it said last

    def run(self, target: str, message: str, wait: bool) -> int:
        """Send the message to one agent or to all of them. Returns the exit status."""
        try:
            if is_group(target):
                return asyncio.run(self._broadcast(target, message, wait))
            return asyncio.run(self._send(target, message, wait))
        except KeyboardInterrupt:
            self._clear_line()
            self._reply.settle()
            return leave(self._sent)

    async def _send(self, target: str, message: str, wait: bool) -> int:
        sent = self._sending_to(await self._find(target))
        if not wait:
            task = await self._without_waiting(sent, message, self._request_id)
            if self._json:
                print_json(task.to_dict())
            elif not task.id:
                say(task.note)
            else:
                say(sent_line(task.id, sent.name, task.note, sent.commands.shows))
            return 0
        try:
            task = sent.take(await self._until_done(sent, message))
        except StillWorking as late:
            if self._json and late.task.id:
                print_json(late.task.to_dict())
            raise
        return self._show_end(task, sent)

    async def _without_waiting(self, sent: Underway, message: str, request_id: str = "") -> A2ATask:
        """The task; one without an id if its machine does not answer, and the message is kept for it."""
        return sent.take(
            await send_or_keep(
                sent.peer,
                message,
                priority=self._priority,
                request_id=request_id,
                expires=self._expires,
                on_event=sent.note,
            )
        )

    async def _find(self, target: str) -> Peer:
        try:
            return self._directory.find(target)
        except NoSuchAgent:
            if is_forbidden() or is_remote(target):
                raise  # nothing can be started from a sandbox, or on another machine
            entry = await asyncio.to_thread(find_or_start, target, _tell)
            return self._directory.find(str(entry["name"]))

    def _sending_to(self, peer: Peer) -> Underway:
        self._sent.append(Underway(peer))
        return self._sent[-1]

    async def _until_done(self, sent: Underway, message: str) -> A2ATask:
        """Wait for the end of the task. A question of the agent is asked here if this is a terminal."""
        ticking = asyncio.ensure_future(self._tick(sent) if self._talks else self._say_why(sent))
        asks_here = sys.stdin.isatty() and self._talks
        asking: asyncio.Task[None] | None = None

        def on_event(kind: str, data: Json) -> None:
            nonlocal asking
            sent.note(kind, data)
            self._on_event(kind, data)
            if kind == "asks":
                self._prompt = data.get("prompt") or {}
                if asks_here and (asking is None or asking.done()):
                    asking = asyncio.ensure_future(self._ask_here(sent, following))

        following = asyncio.ensure_future(
            sent.peer.send(
                message,
                priority=self._priority,
                wait=True,
                timeout=self._timeout,
                expires=self._expires,
                on_event=on_event,
                through_questions=asks_here,
            )
        )
        try:
            return await following
        except asyncio.CancelledError:
            if asking is None or not asking.done():
                raise
            return await sent.peer.get(sent.task)  # nothing was answered
        finally:
            ticking.cancel()
            if asking is not None:
                asking.cancel()
            self._clear_line()

    async def _ask_here(self, sent: Underway, following: asyncio.Future[A2ATask]) -> None:
        while True:
            self._clear_line()
            self._reply.settle()
            self._asking = True
            try:
                prompt = self._prompt
                answer = await _ask(prompt)
                while unseen(prompt) and answer.isdecimal():
                    say("synapse: answer in words, and look at its screen first.", error=True)
                    answer = await _ask(prompt)
            finally:
                self._asking = False
            if not answer:
                following.cancel()
                return
            try:
                await sent.peer.answer(sent.task, answer, question_id(prompt))
                return
            except SynapseError as error:
                say(f"synapse: {error}", error=True)
                gone = isinstance(error, Refused) and error.code in (QUESTION_GONE, STILL_ASKED)
                if gone and self._prompt is prompt:
                    return  # it may ask something else later

    def _show_end(self, task: A2ATask, sent: Underway) -> int:
        if self._json:
            print_json(task.to_dict())
        elif task.text or task.status == "completed":
            self._reply.end(task.text)
        if task.asks:
            say(f"{sent.name} asks: {plain_question(task.prompt)}", error=True)
            say(f'answer it with `{sent.commands.answers} "…"`', error=True)
            return ASKS
        if task.status == "completed":
            return 0
        why = _why(task)
        say(f"synapse: {sent.name} has not done it: {task.status}, {why}", error=True)
        return 1

    async def _broadcast(self, group: str, message: str, wait: bool) -> int:
        """Send to all other agents of this directory or of a machine; print each reply when it comes."""
        if is_remote(group):
            await in_thread(remote_entries, CONNECTED)
        peers = self._directory.everybody(group)
        documents: list[Json] = []
        statuses: set[int] = set()
        for done in asyncio.as_completed([self._one_of_all(peer, message, wait) for peer in peers]):
            name, task, status, said = await done
            statuses.add(status)
            document = {"agent": name, **(task.to_dict() if task else {})}
            documents.append(document | {"error": said} if status else document)
            if not self._json:
                say(f"{name}: {said}", flush=True)
        if self._json:
            print_json(documents)
        statuses.discard(0)
        return statuses.pop() if len(statuses) == 1 else int(bool(statuses))

    async def _one_of_all(self, peer: Peer, message: str, wait: bool) -> tuple[str, A2ATask | None, int, str]:
        """The agent's name, the task, the exit status for this agent, and the text to print."""
        sent, name = self._sending_to(peer), peer.name
        try:
            if not wait:
                task = await self._without_waiting(sent, message)
                return name, task, 0, f"sent {task.id[:8]}" if task.id else task.note
            task = await peer.send(
                message,
                priority=self._priority,
                wait=True,
                timeout=self._timeout,
                expires=self._expires,
                on_event=sent.note,
            )
            sent.take(task)
        except SynapseError as error:
            sent.refused = not sent.task
            known = A2ATask(sent.task) if sent.task else None
            late = error.task if isinstance(error, StillWorking) else known
            return name, late, error.exit_status, str(error)
        if task.asks:
            asked = plain_question(task.prompt)
            return name, task, ASKS, f"it asks: {asked}\n(answer with `{sent.commands.answers} …`)"
        if task.status == "completed":
            return name, task, 0, task.text
        return name, task, 1, f"it has not done it: {task.status}, {_why(task)}"

    def _on_event(self, kind: str, data: Json) -> None:
        if kind == "partial" and not self._json:
            text = str(data.get("text", ""))
            self._received = self._received + text if data.get("append") else text
            self._clear_line()
            self._reply.partial(self._received)
        elif kind in ("queued", "working", "unreachable") and not self._reply.begun:
            self._status = str(data.get("note") or ("sent" if kind == "unreachable" else kind))
            self._waits_for = str(data.get("note") or "") if kind != "working" else ""

    async def _tick(self, sent: Underway) -> None:
        began = time.monotonic()
        while not sent.task and time.monotonic() - began < UNKNOWN:
            await asyncio.sleep(0.05)
        while True:
            if not self._reply.begun and not self._asking:
                note = f"→ {sent.name}: {for_line(self._status)} {time.monotonic() - began:.0f} s"
                print(f"\r\x1b[K{crop(note, _columns() - 1)}", end="", file=sys.stderr, flush=True)
            await asyncio.sleep(SHOWN_EVERY)

    async def _say_why(self, sent: Underway) -> None:
        """Where no progress is shown: say why a message waits for long, and again if that changes."""
        told: set[str] = set()
        while len(told) < REASONS:
            await asyncio.sleep(UNKNOWN)
            if self._waits_for and self._waits_for not in told:
                told.add(self._waits_for)
                why = f"synapse: {sent.name} has not begun with it yet ({self._waits_for})"
                say(why, error=True, flush=True)

    def _clear_line(self) -> None:
        if self._talks and not self._reply.begun:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def send_command(command: Command, settings: Settings, reply: Reply | None = None) -> int:
    """Send a line `@agent …` that was typed. Returns the exit status."""
    timeout = settings.response_timeout if command.timeout is None else command.timeout
    conversation = Conversation(timeout, command.priority or 1, reply=reply, expires=command.expires)
    return conversation.run(command.name, command.message, command.wait)


def _why(task: A2ATask) -> str:
    return str((task.error or {}).get("message") or task.note or "it gave no reason")


def _columns() -> int:
    """The width of the terminal: a line that wraps could not be erased."""
    try:
        return os.get_terminal_size(2).columns or 80
    except OSError:
        return 80


def _tell(progress: str) -> None:
    say(f"synapse: {progress} …", error=True)


async def _ask(prompt: Json) -> str:
    secret = prompt.get("type") == "password"
    say(plain_question(prompt), error=True)
    say("answer (not shown): " if secret else "answer: ", end="", error=True, flush=True)
    return await (read_hidden_line() if secret else read_line())
