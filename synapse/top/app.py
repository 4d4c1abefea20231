"""`synapse top` on the screen: the keys, the list, the question below it, the line that is typed."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from prompt_toolkit.application import Application, run_in_terminal
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import FormattedTextControl, Layout, Window
from prompt_toolkit.output import Output
from prompt_toolkit.styles import Style

from synapse.base import paths
from synapse.base.text import for_cells
from synapse.errors import SynapseError
from synapse.peers import prompts
from synapse.terminal.cells import width
from synapse.top import board
from synapse.top.board import HEADINGS, Item, Json, fitted
from synapse.view.agents import Agent, Agents
from synapse.view.runs import Runs

REDRAW = 0.1  # seconds between two drawings at least
TICK = 1.0  # seconds between two drawings at most: ages go on
PEEK_EVERY = 1.0  # seconds between two looks at the screen that is peeked at
QUESTION_ROWS = 14  # at most for the question below the list
NOBODY_ASKS = "no agent needs you"

HELP = (
    ("↑ ↓ j k", "select"), ("n", "the next one that needs you"), ("Space", "look at its screen, and back"),
    ("1-9", "answer with that option"), ("a", "answer in words, or with a secret"),
    ("Enter", "attach; the detach keys come back"), ("s", "send it a message"), ("i", "interrupt it"),
    ("/", "show only agents with these words"), ("o", "sort by time or by name"),
)  # fmt: skip
LOOKS = {
    "title": "reverse", "needs_you": "bold ansimagenta", "working": "bold ansiyellow",
    "idle": "bold ansigreen", "selected": "reverse", "dim": "ansibrightblack", "note": "bold",
}  # fmt: skip


@dataclass
class Typing:
    """A line that is being typed: what for, and what is done with it."""

    label: str
    done: Callable[[str], None]
    text: str = ""
    secret: bool = False


class Top:
    def __init__(self, output: Output | None = None, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self.agents = Agents(self._changed)
        self.runs = Runs(lambda: self.app.invalidate())
        self._selected = ""  # the id of an agent
        self._first = 0  # the line of the list at the top
        self._wanted = ""
        self._sort = board.SORTS[0]
        self._note = ""
        self._typing: Typing | None = None
        self._help = False
        self._peeked = ""  # the id of the agent whose screen is shown
        self._screen: list[str] = []
        self._drawn: dict[str, str] = {}  # the question that was shown of each agent, by its id
        self._working: set[asyncio.Task[None]] = set()
        window = Window(FormattedTextControl(self._draw, show_cursor=False), wrap_lines=False)
        self.app: Application[None] = Application(
            layout=Layout(window),
            key_bindings=self._keys(),
            style=Style.from_dict(LOOKS),
            full_screen=True,
            min_redraw_interval=REDRAW,
            refresh_interval=TICK,
            output=output,
        )
        self.app.ttimeoutlen = 0.05  # Escape is a key here

    async def run(self) -> None:
        following = asyncio.ensure_future(self.agents.run())
        peeking = asyncio.ensure_future(self._peek())
        reading = asyncio.ensure_future(self.runs.run())
        try:
            await self.app.run_async()
        finally:
            for task in (following, peeking, reading, *self._working):
                task.cancel()
            await asyncio.gather(following, peeking, reading, *self._working, return_exceptions=True)

    def _changed(self, kind: str, agent: Agent, frame: Json) -> None:
        self.app.invalidate()

    def items(self) -> list[Item]:
        """The agents that match the filter, in the order in which they are shown."""
        return board.arranged(self._everybody(), self._wanted, self._sort)

    def _everybody(self) -> list[Item]:
        return [board.item_of(agent.to_dict()) for agent in self.agents.known.values()]

    @property
    def _item(self) -> Item | None:
        items = self.items()
        return next((item for item in items if item.id == self._selected), items[0] if items else None)

    def _draw(self) -> StyleAndTextTuples:
        size = self.app.output.get_size()
        lines = self._lines(size.columns, size.rows)
        out: StyleAndTextTuples = []
        for number, (style, text) in enumerate(lines[: size.rows]):
            out.append((f"class:{style}" if style else "", text))
            if number < size.rows - 1:
                out.append(("", "\n"))
        return out

    def _lines(self, columns: int, rows: int) -> list[tuple[str, str]]:
        items = self.items()
        selected = self._item
        self._selected = selected.id if selected is not None else ""
        everybody = self._everybody()
        head = [("title", fitted(self._title(everybody), columns).ljust(columns))]
        if self._wanted:
            said = board.filter_line(self._wanted, len(items), len(everybody))
            head.append(("note", fitted(said, columns)))
        foot = [self._footer(columns)]
        below = self._below(selected, columns, max((rows - 2) * 2 // 3, 1))
        room = max(rows - len(head) - len(foot) - len(below), 1)
        if self._help:
            body = [("", fitted(f"  {keys:<9} {what}", columns)) for keys, what in HELP][:room]
        elif self._peeked:
            body = [("", fitted(line, columns)) for line in self._screen[-room:]]
        else:
            runs = board.run_lines(self.runs.known, columns, room // 3, self._clock())
            body = self._list(items, columns, room - len(runs))
            body += [("", "")] * (room - len(runs) - len(body))
            body += runs
        body += [("", "")] * (room - len(body))
        return [*head, *body, *below, *foot]

    def _title(self, items: list[Item]) -> str:
        """With the counts of all agents: who needs you must not be hidden by a filter."""
        counts = {group: sum(item.group == group for item in items) for group in HEADINGS}
        text = f" {counts['needs_you']} need you · {counts['working']} working · {counts['idle']} idle"
        if self._peeked in self.agents.known:
            text = f" the screen of {self.agents.known[self._peeked].name} (Space: back)   {text}"
        return text + ("   by name" if self._sort == "name" else "")

    def _list(self, items: list[Item], columns: int, room: int) -> list[tuple[str, str]]:
        if not items:
            none = "no agent matches the filter" if self._wanted else "no agent is running"
            return [("", ""), ("dim", fitted(f"  {none}", columns))]
        cells, now = board.name_cells(items, columns), self._clock()
        lines: list[tuple[str, str]] = []
        at, group = 0, ""
        for item in items:
            if item.group != group:
                group = item.group
                lines.append((group, fitted(HEADINGS[group], columns)))
            if item.id == self._selected:
                at = len(lines)
            style = "selected" if item.id == self._selected else ""
            text = board.row(item, columns, cells, now)
            lines.append((style, text.ljust(columns) if style and text.isascii() else text))
        self._first = board.scrolled(self._first, at, len(lines), room)
        if self._first == at and at and at < len(lines) and not lines[at - 1][1].startswith("  "):
            self._first -= room > 1  # its heading too
        return lines[self._first : self._first + room]

    def _below(self, item: Item | None, columns: int, most: int) -> list[tuple[str, str]]:
        self._drawn.clear()
        if item is None or item.question is None or self._help or most < 3:
            return []
        self._drawn[item.id] = str(item.question["id"])
        text = board.question_lines(item.question, columns - 2, min(most - 1, QUESTION_ROWS))
        head = fitted(f"── {item.name} asks " + "─" * columns, columns)
        return [("needs_you", head), *(("", f"  {line}") for line in text)]

    def _footer(self, columns: int) -> tuple[str, str]:
        if (line := self._typing) is not None:
            shown = "•" * len(line.text) if line.secret else for_cells(line.text)
            space = max(columns - len(line.label) - 2, 4)
            while len(shown) and width(shown) > space:
                shown = shown[1:]
            return "note", fitted(f"{line.label}{shown}█", columns)
        if self._note:
            return "note", fitted(for_cells(self._note).replace("\n", " "), columns)
        if self._help:
            return "dim", fitted(" q back to the list · q there: quit", columns)
        return "dim", fitted(
            " Space look · 1-9 answer · Enter attach · s send · / filter · ? help · q quit", columns
        )

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add(Keys.Any, eager=True)
        def _(event: KeyPressEvent) -> None:
            self._press(event.data if len(event.data) == 1 and event.data.isprintable() else "")

        @keys.add(Keys.BracketedPaste, eager=True)
        def _(event: KeyPressEvent) -> None:
            if self._typing is not None:
                self._typing.text += " ".join(event.data.split())

        for name in (
            "up", "down", "pageup", "pagedown", "home", "end", "enter", "escape", "backspace", "c-c", "c-d",
            "c-u", "c-l", "tab", "delete", "left", "right",
        ):  # fmt: skip
            keys.add(name, eager=True)(lambda event, name=name: self._press(name))
        return keys

    def _press(self, key: str) -> None:
        self._note = ""
        if key == "c-l":
            self.app.renderer.clear()
        elif self._typing is not None:
            self._type(self._typing, key)
        else:
            self._command(key)
        self.app.invalidate()

    def _type(self, line: Typing, key: str) -> None:
        if key in ("escape", "c-c"):
            self._typing = None
            if line.done == self._filter:
                self._wanted = ""
        elif key == "enter":
            self._typing = None
            line.done(line.text)
        elif key == "backspace":
            line.text = line.text[:-1]
        elif key == "c-u":
            line.text = ""
        elif len(key) == 1:
            line.text += key
        if self._typing is line and line.done == self._filter:
            self._wanted = line.text

    def _command(self, key: str) -> None:
        item = self._item
        steps = {
            "up": -1,
            "k": -1,
            "down": 1,
            "j": 1,
            "pageup": -10,
            "pagedown": 10,
            "home": -(10**6),
            "g": -(10**6),
        }
        steps |= {"end": 10**6, "G": 10**6}
        if key in ("?", "q") and self._help:
            self._help = False
        elif key in ("q", "c-c", "c-d"):
            self.app.exit()
        elif key in steps:
            self._move(steps[key])
        elif key == "n":
            self._next_asking()
        elif key == "?":
            self._help = True
        elif key == "escape":
            self._help, self._peeked, self._wanted = False, "", ""
        elif key == "/":
            self._typing = Typing("filter: ", self._filter, self._wanted)
        elif key == "o":
            self._sort = board.SORTS[(board.SORTS.index(self._sort) + 1) % len(board.SORTS)]
        elif item is None:
            self._note = "no agent is selected"
        elif key == " ":
            self._peeked, self._screen = ("", []) if self._peeked else (item.id, [])
        elif key == "enter":
            self._begin(self._attach(item))
        elif key == "s":
            self._typing = Typing(f"to {item.name}: ", lambda text: self._begin(self._send(item, text)))
        elif key == "i":
            self._typing = Typing(
                f"interrupt {item.name}? (y/n) ", lambda text: self._begin(self._interrupt(item, text))
            )
        elif key == "a" or (key.isascii() and key.isdecimal() and key != "0"):
            self._answer(item, key)

    def _filter(self, text: str) -> None:
        self._wanted = text

    def _move(self, step: int) -> None:
        items = self.items()
        ids = [item.id for item in items]
        if ids:
            at = ids.index(self._selected) if self._selected in ids else 0
            self._selected = ids[max(min(at + step, len(ids) - 1), 0)]
            if self._peeked:
                self._peeked, self._screen = self._selected, []

    def _next_asking(self) -> None:
        asking = [item.id for item in self.items() if item.group == board.NEEDS_YOU]
        if not asking:
            hidden = sum(item.group == board.NEEDS_YOU for item in self._everybody())
            self._note = f"the filter hides {hidden} that need you (Escape: all)" if hidden else NOBODY_ASKS
            return
        at = asking.index(self._selected) + 1 if self._selected in asking else 0
        self._selected = asking[at % len(asking)]

    def _answer(self, item: Item, key: str) -> None:
        question = item.question
        if question is None:
            self._note = f"{item.name} asks nothing"
        elif self._drawn.get(item.id) != question["id"]:
            self._note = "it asks something else now: read it, and answer that"
        elif question["type"] == "unknown":
            self._note = "Synapse cannot read this question: press Enter, and answer it there"
        elif key == "a":
            secret = prompts.is_secret(question)
            label = "secret (not shown): " if secret else f"answer {item.name}: "
            self._typing = Typing(
                label, lambda text: self._begin(self._give(item, question, text)), secret=secret
            )
        elif not question["options"]:
            self._note = "press a, and type the answer"
        elif prompts.unseen(question):
            self._note = "look at its screen first (Space), and answer in words (a)"
        elif int(key) > len(question["options"]):
            self._note = f"there is no option {key}"
        else:
            label = str(question["options"][int(key) - 1]["label"])
            self._begin(self._give(item, question, label))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(self._guarded(work))
        self._working.add(task)
        task.add_done_callback(self._working.discard)

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except SynapseError as error:
            self._note = str(error)
        self.app.invalidate()

    async def _give(self, item: Item, question: Json, text: str) -> None:
        agent = self.agents.find(item.id)
        await agent.request(answer={"question": question["id"], "answer": text})
        what = "a secret" if prompts.is_secret(question) else board.one_line(text)
        self._note = f"answered {item.name}: {what}"

    async def _send(self, item: Item, text: str) -> None:
        if not text.strip():
            self._note = "nothing was sent"
            return
        sent = await self.agents.find(item.id).request(send=text)
        self._note = f"sent {str(sent['task']['id'])[:8]} to {item.name}"

    async def _interrupt(self, item: Item, text: str) -> None:
        if text.strip().lower() not in ("y", "yes"):
            self._note = "not interrupted"
            return
        agent = self.agents.find(item.id)
        done = await agent.ask("POST", "/terminal/interrupt", {})
        self._note = f"interrupted {item.name}" if done.get("interrupted") else f"{item.name} is idle"

    async def _attach(self, item: Item) -> None:
        command = [*paths.our_python(), "-m", "synapse", "attach", item.name]
        done: list[subprocess.CompletedProcess[bytes]] = []
        await run_in_terminal(
            lambda: done.append(subprocess.run(command, stderr=subprocess.PIPE)), in_executor=True
        )
        said = done[0].stderr.decode("utf-8", "replace").strip().removeprefix("synapse: ")
        self._note = said.splitlines()[-1] if said else f"back from {item.name}"

    async def _peek(self) -> None:
        """Read the screen that is peeked at, again and again."""
        while True:
            agent = self.agents.known.get(self._peeked)
            if agent is not None:
                try:
                    shown = await agent.ask("GET", "/terminal/screen")
                    if self._peeked == agent.id:
                        text = [for_cells(line) for line in str(shown.get("text", "")).split("\n")]
                        self._screen = text[
                            : next((n for n in range(len(text), 0, -1) if text[n - 1].strip()), 0)
                        ]
                except (SynapseError, OSError) as error:
                    self._screen = [str(error)]
                self.app.invalidate()
            elif self._peeked:
                self._peeked, self._note = "", "the agent has ended"
                self.app.invalidate()
            await asyncio.sleep(
                0.1 if not self._screen and self._peeked else PEEK_EVERY if self._peeked else 0.1
            )


def run() -> None:
    asyncio.run(Top().run())
