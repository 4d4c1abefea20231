"""Lines for other agents that go to the host. Each is kept until the host has stored it.

Until the host answers, Enter and the keys after it wait. If the host takes the line, the composer is cleared;
if the line cannot be sent, it stays in the composer; if the host takes no lines, Enter goes to the agent. If
the host does not answer in time, or dies, the composer is cleared and the next host gets the line with the
same id.
"""

from __future__ import annotations

import time

from synapse.base import jsontext
from synapse.relay import wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from synapse.keys.commands import Command
    from synapse.relay.injector import Injector, Steps
    from synapse.relay.link import HostLink
    from synapse.relay.reactor import Reactor

ANSWER_TIMEOUT = 0.5  # seconds


class Outbox:
    """`clear` returns the steps that clear a composer which holds a line, with so many characters behind the
    cursor; `submit` passes an Enter on; `keep` is called when the line stays."""

    def __init__(
        self,
        reactor: Reactor,
        link: HostLink,
        injector: Injector,
        clear: Callable[[str, int], Steps],
        submit: Callable[[bytes], None],
        keep: Callable[[], None],
        log: Callable[[str], None],
    ) -> None:
        self._reactor = reactor
        self._link = link
        self._injector = injector
        self._clear = clear
        self._submit = submit
        self._keep = keep
        self._log = log
        self._kept: dict[str, bytes] = {}  # the frames by their ids
        self._told: dict[str, int] = {}  # the generation of the host that got each of them last
        # The line that the keys wait for, and how many of its characters are behind the cursor.
        self._asked: tuple[str, Command, int] | None = None
        self._run = f"{time.time_ns():x}"  # makes ids unique across relays
        self._count = 0

    def send(self, command: Command, behind: int) -> None:
        self._count += 1
        name = f"{self._run}-{self._count}"
        fields = ("name", "message", "wait", "priority", "timeout", "expires", "line")
        document = {"id": name, **{field: getattr(command, field) for field in fields}}
        self._kept[name] = wire.pack_json(wire.COMMAND, document)
        self._asked = (name, command, behind)
        self._injector.reserve()
        self._give(name)
        self._reactor.later(ANSWER_TIMEOUT, lambda: self._wait_no_longer(name))

    def taken(self, payload: bytes) -> None:
        answer = jsontext.loads(payload.decode())
        name, refusal = str(answer["id"]), answer.get("refused") or answer.get("kept")
        if self._kept.pop(name, None) is None:
            return
        del self._told[name]
        if self._asked is None or self._asked[0] != name:
            if refusal is not None:
                self._log(f"a line for another agent was refused when it was gone already: {refusal}")
            return
        (_, command, behind), self._asked = self._asked, None
        if refusal is None:
            self._injector.run(self._clear(command.line, behind))
            return
        if "kept" in answer:
            self._keep()
        else:
            self._submit(command.enter)
        self._injector.release()

    def host_came(self) -> None:
        """A host that takes lines: send it, once, what the last one did not store."""
        for name in self._kept:
            if self._told[name] != self._link.generation:
                self._give(name)

    def _give(self, name: str) -> None:
        self._told[name] = self._link.generation
        self._link.send(self._kept[name])

    def host_went(self) -> None:
        if self._asked is not None:
            self._wait_no_longer(self._asked[0])

    def _wait_no_longer(self, name: str) -> None:
        if self._asked is not None and self._asked[0] == name:
            (_, command, behind), self._asked = self._asked, None
            self._injector.run(self._clear(command.line, behind))
