"""What both front ends share: the turns, the steps of an answer, and the end of the process."""

import json
import os
import signal
import sys
import time
from argparse import Namespace
from collections.abc import Iterable

from synapse.base.text import for_output
from synapse.dummy_agent import script
from synapse.dummy_agent.console import Console, Leave
from synapse.dummy_agent.report import Reporter
from synapse.dummy_agent.steps import (
    Crash,
    Die,
    Edit,
    Exit,
    Fact,
    Flood,
    Question,
    Raw,
    Step,
    Text,
    Title,
    Tokens,
    Wait,
)

QUIT_WITHIN = 1.0  # seconds between the two Ctrl-C that quit an idle agent


class Interrupted(Exception):
    """ESC or Ctrl-C while an answer is running."""


class Agent:
    """A front end reads messages (`_next_message`, `_ask`) and shows what comes of them."""

    def __init__(self, options: Namespace, banner: str, signals: Iterable[int]) -> None:
        self._options = options
        self._banner = banner
        self._console = Console(signals, immortal=options.ignore_hup)
        self._reporter = Reporter(options.mute)
        self._still = False  # not one byte of output
        self._deaf = False  # ESC and Ctrl-C do nothing

    def run(self) -> int:
        try:
            self._start()
            while True:
                message = self._next_message()
                if message.strip():
                    self._turn(message)
        except Leave as leave:
            return leave.status
        finally:
            self._leave()

    def _turn(self, message: str) -> None:
        self._begin(message)
        if self._options.log:
            with open(self._options.log, "a", encoding="utf-8") as file:
                file.write(json.dumps(message) + "\n")
        self._reporter.started(message)
        outcome = "completed"
        try:
            for step in script.steps(message):
                self._perform(step)
        except Interrupted:
            outcome = "interrupted"
            self._show_interrupted()
        self._still = self._deaf = False
        self._finish()
        self._reporter.ended(outcome)

    def _perform(self, step: Step) -> None:
        match step:
            case Text():
                self._stream(step.text)
            case Fact():
                self._stream(_fact(step))
            case Edit():
                self._stream(self._edit(step.path))
            case Tokens():
                self._reporter.used(step.read, step.written)
            case Wait():
                self._still, self._deaf = step.frozen, step.deaf
                self._rest(step.seconds)
                self._still = self._deaf = False
            case Question():
                self._stream(self._reply(step))
            case Raw():
                self._write_raw(step.data)
            case Title():
                self._set_title(for_output(step.text))
            case Flood():
                self._flood(step.lines)
            case Exit():
                raise Leave(step.status)
            case Crash():
                raise RuntimeError(step.message)
            case Die():
                _die(step.signal)

    def _edit(self, path: str) -> str:
        try:
            with open(path, "a", encoding="utf-8") as file:
                file.write("a line\n")
        except (OSError, ValueError) as error:
            return f"Not edited: {error}"
        self._reporter.changed(path)
        return "Edited."

    def _stream(self, text: str) -> None:
        for chunk in script.words(text) if self._options.delay else [text]:
            self._say(chunk)
            self._reporter.said(chunk)
            self._rest(self._options.delay)

    def _rest(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        self._pump(0)
        while (left := until - time.monotonic()) > 0:
            self._pump(left)

    def _flood(self, lines: int) -> None:
        for start in range(1, lines + 1, 1000):
            block = script.flood_block(start, min(1000, lines + 1 - start))
            while block:
                block = block[self._console.offer(block) :]
                self._pump(None if block else 0, writing=bool(block))

    def _reply(self, question: Question) -> str:
        return question.reply(self._ask(question))

    def _start(self) -> None: ...
    def _leave(self) -> None: ...
    def _begin(self, message: str) -> None: ...
    def _finish(self) -> None: ...
    def _show_interrupted(self) -> None: ...
    def _say(self, chunk: str) -> None: ...
    def _write_raw(self, data: bytes) -> None: ...
    def _set_title(self, title: str) -> None: ...
    def _pump(self, timeout: float | None, writing: bool = False) -> None:
        """Wait once, at most `timeout`, and process the input."""

    def _next_message(self) -> str:
        raise NotImplementedError

    def _ask(self, question: Question) -> str:
        raise NotImplementedError


def _fact(step: Fact) -> str:
    match step.name:
        case "env":
            return os.environ.get(step.argument, f"{step.argument} is not set")
        case "pid":
            return str(os.getpid())
        case "cwd":
            return os.getcwd()
        case "args":
            return json.dumps(sys.argv[1:], ensure_ascii=False)
    try:
        columns, rows = os.get_terminal_size(1)
    except OSError:
        return "0x0"
    return f"{columns}x{rows}"


def _die(number: int) -> None:
    try:
        signal.signal(number, signal.SIG_DFL)
    except (OSError, ValueError):
        pass  # KILL and STOP have no handler
    os.kill(os.getpid(), number)
