"""What a series of keys does to the line in a composer: nothing, something typed, submitted, or cleared."""

NOTHING, TYPED, SUBMITTED, CLEARED = -1, 0, 1, 2
ESCAPE_TIMEOUT = 0.05  # seconds after which a lone ESC is the Escape key and not the beginning of a sequence

_ENDS = {"enter": SUBMITTED, "ctrl-c": CLEARED, "ctrl-u": CLEARED}


def what_was_typed(data: bytes) -> int:
    """The last key decides."""
    from synapse.keys.decoder import KEY, MOUSE, REPORT, SILENT, KeyDecoder  # `re` is slow to import

    decoder, what = KeyDecoder(), NOTHING
    for kind, value, _, _ in decoder.decode(data):
        if kind == KEY:
            what = _ENDS.get(value, TYPED)
        elif kind not in (MOUSE, REPORT, SILENT):
            what = TYPED
    return TYPED if decoder.pending or decoder.in_paste else what
