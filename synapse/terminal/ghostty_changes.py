"""Which rows of libghostty-vt's screen have changed, from the marks that it keeps for renderers."""

from synapse.terminal.ghostty_ffi import Terminal, check, ffi, lib


class Changes:
    """For one reader: the library clears its marks when they are read."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal  # it must live as long as the state
        state, rows = ffi.new("GhosttyRenderState*"), ffi.new("GhosttyRenderStateRowIterator*")
        check(lib.ghostty_render_state_new(ffi.NULL, state), "render_state_new")
        check(lib.ghostty_render_state_row_iterator_new(ffi.NULL, rows), "row_iterator_new")
        self._state = ffi.gc(state[0], lib.ghostty_render_state_free)
        self._rows = rows
        self._iterator = ffi.gc(rows[0], lib.ghostty_render_state_row_iterator_free)
        self._row = ffi.new("uint16_t*")

    def rows(self) -> list[int]:
        check(lib.ghostty_render_state_update(self._state, self._terminal._t[0]), "render_state_update")
        wanted = lib.GHOSTTY_RENDER_STATE_DATA_ROW_ITERATOR
        check(lib.ghostty_render_state_get(self._state, wanted, self._rows), "render_state_get")
        found = []
        while lib.ghostty_render_state_row_iterator_next_dirty(self._rows[0], self._row):
            found.append(int(self._row[0]))
        check(lib.ghostty_render_state_clean(self._state), "render_state_clean")
        return found
