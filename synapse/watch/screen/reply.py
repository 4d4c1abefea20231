"""Reads the reply of one turn from the rendered screen, for an agent without a better channel.

    ❯ what was asked              the echo; the last one of this prompt counts
    ● What the agent said, with   the reply: blocks under a mark, their rows indented by two cells
      every row indented.
    ● Bash(ls)                    tool calls, notices and boxes are the program's, not the reply
      ⎿  file
    ✻ Cooked for 2s               the live area: status, rules, composer, footer
    ─────────────
    ❯
    ─────────────
      ? for shortcuts

A program that works line by line has none of this: its reply is between the typed line and the next prompt.
A message of ours has a mark: without its echo there is no reply, because any other text may be older.
The time is linear in the number of lines.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from synapse.agents.base import mark_in
from synapse.agents.generic.screen import BULLETS, PROMPT_ENDS
from synapse.agents.look import Marks
from synapse.keys import patterns
from synapse.terminal import cells
from synapse.watch.screen import looks
from synapse.watch.screen.dialogs import matches
from synapse.watch.screen.echo import after_cut_echo, find_echo, squash

Row = tuple[str, str]  # a text, and its row on the screen; "" if it is never joined to another

DRAFT_ROWS = 24  # more rows with text are not a draft
FRAME = "│┃▌▐"
_RULE = re.compile(r"(?: ?| {20,})[╭╰╻╹]?([─━═▄▀▔▁])\1{2,}(?:.*\1\1)?[╮╯]?")
_PROMPT = re.compile(rf"(?:[^\s{PROMPT_ENDS}][^{PROMPT_ENDS}]{{0,60}})?[{PROMPT_ENDS}]+(?=\s|$)")
_ITEM = re.compile(rf"\s*(?:[-*+{BULLETS}]|\d+[.)])\s+")
_DRAWN = "[│┌├└╭╰─━═]"
_OPENS = re.compile(rf"{_ITEM.pattern}|\s*(?:#{{1,6}}\s|[>|`~]|{_DRAWN})")
_FIXED = re.compile(  # code, tables, rules: rows that are lines of their own
    rf"\s*(?:[#$@/<{{}}\[\]|>`~]|{_DRAWN}|(?:def|class|return|import|from|const|let|var|fn|func)\b)"
    r"|\s*[\w.]+ [-+*/]?= |.*(?:[{};\\]|\):|\w\(.*[),])$|.*\S {2,}\S"
)
_NUMBERED = re.compile(r"( *)([0-9]{1,6})(?: (.*))?")


class ScreenReply(NamedTuple):
    """`sure`: where it begins and where it ends was seen."""

    text: str
    sure: bool = True


def find_reply(
    lines: list[str],
    prompt: str | None,
    start: int | None = None,
    marks: Marks | None = None,
    width: int | None = None,
    before: Sequence[str] = (),
) -> ScreenReply | None:
    """`lines` is scrollback and screen at the end of the turn, `start` a line at or before the echo. With the
    window's `width`, rows that the CLI has wrapped are joined again. `marks` is what the CLI draws around a
    reply; default: what the built-in CLIs draw. `before` is the bottom of the screen before the message was
    typed: if it is there again, it is no reply. None if the echo of a message of ours is not there."""
    marks = marks or looks.known().reply
    lines = [line.rstrip() for line in lines]
    live, label = _live_area(lines, marks)
    ends_sure = live < len(lines) and any(lines[live:])
    if not ends_sure:
        live = _same_bottom(lines, before)
    first = min(max(start or 0, 0), live)
    sure = True
    if prompt is not None and mark_in(prompt):
        echo = find_echo(lines[:live], prompt, first, marks.echo + FRAME)
        if echo is not None:
            sure = echo.whole
            begin = echo.end if sure else _echo_end(lines, echo.end - 1, live, len(echo.lead), marks)
            lead = echo.lead
        else:
            begin, lead = after_cut_echo(lines[first:live], prompt, marks.echo + FRAME), ""
            if begin == 0:
                return None
            begin += first
    else:
        begin, lead = _after_echo(lines, first, live, prompt, marks, label)
    if bars := _bars(marks):  # the end of the echo, and tools
        said = [line for line in lines[begin:live] if line.lstrip()[:1] not in bars]
        lines[begin:live] = said
        live = begin + len(said)
    if mark_in(prompt) or lead.startswith(" "):  # a program may indent the whole conversation
        shift = min((_indent(line) for line in lines[begin:live] if line), default=0)
        lines[begin:live] = [line[shift:] for line in lines[begin:live]]
        lead = lead.removeprefix(" " * shift)
    return ScreenReply(_reply(lines, begin, live, lead, label, marks, width), sure and ends_sure)


def _reply(
    lines: list[str], begin: int, live: int, lead: str, label: str, marks: Marks, width: int | None
) -> str:
    rows = lines[begin:live] if live < len(lines) else _before_question(lines[begin:], marks)
    if label:  # a bare "> " begins quotations too
        rows = _before_next(rows, lead or label) if re.search(r"\w", label) else rows
        said = _without_tail(rows, marks)
        is_told = any(
            matches(marks.status, row) for row in rows[len(said) :]
        )  # else a rule may be the reply's
        return "\n".join(_trimmed(said if is_told else rows))
    hanging = _hangs(rows[1:] if begin == 0 else rows, marks)  # the first line of all has lost its indent
    rows = _without_tail(_before_next(rows, lead) if hanging else rows, marks)
    parts = list(_said(rows, hanging, marks))
    if hanging and any(row[:1] in tuple(marks.numbering) for row in rows):
        parts = list(_unnumbered(parts, width))
    return "\n".join(_trimmed(_joined(parts, width) if width else [text for text, _ in parts]))


def _live_area(lines: list[str], marks: Marks) -> tuple[int, str]:
    """Where composer and footer begin; for a program that works line by line, also its prompt."""
    last = max((n for n, line in enumerate(lines) if line), default=-1)
    composer = re.compile(rf" {{0,2}}(?:[{FRAME}] ?)?[{re.escape(marks.echo)}*!](?:\s|$)")
    closed, below = False, 0
    for index in range(last, -1, -1):
        line = lines[index]
        if matches(marks.empty, line) and not _is_rule(lines[index - 1]):
            rule = next((n for n in range(index - 1, max(index - 5, -1), -1) if _is_rule(lines[n])), index)
            return rule, ""
        if composer.match(line):
            if index and _is_edge(lines[index - 1], marks) and (closed or index == last):
                return _over_hints(lines, index - 1), ""
            if line[0] in marks.echo and _is_footer(lines[index + 1 : last + 1], marks):
                return index, ""
        if not closed and _is_edge(line, marks):
            closed, below = True, 0
            if (top := _bar_top(lines, index, marks)) < index:
                return top, ""
        below += line != ""
        if below > DRAFT_ROWS or line[:1] == "╭" or _is_marked(line, marks):
            break
    if last >= 0 and _PROMPT.fullmatch(lines[last]):
        return last, lines[last]
    return last + 1, ""


def _bars(marks: Marks) -> tuple[str, ...]:
    """What is before each row of a prompt and of the composer, where that is a bar."""
    return tuple(set(marks.inner_echo) & set(FRAME))


def _bar_top(lines: list[str], edge: int, marks: Marks) -> int:
    """Where a composer behind a bar begins, above its lower edge; it may have an upper one."""
    top = edge
    while top and lines[top - 1].lstrip()[:1] in _bars(marks):
        top -= 1
    return top - 1 if edge > top > 0 and lines[top - 1].startswith("╻") else top


def _is_rule(line: str) -> bool:
    return _RULE.fullmatch(line) is not None


def _is_edge(line: str, marks: Marks) -> bool:
    return _is_rule(line) or matches(marks.edges, line)


def _over_hints(lines: list[str], top: int) -> int:
    """A row at the right may be above a composer; above the bar of one, a rule and a row of hints."""
    if top and _indent(lines[top - 1]) * 2 > len(lines[top]):
        return top - 1
    if lines[top].lstrip().startswith("▄"):
        for index in range(top - 1, max(top - 5, -1), -1):
            if _is_rule(lines[index]) and lines[index].lstrip()[0] == "─":
                return index
    return top


def _is_footer(rows: list[str], marks: Marks) -> bool:
    """Whether the rows are below a composer without rules: below an echo, not all would be indented."""
    return not any(row[:2].strip() for row in rows) and any(_finds(marks.footer, row) for row in rows[-3:])


def _finds(wanted: tuple[str, ...], row: str) -> bool:
    return any(patterns.search(pattern, row) for pattern in wanted)


def _after_echo(
    lines: list[str], first: int, live: int, prompt: str | None, marks: Marks, label: str
) -> tuple[int, str]:
    """The line after the last echo of the prompt, and what is before the text in the echo.

    Compared without blanks and marks, because the CLI may wrap and frame the prompt."""
    ignored = marks.echo + FRAME
    wanted = squash(prompt or "", ignored)
    squashed = [squash(line, ignored) for line in lines[first:live]]
    ends = list(accumulate(map(len, squashed)))
    shown = "".join(squashed)
    inner = rf"| {{2}}[{re.escape(marks.inner_echo)}]" if marks.inner_echo else ""
    marked = re.compile(rf"(?: ?(?:[{FRAME}] ?)?[{re.escape(marks.echo)}]{inner})\s+(?=\S)")
    others: list[tuple[bool, int, int]] = []  # whether it looks like this prompt, the line, the column
    for index in range(live - 1, first - 1, -1):
        line = lines[index]
        is_marked = marked.match(line)
        found = is_marked or (None if line[:1] in tuple(marks.answer) else _PROMPT.match(line))
        text = squash(line[found.end() :], ignored) if found else ""
        if not found or not text:
            continue
        offset = ends[index - first] - len(text)
        if wanted and shown.startswith(wanted, offset):
            end = bisect_left(ends, offset + len(wanted))
            if ends[end] == offset + len(wanted):
                return first + end + 1, line[: found.end()]
        if line.startswith(label) if label else is_marked:
            alike = wanted != "" and (wanted.startswith(text) or text.startswith(wanted))
            others.append((alike or _finds(marks.placeholder, line), index, found.end()))
    alike, index, column = next((other for other in others if other[0]), (others or [(False, -1, 0)])[0])
    if not alike and (end := after_cut_echo(lines[first:live], prompt or "", ignored)):
        return first + end, ""
    if index < 0:
        return _after_unmarked(lines, first, live, marks), ""
    if wanted and not alike:
        return live, ""  # there are only older turns: this prompt was taken back, or never shown
    return (index + 1 if label else _echo_end(lines, index, live, column, marks)), lines[index][:column]


def _same_bottom(lines: list[str], before: Sequence[str]) -> int:
    """Where the rows begin that were at the bottom of the screen before, too: a row may have changed if the
    one above it has not."""
    now = max((n for n, line in enumerate(lines) if line), default=-1)
    then = max((n for n, row in enumerate(before) if row.strip()), default=-1)
    end = now + 1
    while now >= 0 and then >= 0:
        if lines[now].split() == before[then].split():
            end = now
            now, then = now - 1, then - 1
        elif now and then and lines[now - 1].split() == before[then - 1].split() != []:
            now, then = now - 1, then - 1
        else:
            break
    return end


def _after_unmarked(lines: list[str], first: int, live: int, marks: Marks) -> int:
    """The line after an echo without its first row: two blank rows follow it, but one a block of a reply."""
    for index in range(first, live):
        if _is_marked(lines[index], marks):
            return index if index >= first + 3 and not any(lines[index - 2 : index]) else first
        if index and lines[index][:2].strip():  # the first line of all has lost its indent
            return first
    return first


def _echo_end(lines: list[str], index: int, live: int, column: int, marks: Marks) -> int:
    """The end of an echo of unknown text: before the next mark or rule if all until there is indented."""
    index, paragraph = index + 1, 0
    while index < live and (not lines[index] or _indent(lines[index]) >= column):
        paragraph = paragraph or (0 if lines[index] else index)
        index += 1
    if index < live and (lines[index][0] in marks.answer or _is_rule(lines[index])):
        return index
    return paragraph or index


def _before_question(rows: list[str], marks: Marks) -> list[str]:
    """Without a composer, a rule below the reply may begin the dialog in its place."""
    marked = False
    for index, row in enumerate(rows):
        marked = marked or _is_marked(row, marks)
        if marked and row[:1] not in ("╭", "╰") and _is_rule(row):
            return rows[:index]
    return rows


def _before_next(rows: list[str], lead: str) -> list[str]:
    end = next((n for n, row in enumerate(rows) if lead and row.startswith(lead)), len(rows))
    return rows[:end]


def _without_tail(rows: list[str], marks: Marks) -> list[str]:
    end = len(rows)
    while end and (not rows[end - 1] or _is_rule(rows[end - 1]) or matches(marks.status, rows[end - 1])):
        end -= 1
    return rows[:end]


def _is_marked(row: str, marks: Marks) -> bool:
    return row[:1] in tuple(marks.answer) and row[1:2] in ("", " ")


def _hangs(rows: list[str], marks: Marks) -> bool:
    """Whether the rows are blocks under marks, or the rest of one; a stray row after a resize is allowed."""
    marked = sum(_is_marked(row, marks) for row in rows)
    others = [row for row in rows if row[:2].strip() and not _is_marked(row, marks)]
    loose = sum(not (_is_rule(row) or _is_own(row, marks)) for row in others)
    return loose * 10 <= len(rows) if marked else loose == 0


def _is_own(row: str, marks: Marks) -> bool:
    text = row.lstrip()
    return text[0] in f"{marks.echo}╭╰{FRAME}" or matches((*marks.notice, *marks.status), text)


def _said(rows: list[str], hanging: bool, marks: Marks) -> Iterator[Row]:
    index, gap = 0, False
    while index < len(rows):
        row, end = rows[index], index + 1
        kept = [(row, row)]
        if row.lstrip()[:1] == "╭" and _indent(row) < 2:
            end, kept = _box(rows, index, marks)
        elif _is_rule(row) or (row[:1].strip() and matches(marks.status, row)):
            kept = []
        elif hanging and row:
            while end < len(rows) and not rows[end][:1].strip() and not _is_rule(rows[end]):
                end += 1
            kept = _block(rows[index:end], marks)
        if row or not gap:  # blank rows after what is left out are left out too
            yield from kept
            gap = not kept
        index = end


def _block(rows: list[str], marks: Marks) -> list[Row]:
    """One mark and the rows that hang below it."""
    rows = _without_summary(rows, marks)
    if not rows or matches(marks.notice, rows[0]):
        return []
    head = rows[0]
    if _is_marked(head, marks):
        head = f"  {head[2:]}"
        result = next((n for n, row in enumerate(rows) if n and _is_outcome(row, n, marks)), 0)
        if matches(marks.lone_tool, head[2:]) or (result and matches(marks.tool, head[2:])):
            return []
        if result and _has_elbow(rows[result], marks):
            if result == 1 and not matches(marks.stopped, rows[1]):
                return []
            rows = rows[:result]
    return [(row[2:] if not row[:2].strip() else row.lstrip(), row) for row in (head, *rows[1:])]


def _without_summary(rows: list[str], marks: Marks) -> list[str]:
    end = len(rows)
    while end and (not rows[end - 1] or matches((*marks.summary, *marks.outcome), rows[end - 1])):
        end -= 1
        rows = rows[:end] if matches(marks.summary, rows[end]) else rows
    return rows


def _is_outcome(row: str, number: int, marks: Marks) -> bool:
    """In the next row; further down only an elbow counts, because other signs may belong to a table."""
    return matches(marks.outcome, row) and (number == 1 or _has_elbow(row, marks))


def _has_elbow(row: str, marks: Marks) -> bool:
    return any(sign in row for sign in marks.elbow)


def _box(rows: list[str], index: int, marks: Marks) -> tuple[int, list[Row]]:
    """A round box: a tool call is left out; anything else loses its frame."""
    end = index + 1
    while end < len(rows) and rows[end].lstrip()[:1] in tuple(FRAME):
        end += 1
    inside = [row.strip()[1:].rstrip(FRAME).strip() for row in rows[index + 1 : end]]
    end += end < len(rows) and rows[end].lstrip()[:1] == "╰"
    return end, [] if inside and matches(marks.boxed_tool, inside[0]) else [(text, "") for text in inside]


def _unnumbered(rows: list[Row], width: int | None) -> Iterator[Row]:
    """Code without its line numbers: a run that counts from 1 in one column, with wrapped lines."""
    number, column, code, above = 0, 0, "", ""
    for text, row in [*rows, ("", "")]:
        if number and text and not text[: column + 1].strip():
            code += ("" if width and cells.width(above) >= width else " ") + text[column + 1 :]
            above = row
            continue
        if number:
            yield code, ""
        found = _NUMBERED.fullmatch(text)
        goes_on = found and number and int(found[2]) == number + 1 and found.end(2) == column
        if found and (goes_on or (found[1] and int(found[2]) == 1)):
            number, column, code, above = int(found[2]), found.end(2), found[3] or "", row
        else:
            number = 0
            yield text, row


def _joined(rows: list[Row], width: int) -> list[str]:
    """Joins rows that were one line: prose, where the next word did not fit."""
    made: list[list[str]] = []
    for above, row in pairwise([("", ""), *rows]):
        if _goes_on(above, row, width):
            made[-1] += [_gap(above, row[0].lstrip(), width), row[0].lstrip()]
        else:
            made.append([row[0]])
    return ["".join(parts) for parts in made]


def _goes_on(above: Row, row: Row, width: int) -> bool:
    (before, whole), (text, joinable) = above, row
    if not (before and text and joinable) or len(whole) * 4 < width:
        return False
    if _OPENS.match(text) or _FIXED.match(before):
        return False
    item = _ITEM.match(before)
    if _indent(text) not in (_indent(before), item.end() if item else -1):
        return False
    start, filled = text.lstrip(), cells.width(whole)
    word = next((n for n, char in enumerate(start) if char == " " or cells.width(char) == 2), len(start))
    return filled * 2 >= width and filled + (word + (cells.width(before[-1]) == 1) if word else 2) > width


def _gap(above: Row, text: str, width: int) -> str:
    """What was between two rows before they were wrapped: a space, or nothing."""
    before, whole = above
    wide = (cells.width(before[-1]) == 2) + (cells.width(text[0]) == 2)
    if wide == 1:  # as in the rest of the text: 日本語 and, or 日本語and
        both = f"{before}\n{text}"
        tight = len(re.findall("[ぁ-鿿][!-~]|[!-~][ぁ-鿿]", both))
        return " " if len(re.findall("[ぁ-鿿] [!-~]|[!-~] [ぁ-鿿]", both)) >= tight else ""
    cut = cells.width(whole) >= width and (" " not in before.strip() or re.search(r"/\S*/\S*$", before))
    return "" if wide or cut else " "


def _trimmed(rows: list[str]) -> list[str]:
    filled = [n for n, row in enumerate(rows) if row.strip()]
    return rows[filled[0] : filled[-1] + 1] if filled else []


def _indent(row: str) -> int:
    return len(row) - len(row.lstrip())
