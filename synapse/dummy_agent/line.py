"""Line mode: the kernel edits the line, the answer is streamed below it. Works on a pipe as well."""

import signal
import time
from argparse import Namespace

from synapse.base.text import for_output
from synapse.dummy_agent import script
from synapse.dummy_agent.console import Console
from synapse.dummy_agent.process import QUIT_WITHIN, Interrupted, Leave, end, fact
from synapse.dummy_agent.report import Reporter
from synapse.dummy_agent.steps import Fact, Flood, Question, Raw, Step, Text, Title, Wait

PROMPT = "dummy> "


class LineAgent:
    def __init__(self, options: Namespace, banner: str) -> None:
        self._console = Console((signal.SIGINT, signal.SIGCONT), immortal=options.ignore_hup)
        self._options = options
        self._banner = banner
        self._received = b""
        self._ended = False
        self._shown = ""
        self._reporter = Reporter(options.mute)

    def run(self) -> int:
        try:
            self._start()
            while True:
                message = self._next_message()
                if message.strip():
                    self._answer(message)
        except Leave as leave:
            return leave.status
        finally:
            self._console.restore()

    def _start(self) -> None:
        try:
            self._rest(self._options.startup)
            if self._options.trust and self._ask(script.TRUST) != "1":
                raise Leave(1)
        except Interrupted:
            raise Leave(130) from None
        self._console.write(f"{self._banner}\n")
        self._reporter.ready()

    def _next_message(self) -> str:
        interrupted = float("-inf")
        while True:
            try:
                return self._line(PROMPT)
            except Interrupted:
                now = time.monotonic()
                if now - interrupted < QUIT_WITHIN:
                    self._console.write("\n")
                    raise Leave(130) from None
                interrupted = now
                self._console.write("\n")

    def _line(self, prompt: str, secret: bool = False) -> str:
        """One complete line. At the end of the input, the last line, and then the agent ends."""
        self._show(prompt, secret)
        while b"\n" not in self._received:
            if self._ended:
                rest, self._received = self._received, b""
                if rest:
                    return rest.decode("utf-8", "replace")
                self._console.write("\n")
                raise Leave(0)
            data, signals = self._console.wait(None)
            if signal.SIGINT in signals:
                self._received = b""
            if data is not None:
                self._received += data
                self._ended = not data
            if signal.SIGINT in signals:
                raise Interrupted
            if signal.SIGCONT in signals:
                self._show(prompt, secret)
        line, _, self._received = self._received.partition(b"\n")
        return line.decode("utf-8", "replace").removesuffix("\r")

    def _show(self, prompt: str, secret: bool) -> None:
        if secret:
            self._console.silence()
        self._console.write(prompt)

    def _answer(self, message: str) -> None:
        self._shown = ""
        self._reporter.started(message)
        outcome = "completed"
        try:
            for step in script.steps(message):
                self._perform(step)
        except Interrupted:
            outcome = "interrupted"
            self._console.write("\n^C interrupted")
            self._shown = "interrupted"
        if self._shown and not self._shown.endswith("\n"):
            self._console.write("\n")
        self._reporter.ended(outcome)

    def _perform(self, step: Step) -> None:
        match step:
            case Text():
                self._stream(step.text)
            case Fact():
                self._stream(fact(step))
            case Wait():
                self._rest(step.seconds, deaf=step.deaf)
            case Question():
                self._stream(step.reply(self._ask(step)))
            case Raw():
                self._console.write(step.data)
                self._shown = "raw"
            case Title():
                self._console.write(f"\x1b]0;{for_output(step.text)}\x07")
            case Flood():
                self._flood(step.lines)
            case _:
                end(step)

    def _stream(self, text: str) -> None:
        shown = for_output(text)
        for chunk in script.words(shown) if self._options.delay else [shown]:
            self._console.write(chunk)
            self._reporter.said(chunk)
            self._shown = chunk or self._shown
            self._rest(self._options.delay)

    def _rest(self, seconds: float, deaf: bool = False) -> None:
        """Waits for signals only; what is typed in the meantime stays in the kernel."""
        until = time.monotonic() + seconds
        left = seconds
        while True:
            _, signals = self._console.wait(max(0.0, left), reading=False)
            if signal.SIGINT in signals and not deaf:
                raise Interrupted
            left = until - time.monotonic()
            if left <= 0:
                return

    def _flood(self, lines: int) -> None:
        for start in range(1, lines + 1, 1000):
            block = script.flood_block(start, min(1000, lines + 1 - start))
            while block:
                block = block[self._console.offer(block) :]
                _, signals = self._console.wait(None if block else 0, reading=False, writing=bool(block))
                if signal.SIGINT in signals:
                    raise Interrupted

    def _ask(self, question: Question) -> str:
        self._reporter.asks()
        try:
            return self._put(question)
        finally:
            self._reporter.goes_on()

    def _put(self, question: Question) -> str:
        if question.kind == "password":
            try:
                return self._line(f"{question.text}: ", secret=True)
            finally:
                self._console.restore("\n")
        if question.kind == "ask":
            return self._line(f"{question.text}: ")
        if question.kind == "confirm":
            return self._pick(f"{question.text} (y/n): ", {"y": "1", "yes": "1", "n": "2", "no": "2"})
        numbers = [str(n) for n in range(1, len(question.options) + 1)]
        listed = "".join(f"{n}. {option}\n" for n, option in zip(numbers, question.options, strict=True))
        self._console.write(f"{question.text}\n{for_output(listed)}")
        return self._pick(f"Select [{'/'.join(numbers)}]: ", dict(zip(numbers, numbers, strict=True)))

    def _pick(self, prompt: str, values: dict[str, str]) -> str:
        while True:
            said = self._line(prompt).strip().lower()
            if said in values:
                return values[said]
