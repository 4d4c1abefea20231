"""Pending messages: those sent from one agent's terminal, with their replies, one file for each.

A new host finds here what is under way. The files belong to one run of the agent.
"""

import json
import logging
import os
import re
from dataclasses import asdict, dataclass, fields

from synapse.base import files, paths

logger = logging.getLogger(__name__)

KEPT = 100
FOREVER = 604_800.0  # seconds: the timeout of a message that has none
_KINDS = ("agent", "alias")  # of addresses: a local agent's id, an external agent's alias
_NAME = re.compile(r"[\w.-]{1,100}")


@dataclass
class PendingMessage:
    """One message to one agent. `address` is empty until the agent is started. `begun`: it may have been sent
    to an agent that does not recognise a repeated request. `late`: its timeout has passed."""

    id: str
    target: str
    message: str
    wait: bool = True
    priority: int = 1
    timeout: float | None = None
    expires: float | None = None
    sent_at: float = 0.0
    address: str = ""
    begun: bool = False
    late: bool = False
    task: str = ""
    context: str = ""
    ended: bool = False
    reply: str = ""
    failure: str = ""
    outcome: str = "failed"  # of a failure: also canceled or denied
    ended_at: float = 0.0


@dataclass(eq=False, repr=False)
class PendingMessages:
    """`run` names this run of the agent; the files of other runs are removed."""

    folder: str
    run: str

    def __post_init__(self) -> None:
        self._known: dict[str, PendingMessage] = {}

    def load(self) -> list[PendingMessage]:
        found = []
        try:
            names = os.listdir(self.folder)
        except OSError:
            names = []
        for name in names:
            path = os.path.join(self.folder, name)
            message = _read(path, self.run)
            if message is None or f"{message.id}.json" != name:
                _unlink(path)
            else:
                found.append(message)
        found.sort(key=lambda message: message.sent_at)
        self._known = {message.id: message for message in found}
        return found

    def get(self, name: str) -> PendingMessage | None:
        return self._known.get(name)

    def save(self, message: PendingMessage) -> None:
        """Raises OSError when it cannot be stored."""
        assert _NAME.fullmatch(message.id), message.id
        paths.private_dir(self.folder)
        path = os.path.join(self.folder, f"{message.id}.json")
        document = json.dumps({"run": self.run, **_to_json(message)}, ensure_ascii=False)
        files.replace(path, document.encode("utf-8", "replace"))
        self._known[message.id] = message
        done = [message for message in self._known.values() if message.ended]
        for message in done[: max(len(self._known) - KEPT, 0)]:
            del self._known[message.id]
            _unlink(os.path.join(self.folder, f"{message.id}.json"))


def _to_json(message: PendingMessage) -> dict[str, object]:
    """An address of one of these kinds is written as a field of that name."""
    document = asdict(message)
    kind, _, place = message.address.partition(":")
    if kind in _KINDS or not kind:
        del document["address"]
    return document | dict.fromkeys(_KINDS, "") | ({kind: place} if kind in _KINDS else {})


def _read(path: str, run: str) -> PendingMessage | None:
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        if document.pop("run") != run:
            return None
        for kind in _KINDS:
            if place := document.get(kind):
                document["address"] = f"{kind}:{place}"
        known = {field.name for field in fields(PendingMessage)}
        return PendingMessage(**{key: value for key, value in document.items() if key in known})
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError as error:
        logger.warning("cannot remove %s: %s", path, error)
