"""A reply in the terminal while it comes: read back from a real screen."""

from __future__ import annotations

import time

import pytest

from synapse.shell.reply import Reply
from synapse.terminal.commonmark import finished
from synapse.terminal.screen import make_screen

MARKDOWN = """\
# Title

Some **bold** text with `code`, and a line that is long enough to be wrapped at forty columns.

```python
def f():
    return 1
```

| name | value |
|------|-------|
| a | 1 |

- one
- two

> quoted

The end."""


class Page:
    def __init__(self, cols: int = 40, rows: int = 60, color: bool = False) -> None:
        self.size = (cols, rows)
        self.raw = ""
        self.screen = make_screen(cols, rows)
        self.reply = Reply("a", self.write, lambda: self.size, color)

    def write(self, text: str) -> None:
        self.raw += text
        self.screen.feed(text.replace("\n", "\r\n").encode())

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.text().rstrip().split("\n"))


def test_streamed_or_not_it_is_the_same() -> None:
    whole = Page()
    whole.reply.end(MARKDOWN)
    assert whole.text.startswith("a:\nTitle\n\nSome bold text with code, and a line\nthat is")
    assert "name │ value" in whole.text and whole.text.endswith("The end.")
    for step in (1, 5, 17):
        streamed = Page()
        for at in range(0, len(MARKDOWN), step):
            streamed.reply.partial(MARKDOWN[:at])
        streamed.reply.end(MARKDOWN)
        assert streamed.text == whole.text


def test_it_is_shown_while_it_comes() -> None:
    page = Page()
    page.reply.partial("Hello wor")
    assert page.text == "a: Hello wor" and page.reply.begun
    page.reply.partial("Hello world\n```\nx = 1\ny")
    assert page.text == "a: Hello world\n x = 1\n y"
    page.reply.settle()
    page.write("a question")
    assert page.text.endswith("\n y\na question")


def test_what_is_said_otherwise_in_the_end_is_shown_whole() -> None:
    page = Page()
    page.reply.partial("First line\n\nsecond")
    page.reply.end("Another thing")
    assert page.text == "a: First line\n\nsecond\n\na: Another thing"


def test_a_long_block_scrolls_in_a_small_terminal() -> None:
    page = Page(rows=6)
    code = "```\n" + "".join(f"line {n}\n" for n in range(30))
    page.reply.partial(code)
    page.reply.end(code + "```\nafter")
    assert page.text == " line 26\n line 27\n line 28\n line 29\nafter"
    assert page.raw.count("line 3\n") == 1


@pytest.mark.parametrize("cols", [1, 5, 9, 12])
def test_narrow_terminals(cols: int) -> None:
    page = Page(cols=cols)
    for at in range(0, len(MARKDOWN), 9):
        page.reply.partial(MARKDOWN[:at])
    page.reply.end(MARKDOWN)
    assert "quoted" in page.raw


def test_nothing_in_it_drives_the_terminal() -> None:
    page = Page(color=True)
    page.reply.end("a\x1b[2Jb\x07 **c** 日本語")
    assert "\x1b[2J" not in page.raw and "\x07" not in page.raw and "\x1b[1mc\x1b[m" in page.raw
    plain = Page()
    plain.reply.end("**c** `d`")
    assert "\x1b" not in plain.raw


def test_a_resize_in_the_middle_loses_nothing() -> None:
    page = Page()
    page.reply.partial("Hello wor")
    page.size = (30, 60)
    page.reply.end("Hello world")
    assert page.text.endswith("a: Hello world")


def test_finished_blocks() -> None:
    assert list(finished("one\n\ntwo")) == ["one\n", "\n"]
    assert list(finished("```\ncode\n")) == []
    assert list(finished("```\ncode\n```\nx")) == ["```\ncode\n```\n"]
    assert list(finished("| a |\n|---|\n")) == []
    assert list(finished("| a |\n|---|\n\n")) == ["| a |\n|---|\n", "\n"]


@pytest.mark.parametrize("unit", ["```a `\n", "```\ncode\n", "- item\n", "text\n\n"])
def test_the_time_of_a_long_reply_is_linear(unit: str) -> None:
    text = unit * (60_000 // len(unit))
    written: list[int] = []
    reply = Reply("a", lambda piece: written.append(len(piece)), lambda: (80, 24), color=False)
    started = time.process_time()
    for end in range(0, len(text), 200):
        reply.partial(text[:end])
    reply.end(text)
    assert time.process_time() - started < 20
    assert sum(written) > len(text) // 2  # all of it was printed
