"""The bottom of a rendered screen: the composer of an agent, or a menu or dialog in its place.

A reply may contain anything, even a copied menu, but it is never below the composer. So only the last thing
on the screen counts, and only if it ends as the CLIs end their dialogs: with a line of key hints, with the
lower edge of its box, or with nothing. Rows are text, the cursor is (column, row). A `Look` says how the CLI
draws these.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from synapse.agents.generic.screen import CHECKBOXES
from synapse.agents.look import Composer, Look, MenuStyle
from synapse.keys import patterns
from synapse.terminal.cells import width
from synapse.watch.screen.dialogs import EDGE, RULE, asked, breaks, from_its_top, matches, paragraphs

Cursor = tuple[int, int]

SENDS = ("submit", "save")  # what Enter does with a field
LINE = 1000  # characters of a line that are looked at
HINTS = 400  # characters that a line of key hints may have
COMPOSER_FOOTER = 6  # rows that a CLI may draw below its composer

_LOOK = "look at it with `synapse screen <name>` or `synapse attach <name>`"
NOT_SEEN = f"the screen does not show what it would run: {_LOOK}"
PART_SEEN = f"the screen does not show all of what it would run: {_LOOK}"
CUT = f"the screen does not show all of its answers: {_LOOK}"

SEVERAL = "Several may be chosen: separate them by commas."

_NUMBER = re.compile(r"\d+\.")  # a menu, or a draft that is a list
_CHECKBOX = re.compile(rf"^(?:\[.?\]|[{CHECKBOXES}])\s+")
_BOX = re.compile(r"\s*(?P<text>\[(?P<mark>.)\] \S.*)")
_COLUMN = re.compile(r"\s{2,}|\s*[✔✓]$|\s+[✔✓]\s")  # what follows an option in a column of its own
_LETTER = re.compile(r"\s*\((\w)\)$")
_ESCAPE = re.compile(r"\s*\(esc(?: to \w+)?\)$", re.I)

_KEY = (
    r"(?:enter|return|esc(?:ape)?|(?:shift|ctrl|alt)[+-]\w+|tab(?:/arrow keys)?|space|arrow keys|[a-z]"
    r"|[↑↓←→⇆]+(?:/(?:[↑↓←→]+|jk))*)"
)
_NAMED_KEYS = {"esc": "Escape", "escape": "Escape", "enter": "Enter", "return": "Enter"}
_HINT = re.compile(rf"\(?(?:press |use )?(?P<key>{_KEY})(?: to)? +(?P<verb>\S.*?)[)….]*", re.I)
_BETWEEN_HINTS = re.compile(
    rf"\s+[·•|]\s+|,\s+|\s+or\s+(?={_KEY}\s)|\s+(?=press )|\s{{2,}}(?=(?:enter|esc) )", re.I
)
_SECRET = re.compile(r"password|passphrase|secret|token|api key|code here|パスワード", re.I)
_LEAVES = re.compile(r"(?:go )?(?:back|cancel|close|continue|confirm|dismiss|exit|quit|skip|submit)\b", re.I)


@dataclass
class InputPrompt:
    """What an agent asks. `keys` has the key of each option, as `synapse.keys` names keys."""

    prompt_text: str
    input_type: str
    options: list[str] | None = None
    default: str | None = None
    question: str | None = None
    subject: str | None = None  # the command or file that the question is about, in one line
    detail: str | None = None  # the whole command, or the other text of the dialog
    keys: dict[str, str] | None = None
    cancel: str | None = None
    permission: bool = False  # yes would run something
    hidden: bool = False  # the screen shows only a part of what it would run
    cut: bool = False  # the screen does not show all of its options, or not all of one
    typed: bool = False  # the key is typed as text, and Enter after it
    # If several may be chosen: those that are, and how the question is ended then (see `MenuStyle.finish`).
    chosen: list[str] | None = None
    finish: str = ""

    @property
    def unseen(self) -> str:
        """A sentence, if nobody should say yes to it without a look at the agent's screen."""
        if not self.permission or (self.subject and not self.hidden):
            return CUT if self.cut else ""
        return PART_SEEN if self.detail or self.subject else NOT_SEEN

    @property
    def text(self) -> str:
        """The question and what it is about, for a human."""
        about = self.detail or self.subject
        several = SEVERAL if self.chosen is not None else ""
        return "\n\n".join(filter(None, (self.question or self.prompt_text, about, self.unseen, several)))

    def to_a2a_format(self) -> dict[str, object]:
        names = ("question", "subject", "detail", "text", "keys", "cancel", "permission", "unseen")
        more: dict[str, object] = {name: value for name in names if (value := getattr(self, name))}
        if self.text == self.prompt_text:
            more.pop("text", None)
        if self.chosen is not None:
            more |= {"several": True, "chosen": self.chosen}
        return {
            "type": self.input_type,
            "prompt": self.prompt_text,
            "options": self.options,
            "default": self.default,
        } | more


