"""How it is run without a network; `synapse/agents/offline.py` describes the interface."""

from __future__ import annotations

import json
from pathlib import Path

from synapse.agents.offline import KEY, Offline


def prepare(home: Path, work: Path, url: str) -> Offline:
    (home / ".copilot").mkdir(exist_ok=True)
    (home / ".copilot" / "config.json").write_text(json.dumps({"trustedFolders": [str(work.resolve())]}))
    # It unpacks itself, 235 MB, into the cache of this home: in a moment, and gone with the home.
    env = {
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
        "COPILOT_PROVIDER_API_KEY": KEY,
        "COPILOT_MODEL": "scripted",
        "COPILOT_AUTO_UPDATE": "false",
    }
    return Offline(ready="? help", asks="Do you want to run this command?", accept="1", env=env)
