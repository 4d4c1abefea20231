"""Replies read from the screens of the real CLIs, of the reference agent, and of made-up ones."""

from __future__ import annotations

import difflib
import gzip
import json
import sys
import time
from functools import cache
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from synapse.agents.look import Marks
from synapse.dummy_agent.script import MARKDOWN
from synapse.profiles.loader import load_profile
from synapse.terminal.screen import Screen, make_screen
from synapse.testing import Terminal
from synapse.watch.screen.looks import look_of
from synapse.watch.screen.reply import ScreenReply, find_reply
from tests.support.replaying import extract_reply

RECORDINGS = Path(__file__).parents[2] / "recordings"
ALIKE = 0.84
CHROME = (
    "Ask Codex to do anything",
    "Type your message",
    "? for shortcuts",
    "/effort",
    "Shift+Tab",
    "sandbox",
)


def turns() -> list[Any]:
    return [
        pytest.param(path.parent, turn, id=f"{path.parent.parent.name}-{path.parent.name}-{number}")
        for path in sorted(RECORDINGS.glob("*/*/replies.json"))
        for number, turn in enumerate(json.loads(path.read_text()))
    ]


@cache
def events(case: Path) -> tuple[int, int, list[tuple[float, str, str]]]:
    with gzip.open(case / "session.cast.gz", "rt") as file:
        head, *rest = [json.loads(line) for line in file]
    return head["width"], head["height"], [(at, kind, data) for at, kind, data in rest]


def follow(screen: Screen, kind: str, data: str) -> None:
    if kind == "o":
        screen.feed(data.encode())
    elif kind == "r":
        cols, _, rows = data.partition("x")
        screen.resize(int(cols), int(rows))


def rendered(screen: Screen) -> list[str]:
    """In the alternate screen avt gives the contents of the other one."""
    return (screen.text() if screen.alternate_screen else screen.contents()).split("\n")


@cache
def screen_at(case: Path, moment: float | None) -> tuple[list[str], int]:
    """The contents at that moment of a recording, or at its end, and the width."""
    cols, rows, steps = events(case)
    screen = make_screen(cols, rows)
    for at, kind, data in steps:
        if moment is not None and at > moment:
            break
        follow(screen, kind, data)
    return rendered(screen), screen.size[0]


def similarity(one: str, other: str) -> float:
    long = len(one) > 3000
    return difflib.SequenceMatcher(
        None, one.split() if long else one, other.split() if long else other, autojunk=False
    ).ratio()


def marks(case: Path) -> Marks:
    return look_of(load_profile(case.parent.name)).reply


def read(case: Path, turn: dict[str, Any]) -> str:
    lines, width = screen_at(case, turn.get("at"))
    return extract_reply(lines, turn["prompt"], width=width, marks=marks(case))


@pytest.mark.parametrize(("case", "turn"), turns())
def test_the_reply_of_a_recorded_turn(case: Path, turn: dict[str, Any]) -> None:
    reply = read(case, turn)
    if turn.get("exact", True):
        assert reply == turn["reply"]
    assert similarity(reply, turn["reply"]) >= ALIKE, reply


def test_recorded_replies_are_alike_on_average() -> None:
    found = [similarity(read(*turn.values), turn.values[1]["reply"]) for turn in turns()]
    assert len(found) >= 45
    assert mean(found) >= 0.96


@pytest.mark.parametrize(
    "path", sorted(RECORDINGS.glob("*/*/replies.json")), ids=lambda p: str(p.parent)[-24:]
)
def test_the_last_reply_is_found_without_knowing_the_prompt(path: Path) -> None:
    turn = json.loads(path.read_text())[-1]
    lines, width = screen_at(path.parent, turn.get("at"))
    own = marks(path.parent)
    found = extract_reply(lines, None, width=width, marks=own)
    assert found == extract_reply(lines, turn["prompt"], width=width, marks=own)


CODEX_BELOW = ["", "› Ask Codex to do anything", "", "  gpt-5.1-codex default · ~/work"]


@pytest.mark.parametrize("first", ["  the last words of", "the last words of"])
def test_an_echo_whose_head_has_left_the_alternate_screen(first: str) -> None:
    rows = [first, "  a long prompt", "", "", "• What was said.", "", "• And more.", "", *CODEX_BELOW]
    assert extract_reply(rows, None, width=80) == "What was said.\n\nAnd more."


