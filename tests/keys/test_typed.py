"""What a human's keys amount to."""

from __future__ import annotations

import pytest

from synapse.keys.typed import CLEARED, MOVED, NOTHING, SUBMITTED, TYPED, what_was_typed


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", NOTHING),
        (b"a", TYPED),
        ("日本".encode(), TYPED),
        (b"\x7f", TYPED),
        (b"\r", SUBMITTED),
        (b"abc\r", SUBMITTED),
        (b"\rabc", TYPED),
        (b"\x15", CLEARED),
        (b"\x03", CLEARED),
        (b"\x1b[A", MOVED),
        (b"\x1b[A\x1bOB\x1b[I", MOVED),
        (b"\x1b[A\r", SUBMITTED),
        (b"x\x1b[A", TYPED),
        (b"\x1b[Ax", TYPED),
        (b"\x1b[A\x1b", TYPED),
        (b"\x1b[13u", SUBMITTED),
        (b"\x1b[13;1:1u", SUBMITTED),
        (b"\x1b[13;2u", TYPED),
        (b"\x1b[117;5u", CLEARED),
        (b"\x1b[200~one\rtwo\x1b[201~", TYPED),
        (b"\x1b[I", NOTHING),
        (b"\x1b[<0;3;4M\x1b[<0;3;4m", NOTHING),
        (b"\x1b[?62;22c\x1b[>0;276;0c", NOTHING),
        (b"\x1b]11;rgb:0000/0000/0000\x1b\\", NOTHING),
        (b"\x1bP>|xterm(390)\x1b\\a", TYPED),
        (b"\x1b[12;40R", NOTHING),
    ],
)
def test_what_was_typed(data: bytes, what: int) -> None:
    assert what_was_typed(data) == what
