"""TUI mode: a live area below the conversation, repainted in place, as in the coding agents."""

import os
import signal
import time
from argparse import Namespace
from collections import deque

from synapse.base.text import for_output
from synapse.dummy_agent import script
from synapse.dummy_agent.agent import QUIT_WITHIN, Agent, Interrupted
from synapse.dummy_agent.composer import Composer
from synapse.dummy_agent.console import Leave
from synapse.dummy_agent.keys import ESCAPE_TIMEOUT, Decoder, Event
from synapse.dummy_agent.painter import Canvas, Cursor, Scroller
from synapse.dummy_agent.question import Line, Menu
from synapse.dummy_agent.steps import Question
from synapse.dummy_agent.transcript import Transcript
from synapse.terminal.cells import crop, margin, marked

IDLE_TITLE = "✳ dummy"
BUSY_TITLES = ("⠂ dummy", "⠐ dummy")
SIGNALS = (signal.SIGINT, signal.SIGWINCH, signal.SIGCONT, signal.SIGTSTP)


class Cancelled(Interrupted):
    """ESC at a question."""


class Busy:
    """How long the turn has run, in whole seconds; the spinner and the title change every second."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self.seconds = 0

    @property
    def next_second(self) -> float:
        return self._began + self.seconds + 1

    def moved(self, now: float) -> bool:
        passed = int(now - self._began)
        changed, self.seconds = passed != self.seconds, passed
        return changed


class TuiAgent(Agent):
    def __init__(self, options: Namespace, banner: str) -> None:
        super().__init__(options, banner, SIGNALS)
        self._painter = Canvas() if options.alt_screen else Scroller()
        self._decoder = Decoder()
        self._events: deque[Event] = deque()
        self._transcript = Transcript()
        self._composer = Composer()
        self._queue: list[str] = []
        self._question: Menu | Line | None = None
        self._taken: str | None = None
        self._busy: Busy | None = None
        self._still = True  # until the start-up time is over
        self._armed_until = 0.0  # a second Ctrl-C before this quits
        self._decide_at = 0.0  # a lone ESC is a key from then on
        self._title = ""

    def _start(self) -> None:
        self._console.raw()
        self._rest(self._options.startup)
        self._still = False
        self._enter()
        if self._options.trust:
            try:
                if self._ask(script.TRUST) != "1":
                    raise Leave(1)
            except Interrupted:
                raise Leave(1) from None
        self._transcript.add("✻ ", self._banner)
        self._paint()
        self._reporter.state("ready")

    def _next_message(self) -> str:
        while not self._queue:
            self._pump(None)
        return self._queue.pop(0)

    def _enter(self) -> None:
        self._console.raw()
        screen = "\x1b[?1049h" if self._options.alt_screen else ""
        self._console.write(f"{screen}\x1b[22;0t\x1b[?2004h")
        self._set_title(self._title or IDLE_TITLE, always=True)
        self._paint()

    def _leave(self) -> None:
        """Restores modes, cursor, title and screen; the conversation stays in the scrollback."""
        if not self._title:  # nothing written yet
            self._console.restore()
            return
        size = self._console.size()
        if self._options.alt_screen:
            rows = self._painter.erase(size) + "\x1b[?1049l"
        else:
            rows = self._painter.paint(size, self._transcript.take(size[0]), [], None)
        self._console.restore(f"{rows}\x1b[?2004l\x1b[?25h\x1b]0;\x07\x1b[23;0t")

    def _suspend(self) -> None:
        if not self._title:
            return
        self._leave()
        os.kill(os.getpid(), signal.SIGSTOP)
        self._enter()

    def _resume(self) -> None:
        """Sets the modes again: another process may have changed them while this one was stopped."""
        self._console.raw()
        self._console.write(f"\x1b[?2004h{self._painter.erase(self._console.size())}")
        self._paint()

    def _begin(self, message: str) -> None:
        self._transcript.add("❯ ", message)
        self._busy = Busy()
        self._set_title(BUSY_TITLES[0])
        self._paint()

    def _show_interrupted(self) -> None:
        self._transcript.add("⎿ ", "Interrupted by user")

    def _finish(self) -> None:
        self._transcript.close()
        self._busy = self._question = None
        if self._title in BUSY_TITLES:
            self._set_title(IDLE_TITLE)
        self._paint()

    def _say(self, chunk: str) -> None:
        self._transcript.extend("● ", chunk)

    def _reply(self, question: Question) -> str:
        try:
            return super()._reply(question)
        except Cancelled:
            if question.kind == "confirm":
                return question.reply("2")
            raise

    def _ask(self, question: Question) -> str:
        self._question = Menu(question) if question.options else Line(question)
        title = self._title
        self._set_title(IDLE_TITLE)
        self._paint()
        self._reporter.state("input_required")
        while self._taken is None:
            self._pump(None)
        taken, self._taken, self._question = self._taken, None, None
        self._set_title(title)
        self._reporter.state("processing")
        return taken

    def _write_raw(self, data: bytes) -> None:
        """Writes raw bytes into the answer. A screen that is fully repainted keeps only their text."""
        if self._options.alt_screen:
            self._transcript.extend("● ", data.decode("utf-8", "replace"))
        self._console.write(self._painter.erase(self._console.size()))
        self._console.write(data + b"\r\n")
        self._paint()

    def _flood(self, lines: int) -> None:
        self._console.write(self._painter.erase(self._console.size()))
        self._still = True
        super()._flood(lines)
        self._still = False

    def _pump(self, timeout: float | None, writing: bool = False) -> None:
        if not self._events:
            data, signals = self._console.wait(self._timeout(timeout), writing=writing)
            for number in signals:
                self._on_signal(number)
            self._decode(data)
        while self._events:
            self._on_event(self._events.popleft())
            if (self._queue and not self._busy) or self._taken is not None:
                break  # later keys are meant for the turn that begins now, or for what follows the question
        self._paint()

    def _decode(self, data: bytes | None) -> None:
        now = time.monotonic()
        if data == b"":
            raise Leave(128 + signal.SIGHUP)
        if data:
            self._events += self._decoder.feed(data)
            self._decide_at = now + ESCAPE_TIMEOUT
        elif self._decoder.undecided and now >= self._decide_at:
            self._events += self._decoder.settle()

    def _timeout(self, timeout: float | None) -> float | None:
        now = time.monotonic()
        limits = [] if timeout is None else [timeout]
        if self._decoder.undecided:
            limits.append(max(0.0, self._decide_at - now))
        if self._armed_until > now:
            limits.append(self._armed_until - now)
        if self._busy and not self._question and not self._still:
            limits.append(max(0.0, self._busy.next_second - now))
        return min(limits, default=None)

    def _on_signal(self, number: int) -> None:
        if number == signal.SIGINT:
            self._events.append(("key", "ctrl-c"))
        elif number == signal.SIGTSTP:
            self._suspend()
        elif number == signal.SIGCONT and self._title:
            self._resume()

    def _on_event(self, event: Event) -> None:
        if event != ("key", "ctrl-c"):
            self._armed_until = 0.0
        if event == ("key", "ctrl-z"):
            self._suspend()
        elif event == ("key", "ctrl-c"):
            self._on_ctrl_c()
        elif event == ("key", "esc"):
            self._on_escape()
        elif self._question:
            self._taken = self._question.handle(event)
        elif event == ("key", "ctrl-d") and not self._composer.cells:
            raise Leave(0)
        elif event == ("key", "enter"):
            message = self._composer.submit()
            if message.strip():
                self._queue.append(message)
        else:
            self._composer.handle(event)

    def _on_ctrl_c(self) -> None:
        now = time.monotonic()
        if self._deaf:
            return
        if self._busy or self._question:
            raise Interrupted
        if self._composer.cells:
            self._composer.clear()
        elif now < self._armed_until or not self._title:
            raise Leave(130)
        else:
            self._armed_until = now + QUIT_WITHIN

    def _on_escape(self) -> None:
        if self._question:
            raise Cancelled
        if self._busy and not self._deaf:
            raise Interrupted

    def _paint(self) -> None:
        if self._still:
            return
        now = time.monotonic()
        if self._busy and not self._question and self._busy.moved(now) and self._title in BUSY_TITLES:
            self._set_title(BUSY_TITLES[self._busy.seconds % 2])
        size = columns, rows = self._console.size()
        hint = "Press Ctrl-C again to exit" if now < self._armed_until else ""
        if self._options.alt_screen:
            above, growing = self._transcript.tail(columns, rows), []
        else:
            above, growing = self._transcript.take(columns), self._transcript.growing(columns)
        shown, cursor = self._live(columns, growing, hint)
        self._console.write(self._painter.paint(size, above, shown, cursor))

    def _live(self, columns: int, growing: list[str], hint: str) -> tuple[list[str], Cursor]:
        """The rows below the conversation: the row being written, spinner, composer or question, footer."""
        rows = [*growing, ""] if growing else []
        if self._question:
            asked, cursor = self._question.rows(columns)
            return [*rows, *asked], cursor and (cursor[0] + len(rows), cursor[1])
        if self._busy:
            rows += [f"✻ Working… ({self._busy.seconds}s · esc to interrupt)", ""]
        for message in self._queue:
            rows.append(crop(f"  ⏵ queued: {for_output(message.replace(chr(10), ' '))}", columns))
        text, row, column = self._composer.layout(columns - margin(columns))
        cursor = (len(rows) + 1 + row, column + margin(columns))
        footer = f"  {hint or ('esc to interrupt' if self._busy else '? for shortcuts')}"
        return [*rows, "─" * columns, *marked(text, "❯ ", columns), "─" * columns, footer], cursor

    def _set_title(self, title: str, always: bool = False) -> None:
        if always or title != self._title:
            self._console.write(f"\x1b]0;{title}\x07")
        self._title = title
