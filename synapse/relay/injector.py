"""Types text of Synapse into the agent's terminal without mixing it with a human's keys.

An injection is a few writes with pauses between them, such as a paste and the Enter that submits it. It names
the last human key and the last output that its author knew of, and is refused if there has been more since.
While it runs, the human's keys are held back; they follow right after it. It completes even if the host ends,
and a new host learns which injections were done, so that none is done twice. Its host may stop it in a pause,
when the screen shows that the rest would go elsewhere.
"""

from __future__ import annotations

from collections import deque

from synapse.base import jsontext
from synapse.relay.pty import Pty
from synapse.relay.reactor import Reactor
from synapse.relay.wire import BUSY, DONE, ELSEWHERE, NEW_KEYS, NEW_OUTPUT, STOPPED, STUCK, SUSPENDED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Steps = list[tuple[float, bytes]]  # each: seconds to wait, then bytes to write

REMEMBERED = 256
DRAIN_AGAIN = 0.01  # seconds between two checks whether the agent has taken everything
DRAIN_AT_MOST = 30.0  # seconds for an agent that takes nothing


class Injector:
    """`on_outcome` is called with the id and the outcome of each injection."""

    def __init__(self, reactor: Reactor, pty: Pty, on_outcome: Callable[[str, str], None]) -> None:
        self._reactor = reactor
        self._pty = pty
        self._on_outcome = on_outcome
        self._steps: deque[tuple[float, bytes]] = deque()
        self._current: str | None = None
        self._reserved = False
        self._held = bytearray()
        self._drain_left = 0.0
        self._runs = 0  # so that a pause of one that was stopped is not followed by its keys
        self._release: Callable[[bytes], None] | None = None
        self.done: deque[str] = deque(maxlen=REMEMBERED)
        # The writes that remove a text from the composer.
        self.clear: Callable[[str], Steps] = lambda text: []
        # Called with what the composer then holds of the human's text.
        self.on_draft: Callable[[str], None] = lambda text: None

    @property
    def busy(self) -> bool:
        return self._current is not None or self._reserved

    def known(self) -> list[str]:
        return [*self.done, *([self._current] if self._current is not None else [])]

    def hold(self, data: bytes, release: Callable[[bytes], None]) -> None:
        self._held += data
        self._release = release

    def inject(
        self, payload: bytes, keys: int, output: int, suspended: bool, is_in_front: Callable[[], bool]
    ) -> None:
        request = jsontext.loads(payload.decode())
        name = str(request["id"])
        if request.get("stop"):
            self._stop(name)
            return
        refusal = None
        if self.busy:
            refusal = BUSY
        elif suspended:
            refusal = SUSPENDED
        elif request["keys"] is not None and request["keys"] != keys:
            refusal = NEW_KEYS
        elif request["output"] is not None and request["output"] != output:
            refusal = NEW_OUTPUT
        elif request.get("in_front") and not is_in_front():
            refusal = ELSEWHERE
        only_asks = not request["steps"] and request.get("clear") is None  # whether it could be done
        if refusal is not None or only_asks:
            self._on_outcome(name, refusal or DONE)
            return
        self._current = name
        steps = [(float(delay), text.encode("latin-1")) for delay, text in request["steps"]]
        if request.get("clear") is not None:
            steps = self.clear(str(request["clear"])) + steps
        if request.get("draft") is not None:
            self.on_draft(str(request["draft"]))
        self.run(steps)

    def _stop(self, name: str) -> None:
        """Type nothing more of this injection, if a part of it is still to come."""
        if self._current == name:
            self._finish(STOPPED)

    def reserve(self) -> None:
        """Allow no injection until `run` is done or `release` is called."""
        self._reserved = True

    def run(self, steps: Steps) -> None:
        self._steps = deque(steps)
        self._drain_left = DRAIN_AT_MOST
        self._runs += 1
        self._next(self._runs)

    def release(self) -> None:
        self._reserved = False
        self._release_held()

    def _next(self, run: int) -> None:
        if run != self._runs:
            return
        if self._pty.backlog:  # the pause counts from when the agent has taken everything before it
            self._drain_left -= DRAIN_AGAIN
            if self._drain_left <= 0:
                self._finish(STUCK)
            else:
                self._reactor.later(DRAIN_AGAIN, lambda: self._next(run))
        elif self._steps:
            delay, data = self._steps.popleft()
            if delay:
                self._reactor.later(delay, lambda: self._write(data, run))
            else:
                self._write(data, run)
        else:
            self._finish(DONE)

    def _write(self, data: bytes, run: int) -> None:
        if self.busy and run == self._runs:
            self._pty.write(data)
            self._next(run)

    def _finish(self, outcome: str) -> None:
        name, self._current = self._current, None
        self._steps.clear()
        self._runs += 1
        if name is None:
            self.release()
            return
        self.done.append(name)  # even if the agent is stuck, a part was typed
        self._on_outcome(name, outcome)
        self._release_held()

    def _release_held(self) -> None:
        if self._held and self._release is not None:
            held, self._held = bytes(self._held), bytearray()
            self._release(held)
