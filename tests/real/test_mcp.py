"""`mcp: true` in a profile: the real CLI starts `synapse mcp`, for this launch only."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.real.clis import Cli
from tests.real.wrapped import wrapped
from tests.support.home import Home, wait


def servers(home: Home) -> list[str]:
    """The processes of `synapse mcp` that know this home: a CLI may pass on no other variable of ours."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command, variables = ((folder / name).read_bytes() for name in ("cmdline", "environ"))
        except OSError:
            continue
        if b"synapse\0mcp" in command and f"SYNAPSE_HOME={home.env['SYNAPSE_HOME']}".encode() in variables:
            found.append(folder.name)
    return found


@pytest.mark.parametrize("cli", ["claude", "codex"], indirect=True)
def test_the_cli_starts_the_server_that_its_profile_asks_for(cli: Cli, home: Home) -> None:
    home.profile(cli.program, f"extends: {cli.program}\nmcp: true\n")
    with wrapped(cli, home, SYNAPSE_INITIAL_INSTRUCTIONS="off"):
        wait(lambda: servers(home), "synapse mcp")
    wait(lambda: not servers(home), "its end")
