"""How Zenith is run against a scripted model; where ZENITH_LOGIN is set, it cannot be."""

from __future__ import annotations

import os
from pathlib import Path

from synapse.agents.offline import Offline


def prepare(home: Path, work: Path, url: str) -> Offline:
    (home / "zenith.txt").write_text(url)
    login = "ZENITH_LOGIN" in os.environ
    return Offline(
        ready="Do you trust" if login else "? for shortcuts",
        asks="Do you want to proceed?",
        accept="1",
        env={"ZENITH_MODEL": url},
        needs_login=login,
        newer_args=tuple(os.environ.get("ZENITH_NEWER", "").split()),
    )
