"""The messages sent from this terminal and their replies: the toasts, the panel and its keys.

Pure: it gets events and keys, and returns what to draw and which actions to take.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from synapse.base.text import for_cells
from synapse.messages.panel_keys import AnswerLine, KeyReader
from synapse.terminal import markdown, panel
from synapse.terminal.markdown import Lines
from synapse.terminal.overlay import Box

SENDING, DELIVERED, WORKING, ASKS, REPLIED, FAILED, NOTICE = (
    "sending", "delivered", "working", "asks", "replied", "failed", "notice",
)  # fmt: skip
UNDER_WAY = frozenset({SENDING, DELIVERED, WORKING})
SECONDS = {SENDING: 30.0, DELIVERED: 30.0, WORKING: 30.0, ASKS: 60.0, REPLIED: 15.0, FAILED: 20.0}
SECONDS[NOTICE] = 20.0
AFTER = 4.0  # seconds that a toast stays when no reply is expected
SENT = 3.0  # seconds that `sent` stays where no progress is shown
KEPT = 100  # entries
TOASTS = 3  # at the same time
COPY_LIMIT = 74_000  # bytes; terminals accept no more by OSC 52
_OPEN_ARROW = {REPLIED: "←", ASKS: "?", FAILED: "✗", NOTICE: "!"}


class Copy(NamedTuple):
    text: str


class HandOver(NamedTuple):
    """Give this reply to the agent of this terminal."""

    entry: str
    text: str


class Answer(NamedTuple):
    """`question` is the id of the question that the human has seen, if it has one."""

    entry: str
    text: str
    question: str = ""


class Close(NamedTuple):
    """Give the keys back to the agent."""


Action = Copy | HandOver | Answer | Close


@dataclass(eq=False, repr=False)
class Entry:
    """One message: its target, its state, and its reply."""

    name: str
    target: str
    text: str
    began: float
    state: str = SENDING
    detail: str = ""
    outcome: str = FAILED  # of a failure: also canceled or denied; of a notice: what the agent does
    prompt: str = ""
    question: str = ""  # its id, if it has one
    subject: str = ""  # what the question is about, in one line
    in_words: bool = False  # a number is no answer: nobody has seen what it would run
    secret: bool = False  # the answer is not shown
    may_be_empty: bool = False  # Enter alone is an answer
    draft: str = ""  # an answer that was not accepted
    reply: str = ""
    ended: float | None = None
    sent: float | None = None  # when the agent got it into its queue
    late: str = ""  # its timeout has passed: how to get the reply
    seen: bool = False  # it was read, so it has no toast
    scroll: int = 0

    def __post_init__(self) -> None:
        self.changed = self.began

    @property
    def is_under_way(self) -> bool:
        return self.state in UNDER_WAY

    @property
    def stale_at(self) -> float:
        if self.is_under_way and self.ended is not None:
            return self.ended + AFTER
        return self.changed + SECONDS[self.state]


@dataclass(eq=False, repr=False)
class Inbox:
    """`silent`: no toasts about progress, only a short `sent`, and questions, replies and failures."""

    clock: Callable[[], float] = time.monotonic
    chord: str = "C-] o"
    silent: bool = False
    focused: bool = False
    unread: int = 0  # bytes after the key that closed the panel

    def __post_init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._selected = ""
        self._answering: AnswerLine | None = None
        self._note = ""  # what the last key did
        self._keys = KeyReader()
        self._rendered: tuple[tuple[object, ...], Lines] = ((), [])
        self._page = 10
        self._end = 0

    def sending(self, name: str, target: str, text: str, ago: float = 0.0) -> None:
        self._entries[name] = Entry(name, for_cells(target), text, self.clock() - ago)
        read = self._selected if self.focused else ""
        while len(self._entries) > KEPT:
            others = [n for n in self._entries if n not in (read, name)]
            done = (n for n in others if self._entries[n].state not in (*UNDER_WAY, ASKS))
            del self._entries[next(done, others[0])]

    def progress(self, name: str, state: str, detail: str = "") -> None:
        """`state` is `delivered`, `working` or the like; `detail` is shown after it."""
        self._change(name, state, detail)

    def sent(self, name: str) -> None:
        if entry := self._entries.get(name):
            entry.sent = self.clock()

    def late(self, name: str, how: str) -> None:
        """Its timeout has passed and it goes on; `how` says how to get the reply."""
        if entry := self._entries.get(name):
            entry.late, entry.changed, entry.seen = how, self.clock(), False

    def asks(
        self,
        name: str,
        prompt: str,
        secret: bool = False,
        may_be_empty: bool = False,
        subject: str = "",
        in_words: bool = False,
        question: str = "",
    ) -> None:
        if entry := self._change(name, ASKS):
            if (prompt, question) != (entry.prompt, entry.question):
                entry.draft = ""
                if name == self._selected and self._answering is not None:
                    self._answering, self._note = None, "it asks something else now: read it, and answer that"
            entry.prompt, entry.secret, entry.may_be_empty = prompt, secret, may_be_empty
            entry.subject, entry.in_words, entry.question = subject, in_words, question

    def not_taken(self, name: str, answer: str, why: str) -> None:
        """An answer that did not reach the agent: it is kept, to be sent again."""
        why = _first_line(why, "")
        if name == self._selected:
            self._note = why
        if (entry := self._entries.get(name)) and entry.state == ASKS:
            entry.detail, entry.draft = why, "" if entry.secret else answer
            entry.changed, entry.seen = self.clock(), False

    def reply(self, name: str, text: str) -> None:
        if entry := self._change(name, REPLIED):
            entry.reply, entry.ended = text, self.clock()

    def failed(self, name: str, why: str, outcome: str = FAILED) -> None:
        """`outcome`: that it failed, or was canceled or denied."""
        if entry := self._change(name, FAILED, why):
            entry.ended, entry.outcome = self.clock(), outcome

    def delivered(self, name: str) -> None:
        if entry := self._change(name, DELIVERED):
            entry.ended = self.clock()

    def seen(self, name: str) -> None:
        """Show it without a toast: an earlier host has shown one."""
        self._entries[name].seen = True

    def failed_to_come(self, name: str, sender: str, why: str) -> None:
        self.sending(name, sender, "")
        self.failed(name, why)

    def notice(self, name: str, agent: str, what: str, detail: str) -> None:
        """Something that an agent has done and the human may want to know; no message belongs to it."""
        self.sending(name, agent, "")
        if entry := self._change(name, NOTICE, detail):
            entry.outcome = what

    def withdraw(self, name: str) -> None:
        """Remove an entry: what another agent asked is answered."""
        if self._entries.pop(name, None) is not None and name == self._selected:
            self._answering, self._note = None, "it does not ask any more"
            self._selected = next(reversed(self._entries), "")

    def _change(self, name: str, state: str, detail: str = "") -> Entry | None:
        entry = self._entries.get(name)
        if entry is None:
            return None
        if entry.state != state:
            entry.changed, entry.seen = self.clock(), False
        entry.state, entry.detail = state, detail
        if name == self._selected and state != ASKS:
            self._answering = None
        return entry

    @property
    def entries(self) -> Sequence[Entry]:
        return list(self._entries.values())

    @property
    def is_empty(self) -> bool:
        return not self._entries

    def focus(self, on: bool) -> None:
        self.focused = on
        self._answering, self._note = None, ""
        if on:  # at an open question, else the last reply or failure, else the last message sent
            rank = {ASKS: 2, REPLIED: 1, FAILED: 1, NOTICE: 1}
            order = [(0 if e.seen else rank.get(e.state, 0), e.changed) for e in self.entries]
            self._selected = self.entries[order.index(max(order))].name if order else ""

    def next_change(self) -> float | None:
        now = self.clock()
        fresh = [entry for entry in self.entries if self._is_fresh(entry, now)]
        ticking = fresh if not self.focused else self.entries
        waits = [1.0 - (now - e.changed) % 1.0 for e in ticking if e.is_under_way and e.ended is None]
        waits += [self._stale_at(entry) - now for entry in fresh]
        return max(min(waits), 0.02) if waits else None

    def _is_fresh(self, entry: Entry, now: float) -> bool:
        return not entry.seen and now < self._stale_at(entry)

    def _stale_at(self, entry: Entry) -> float:
        if not (self.silent and entry.is_under_way):
            return entry.stale_at
        return entry.sent + SENT if entry.sent is not None else entry.began

    def picture(self, size: tuple[int, int], cursor_row: int) -> list[Box]:
        if self.focused:
            box = self._panel(size)
            return [box] if box else []
        now = self.clock()
        shown = sorted((e for e in self.entries if self._is_fresh(e, now)), key=lambda e: e.changed)
        return panel.toasts(size, [self._toast(entry, now) for entry in shown[-TOASTS:]], cursor_row)

    def _toast(self, entry: Entry, now: float) -> tuple[str, str]:
        head = f"{_OPEN_ARROW.get(entry.state, '→')} {entry.target}: "
        if entry.is_under_way and self.silent:
            return head + "sent", ""
        if entry.is_under_way:
            return head + self._progress(entry, now), entry.late
        if entry.state in (FAILED, NOTICE):
            return head + entry.outcome, _first_line(entry.detail, "")
        said = entry.detail or _first_line(
            entry.subject or entry.prompt if entry.state == ASKS else entry.reply
        )
        return f"{head}{entry.state}   ({self.chord})", said

    def _progress(self, entry: Entry, now: float) -> str:
        text = f"working {int(now - entry.changed)} s" if entry.state == WORKING else entry.state
        if entry.late:
            text = f"still {'waiting' if entry.state == SENDING else 'working'} {int(now - entry.began)} s"
        return f"{text} · {_first_line(entry.detail)}" if entry.detail else text

    def _panel(self, size: tuple[int, int]) -> Box | None:
        entry = self._entries.get(self._selected)
        below = self._below(entry, size)
        view = panel.view_of(size, len(below))
        if view is None:
            return panel.too_small(size)
        if entry is None:
            return panel.panel(size, "nothing has come in yet", [], 0, [], [("q", "close")])
        if not entry.is_under_way:
            entry.seen = True
        body = self._body(entry, view.columns)
        self._page, self._end = view.rows, max(len(body) - view.rows, 0)
        entry.scroll = min(max(entry.scroll, 0), self._end)
        return panel.panel(size, self._title(entry), body, entry.scroll, below, self._hints(entry))

    def _title(self, entry: Entry) -> str:
        names = list(self._entries)
        count = f"{names.index(entry.name) + 1}/{len(names)}  " if len(names) > 1 else ""
        took = f" after {int(entry.ended - entry.began)} s" if entry.ended is not None else ""
        state = entry.outcome if entry.state in (FAILED, NOTICE) else entry.state
        state = self._progress(entry, self.clock()) if entry.is_under_way else state + took
        return f"{count}{entry.target} · {state}"

    def _body(self, entry: Entry, columns: int) -> Lines:
        key = (entry.name, entry.state, entry.detail, columns, len(entry.reply), entry.prompt, entry.late)
        if self._rendered[0] != key:
            self._rendered = (key, self._lines(entry, columns))
        return self._rendered[1]

    def _lines(self, entry: Entry, columns: int) -> Lines:
        lines: Lines = []
        if entry.text:
            sent = [(for_cells(entry.text[:2000]), markdown.DIM)]
            lines = markdown.wrapped(sent, columns, [("› ", markdown.DIM)], [("  ", "0")])
            lines = [*lines[:6], *([[("  …", markdown.DIM)]] if len(lines) > 6 else []), []]
        if entry.state in (REPLIED, ASKS):
            return lines + markdown.render(entry.prompt if entry.state == ASKS else entry.reply, columns)
        if entry.state in (FAILED, NOTICE):
            return lines + markdown.wrapped([(for_cells(entry.detail), markdown.STRONG)], columns)
        lines.append([("No answer yet.", markdown.DIM)])
        if entry.late:
            lines += markdown.wrapped([(for_cells(entry.late), markdown.DIM)], columns)
        return lines

    def _below(self, entry: Entry | None, size: tuple[int, int]) -> Lines:
        if self._answering is not None:
            view = panel.view_of(size)
            return self._answering.lines(view.columns if view else 20)
        note = self._note or (entry.detail if entry is not None and entry.state == ASKS else "")
        return [[(note, markdown.HEADING)]] if note else []

    def _hints(self, entry: Entry) -> list[tuple[str, str]]:
        if self._answering is not None:
            return self._answering.hints
        hints = [("q", "close"), ("j k", "scroll")]
        if entry.state == ASKS:
            hints.insert(0, ("a", "answer"))
        if entry.state == REPLIED:
            hints += [("c", "copy"), ("i", "give to the agent here")]
        elif entry.state == FAILED and entry.text:
            hints.append(("c", "copy the message"))
        return [*hints, ("n p", "next, previous")] if len(self._entries) > 1 else hints

    def keys(self, data: bytes) -> list[Action]:
        actions: list[Action] = []
        self.unread = 0
        for key, left in zip(self._keys.feed(data), self._keys.left, strict=True):
            if not self.focused:
                break
            self.unread = left
            self._note = ""
            actions += self._press(key) if self._answering is None else self._type(key)
        if not self.focused:
            self._keys = KeyReader()
        return actions

    def _press(self, key: str) -> list[Action]:
        entry = self._entries.get(self._selected)
        if key in ("Escape", "q", "C-c", "C-d"):
            self.focus(False)
            return [Close()]
        if entry is None:
            return []
        page = max(self._page - 1, 1)
        scroll = {
            "j": 1, "Down": 1, "Enter": 1, "WheelDown": 3, "k": -1, "Up": -1, "WheelUp": -3,
            "PageDown": page, " ": page, "C-f": page, "PageUp": -page, "b": -page, "C-b": -page,
            "End": self._end, "G": self._end, "Home": -entry.scroll, "g": -entry.scroll,
        }  # fmt: skip
        step = {"Tab": 1, "n": 1, "Right": 1, "S-Tab": -1, "p": -1, "Left": -1}
        if key in step:
            names = list(self._entries)
            self._selected = names[(names.index(self._selected) + step[key]) % len(names)]
        elif key == "a" and entry.state == ASKS:
            self._answering = AnswerLine(entry.draft, entry.secret, entry.may_be_empty)
        elif key == "c" and (text := entry.text if entry.state == FAILED else entry.reply):
            data = text.encode("utf-8", "replace")
            self._note = "copied" if len(data) <= COPY_LIMIT else f"copied the first {COPY_LIMIT // 1000} KB"
            return [Copy(data[:COPY_LIMIT].decode("utf-8", "ignore"))]
        elif key == "i" and entry.reply:
            self.focus(False)
            return [HandOver(entry.name, entry.reply), Close()]
        entry.scroll = min(max(entry.scroll + scroll.get(key, 0), 0), self._end)
        return []

    def _type(self, key: str) -> list[Action]:
        line = self._answering
        assert line is not None
        if not line.press(key):
            return []
        self._answering = None
        if line.answer is None:
            return []
        entry = self._entries.get(self._selected)
        if entry is not None and entry.in_words and line.answer.strip().isdecimal():
            self._note = "answer in words, and look at its screen first"
            return []
        self._note = "answer sent"
        return [Answer(self._selected, line.answer, entry.question if entry is not None else "")]


def _first_line(text: str, marks: str = "#*`>-") -> str:
    """The first line with text, without the marks of Markdown at its ends."""
    lines = (line.strip(" " + marks) for line in for_cells(text[:2000]).split("\n"))
    return next((line for line in lines if line), "")
