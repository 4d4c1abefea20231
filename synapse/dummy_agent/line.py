"""Line mode: the kernel edits the line, the answer is streamed below it. Works on a pipe as well."""

import signal
import time
from argparse import Namespace

from synapse.base.text import for_output
from synapse.dummy_agent import script
from synapse.dummy_agent.agent import QUIT_WITHIN, Agent, Interrupted
from synapse.dummy_agent.console import Leave
from synapse.dummy_agent.steps import Question

PROMPT = "dummy> "


class LineAgent(Agent):
    def __init__(self, options: Namespace, banner: str) -> None:
        super().__init__(options, banner, (signal.SIGINT, signal.SIGCONT))
        self._received = b""
        self._ended = False
        self._shown = ""

    def _start(self) -> None:
        try:
            self._rest(self._options.startup)
            if self._options.trust and self._ask(script.TRUST) != "1":
                raise Leave(1)
        except Interrupted:
            raise Leave(130) from None
        self._console.write(f"{self._banner}\n")
        self._reporter.state("ready")

    def _leave(self) -> None:
        self._console.restore()

    def _next_message(self) -> str:
        interrupted = float("-inf")
        while True:
            try:
                return self._line(PROMPT)
            except Interrupted:
                self._console.write("\n")
                if time.monotonic() - interrupted < QUIT_WITHIN:
                    raise Leave(130) from None
                interrupted = time.monotonic()

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

    def _begin(self, message: str) -> None:
        self._shown = ""

    def _show_interrupted(self) -> None:
        self._say("\n^C interrupted")

    def _finish(self) -> None:
        if self._shown and not self._shown.endswith("\n"):
            self._console.write("\n")

    def _stream(self, text: str) -> None:
        super()._stream(for_output(text))

    def _say(self, chunk: str) -> None:
        self._console.write(chunk)
        self._shown = chunk or self._shown

    def _write_raw(self, data: bytes) -> None:
        self._console.write(data)
        self._shown = "raw"

    def _set_title(self, title: str) -> None:
        self._console.write(f"\x1b]0;{title}\x07")

    def _pump(self, timeout: float | None, writing: bool = False) -> None:
        """Waits for signals only; what is typed in the meantime stays in the kernel."""
        _, signals = self._console.wait(timeout, reading=False, writing=writing)
        if signal.SIGINT in signals and not self._deaf:
            raise Interrupted

    def _ask(self, question: Question) -> str:
        self._reporter.state("input_required")
        try:
            return self._put(question)
        finally:
            self._reporter.state("processing")

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
