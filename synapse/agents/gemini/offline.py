"""How it is run without a network; `synapse/agents/offline.py` describes the interface."""

from __future__ import annotations

import json
from pathlib import Path

from synapse.agents.offline import KEY, Offline


def prepare(home: Path, work: Path, url: str) -> Offline:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "privacy": {"usageStatisticsEnabled": False},
    }
    (home / ".gemini").mkdir()
    (home / ".gemini" / "settings.json").write_text(json.dumps(settings))
    trusted = {str(work.resolve()): "TRUST_FOLDER"}  # older versions have no --skip-trust
    (home / ".gemini" / "trustedFolders.json").write_text(json.dumps(trusted))
    env = {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_CLI_HOME": str(home)}
    return Offline(ready="Type your message", asks="Allow execution of", accept="1", env=env)