def test_a_reply_whose_head_has_left_the_alternate_screen() -> None:
    rows = ["  and so it went on.", "", "", "  def f(): ...", "", "• And more.", "", *CODEX_BELOW]
    assert "and so it went on" in extract_reply(rows, None, width=80)


def test_a_prompt_that_was_taken_back_has_no_reply() -> None:
    """ESC before Claude has said a word: what is on the screen was said in an older turn."""
    rule = "─" * 80
    rows = ["❯ one", "", "● PONG", "", rule, "❯ two", rule, "  ? for shortcuts"]
    assert extract_reply(rows, "two", width=80) == ""
    assert extract_reply(rows, "one", width=80) == "PONG"


def test_gemini_in_few_colours_draws_no_rules_around_its_composer() -> None:
    below = ["", " " * 60 + "? for shortcuts", "─" * 80, " Shift+Tab to accept edits", ""]
    below += [" >   Type your message or @path/to/file", "", " workspace (/directory)", " ~/work"]
    assert extract_reply([" > one", "", "ℹ Request cancelled.", "", *below], "one", width=80) == ""
    assert extract_reply([" > one", "", "✦ PONG", "", *below], "one", width=80) == "PONG"
    stopped = [
        " > one",
        "",
        "✦ PO",
        "",
        "ℹ Request cancelled.",
        "",
        " Press Ctrl+C again to exit.",
        *below[2:],
    ]
    assert extract_reply(stopped, "one", width=80) == "PO"


@pytest.mark.parametrize(("case", "turn"), turns())
def test_no_frame_of_a_recording_gives_away_composer_or_footer(case: Path, turn: dict[str, Any]) -> None:
    cols, rows, steps = events(case)
    screen = make_screen(cols, rows)
    typed = False
    for number, (_, kind, data) in enumerate(steps):
        follow(screen, kind, data)
        typed = typed or (kind == "i" and turn["prompt"] in data)
        if typed and kind == "o" and number % 9 == 0:
            reply = extract_reply(rendered(screen), turn["prompt"], width=screen.size[0])
            assert not any(chrome in reply for chrome in CHROME), reply


def test_an_unsent_draft_is_not_a_turn() -> None:
    lines, width = screen_at(RECORDINGS / "claude/typeahead0.2", None)
    assert extract_reply(lines, "PING-ta1 early message", 11, width=width) == ""


@pytest.mark.parametrize("cli", ["claude", "gemini"])
def test_an_open_question_is_not_part_of_the_reply(cli: str) -> None:
    lines, width = screen_at(RECORDINGS / cli / "permission", 11)
    assert extract_reply(lines, "please USE-TOOL now", width=width) == "I will run a shell command now."


class Dummy:
    """The reference agent in a terminal, asked and read."""

    def __init__(self, terminal: Terminal, is_tui: bool) -> None:
        self.terminal = terminal
        self.is_tui = is_tui

    def lines(self) -> list[str]:
        return rendered(self.terminal.screen)

    def idle(self) -> bool:
        last = self.terminal.screen.text().rstrip().rsplit("\n", 1)[-1]
        return last.startswith("  ? for") if self.is_tui else last == "dummy>"

    def ask(self, message: str) -> str:
        self.terminal.wait(self.idle, "prompt")
        sign = "✳ dummy".encode() if self.is_tui else b"dummy> "
        turns = self.terminal.raw.count(sign)
        self.terminal.type(f"\x1b[200~{message}\x1b[201~" if self.is_tui else message)
        self.terminal.type("\r")
        self.terminal.wait(lambda: self.terminal.raw.count(sign) > turns and self.idle(), "end of the turn")
        return extract_reply(self.lines(), message, width=self.terminal.screen.size[0])


FOX = "The quick brown fox jumps over the lazy dog, and then it goes on to see what else there is. " * 4
JAPANESE = "日本語の文章はとても長くて、窓の幅では折り返されます。" * 8
TRAPS = "> quoted\n❯ 1. Yes\n  2. No\n\n? for shortcuts\n✻ Cooked for 2s\n────────────\n• item\ndone"
SAYINGS = {
    "hello": "You said: hello",
    "markdown": MARKDOWN,
    "lines 200": "\n".join(f"line {number}" for number in range(1, 201)),
    f"say {FOX}": FOX.strip(),
    f"say {JAPANESE}": JAPANESE,
    f"say https://example.com/{'a/' * 90} there": f"https://example.com/{'a/' * 90} there",
    "say {}".format(TRAPS.replace("\n", "\\n")): TRAPS,
}


