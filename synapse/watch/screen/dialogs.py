"""The text of a dialog: the question, what it is about, and the rest. Rows are text, without the menu."""

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from synapse.agents.look import Look, MenuStyle
from synapse.agents.requests import one_line
from synapse.keys import patterns
from synapse.terminal.cells import width

GAP = 4  # blank rows above a dialog end it
FRAME = "╌"  # stands for a rule or the edge of a box where `MenuStyle.subject` is searched

RULE = re.compile(r"\s*[─━═╌┄▔]{3,}")
EDGE = re.compile(r"[\s│]*[╭╰┌└].*[─━╌]{2}")
_BAR = re.compile(r"(\s*)│ ?")  # Claude draws one before each line of a long command
_QUOTED = re.compile(r"[\"“`]([^\"”`]+)[\"”`]")


@dataclass(frozen=True)
class Asked:
    """`permission`: yes would run something. `hidden`: not all of that is shown."""

    question: str = ""
    subject: str | None = None
    detail: str | None = None
    permission: bool = False
    hidden: bool = False


def matches(wanted: Iterable[str], row: str) -> bool:
    return any(patterns.match(pattern, row) for pattern in wanted)


def _matched(wanted: Iterable[str], text: str) -> int:
    """Where the longest match ends."""
    found = (patterns.match(pattern, text) for pattern in wanted)
    return max((match.end() for match in found if match), default=0)


def breaks(row: str, look: Look) -> bool:
    """Whether a rule, a box or a line of the conversation is at the left edge: no dialog reaches above it."""
    return re.match("[─▔]{10}|[╭╰┌└]─|╻▄{5}", row) is not None or (
        row[:1] in tuple(look.line_marks) and row[1:2].isspace()
    )


def paragraphs(rows: Sequence[str]) -> list[list[str]]:
    """Runs of rows with text, without frames and rules."""
    runs: list[list[str]] = [[]]
    for row in rows:
        text = row.strip()
        if text.startswith("│") and text.endswith("│"):
            text = text.strip("│ ")
        if text and not RULE.match(text) and not EDGE.match(text):
            runs[-1].append(text)
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


def asked(rows: Sequence[str], style: MenuStyle, look: Look, boxed: bool, room: int = 0) -> Asked:
    """The question above a menu, the command or file that it is about, and the other text of the dialog.
    `room`: the cells at which words are wrapped, if that is known."""
    shown = from_its_top(rows, look)
    cut = len(shown) == len(rows) and (not boxed or bool(rows and rows[0].strip()))  # its top is not shown
    texts = paragraphs(shown)
    if not texts:
        return Asked()
    at, question, rest = _question(texts, look)
    if cut and boxed and style.question_first and not matches(look.questions, question):
        return Asked(detail="\n\n".join("\n".join(lines) for lines in texts), permission=True, hidden=True)
    others = ["\n".join(lines) for lines in texts]
    others[at] = rest
    if style.question_first and matches(look.questions, question):
        others, cut = others[at:], False
    detail = _without_tips("\n\n".join(text for text in others if text))
    whole = _about(shown, style) if detail else ""
    question = question.removeprefix(style.mark[:1]).lstrip()  # some mark it as they mark an option
    whole = "" if whole == question else whole
    permission = is_permission(question, look)
    if not permission and not question.endswith(("?", "？")):
        whole = ""  # a menu with a title: what stands below that is no command and no file
    if not whole and permission and (quoted := _QUOTED.search(question)):
        whole = quoted[1]
    hidden = permission and (cut or any(matches(look.hidden, line) for line in detail.split("\n")))
    if cut and permission:
        whole = ""
    subject = one_line(_unwrapped(whole, room)) or None
    return Asked(question, subject, _detail(whole, detail) or None, permission, hidden)


def is_permission(question: str, look: Look) -> bool:
    return matches(look.permissions, question)


def _without_tips(text: str) -> str:
    return re.sub(r"(?m)^Tip: .*\n?", "", text).strip()


def _about(rows: Sequence[str], style: MenuStyle) -> str:
    if not style.subject:
        return ""
    match = patterns.search(style.subject, _framed(rows))
    found = next((group for group in match.groups() if group), "") if match else ""
    return textwrap.dedent(found).strip()


def _framed(rows: Sequence[str]) -> str:
    """The rows without their common indentation, each rule or edge as one FRAME."""
    lines = []
    for row in rows:
        if RULE.match(row) or EDGE.match(row):
            lines.append(FRAME)
        elif row.strip().startswith("│") and row.rstrip().endswith("│"):
            lines.append(row.strip().strip("│").rstrip())
        else:
            lines.append(_BAR.sub(r"\1", row, count=1).rstrip())
    indent = min(
        (len(line) - len(line.lstrip()) for line in lines if line.strip() and line != FRAME), default=0
    )
    return "\n".join(line if line == FRAME else line[indent:] for line in lines).strip("\n")


def _unwrapped(text: str, room: int) -> str:
    """For one line: without the breaks where the next word did not fit into the row."""
    if not room or not text:
        return text
    first, *rows = text.split("\n")
    whole, last = first, first
    for row in rows:
        fits = width(last) + 1 + width(row.split(" ", 1)[0]) <= room
        whole += f"\n{row}" if fits or not row.strip() or row.startswith(" ") else f" {row}"
        last = row
    return whole


def _detail(whole: str, detail: str) -> str:
    """A command of several lines with its indentation, and then the rest of the dialog."""
    if "\n" not in whole:
        return detail
    lines = {line.strip().removeprefix("│").strip() for line in whole.split("\n")}
    rest = [line for line in detail.split("\n") if line.strip("│ $") not in lines]
    return f"{whole}\n\n" + "\n".join(rest).strip() if any(rest) else whole


def from_its_top(rows: Sequence[str], look: Look) -> Sequence[str]:
    begin = len(rows)
    while begin and not breaks(rows[begin - 1], look):
        if begin > GAP and not any(row.strip() for row in rows[begin - GAP : begin]):
            break
        begin -= 1
    return rows[begin:]


def _question(paragraphs: list[list[str]], look: Look) -> tuple[int, str, str]:
    """The index of the paragraph that asks (the nearest to the menu), its question and its other text."""
    nearest = [(at, paragraphs[at]) for at in range(len(paragraphs) - 1, -1, -1)]
    for at, lines in nearest:
        for index in range(len(lines)):
            if end := _matched(look.questions, " ".join(lines[index:])):
                question, rest = _until_mark(" ".join(lines[index:]))
                if not question.endswith(("?", "？")):  # a title, with what it is about below it
                    below = index + 1
                    while len(" ".join(lines[index:below])) < end:
                        below += 1  # it is wrapped
                    question, rest = " ".join(lines[index:below]), "\n".join(lines[below:])
                return at, question, "\n".join(filter(None, [*lines[:index], rest]))
    for at, lines in nearest:
        question, rest = _until_mark(" ".join(lines))
        if question.endswith(("?", "？")):
            return at, question, rest
    at, lines = nearest[0]
    return at, lines[0], "\n".join(lines[1:])


def _until_mark(text: str) -> tuple[str, str]:
    text = re.sub(r"^\?\s+(?=\S)", "", text)  # a mark before the question
    match = re.match(r".*?[?？](?=\s|$)", text)
    return (match[0], text[match.end() :].strip()) if match else (text, "")
