"""How it is run without a network; `synapse/agents/offline.py` describes the interface."""

from __future__ import annotations

import json
import os
from pathlib import Path

from synapse.agents.offline import KEY, Offline

UNPACKED = "COPILOT_PKG_CACHE_HOME"


def prepare(home: Path, work: Path, url: str) -> Offline:
    (home / ".copilot").mkdir(exist_ok=True)
    (home / ".copilot" / "config.json").write_text(json.dumps({"trustedFolders": [str(work.resolve())]}))
    env = {
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
        "COPILOT_PROVIDER_API_KEY": KEY,
        "COPILOT_MODEL": "scripted",
        "COPILOT_AUTO_UPDATE": "false",
        # Each version unpacks itself once, 235 MB: not into every empty home.
        UNPACKED: os.environ.get(UNPACKED) or os.path.expanduser("~/.cache/copilot"),
    }
    return Offline(ready="? help", asks="Do you want to run this command?", accept="1", env=env)
