"""What a terminal says by itself, even while a human types elsewhere: focus, answers to queries."""

import re

_ANSWERS = re.compile(
    rb"\x1b\[[IO]|\x1b\[[?>=][\d;]*[cRnu]|\x1b\[[\d;]*c|\x1b\[\d+;\d+R|\x1b\[\?[\d;]*\$y|\x1b\[\d+(?:;\d+)*t"
    rb"|\x1b\[0n|\x1b[\]P_^][^\x07\x1b]*(?:\x07|\x1b\\)"
)
_UNFINISHED = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*|O|[\]P_^][^\x07\x1b]*\x1b?)\Z")
_LONGEST = 4096  # of an answer that is waited for


def split(data: bytes) -> tuple[bytes, bytes, bytes]:
    """A human's keys, the terminal's own words, and what may be the beginning of such."""
    unfinished = _UNFINISHED.search(data, max(len(data) - _LONGEST, 0))
    carry = unfinished.group() if unfinished else b""
    data = data[: len(data) - len(carry)]
    return _ANSWERS.sub(b"", data), b"".join(_ANSWERS.findall(data)), carry
