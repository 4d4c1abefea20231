"""The journal of one session of Mistral Vibe: files of JSON Lines, each named by its first record's number.

A turn ends its file, and the last two files are kept.
"""

import os
from collections.abc import Mapping
from typing import Any

from synapse.agents.base import names_in
from synapse.agents.tail import JsonlTail

ENDING = ".jsonl"
# The other records have the whole conversation in them, or repeat what these say.
KINDS = (b'"projection_delta"', b'"callback_registered"', b'"callback_resolved"', b'"action_result"')
KIND_AT = 100  # bytes before the end of a line: the kind is its last field


class Journal:
    def __init__(self, folder: str, since: float) -> None:
        self._folder = folder
        self._since = since * 1000  # earlier records are of earlier runs
        self._files: dict[str, JsonlTail] = {}
        self._last = 0  # number of the last record
        self._at = 0.0  # its time, milliseconds; not every record has one

    def read_new(self) -> list[dict[str, Any]]:
        names = [name for name in names_in(self._folder) if name.endswith(ENDING)]
        self._files = {name: self._files.get(name) or self._tail(name) for name in names}
        found: list[dict[str, Any]] = []
        for tail in self._files.values():
            for record in tail.read_new():
                number = record.get("sequence")
                if not isinstance(number, int) or number <= self._last:
                    continue
                self._last = number
                self._at = max(self._at, _moment(record.get("payload")))
                if self._at >= self._since:
                    found.append(record)
        return found

    def _tail(self, name: str) -> JsonlTail:
        return JsonlTail(os.path.join(self._folder, name), wanted=_is_wanted)


def _is_wanted(line: bytes) -> bool:
    end = line[-KIND_AT:]
    return any(kind in end for kind in KINDS)


def _moment(payload: object) -> float:
    """When the newest change of a record was made."""
    if not isinstance(payload, Mapping):
        return 0.0
    changes = payload.get("delta")
    told: list[object] = [payload.get("routing")]
    for change in changes if isinstance(changes, list) else []:
        if isinstance(change, Mapping):
            state = change.get("state")
            told += [change.get("entry"), state.get("session") if isinstance(state, Mapping) else None]
    moments = [
        at
        for one in told
        if isinstance(one, Mapping)
        for at in (one.get("updatedAt"), one.get("createdAt"))
        if isinstance(at, int | float)
    ]
    return max(moments, default=0.0)
