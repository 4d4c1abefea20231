"""`synapse profiles`: which agents can be started, and `show NAME`: all that is known about one."""

from __future__ import annotations

import argparse
import json
import shutil
from typing import Any

from synapse.base import paths
from synapse.cli.parsing import Parser
from synapse.profiles import loader as profiles
from synapse.terminal.cells import aligned

HELP = "list the profiles, or show one in full"


def main(argv: list[str]) -> int:
    parser = Parser(prog="synapse profiles", description=HELP.capitalize() + ".")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    commands = parser.add_subparsers(dest="command", metavar="show NAME")
    show = commands.add_parser("show", help="the profile as YAML, and which file says each value")
    show.add_argument("name", metavar="NAME")
    show.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS, help="print one JSON document"
    )
    options = parser.parse_args(argv)
    if options.command == "show":
        return _show(options.name, options.json)
    return _list(options.json)


def _list(as_json: bool) -> int:
    rows = profiles.list_profiles()
    if as_json:
        print(json.dumps([_row(row) for row in rows], indent=2, ensure_ascii=False))
        return 0
    table: list[tuple[str, ...]] = [("NAME", "COMMAND", "PORTS", "SOURCE", "INSTALLED")]
    for row in rows:
        if row.profile is None:
            table.append((row.name, "(see below)", "-", row.source, "-"))
        else:
            command = " ".join(row.profile.command)
            installed = "yes" if _installed(row.profile) else "no"
            table.append((row.name, command, _ports(row.profile.ports), row.source, installed))
    print("\n".join(aligned(table)))
    for row in rows:
        if row.error is not None:
            print(f"\n{row.error}")
    return 0


def _row(row: profiles.Listed) -> dict[str, Any]:
    profile = row.profile
    return {
        "name": row.name,
        "command": list(profile.command) if profile else None,
        "ports": _ports(profile.ports) if profile else None,
        "source": row.source,
        "path": row.path,
        "installed": _installed(profile) if profile else None,
        "error": row.error,
    }


def _installed(profile: profiles.Profile) -> bool:
    return shutil.which(profile.command[0]) is not None


def _ports(ports: tuple[int, int] | None) -> str:
    if ports is None:
        return "from 8200"
    return str(ports[0]) if ports[0] == ports[1] else f"{ports[0]}-{ports[1]}"


def _show(name: str, as_json: bool) -> int:
    explained = profiles.explain_profile(name)
    values = {key: explained.values[key] for key in profiles.FIELDS.fields if key in explained.values}
    if values["ports"] is not None:
        values["ports"] = _ports(values["ports"])
    origins = {}
    for key, value in values.items():
        for field in [f"{key}.{inner}" for inner in value] if isinstance(value, dict) else [key]:
            origins[field] = _origin(explained.origins.get(field))
    if as_json:
        document = {
            "name": name,
            "source": explained.source,
            "path": explained.path,
            "profile": values,
            "origins": origins,
        }
        print(json.dumps(document, indent=2, ensure_ascii=False))
        return 0
    print(f"# {name}: {explained.source}, {explained.path}")
    for key, value in values.items():
        if isinstance(value, dict) and value:
            print(f"{key}:")
            for inner, item in value.items():
                _field(f"  {inner}", item, origins[f"{key}.{inner}"])
        else:
            _field(key, value, origins.get(key, profiles.DEFAULT))
    return 0


def _origin(path: str | None) -> str:
    if path is None:
        return profiles.DEFAULT
    return profiles.BUILT_IN if path.startswith(paths.builtin_profiles_dir()) else path


def _field(key: str, value: object, origin: str) -> None:
    """One field; a JSON value is a YAML value."""
    indent = " " * (len(key) - len(key.lstrip()))
    if isinstance(value, list) and len(value) > 4:
        print(f"{key}:  # {origin}")
        for item in value:
            print(f"{indent}  - {json.dumps(item, ensure_ascii=False)}")
    else:
        print(f"{key}: {json.dumps(value, ensure_ascii=False)}  # {origin}")