@pytest.mark.parametrize("cols", [120, 80, 40, 24])
@pytest.mark.parametrize("mode", ["line", "--tui"])
def test_the_reference_agent(mode: str, cols: int) -> None:
    arguments = [] if mode == "line" else [mode]
    with Terminal([sys.executable, "-P", "-m", "synapse.dummy_agent", *arguments], cols=cols) as terminal:
        agent = Dummy(terminal, bool(arguments))
        for message, expected in SAYINGS.items():
            reply = agent.ask(message)
            if arguments and cols < 40 and message == "markdown":
                assert similarity(reply, expected) > 0.98  # code that the window has cut stays cut
            else:
                assert reply == expected
        assert (
            extract_reply(agent.lines(), "lines 200", width=cols) == SAYINGS["lines 200"]
        )  # an earlier turn


def test_the_reference_agent_in_the_alternate_screen() -> None:
    command = [sys.executable, "-P", "-m", "synapse.dummy_agent", "--alt-screen"]
    with Terminal(command, cols=60, rows=20) as terminal:
        agent = Dummy(terminal, True)
        assert agent.ask("markdown").endswith("- second\n  - nested")
        assert agent.ask("lines 200").split("\n")[-10:] == [f"line {number}" for number in range(191, 201)]
        assert agent.ask("hello") == "You said: hello"


RULE = "─" * 60
CLAUDE_LIVE = [
    "",
    "✻ Cooked for 2s",
    "",
    RULE,
    "❯ a draft",
    RULE,
    "  ? for shortcuts · ← for agents   ● high",
]
CODEX_LIVE = [
    "",
    "  Worked for 2s • 19:34",
    "",
    "› a draft",
    "",
    "  gpt-5.1-codex default · ~/work",
    "  ? for shortcuts",
]
GEMINI_LIVE = [
    *("", "", f"{'':50}? for shortcuts", RULE, " Shift+Tab to accept edits", "▄" * 60),
    *(" > a draft", "▀" * 60, " workspace (/directory)        sandbox", " ~/work       no sandbox"),
]
LIVE = {"●": CLAUDE_LIVE, "•": CODEX_LIVE, "✦": GEMINI_LIVE}
ECHO = {"●": ["❯ {}"], "•": ["› {}", ""], "✦": ["▄" * 60, " > {}", "▀" * 60]}


def shown(mark: str, prompt: str, body: list[str]) -> list[str]:
    rows = [f"{'  ' if number else f'{mark} '}{row}".rstrip() for number, row in enumerate(body)]
    return ["banner", "", *(row.format(prompt) for row in ECHO[mark]), "", *rows, *LIVE[mark]]


@pytest.mark.parametrize("mark", LIVE)
def test_a_reply_that_looks_like_a_screen(mark: str) -> None:
    body = [
        "Nothing here is a prompt:",
        *("", "Do you want to proceed?", "❯ 1. Yes", "  2. No (esc)", "", "› 1. Yes, proceed (y)", "> go"),
        *(
            "",
            "● 1. Allow once",
            "• Working (2s • esc to interrupt)",
            "✻ Cooked for 2s",
            RULE,
            "That was all.",
        ),
    ]
    assert extract_reply(shown(mark, "go", body), "go", width=60) == "\n".join(body)


@pytest.mark.parametrize("mark", LIVE)
def test_the_last_of_several_equal_prompts_counts(mark: str) -> None:
    one, two = shown(mark, "go", ["first"]), shown(mark, "go", ["second"])
    screen = one[: -len(LIVE[mark])] + two
    assert extract_reply(screen, "go") == "second"
    assert extract_reply(screen, "go", start=len(one) - len(LIVE[mark])) == "second"


@pytest.mark.parametrize(
    "placeholder", ["[Pasted text #1 +61 lines]", "[Pasted Content 1508 chars] and more"]
)
def test_an_echo_that_is_a_placeholder(placeholder: str) -> None:
    screen = [*shown("●", "before", ["old"])[: -len(CLAUDE_LIVE)], "", *shown("●", placeholder, ["new"])[2:]]
    assert extract_reply(screen, "one\n" * 61) == "new"
    assert extract_reply(screen, "before") == "old"