def screen_rows(lines: Sequence[str]) -> list[str]:
    """The rows without trailing blanks and without blank rows at the bottom."""
    rows = [line[:LINE].rstrip() for line in lines]
    while rows and not rows[-1]:
        rows.pop()
    return rows


def composer(rows: Sequence[str], cursor: Cursor | None, visible: bool | None, look: Look) -> int | None:
    """The row where the composer begins, if there is one and the cursor is in it."""
    for box in look.composers:
        if box.bar:
            found = _behind_bar(rows, cursor, box)
        elif box.above:
            found = _box(rows, cursor, box)
        elif box.placeholder:
            empty = _last(rows, box.first)
            found = empty if cursor is None or cursor[1] == empty else None
        else:
            found = None if box.hidden_cursor else _open_composer(rows, cursor, visible, box.first)
        if found is not None:
            return found
    return None


def _behind_bar(rows: Sequence[str], cursor: Cursor | None, box: Composer) -> int | None:
    lower = _last(rows, box.below)
    if lower is None or cursor is None or not cursor[1] < lower:
        return None
    top = lower
    while top and rows[top - 1].lstrip().startswith(box.bar):
        top -= 1
    return top if cursor[1] >= top else None


def _box(rows: Sequence[str], cursor: Cursor | None, box: Composer) -> int | None:
    lower = _last(rows, box.below or box.above)
    if lower is None or (len(rows) - lower > COMPOSER_FOOTER if cursor is None else cursor[1] > lower):
        return None
    upper = _last(rows[:lower], box.above)
    if upper is None or not patterns.match(box.first, rows[upper + 1]):
        return None
    return upper if cursor is None or cursor[1] > upper else None


def _open_composer(
    rows: Sequence[str], cursor: Cursor | None, visible: bool | None, first: str
) -> int | None:
    begin = _last(rows, first)
    if begin is None or visible is False:  # the cursor is hidden in a menu and shown in the composer
        return None
    head = patterns.match(first, rows[begin])
    numbered = head is not None and _NUMBER.match(rows[begin], head.end()) is not None
    if cursor is None:
        return None if numbered else begin
    if not begin <= cursor[1] < len(rows):
        return None
    inside = all(not row.strip() or row.startswith("  ") for row in rows[begin + 1 : cursor[1] + 1])
    return begin if inside and (visible or not numbered) else None


