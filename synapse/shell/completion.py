"""Completion of a line: names, flags and earlier messages after `@`; programs and files otherwise."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from synapse.peers.base import Listed

FLAGS = (
    ("--return", "wait and show the reply here"),
    ("--no-wait", "only send"),
    ("--priority", "1 to 5; 5 interrupts"),
    ("--timeout", "seconds to wait"),
    ("--expires", "seconds after which it is not delivered any more"),
)
MOST = 200
_NAME = re.compile(r"@([\w-]*(?:@[\w.-]*)?)\Z")
_MESSAGE = re.compile(r"@[\w-]+(?:@[\w.-]+)?\s+((?:--\S*\s+(?:[\d.]+\s+)?)*)(.*)\Z", re.DOTALL)
_WORD = re.compile(r"(?:[^\s'\"\\|&;<>()]|\\.)*\Z")
_SPECIAL = re.compile(r"([\s'\"\\|&;<>()$`!*?\[\]{}#~])")


class Choice(NamedTuple):
    text: str
    replaces: int  # characters before the cursor
    about: str = ""


def for_agent(text: str, agents: Sequence[Listed], sent: Iterable[str]) -> Iterator[Choice]:
    """`text` is before the cursor; `sent` are the earlier lines, the newest first."""
    if name := _NAME.match(text):
        for agent in agents:
            if agent.name.casefold().startswith(name[1].casefold()):
                yield Choice(f"@{agent.name} ", len(text), agent.about)
        return
    found = _MESSAGE.match(text)
    if found is None:
        return
    flags, begun = found[1], found[2]
    if begun.startswith("-") or not begun:
        for flag, about in FLAGS:
            if flag.startswith(begun) and flag not in flags.split():
                yield Choice(f"{flag} ", len(begun), about)
    seen = set()
    for line in sent:
        before = _MESSAGE.match(line)
        if before and before[2].startswith(begun) and before[2] != begun and before[2] not in seen:
            seen.add(before[2])
            yield Choice(before[2], len(begun), "sent before")
            if len(seen) >= MOST:
                return


def for_shell(text: str, path: str) -> Iterator[Choice]:
    found = _WORD.search(text)
    word = found[0] if found else ""
    before = text[: len(text) - len(word)].rstrip(" \t")
    plain = re.sub(r"\\(.)", r"\1", word)
    if (not before or before[-1] in "|&;(\n") and "/" not in word:
        if word:
            for name in sorted(_programs(plain, path))[:MOST]:
                yield Choice(_SPECIAL.sub(r"\\\1", name) + " ", len(word), "program")
        return
    folder, _, begun = plain.rpartition("/")
    shown = word[: len(word) - len(_SPECIAL.sub(r"\\\1", begun))] if begun else word
    where = os.path.expanduser(folder + "/") if folder or plain.startswith("/") else "."
    for name, is_folder in sorted(_files(where, begun))[:MOST]:
        yield Choice(shown + _SPECIAL.sub(r"\\\1", name) + ("/" if is_folder else " "), len(word))


def _programs(begun: str, path: str) -> set[str]:
    found: set[str] = set()
    for folder in path.split(os.pathsep):
        try:
            found |= {name for name in os.listdir(folder) if name.startswith(begun)}
        except OSError:
            continue
    return found


def _files(folder: str, begun: str) -> Iterator[tuple[str, bool]]:
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        if name.startswith(begun) and (begun or not name.startswith(".")):
            yield name, os.path.isdir(os.path.join(folder, name))