def test_an_echo_wrapped_and_with_blank_lines_is_no_reply() -> None:
    prompt = "一行目の文章です。\n\n- a list\n> and a quotation that is wrapped by the window"
    echo = [
        "❯ 一行目の文",
        "  章です。",
        "",
        "  - a list",
        "  > and a quotation",
        "  that is wrapped by",
        "  the window",
    ]
    screen = [*echo, "", "● The answer.", *CLAUDE_LIVE]
    assert extract_reply(screen, prompt) == "The answer."
    assert extract_reply(screen, None) == "The answer."
    assert extract_reply(screen[3:], prompt) == "The answer."  # its beginning has left the screen


def test_tool_calls_and_notices_are_left_out() -> None:
    claude = [
        *(
            "❯ go",
            "",
            "● I look.",
            "",
            "● Bash(ls",
            "      -l)",
            "  ⎿  one",
            "     two",
            "",
            "     three",
            "",
        ),
        *("● Read 2 files (ctrl+o to expand)", "", "● Update Todos", "  ⎿  ☐ one", ""),
        *("● Two things (and a table):", "", "  │ a │", "", "  end", "  ⎿  Interrupted · What now?"),
    ]
    assert (
        extract_reply([*claude, *CLAUDE_LIVE], "go") == "I look.\n\nTwo things (and a table):\n\n│ a │\n\nend"
    )
    codex = [
        *(
            "› go",
            "",
            "",
            "⚠ A warning",
            "",
            "• Ran ls",
            "  │ more",
            "  └ one",
            "    two",
            "",
            "• Edited a.py (+1 -2)",
        ),
        *("    1 + x", "", "✔ You approved codex to run ls", "", "• Ran well, all of it."),
    ]
    assert extract_reply([*codex, *CODEX_LIVE], "go") == "Ran well, all of it."


@pytest.mark.parametrize(
    "summary",
    [
        ["  Ran 1 shell command"],
        ["  Searched for 2 patterns, read 1 file, ran 3 shell commands"],
        ["  No result recorded for 1 call", "  ⎿  $ touch it", "  ⎿  Interrupted · What should Claude do?"],
    ],
)
def test_summed_up_tool_calls_without_a_mark_are_left_out(summary: list[str]) -> None:
    """As Claude Code 2.1.325 draws them."""
    said = ["❯ go", "", "● I look.", "", *summary, ""]
    assert extract_reply([*said, "● Done.", "", *CLAUDE_LIVE], "go") == "I look.\n\nDone."
    assert extract_reply([*said, *CLAUDE_LIVE], "go") == "I look."
    assert extract_reply(["❯ go", "", *summary, "", "● Done.", "", *CLAUDE_LIVE], "go") == "Done."
    quoted = ["❯ go", "", "● It says:", "", *summary[:1], "", "  and that is all.", "", *CLAUDE_LIVE]
    assert extract_reply(quoted, "go") == f"It says:\n\n{summary[0].strip()}\n\nand that is all."


def test_a_row_at_the_right_above_the_composer_is_no_reply() -> None:
    live = [*CLAUDE_LIVE[:3], f"{'◐ medium · /effort':>{len(RULE)}}", *CLAUDE_LIVE[3:]]
    assert extract_reply(["❯ go", "", "● Done.", "", *live], "go") == "Done."


def test_of_a_box_only_the_text_is_left() -> None:
    box = ["╭──────────╮", "│ the text │", "│          │", "│ goes on  │", "╰──────────╯"]
    assert extract_reply(["❯ go", "", *box, *CLAUDE_LIVE], "go") == "the text\n\ngoes on"


def test_line_numbers_of_gemini_are_removed_and_no_others() -> None:
    code = [f" {number:2} {f'call({number})' if number % 5 else ''}".rstrip() for number in range(1, 13)]
    code.insert(3, "    wrapped)")
    body = ["Look:", "", *code, "", "1 apple", "2 pears", "", " 7 of nine"]
    reply = extract_reply(shown("✦", "go", body), "go").split("\n")
    assert reply[2:6] == ["call(1)", "call(2)", "call(3) wrapped)", "call(4)"]
    assert reply[6:8] == ["", "call(6)"] and reply[13:] == [
        "call(12)",
        "",
        "1 apple",
        "2 pears",
        "",
        " 7 of nine",
    ]
    assert extract_reply(shown("●", "go", body), "go") == "\n".join(body)
    cut = extract_reply(shown("✦", "go", ["Cut:", "", f" 1 {'x' * 15}", "   yyy", " 2 z"]), "go", width=20)
    assert cut == f"Cut:\n\n{'x' * 15}yyy\nz"


