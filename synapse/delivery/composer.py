"""The text typed into an agent's composer: a message with its mark, safe to paste. Pure."""

import re

from synapse.base.text import for_typing
from synapse.profiles.loader import Profile

PASTE_START, PASTE_END = b"\x1b[200~", b"\x1b[201~"
PLAIN_LIMIT = 1000  # bytes in one line: a terminal in canonical mode keeps 4,095
JOINER = "\u2060"  # of no width: it separates `@` from the next character for a CLI, and is invisible

_MARK = re.compile(r"\[A2A:(?!<task>:<sender>\])", re.IGNORECASE)  # but not where a mark is explained
_BLANK_LINES = re.compile(r"\A(?:[^\S\n]*\n)+")


def clean(text: str) -> str:
    """Without control characters, escape sequences, marks, and blank lines around it; lines end in a
    newline."""
    return _BLANK_LINES.sub("", _MARK.sub("[A2A ", for_typing(text)).rstrip())


def mark(task_id: str, sender: str) -> str:
    """The beginning of a message; `task_id` is the short id."""
    return f"[A2A:{task_id}:{re.sub(r'[^-_.@A-Za-z0-9]', '_', sender)[:64] or 'user'}]"


def guard(text: str, expands: tuple[str, ...]) -> str:
    """Prevent the CLI from expanding `@file` and the like in a message."""
    for character in expands:
        text = re.sub(rf"(?<!\S){re.escape(character)}(?=\S)", character + JOINER, text)
    return text


def can_take(text: str, bracketed: bool, limit: int) -> bool:
    size = len(text.encode())
    return size <= limit if bracketed else size <= PLAIN_LIMIT and "\n" not in text


def typing(profile: Profile, text: str, bracketed: bool) -> list[tuple[float, bytes]]:
    """The writes that type and submit the text, each with the pause before it."""
    data = text.encode()
    if text.endswith("\\"):
        data += b" "  # Enter after a backslash is a new line in some CLIs and in shells; CLIs trim a space
    if bracketed:
        data = PASTE_START + data + PASTE_END
    return [(0.0, data), (profile.submit_delay, profile.submit_sequence.encode())]
