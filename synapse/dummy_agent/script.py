"""Turns a message into the steps of its answer. Pure: no clock, no terminal, no process."""

import re
from collections.abc import Callable

from synapse.dummy_agent.steps import (
    Crash,
    Die,
    Edit,
    Exit,
    Fact,
    Flood,
    Question,
    Raw,
    Step,
    Text,
    Title,
    Tokens,
    Wait,
)

DIRECTIVES = """\
say TEXT                   answer exactly TEXT; \\n in it is a new line
markdown                   a heading, a python block, Japanese, a table, a list
lines N [every SECONDS]    line 1 to line N, at once or one every SECONDS
silent SECONDS [TEXT]      no answer text for that long (the spinner goes on), then the answer
pause SECONDS [TEXT]       half of the answer, silence, the other half
frozen SECONDS [TEXT]      not one byte of output for that long, then the answer
honour SECONDS [TEXT]      busy for that long; ESC and Ctrl-C interrupt, as everywhere
ignore-interrupts SECONDS [TEXT]
                           busy for that long; ESC and Ctrl-C do nothing
confirm [QUESTION]         a y/n question; answers Confirmed. or Declined.
choose A|B|C               a numbered choice; answers You chose: B
ask QUESTION               a line of text; answers You answered: ...
password                   a line with no echo; answers how long it was
error [TEXT]               answers API Error: 500 TEXT and stays alive
exit [N]                   leaves with status N (0); so does /exit
crash                      an exception out of main: traceback, status 1
die N                      kills itself with signal N, nothing restored
bytes HEX                  these bytes, raw
title TEXT                 sets the terminal title until the next message
flood MB                   that many megabytes of numbered lines
edit FILE                  adds a line to FILE, and reports it
tokens IN OUT              reports that the turn has used so many tokens
env NAME                   the value of an environment variable
size | pid | cwd | args    COLSxROWS, process id, directory, own arguments as JSON
a2a-mark                   the mark the message came with, or no mark
"""

MARKDOWN = """\
# A fixed answer

Some *markdown* with `code` in it:

```python
def greet(name: str) -> str:
    return f"Hello, {name}!"
```

日本語のテキストも入っています。

| name  | value |
|-------|-------|
| alpha | 1     |
| beta  | 2     |

- first
- second
  - nested"""

FLOOD_LINE = 64
MOST_LINES = 1_000_000

TRUST = Question("choose", "Do you trust the files in this folder?", ("Yes, proceed", "No, exit"))

_MARK = re.compile(r"(\[A2A:[^:\]\s]+:[^\]\n]*\]) ")
_WORD = re.compile(r"\s*\S+\s*$|\s*\S+|\s+")


def split_mark(message: str) -> tuple[str, str]:
    """The leading `[A2A:<id>:<sender>]` mark, or nothing, and the message without it."""
    found = _MARK.match(message)
    return (found[1], message[found.end() :]) if found else ("", message)


def words(text: str) -> list[str]:
    """`text` cut into the chunks it is streamed in; joined they are `text` again."""
    return _WORD.findall(text)


def steps(message: str) -> list[Step]:
    """The answer to `message`. What is not a well-formed directive is a plain message."""
    mark, command = split_mark(message)
    command = command.strip()
    plain = f"You said: {message}"
    if command == "/exit":
        return [Exit(0)]
    if command == "a2a-mark":
        return [Text(mark or "no mark")]
    name, argument = (*command.split(None, 1), "", "")[:2]
    try:
        if name in _TIMED:
            seconds, text = (*argument.split(None, 1), "", "")[:2]
            return _TIMED[name](_seconds(seconds), text or plain)
        if name in _BARE and not argument:
            return [_BARE[name]]
        if name in _WITH_ARGUMENT:
            return _WITH_ARGUMENT[name](argument)
    except ValueError:
        pass
    return [Text(plain)]


def flood_block(start: int, count: int) -> bytes:
    """Lines `start` to `start + count - 1` of the flood, each of 64 bytes with its newline."""
    pattern = "abcdefghijklmnopqrstuvwxyz0123456789" * 3
    width = FLOOD_LINE - 10
    return "".join(
        f"{n:08d} {pattern[n % 36 : n % 36 + width]}\n" for n in range(start, start + count)
    ).encode()


def _seconds(word: str) -> float:
    if not re.fullmatch(r"\d+(\.\d*)?|\.\d+", word):
        raise ValueError
    return float(word)


def _tokens(argument: str) -> list[Step]:
    read, written = argument.split()
    return [Tokens(_number(read, 10**9), _number(written, 10**9)), Text("Reported.")]


def _number(word: str, most: int) -> int:
    if not re.fullmatch(r"\d{1,9}", word) or int(word) > most:
        raise ValueError
    return int(word)


def _required(argument: str) -> str:
    if not argument:
        raise ValueError
    return argument


def _halves(seconds: float, text: str) -> list[Step]:
    middle = text.find(" ", len(text) // 2) + 1 or len(text) // 2
    return [Text(text[:middle]), Wait(seconds), Text(text[middle:])]


def _lines(argument: str) -> list[Step]:
    count, *every = argument.split()
    total = _number(count, MOST_LINES)
    if not every:
        return [Text("\n".join(f"line {n}" for n in range(1, total + 1)))]
    if len(every) != 2 or every[0] != "every":
        raise ValueError
    pause = Wait(_seconds(every[1]))
    made: list[Step] = []
    for n in range(1, total + 1):
        made += [Text(f"line {n}" if n == 1 else f"\nline {n}"), pause]
    return made[:-1]


def _choose(argument: str) -> list[Step]:
    options = tuple(option.strip() for option in argument.split("|"))
    if len(options) < 2 or not all(options):
        raise ValueError
    return [Question("choose", "Choose one:", options)]


def _flood(argument: str) -> list[Step]:
    lines = int(_seconds(argument) * 1_000_000) // FLOOD_LINE
    return [Flood(lines), Text(f"flooded {lines} lines")]


_BARE: dict[str, Step] = {
    "markdown": Text(MARKDOWN),
    "password": Question("password", "Password"),
    "crash": Crash("asked to crash"),
    **{name: Fact(name) for name in ("size", "pid", "cwd", "args")},
}

_TIMED: dict[str, Callable[[float, str], list[Step]]] = {
    "silent": lambda seconds, text: [Wait(seconds), Text(text)],
    "honour": lambda seconds, text: [Wait(seconds), Text(text)],
    "pause": _halves,
    "frozen": lambda seconds, text: [Wait(seconds, frozen=True), Text(text)],
    "ignore-interrupts": lambda seconds, text: [Wait(seconds, deaf=True), Text(text)],
}

_WITH_ARGUMENT: dict[str, Callable[[str], list[Step]]] = {
    "say": lambda argument: [Text(_required(argument).replace("\\n", "\n"))],
    "lines": _lines,
    "confirm": lambda argument: [Question("confirm", argument or "Do you want to proceed?", ("Yes", "No"))],
    "choose": _choose,
    "ask": lambda argument: [Question("ask", _required(argument))],
    "error": lambda argument: [Text(f"API Error: 500 {argument or 'Internal server error'}")],
    "exit": lambda argument: [Exit(_number(argument or "0", 255))],
    "die": lambda argument: [Die(_number(argument, 64))],
    "bytes": lambda argument: [Raw(bytes.fromhex(_required(argument)))],
    "title": lambda argument: [Title(_required(argument)), Text("Title set.")],
    "flood": _flood,
    "edit": lambda argument: [Edit(_required(argument))],
    "tokens": _tokens,
    "env": lambda argument: [Fact("env", _required(argument))],
}