def test_wrapped_rows_are_joined_only_where_they_were_one_line() -> None:
    body = [
        *(
            "This paragraph was wrapped",
            "by the window it is in.",
            "- an item that is as wide,",
            "  and goes on",
            "- b",
        ),
        *("", "short", "lines", "", "result = call(one, two); x", "second = call(one, two)"),
        *("", "| a table with a row | x |", "| a table with a row | y |"),
    ]
    assert extract_reply(shown("●", "go", body), "go", width=28).split("\n") == [
        *(
            "This paragraph was wrapped by the window it is in.",
            "- an item that is as wide, and goes on",
            "- b",
        ),
        *body[5:],
    ]
    assert extract_reply(shown("●", "go", body), "go") == "\n".join(body)


def test_programs_that_work_line_by_line() -> None:
    shell = ["me@here:~$ old", "x", "me@here:~$ make it", "  indented", "• done > all", "", "me@here:~$"]
    assert extract_reply(shell, "make it") == "  indented\n• done > all"
    assert extract_reply(shell, None) == "  indented\n• done > all"
    assert extract_reply(shell, "old") == "x"
    aider = ["────────", "> fix it", "", "Tokens: 3k", "> quoted", "• item", "────────", ">"]
    assert extract_reply(aider, "fix it").startswith("Tokens: 3k\n> quoted\n• item")
    assert extract_reply(["> go", "> quoted", "end", ">"], "go") == "> quoted\nend"
    assert extract_reply(["dummy> go", "still", "running"], "go") == "still\nrunning"


def test_a_reply_whose_beginning_has_left_the_screen() -> None:
    rest = ["row, its indent lost with those above", "  next row", "", "• Done."]
    expected = "row, its indent lost with those above\nnext row\n\nDone."
    assert extract_reply([*rest, *CODEX_LIVE], "go") == expected
    assert (
        extract_reply(["› go", "", f"  {rest[0]}", *rest[1:], *CODEX_LIVE], "go") == expected
    )  # pinned on top


def test_other_marks_are_data() -> None:
    marks = Marks(echo="λ", answer="@")
    screen = ["λ go", "", "@ one", "  two", "", RULE, "λ draft", RULE, "  footer"]
    assert extract_reply(screen, "go", marks=marks) == "one\ntwo"


def test_nothing_gives_nothing() -> None:
    assert extract_reply([], None) == extract_reply([""], "x") == extract_reply(CLAUDE_LIVE, "x") == ""


def squashed(text: str) -> str:
    return "".join(text.split())


def is_subsequence(part: str, whole: str) -> bool:
    rest = iter(whole)
    return all(char in rest for char in part)


PIECES = st.sampled_from(
    [
        *(
            "❯ ",
            "› ",
            " > ",
            "> ",
            "● ",
            "• ",
            "✦ ",
            "  ",
            "    ",
            "  ⎿  ",
            "  └ ",
            "│ ",
            "╭──",
            "╰──",
            "──────────",
            "▄▄▄",
        ),
        *(
            "▀▀▀▀",
            " 1 ",
            " 2 ",
            "✻ Cooked for 2s",
            "ℹ ",
            "■ ",
            "word ",
            "日本語",
            "Bash(",
            "dummy> ",
            "go",
            "\xa0",
            "\u0301",
        ),
        *("a" * 30, "? for shortcuts", " · ", "$", "- "),
    ]
)
LINES = st.lists(st.one_of(st.lists(PIECES, max_size=5).map("".join), st.text(max_size=12)), max_size=40)


@settings(max_examples=400, deadline=None)
@given(
    LINES,
    st.one_of(st.none(), st.just("go"), st.text(max_size=9)),
    st.none() | st.integers(-3, 50),
    st.sampled_from([None, 1, 20, 80]),
)
@example(["● a", "  ╭──"], "go", None, 20)
@example(["● ", "● ● "], None, None, 1)
def test_whatever_the_screen_shows_the_reply_is_part_of_it(
    lines: list[str], prompt: str | None, start: int | None, width: int | None
) -> None:
    reply = extract_reply(lines, prompt, start, width=width)
    assert is_subsequence(squashed(reply), squashed("".join(lines)))


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(LIVE)), LINES, st.sampled_from([None, 20, 60]))
def test_composer_and_footer_are_never_part_of_the_reply(
    mark: str, body: list[str], width: int | None
) -> None:
    body = [line for line in body if "draft" not in line and "workspace" not in line]
    reply = extract_reply(shown(mark, "a prompt", body), "a prompt", width=width)
    assert not any(chrome in reply for chrome in ("draft", "gpt-5.1", "for agents", "sandbox", "Shift+Tab"))


