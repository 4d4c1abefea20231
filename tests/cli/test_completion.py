"""Completion: every command and option, from the commands' own parsers, in real shells."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from synapse.base.commands import COMMANDS
from synapse.cli.completion import complete
from synapse.peers.external.agents import ExternalAgent, ExternalAgentRegistry
from tests.support.home import SYNAPSE, Home
from tests.support.shells import SHELLS, interactive


@pytest.fixture
def reviewer(home: Home) -> Iterator[Home]:
    """A home where an agent named reviewer seems to run."""
    registry = home.registry
    registry.register("f" * 64, "claude", 8100, name="reviewer")
    yield home
    registry.unregister("f" * 64)


def words(line: str) -> list[str]:
    return [word for word, _ in complete(line.split(" "))]


@pytest.mark.usefixtures("reviewer")
class TestWords:
    def test_commands_and_profiles(self) -> None:
        assert set(words("synapse ")) >= {*COMMANDS, "claude", "codex", "gemini", "dummy"}
        assert words("synapse sen") == ["send"]

    @pytest.mark.parametrize("command", sorted(COMMANDS))
    def test_each_command_has_its_options(self, command: str) -> None:
        offered = complete(["synapse", command, "-"])
        assert all(word.startswith("-") for word, _ in offered)
        assert "--help" in dict(offered)

    def test_options_say_what_they_do(self) -> None:
        assert dict(complete(["synapse", "send", "--ti"]))["--timeout"].startswith("seconds to wait")
        assert {"--port", "--name"} <= set(words("synapse start dummy --"))
        assert {"--port", "--name"} <= set(words("synapse claude --"))
        assert words("synapse external add --al") == ["--alias"]

    @pytest.mark.parametrize(
        ("line", "offered"),
        [
            ("synapse send rev", ["reviewer"]),
            ("synapse-send --return rev", ["reviewer"]),
            ("synapse send --priority 5 rev", ["reviewer"]),
            ("synapse send al", ["all", "all-here"]),
            ("synapse send reviewer ", []),
            ("synapse send --file ", []),
            ("synapse send -- rev", []),
            ("synapse stop reviewer re", ["reviewer"]),
            ("synapse start cl", ["claude"]),
            ("synapse profiles sh", ["show"]),
            ("synapse profiles show co", ["codex", "copilot"]),
            ("synapse external a", ["add"]),
            ("synapse external add --token-file ", []),
            ("synapse completion ", ["bash", "zsh", "fish"]),
            ("synapse keys rev", ["reviewer"]),
            ("synapse keys reviewer Enter -", []),
            ("synapse doctor gem", ["gemini"]),
            ("synapse task ", []),
            ("synapse nonsense ", []),
            ("synapse claude ", []),
        ],
    )
    def test_what_comes_next(self, line: str, offered: list[str]) -> None:
        assert words(line) == offered

    def test_a_name_that_somebody_has_here_and_somebody_elsewhere_is_offered_once(self) -> None:
        for alias in ("Reviewer", "far"):
            ExternalAgentRegistry().add(ExternalAgent("Far", "http://127.0.0.1:1", alias=alias))
        offered = dict(complete(["synapse", "send", ""]))
        assert list(offered) == ["reviewer", "far", "all", "all-here"] == words("synapse send ")
        assert offered["reviewer"].startswith("claude, ")
        assert words("synapse external send re") == [] and words("synapse external send Re") == ["Reviewer"]


def test_a_broken_file_breaks_no_shell(home: Home) -> None:
    registry = home.path / "a2a"
    registry.write_text("no directory")
    done = home.run("completion", "--words", "synapse", "send", "", check=False)
    registry.unlink()
    assert done.returncode == 1 and done.stderr == ""


def test_only_for_shells_we_know(home: Home) -> None:
    done = home.run("completion", "tcsh", check=False)
    assert done.returncode == 2 and "choose one of bash, zsh, fish" in done.stderr


@pytest.mark.parametrize("shell", SHELLS)
def test_in_a_real_shell(reviewer: Home, shell: str) -> None:
    load = " ".join([*SYNAPSE, "completion"])
    load = f"{load} | source" if shell == "fish" else f'eval "$({load})"'
    with interactive(reviewer, shell, f"{load}\n") as terminal:
        terminal.type("synapse sen\t")
        terminal.wait_for("synapse send")
        terminal.type("rev\t")
        terminal.wait_for("synapse send reviewer")
        terminal.type("--pri\t")
        terminal.wait_for("synapse send reviewer --priority")
        terminal.type("\x15synapse start du\t")
        terminal.wait_for("synapse start dummy")
        terminal.type("--\t" if shell != "bash" else "--\t\t")
        terminal.wait_for("--foreground")
        terminal.type("\x15\x15")
