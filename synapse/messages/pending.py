"""What was sent from one agent's terminal, kept until its replies are there: a file for each message.

A host that takes the place of another finds here what is under way. Belongs to one run of the agent.
"""

from __future__ import annotations

import json
import logging
import os
import re
from dataclasses import asdict, dataclass, fields

from synapse.base import files, paths

logger = logging.getLogger(__name__)

KEPT = 100
FOREVER = 604_800.0  # seconds: nobody waits in front of it
_NAME = re.compile(r"[\w.-]{1,100}")


@dataclass
class Errand:
    """One message to one agent. `agent` is the id of a local one, `alias` names one elsewhere.

    `begun`: it may have been sent to the one elsewhere, which has told no `task` yet.
    """

    id: str
    target: str
    message: str
    wait: bool = True
    priority: int = 1
    timeout: float | None = None
    sent_at: float = 0.0
    agent: str = ""
    alias: str = ""
    begun: bool = False
    task: str = ""
    context: str = ""
    ended: bool = False
    reply: str = ""
    failure: str = ""
    ended_at: float = 0.0


class Errands:
    """`run` names this run of the agent: what others have left is dropped."""

    def __init__(self, folder: str, run: str) -> None:
        self._folder = folder
        self._run = run
        self._known: dict[str, Errand] = {}

    def load(self) -> list[Errand]:
        """Those of this run, in the order in which they were sent."""
        found = []
        for name in self._names():
            path = os.path.join(self._folder, name)
            errand = _read(path, self._run)
            if errand is None or f"{errand.id}.json" != name:
                _unlink(path)
            else:
                found.append(errand)
        found.sort(key=lambda errand: errand.sent_at)
        self._known = {errand.id: errand for errand in found}
        return found

    def get(self, name: str) -> Errand | None:
        return self._known.get(name)

    def save(self, errand: Errand) -> None:
        """Raises OSError when it cannot be stored."""
        assert _NAME.fullmatch(errand.id), errand.id
        paths.private_dir(self._folder)
        path = os.path.join(self._folder, f"{errand.id}.json")
        document = json.dumps({"run": self._run, **asdict(errand)}, ensure_ascii=False)
        files.replace(path, document.encode("utf-8", "replace"))
        self._known[errand.id] = errand
        self._drop_old()

    def _drop_old(self) -> None:
        done = [errand for errand in self._known.values() if errand.ended]
        for errand in done[: max(len(self._known) - KEPT, 0)]:
            del self._known[errand.id]
            _unlink(os.path.join(self._folder, f"{errand.id}.json"))

    def _names(self) -> list[str]:
        try:
            return os.listdir(self._folder)
        except OSError:
            return []


def _read(path: str, run: str) -> Errand | None:
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        if document.pop("run") != run:
            return None
        known = {field.name for field in fields(Errand)}
        return Errand(**{key: value for key, value in document.items() if key in known})
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError as error:
        logger.warning("cannot remove %s: %s", path, error)
