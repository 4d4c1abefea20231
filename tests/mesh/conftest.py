"""The real NATS server is run only when asked for: SYNAPSE_MESH=1 pytest -n 2 tests/mesh."""

from __future__ import annotations

import os

if os.environ.get("SYNAPSE_MESH") != "1":
    collect_ignore_glob = ["test_*.py"]