@pytest.mark.parametrize(
    "line", ["● word word", "> go", "╭──", "│ x", "  ⎿  x", "  " + "word " * 20, " 1 x", "❯ go"]
)
def test_it_takes_linear_time(line: str) -> None:
    def seconds(count: int) -> float:
        began = time.process_time()
        extract_reply(["❯ go", *[line] * count, *CLAUDE_LIVE], "go " * 2000, width=100)
        return time.process_time() - began

    seconds(1000)
    assert seconds(40_000) < 60 * max(seconds(4_000), 0.004)
    assert seconds(40_000) < 5


MESSAGE = "[A2A:1234abcd:claude] say it"
BANNER = ["  ██ Some Program v1.2", "", "> an earlier prompt", "✦ an earlier answer", ""]


@pytest.mark.parametrize("lead", ["> ", "  > ", "  ", "        ", "┃  ", "    ┃  ", "❯ ", "you: ", ""])
def test_a_marked_echo_is_found_whatever_its_indentation(lead: str) -> None:
    found = find_reply([*BANNER, f"{lead}{MESSAGE}", "", "The answer."], MESSAGE)
    assert found == ScreenReply("The answer.", sure=False)  # no composer shows where it ends


def test_a_marked_echo_may_be_wrapped_anywhere() -> None:
    rows = [*BANNER, "  > [A2A:1234a", "    bcd:claude] say", "    it", "", "The answer."]
    found = find_reply(rows, MESSAGE)
    assert found is not None and found.text == "The answer."


@pytest.mark.parametrize("rows", [[], BANNER, [*BANNER, "The answer of another turn."]])
def test_without_the_echo_of_our_message_there_is_no_reply(rows: list[str]) -> None:
    assert find_reply(rows, MESSAGE) is None


def test_an_echo_with_nothing_after_it_is_an_empty_reply() -> None:
    found = find_reply([*BANNER, f"> {MESSAGE}", ""], MESSAGE)
    assert found is not None and found.text == ""


def test_a_reply_may_quote_its_message() -> None:
    found = find_reply([f"> {MESSAGE}", "", f"✦ You wrote {MESSAGE}", f"  {MESSAGE}"], MESSAGE)
    assert found is not None and found.text == f"You wrote {MESSAGE}\n{MESSAGE}"


def test_of_an_echo_that_was_painted_again_the_last_counts() -> None:
    rows = [*BANNER, f"> {MESSAGE}", "The an", *BANNER, f"> {MESSAGE}", "", "The answer."]
    found = find_reply(rows, MESSAGE)
    assert found is not None and found.text == "The answer."


def test_the_second_message_of_a_task_has_the_same_mark() -> None:
    second = "[A2A:1234abcd:claude] and this"
    rows = [f"> {MESSAGE}", "One.", f"> {second}", "Two."]
    found = find_reply(rows, second)
    assert found is not None and found.text == "Two."


def test_the_bottom_of_an_unknown_program_is_no_reply() -> None:
    bottom = ["   ┃", "   ┃  Ask anything", "   ┃", "   ╹▀▀▀▀▀▀", "  ~/src    tokens 12%"]
    before = [*BANNER, *bottom]
    rows = [f"   ┃  {MESSAGE}", "", "   The answer.", "", *bottom[:-1], "  ~/src    tokens 31%"]
    found = find_reply(rows, MESSAGE, before=before)
    assert found == ScreenReply("The answer.", sure=False)


QWEN = """\
  > one

  ◆ PONG-1

  > two

  ◆ I read.

      1 a = 1
      2 b = 2

  ✓ Shell touch here
    touched

  ◆ Done.
  ● Request cancelled.

────────────────────────────────────────
> {}
────────────────────────────────────────
  ➜ work · scripted
"""


def test_a_conversation_that_is_indented_as_a_whole() -> None:
    marks = look_of(load_profile("qwen")).reply
    rows = QWEN.format("").splitlines()
    found = [find_reply(list(rows), prompt, 0, marks, width=40) for prompt in ("one", "two")]
    assert [reply and reply.text for reply in found] == ["PONG-1", "I read.\n\na = 1\nb = 2\n\nDone."]
    taken_back = find_reply(QWEN.format("three").splitlines(), "three", 0, marks, width=40)
    assert taken_back is not None and taken_back.text == ""
