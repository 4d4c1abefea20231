"""The launch flag of Gemini CLI: the id of the session, which leads to its chat file."""

from __future__ import annotations

import os

from synapse.agents.flags import has, installed_version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SESSIONS = ("--resume", "--session-file", "--session-id", "--sessionFile", "--sessionId")
_KNOWS_IDS = (0, 61)  # the version that was measured; an older one may refuse the flag


def arguments(args: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """An id that leads to the chat file: another agent in this directory writes its own beside it."""
    if any(arg.startswith("-r") for arg in args) or any(has(args, flag) for flag in _SESSIONS):
        return []
    if installed_version("gemini", env) < _KNOWS_IDS:
        return []
    raw = bytearray(os.urandom(16))
    raw[6], raw[8] = raw[6] & 0x0F | 0x40, raw[8] & 0x3F | 0x80  # a UUID of version 4; `uuid` costs 5 ms
    text = raw.hex()
    return ["--session-id", f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"]