def find_menu(
    rows: Sequence[str], cursor: Cursor | None, visible: bool | None, look: Look
) -> InputPrompt | None:
    """The menu or dialog at the bottom of the screen; the last of `rows` is not blank."""
    between = panel(rows, look)
    hints, end = _footer(between or rows, look)
    inside, boxed = (list(between[:end]), True) if between else _unboxed(rows[:end])
    if hints and visible and cursor is not None and cursor[1] >= end:
        return None  # another program writes below the hints
    if boxed and not hints:
        hints, end = _footer(inside, look)
        inside = inside[:end]
    if any("toggle" in verb for _, verb in hints):
        inside = _numbered(inside, look)
    found = _options(inside, look)
    if found is None or (not boxed and any(breaks(row, look) for row in inside[found[2] :])):
        dialog = _dialog(inside, hints, boxed, look)
        wants_text = dialog is not None and dialog.input_type in ("text", "password")
        at_field = wants_text and cursor is not None and cursor[1] < end
        return dialog if visible is False or at_field else None
    style, begin, after, marked, options = found
    if not hints and not boxed:
        if style.needs_hints or any(row.strip() for row in inside[after:]):
            return None
        if visible and cursor is not None and cursor[1] != marked:
            return None  # text that is being written out, not a list with a cursor in it
    if len(options) < 2 and not hints:
        return None
    room = len(rows[-1].strip()) - 4 if style.coloured else 0  # the last row is the lower edge of its box
    about = asked(inside[:begin], style, look, boxed, room)
    whole = _whole(options, look)
    cut = bool(room) and whole is None and any(width(inside[row]) == room + 1 for row in options)
    keys, labels = _keys(whole or options, style)
    escapes = "Escape" in keys.values() or any(key == "Escape" for key, _ in hints)
    return InputPrompt(
        prompt_text="\n".join(filter(None, (about.question, about.subject))),
        input_type=_kind(labels.values()),
        options=list(labels.values()),
        default=labels[marked],
        question=about.question,
        subject=about.subject,
        detail=about.detail,
        keys=keys,
        cancel="Escape" if escapes else None,
        permission=about.permission or not about.question,
        hidden=about.hidden,
        cut=cut,
        chosen=_chosen(options, labels) if style.finish else None,
        finish=style.finish,
    )


def _whole(options: dict[int, tuple[int, str]], look: Look) -> dict[int, tuple[int, str]] | None:
    """The options of which a narrow screen shows these, if they are known: it may cut them."""
    for known in look.options:
        pairs = zip(known, options.items(), strict=False)
        if len(known) == len(options) and all(label.startswith(text) for label, (_, (_, text)) in pairs):
            return {row: (n, label) for label, (row, (n, _)) in zip(known, options.items(), strict=True)}
    return None


def _numbered(rows: Sequence[str], look: Look) -> list[str]:
    """With numbers where each option has only a box, and with a mark at the first. Its keys are numbers."""
    style = next((style for style in look.menus if style.finish), None)
    boxes = [n for n, row in enumerate(rows) if _BOX.fullmatch(row)]
    numbered = list(rows)
    for number, at in enumerate(boxes if style is not None else (), 1):
        mark = style.mark[0] if style is not None and number == 1 else " "
        numbered[at] = f" {mark} {number}. {rows[at].strip()}"
    return numbered


def _chosen(options: dict[int, tuple[int, str]], labels: dict[int, str]) -> list[str] | None:
    boxes = {row: _BOX.fullmatch(text) for row, (_, text) in options.items()}
    if not all(boxes.values()):
        return None
    return [labels[row] for row, box in boxes.items() if box is not None and box["mark"].strip()]


def _kind(options: Iterable[str]) -> str:
    words = sorted(re.split(r"\W", option.lower(), maxsplit=1)[0] for option in options)
    return "confirmation" if words == ["no", "yes"] or len(words) == 1 else "selection"


def _last(rows: Sequence[str], pattern: str) -> int | None:
    return next((n for n in range(len(rows) - 1, -1, -1) if patterns.match(pattern, rows[n])), None)


def _footer(rows: Sequence[str], look: Look) -> tuple[list[tuple[str, str]], int]:
    """The key hints in the last paragraph as (key, what it does), and where it begins."""
    end = len(rows)
    begin = next(
        (n + 1 for n in range(end - 1, max(end - 5, -1), -1) if not rows[n].strip()), max(end - 4, 0)
    )
    for first in range(begin, end):  # the hints may follow other text at once, and wrap
        hints = key_hints(" ".join(row.strip() for row in rows[first:end]))
        if hints:
            return hints, first
    if rows and matches(look.dialog_ends, rows[-1].strip()):
        return [("Enter", "select")], end - 1
    return [], end


