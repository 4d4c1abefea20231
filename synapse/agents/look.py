"""How a CLI looks on the screen: plain data for `watch/`.

Patterns are regular expressions that are matched at the left edge of a row, unless a comment says otherwise.
A set of characters is one string. `merged` joins two looks field by field.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import TypeVar


@dataclass(frozen=True, slots=True)
class Composer:
    """Where a message is typed: `first` matches its first row, `above` and `below` the rows around it.

    Without `above`, its further rows are indented. A placeholder is shown only while the composer is empty.
    A glyph in a group `mode` of `first` was typed, such as the `!` of a shell command.
    """

    first: str
    above: str = ""
    below: str = ""  # empty: as above
    placeholder: bool = False
    hint: str = ""  # all of the text that it shows while it is empty, where its style does not tell
    margin: int = 0  # cells at the right that no text uses
    least: int = 0  # rows that it always has: blank ones below the cursor are no part of a draft
    rows: int = 0  # with this many rows it may have scrolled; 0: it grows with its text
    half: bool = False  # on the alternate screen it grows to about half of the screen, and then scrolls
    repeats: bool = False  # each further row begins as the first, and text is cut where the row ends
    hidden_cursor: bool = False  # only without `above`: the terminal's cursor is placed, but not shown
    unless: str = ""  # searched in all of the screen: a page or a dialog whose input looks like the composer
    # Each of its rows begins with this, and so do a margin above and two rows below it. `below` is as wide as
    # the composer.
    bar: str = ""
    edge: str = ""  # with `above`: at both ends of each of its rows, which is in a box
    mode: str = ""  # with `bar`: matches the row above `below` while it takes a shell command


@dataclass(frozen=True, slots=True)
class MenuStyle:
    """How a CLI marks the option that Enter takes, and where it shows what it asks about."""

    mark: str  # one or more characters, each of which is a mark
    # Searched in the dialog, in which "╌" stands for a rule or an edge: its first group with text is the
    # command or file.
    subject: str = ""
    letters: bool = False  # "(y)" after an option is its key; in other CLIs it may be the name of a folder
    question_first: bool = False  # the dialog begins with its question
    needs_hints: bool = False  # the mark is common in text: it counts only above key hints
    # In a box, in which lines are wrapped between words: no mark is drawn, but the option that Enter takes
    # has another background.
    coloured: bool = False
    bar: str = ""  # before each row of the dialog, whose options are side by side; a colour marks one of them
    # The key that ends a question with several answers, whose options have boxes; `below`: a row below them.
    finish: str = ""


@dataclass(frozen=True, slots=True)
class ErrorLine:
    """An error on the screen: its first group is the message. `own`: a reply cannot look like it. `indented`:
    it begins with a blank, as do rows that may follow an error."""

    pattern: str
    own: bool = False
    indented: bool = False


@dataclass(frozen=True, slots=True)
class Marks:
    """The marks around a reply: characters, and from `placeholder` on patterns."""

    echo: str = ""  # before the echoed prompt, and in the composer
    inner_echo: str = ""  # the same where two blanks precede it, as they do all of the conversation
    answer: str = ""  # before a block of the reply
    numbering: str = ""  # answer marks under which lines of code are numbered
    elbow: str = ""  # before the result of a tool call, however far below its head
    placeholder: tuple[str, ...] = ()  # searched: shown in place of a long paste
    footer: tuple[str, ...] = ()  # searched: under a composer with no rules around it
    status: tuple[str, ...] = ()  # rows that count or move; indented ones are chrome only after the reply
    empty: tuple[str, ...] = ()  # a composer with no rules around it, while it is empty: from `composers`
    edges: tuple[str, ...] = ()  # the rows above and below a composer: from `composers`
    notice: tuple[str, ...] = ()  # messages of the program itself
    tool: tuple[str, ...] = ()  # the head of a tool call with its result below it
    outcome: tuple[str, ...] = ()
    stopped: tuple[str, ...] = ()  # a result that says that a human has stopped the turn
    summary: tuple[str, ...] = ()  # a row without a mark, below a block, for the tool calls that followed it
    lone_tool: tuple[str, ...] = ()  # the head of a tool call with nothing below it
    boxed_tool: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Look:
    composers: tuple[Composer, ...] = ()  # a profile sets these two (`composer`, `menus`)
    menus: tuple[MenuStyle, ...] = ()
    pointer: str = ""  # before a prompt that was sent, and before the chosen row of a list without numbers
    # Two characters each, the track and the thumb: a bar in the last column from the top row on is no text.
    scroll_bars: tuple[str, ...] = ()
    line_marks: str = ""  # before a line of the conversation: no dialog reaches above it
    questions: tuple[str, ...] = ()  # always the question, whatever else has a question mark
    permissions: tuple[str, ...] = ()  # questions that run something if the answer is yes
    about_above: tuple[str, ...] = ()  # questions of one line about a command or file in the lines above them
    hidden: tuple[str, ...] = ()  # rows that stand for what a dialog does not show
    options: tuple[tuple[str, ...], ...] = ()  # of dialogs that a narrow screen cuts: all of them, in order
    dialog_edges: tuple[str, ...] = ()  # rules above and below a dialog; a footer is below the second
    dialog_ends: tuple[str, ...] = ()  # last lines of a dialog that are not made of key hints
    below_dialogs: tuple[str, ...] = ()  # rows that are always at the bottom, also below the box of a dialog
    fields: tuple[str, ...] = ()  # fields to type into that no hint announces
    errors: tuple[ErrorLine, ...] = ()  # the last thing above the composer
    errors_below_echo: tuple[ErrorLine, ...] = ()  # directly under the message that failed
    errors_at_start: tuple[ErrorLine, ...] = ()  # with no composer there
    after_error: tuple[str, ...] = ()  # rows between an error and the composer
    stopped: tuple[str, ...] = ()  # how a turn ends that a human has stopped
    denied: tuple[str, ...] = ()  # what the program says when the human has denied a tool
    permitted: tuple[str, ...] = ()
    after_stop: tuple[str, ...] = ()  # rows between that and the composer
    reply: Marks = Marks()


Rules = TypeVar("Rules", Look, Marks)


def merged(rules: Iterable[Rules]) -> Rules:
    first, *others = rules
    values = {field.name: getattr(first, field.name) for field in fields(first)}
    for other in others:
        for name, value in values.items():
            more = getattr(other, name)
            values[name] = merged((value, more)) if isinstance(value, Marks) else value + more
    return type(first)(**values)
