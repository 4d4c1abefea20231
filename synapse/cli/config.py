"""`synapse config`: the settings in force, and where each comes from."""

from __future__ import annotations

import argparse
import json
import os
from typing import NoReturn

from synapse import paths
from synapse.config import load_settings
from synapse.errors import UsageError

HELP = "show the settings in force, and where each comes from"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see `{self.prog} --help`")


def main(argv: list[str]) -> int:
    parser = _Parser(prog="synapse config", description=HELP.capitalize() + ".")
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
    key_width, value_width = (max(len(row[column]) for row in rows) for column in (0, 1))
    for key, value, origin in rows:
        print(f"{key:{key_width}}  {value:{value_width}}  {origin}")
    if not os.path.exists(path):
        print(f"\nThere is no {path} yet; all settings are optional.")
    return 0