def key_hints(text: str) -> list[tuple[str, str]]:
    """Empty unless the text begins with a hint; `esc to interrupt` of a busy agent is not a hint."""
    if len(text) > HINTS or "interrupt" in text:
        return []
    matches = [_HINT.fullmatch(part) for part in _BETWEEN_HINTS.split(text)]
    if matches[0] is None:
        return []
    return [(_key_name(match["key"]), match["verb"]) if match else ("", "") for match in matches]


def _key_name(shown: str) -> str:
    lower = shown.lower()
    if lower in _NAMED_KEYS:
        return _NAMED_KEYS[lower]
    modifier, _, key = lower.replace("-", "+").partition("+")
    if key and modifier in ("ctrl", "alt", "shift"):
        return {"ctrl": "C-", "alt": "M-", "shift": "S-"}[modifier] + (key if len(key) == 1 else key.title())
    return shown if len(shown) == 1 else shown.title()


def _unboxed(rows: Sequence[str]) -> tuple[list[str], bool]:
    """The rows of the last box without its frame, in their places, and blank rows in place of all above."""
    kept = list(rows)
    while kept and not kept[-1].strip():
        kept.pop()
    if not kept or not kept[-1].lstrip().startswith(("╰", "└")):
        return kept, False
    left = len(kept[-1]) - len(kept[-1].lstrip())
    top = len(kept) - 1
    while top and kept[top - 1][left : left + 1] in ("│", "╭", "┌"):
        top -= 1
        if kept[top][left] != "│":
            break
    inner = [row[left + 1 :].rstrip().removesuffix("│").rstrip() for row in kept[top:-1]]
    if inner and EDGE.match(kept[top]):
        inner[0] = ""
    while inner and not inner[-1].strip():
        inner.pop()
    return [""] * top + inner, True


def panel(rows: Sequence[str], look: Look) -> list[str] | None:
    """The rows of a dialog between two rules, in their places, and blank rows in place of all above. If there
    is no rule above it, its top is not shown."""
    edges = [n for n, row in enumerate(rows) if matches(look.dialog_edges, row)]
    if not edges or edges[-1] < len(rows) - COMPOSER_FOOTER:
        return None
    top = edges[-2] + 1 if len(edges) > 1 else 0
    return [*[""] * top, *rows[top : edges[-1]]]


Found = tuple[MenuStyle, int, int, int, dict[int, tuple[int, str]]]


@cache
def _option_row(marks: str) -> re.Pattern[str]:
    mark = rf"(?:[{re.escape(marks)}]\s*)?"
    return re.compile(rf"(?P<mark>\s*{mark})\[?(?P<number>\d{{1,2}})[.)\]]\s*(?P<label>\S.*)")


def _options(rows: Sequence[str], look: Look) -> Found | None:
    """The last numbered list with a mark: style, first row, row after, marked row, row → (number, text)."""
    pattern = _option_row("".join(style.mark for style in look.menus))
    for marked in range(len(rows) - 1, -1, -1):
        match = pattern.fullmatch(rows[marked])
        style = match and next((s for s in look.menus if match["mark"].strip() in tuple(s.mark)), None)
        if match is None or style is None:
            continue
        column = match.start("number")
        options = {marked: _option(rows, marked, match)}
        for step in (-1, 1):
            options |= _neighbours(rows, marked, step, match)
        after = max(options) + 1
        while after < len(rows) and _belongs(rows[after], column):
            after += 1
        return style, min(options), after, marked, dict(sorted(options.items()))
    return None


def _neighbours(rows: Sequence[str], row: int, step: int, head: re.Match[str]) -> dict[int, tuple[int, str]]:
    """The options above or below one, as long as the numbers follow each other in one column. Copilot draws
    an option that it wraps a cell further left."""
    found = {}
    number, column, blanks = int(head["number"]), head.start("number"), 0
    while 0 <= (row := row + step) < len(rows):
        text = rows[row]
        match = head.re.fullmatch(text)
        if match and match.end("number") in range(column, column + 3) and not match["mark"].strip():
            if int(match["number"]) != number + step:
                break
            number += step
            blanks = 0
            found[row] = _option(rows, row, match)
        elif not text.strip() or RULE.fullmatch(text.rstrip()):
            blanks += 1
            if blanks > 2:
                break
        elif not _belongs(text, column - 1) or number + step < 1:
            break
    return found


