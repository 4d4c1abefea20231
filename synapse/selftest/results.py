"""What the checks of a CLI found: plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

AS_MEASURED = "as measured"
DIFFERS = "differs"
LEFT_OUT = "left out"
NOT_DONE = "not done"  # the time was over


@dataclass(frozen=True)
class Result:
    """One check. `harm` is what would go wrong for the user; `patch` the profile fields that may help."""

    check: str
    state: str
    seen: str
    harm: str = ""
    patch: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Drive:
    """All checks of one CLI. `unsaved` is why there is no recording, where one was wanted."""

    profile: str
    seconds: float
    results: list[Result]
    unsaved: str = ""

    @property
    def differs(self) -> bool:
        return any(result.state == DIFFERS for result in self.results)

    @property
    def is_done(self) -> bool:
        return all(result.state != NOT_DONE for result in self.results)

    @property
    def patch(self) -> dict[str, Any]:
        """The suggested fields of all checks together."""
        joined: dict[str, Any] = {}
        for result in self.results:
            joined |= result.patch
        return joined


class Differs(Exception):
    """A check found something else than what was measured."""

    def __init__(self, seen: str, harm: str, patch: dict[str, Any] | None = None) -> None:
        super().__init__(seen)
        self.seen, self.harm, self.patch = seen, harm, patch or {}


class Stuck(Differs):
    """The same, and no other check can be made."""
