"""`synapse config`: the settings in force, and where each comes from."""

from __future__ import annotations

import json
import os

from synapse.base import paths
from synapse.cli.parsing import Parser
from synapse.config import load_settings
from synapse.terminal.cells import aligned

HELP = "show the settings in force, and where each comes from"


def main(argv: list[str]) -> int:
    parser = Parser(prog="synapse config", description=HELP.capitalize() + ".")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args(argv)
    settings = load_settings()
    path = paths.config_file()
    if options.json:
        document = {
            "file": path,
            "exists": os.path.exists(path),
            "settings": {
                key: {"value": value, "source": settings.origins[key]}
                for key, value in settings.values.items()
            },
        }
        print(json.dumps(document, indent=2, ensure_ascii=False))
        return 0
    rows = [
        (key, json.dumps(value, ensure_ascii=False), settings.origins[key])
        for key, value in settings.values.items()
    ]
    print("\n".join(aligned(rows)))
    if not os.path.exists(path):
        print(f"\nThere is no {path} yet; all settings are optional.")
    return 0
