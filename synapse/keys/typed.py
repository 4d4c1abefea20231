"""What a series of keys does to the line in a composer: nothing, something typed, submitted, or cleared.

MOVED is a kind of its own: arrow keys alone, which answer no question.
"""

NOTHING, TYPED, SUBMITTED, CLEARED, MOVED = -1, 0, 1, 2, 3
ARROWS = frozenset(("up", "down", "left", "right"))
ESCAPE_TIMEOUT = 0.05  # seconds after which a lone ESC is the Escape key and not the beginning of a sequence

_ENDS = {"enter": SUBMITTED, "ctrl-c": CLEARED, "ctrl-u": CLEARED}


def what_was_typed(data: bytes) -> int:
    """The last key decides, unless all are arrow keys."""
    from synapse.keys.decoder import KEY, MOUSE, REPORT, SILENT, KeyDecoder  # `re` is slow to import

    decoder, what = KeyDecoder(), NOTHING
    only_arrows = True
    for kind, value, _, _ in decoder.decode(data):
        if kind in (MOUSE, REPORT, SILENT):
            continue
        what = _ENDS.get(value, TYPED) if kind == KEY else TYPED
        only_arrows = only_arrows and kind == KEY and value in ARROWS
    if decoder.pending or decoder.in_paste:
        return TYPED
    return MOVED if only_arrows and what != NOTHING else what
