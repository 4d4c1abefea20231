"""Markdown in a box of the overlay."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synapse.terminal import cells
from synapse.terminal.markdown import CODE, HEADING, LINK, LONGEST, STRONG, render

REPLY = """\
# The **retry** loop

It gave up after `deadline`, since *every* attempt shared it. See [the docs](https://x.test/a).
以下の変更を行いました。とても長い日本語の行なので、折り返しが必要になります。

1. First, with a line that is long enough to be wrapped under its own text and not under the number
   - [x] done
   - nested \\*not italic\\*

> quoted **text**

```python
def f():
    return 1  # ```not the end
```

| name | size | what |
|:-----|-----:|:----:|
| 漢字 | 12 | a \\| b |
| b | 3 | a rather long cell that will not fit into the width that there is |

---
last"""


def plain(markdown: str, width: int = 60) -> list[str]:
    return ["".join(text for text, _ in line).rstrip() for line in render(markdown, width)]


def looks(markdown: str) -> dict[str, str]:
    return {text: look for line in render(markdown, 80) for text, look in line}


def test_a_reply_is_readable() -> None:
    lines = plain(REPLY)
    assert lines[0] == "The retry loop"
    assert "It gave up after deadline, since every attempt shared it." in lines[2]
    assert lines[lines.index("1. First, with a line that is long enough to be wrapped") + 1] == (
        "   under its own text and not under the number"
    )
    assert "   • ☑ done" in lines
    assert "   • nested *not italic*" in lines
    assert "│ quoted text" in lines
    assert " def f():" in lines and "     return 1  # ```not the end" in lines
    assert any(line.startswith("漢字 │   12 │") and "a | b" in line for line in lines)
    assert "─" * 60 in lines
    assert lines[-1] == "last"


def test_what_is_marked_looks_different() -> None:
    found = looks("# Head\n**bold** `code` [docs](u) plain\n| h |\n|---|\n| c |\n")
    assert found["Head"] == HEADING
    assert ";1" in found["bold"]
    assert found["code"] == CODE
    assert found["docs"] == LINK
    assert found["h"] == STRONG


@settings(max_examples=300, deadline=None)
@given(
    st.text(
        st.one_of(st.sampled_from("*_`~|>#-[]() \n1.漢😀e\u0301\\\x1b\x07\t:"), st.characters()), max_size=300
    ),
    st.integers(8, 60),
)
def test_lines_fit_and_hold_nothing_but_text(markdown: str, width: int) -> None:
    wide = markdown.count("|") * 7 + width if "|" in markdown else width  # columns have a least width
    for line in render(markdown, width):
        text = "".join(text for text, _ in line)
        assert "\n" not in text and "\x1b" not in text and "\x07" not in text
        assert cells.width(text) <= wide


@pytest.mark.parametrize(
    "unit", ["**a ", "*a", "`a", "[a](", "> ", ">", "| ", "|-", "- ", "_a ", "~~", "```\n", "#"]
)
def test_hostile_text_is_rendered_in_time(unit: str) -> None:
    started = time.process_time()
    render(unit * (LONGEST // len(unit)), 80)
    assert time.process_time() - started < 4