def _belongs(text: str, column: int) -> bool:
    """Whether a row is a description or the rest of the option above it."""
    return bool(text.strip()) and len(text) - len(text.lstrip()) >= column


def _option(rows: Sequence[str], row: int, match: re.Match[str]) -> tuple[int, str]:
    label = match["label"]
    columns = max(len(text) for text in rows)
    while row + 1 < len(rows) and _is_rest(rows[row], rows[row + 1], match, columns):
        row += 1
        label = f"{label} {rows[row].strip()}"
    return int(match["number"]), label.strip()


def _is_rest(row: str, below: str, option: re.Match[str], columns: int) -> bool:
    """Whether `row` was wrapped into `below`: the first word of `below` did not fit into it. It stands below
    the text of the option, or below its number."""
    words, column = below.split(), len(below) - len(below.lstrip())
    number = option.start("number")
    is_below = column == option.start("label") or (
        column in (number, number + 1) and not option.re.fullmatch(below)
    )
    return bool(words) and is_below and len(row.rstrip()) + 1 + len(words[0]) > columns


def _keys(options: dict[int, tuple[int, str]], style: MenuStyle) -> tuple[dict[str, str], dict[int, str]]:
    keys: dict[str, str] = {}
    labels: dict[int, str] = {}
    for row, (number, text) in options.items():
        label = _CHECKBOX.sub("", text)
        key = str(number) if number < 10 else None  # the first digit of a longer number would pick at once
        letter = _LETTER.search(label) if style.letters else None
        if letter:
            key, label = letter[1], label[: letter.start()]
        elif escape := _ESCAPE.search(label):
            key, label = "Escape", label[: escape.start()]
        label = _COLUMN.split(label, maxsplit=1)[0] or label
        labels[row] = label if label not in keys else f"{number}. {label}"
        if key:
            keys[labels[row]] = key
    return keys, labels


def _dialog(rows: Sequence[str], hints: list[tuple[str, str]], boxed: bool, look: Look) -> InputPrompt | None:
    """A dialog with no numbers: a list, a field, a page to read. Its key hints say so, or its box does."""
    shown = from_its_top(rows, look)
    above = rows[: len(rows) - len(shown)]
    pointers = tuple(look.pointer)
    if above and above[-1].startswith(pointers):  # a field, or the marked row of a list
        shown = [*from_its_top(above[:-1], look), above[-1], *shown]
    texts = paragraphs(shown)
    marked = [line[2:] for lines in texts for line in lines if line[:1] in pointers and line[1:2] == " "]
    closes = all(key for key, _ in hints) and any(
        key in ("Enter", "Escape") and _LEAVES.match(verb) for key, verb in hints
    )
    if not texts or not (closes or (boxed and marked)):
        return None
    keys = {verb: key for key, verb in hints if key in ("Enter", "Escape") or re.fullmatch(r"\w", key)}
    if not hints:
        keys = dict.fromkeys(marked[:1], "Enter")
    typed = next((line for line in texts[-1] if matches(look.fields, line)), None)
    question = typed or texts[0][0]
    whole = "\n\n".join("\n".join(lines) for lines in texts)
    rest = whole.removeprefix(question).strip()
    prompt = InputPrompt(
        prompt_text=question,
        input_type=_kind(keys),
        options=list(keys),
        default=next((verb for verb, key in keys.items() if key == "Enter"), None),
        question=question,
        detail=rest or None,
        keys=keys,
        cancel="Escape" if "Escape" in keys.values() else None,
    )
    if typed or any(verb.startswith(SENDS) for verb in keys):  # `keys` then say how to send what was typed
        prompt.input_type = "password" if _SECRET.search(f"{question}\n{whole}") else "text"
        prompt.options = prompt.default = None
    return prompt
