"""Random input of a terminal, cut anywhere."""

from __future__ import annotations

import itertools

from hypothesis import strategies as st

PIECES = st.sampled_from(
    [
        b"a", b" ", b"@", "日".encode(), "🎉".encode(), b"\r", b"\n", b"\x7f", b"\x1b", b"\x1b[", b"\x1b[D",
        b"13u", b"\x1b[13u", b"\x1b[200~", b"\x1b[201~", b"\x1b]0;x", b"\x07", b"\x1b\\", b"\x1b[M",
        b"\x1b[<0;1;1M", b"\x1bO", b"\xe3", b"\x81", b"\xff", b"\x1b[1;5", b"~", b"\x1bP", b"\x03", b"[[",
        b"\x1d", b"d", b"\x1b[93;5u", b"\x1b[93;5:3u", b"\x1b[100;;100u", b"\x1b[27;5;93~",
    ]
)  # fmt: skip
STREAMS = st.lists(PIECES | st.binary(max_size=4), max_size=40).map(b"".join)


def cuts(stream: bytes, places: list[int]) -> list[bytes]:
    at = sorted({place % (len(stream) + 1) for place in places} | {0, len(stream)})
    return [stream[a:b] for a, b in itertools.pairwise(at)]
