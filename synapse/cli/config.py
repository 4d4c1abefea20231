"""`synapse config`: show the settings in force, and where each comes from."""

from __future__ import annotations

import json
import os

from synapse.base import paths
from synapse.cli.shared.parser import Parser, raw_parser
from synapse.config import FIELDS, load_settings
from synapse.terminal.cells import aligned

HELP = "Show the settings in force, and where each comes from: the file, a variable or the default."


def parser() -> Parser:
    rows = [(f"  {key}", json.dumps(item.default), item.help) for key, item in FIELDS.items()]
    epilog = "\n".join([f"settings of {paths.config_file()}, with their defaults:", *aligned(rows)])
    found = raw_parser("synapse config", HELP, epilog=epilog)
    found.add_json()
    return found


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
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
