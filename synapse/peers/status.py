"""What is known of another machine. Light: `synapse list` loads it."""

from __future__ import annotations

from synapse.base.record import Record


class MachineStatus(Record):
    """Another machine as it is known now. `about` is its address; `note` is a sentence about what is wrong
    with it, if anything is."""

    name: str
    about: str
    answers: bool
    note: str

    def __init__(self, name: str, about: str, answers: bool, note: str = "") -> None:
        super().__init__(name=name, about=about, answers=answers, note=note)
