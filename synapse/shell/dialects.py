"""The shells that can be used: how each is started, and how it reports an incomplete command."""

import os
import re
from collections.abc import Mapping
from typing import NamedTuple

HOOKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hooks")

# Typed at the shell's prompt, without echo. The space in front keeps it out of the shell's history.
_TRIGGER = b' { __synshell_take; } 2>/dev/null;eval "$__synshell_line";{ __synshell_hook; } 2>/dev/null\n'


class Dialect(NamedTuple):
    """Typing `trigger` makes the shell read a command; typing `wakes` makes fish return to its loop."""

    name: str
    check: tuple[str, ...]  # the options that make it read a text without running it
    unfinished: re.Pattern[str]  # found in its error message then
    trigger: bytes = _TRIGGER
    wakes: bytes = b""
    batch: str = "batch.sh"


BASH = Dialect(
    "bash", ("-n", "-O", "extglob"), re.compile("unexpected EOF|unexpected end of file|here-document")
)
ZSH = Dialect(
    "zsh",
    ("-f", "-n"),
    re.compile("unmatched|closing brace expected"),
    trigger=b" __synshell_take 2>/dev/null\n __synshell_line\n",
)
POSIX = Dialect(
    "sh",
    ("-n",),
    re.compile("(?i)end of file|unexpected EOF|Unterminated|EOF in|Missing '}'|unmatched|unclosed"),
)
FISH = Dialect(
    "fish",
    ("-N", "-n"),
    re.compile("Unexpected end of string|Missing end to balance|found end of the input"),
    trigger=b"",
    wakes=b" __synshell_loop\r",
    batch="batch.fish",
)
_BY_NAME = {
    "bash": BASH, "zsh": ZSH, "fish": FISH,
    "sh": POSIX, "dash": POSIX, "ash": POSIX, "ksh": POSIX, "mksh": POSIX,
}  # fmt: skip


def find_shell(environ: Mapping[str, str]) -> tuple[str, Dialect]:
    """The user's shell and its dialect; /bin/sh in place of one that is not supported."""
    program = environ.get("SHELL") or _login_shell()
    dialect = _BY_NAME.get(os.path.basename(program))
    if dialect is None or not os.access(program, os.X_OK):
        return "/bin/sh", POSIX
    return program, dialect


def _login_shell() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_shell
    except KeyError:
        return "/bin/sh"


def quoted(shell: str, text: str) -> str:
    if shell == "fish":
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return "'" + text.replace("'", "'\\''") + "'"


def assigned(dialect: Dialect, name: str, value: str) -> str:
    word = quoted(dialect.name, value)
    return f"set -g {name} {word}\n" if dialect is FISH else f"{name}={word}\n"


def interactive(
    dialect: Dialect, program: str, folder: str, marks: tuple[str, str], environ: Mapping[str, str]
) -> tuple[list[str], dict[str, str], dict[str, str]]:
    """The command, the changes of its environment, and the files that it reads in `folder`.

    The shell prints the two marks at its prompt. What follows the second one is not shown.
    """
    theirs = {"zsh": environ.get("ZDOTDIR", ""), "sh": environ.get("ENV", "")}.get(dialect.name, "")
    head = "".join(
        assigned(dialect, f"__synshell_{name}", value)
        for name, value in (("dir", folder), ("mark", marks[0]), ("hide", marks[1]))
    )
    if dialect is BASH:
        return [program, "--rcfile", f"{folder}/hooks", "-i"], {}, {"hooks": head + _read("bash.sh")}
    first = head + assigned(dialect, "__synshell_theirs", theirs)
    if dialect is ZSH:
        files = {".zshenv": first + _read("zshenv.zsh"), ".zshrc": _read("zsh.zsh")}
        return [program, "-i"], {"ZDOTDIR": folder}, files
    if dialect is FISH:
        source = f"source {quoted('fish', f'{folder}/hooks')}"
        return [program, "-i", "-C", source], {}, {"hooks": head + _read("fish.fish")}
    return [program, "-i"], {"ENV": f"{folder}/hooks"}, {"hooks": first + _read("posix.sh")}


def in_batch(dialect: Dialect, program: str, folder: str) -> list[str]:
    return [program, "-c", assigned(dialect, "__synshell_dir", folder) + _read(dialect.batch)]


def _read(name: str) -> str:
    with open(os.path.join(HOOKS, name), encoding="utf-8") as file:
        return file.read()
