"""What a human's keys amount to: nothing, something typed, a line submitted, a line cleared."""

NOTHING, TYPED, SUBMITTED, CLEARED = -1, 0, 1, 2

# What a terminal sends by itself: focus, mouse, answers to queries.
_REPORTS = (
    rb"\x1b\[[IO]"
    rb"|\x1b\[<[\d;]*[Mm]|\x1b\[M..."
    rb"|\x1b\[[?>=]?[\d;]*[cR]|\x1b\[\?[\d;]*(?:u|\$y|n)|\x1b\[\d+(?:;\d+)*t|\x1b\[0n"
    rb"|\x1b[\]P_^][^\x07\x1b]*(?:\x07|\x1b\\)"
)
_ENDS = rb"(\r|\x1b\[13(?:;1(?::1)?)?u)|([\x03\x15]|\x1b\[(?:99|117);5(?::1)?u)"


def what_was_typed(data: bytes) -> int:
    """What the keys leave behind: the last of them decides."""
    if b"\x1b" in data:
        return _with_sequences(data)
    if not data:
        return NOTHING
    return SUBMITTED if data.endswith(b"\r") else CLEARED if data[-1] in b"\x03\x15" else TYPED


def _with_sequences(data: bytes) -> int:
    import re  # 10 ms that the agent's start does not have

    data = re.sub(_REPORTS, b"", data, flags=re.DOTALL)
    if not data:
        return NOTHING
    ends = list(re.finditer(_ENDS, data))
    if not ends or ends[-1].end() < len(data):
        return TYPED
    return SUBMITTED if ends[-1][1] else CLEARED
