"""Whom a human can write to from one agent's prompt."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from synapse.errors import NoSuchAgent, TargetError
from synapse.peers.directory import open_directory
from synapse.peers.external.agents import ExternalAgent, ExternalAgentRegistry
from synapse.registry import AgentRegistry


class Town:
    def __init__(self, path: Path) -> None:
        self.local = AgentRegistry(path / "registry")
        self.external = ExternalAgentRegistry(path / "external")
        self.me = self.add("me", "claude", 8100)
        self.directory = open_directory(
            me=self.me, startable=["gemini"], local=self.local, external=self.external
        )

    def add(self, name: str, kind: str, port: int, folder: str = "/here") -> dict[str, object]:
        return self.local.register(f"id-{name}", kind, port, name=name, working_dir=folder)


@pytest.fixture
def town(tmp_path: Path) -> Town:
    return Town(tmp_path)


def test_names(town: Town) -> None:
    assert town.directory.names() == ["gemini"], "alone, all is nobody"
    town.add("reviewer", "codex", 8120)
    town.add("claude-2", "claude", 8101)
    town.external.add(
        ExternalAgent(name="far", url="http://x.example", alias="far", endpoint="http://x.example/")
    )
    names = [
        "all",
        "all-here",
        "claude",
        "claude-2",
        "claude-8101",
        "codex",
        "codex-8120",
        "far",
        "gemini",
        "reviewer",
    ]
    assert town.directory.names() == names


def test_it_is_cheap_to_ask_whether_anybody_came_or_went(town: Town) -> None:
    assert town.directory.changed() and not town.directory.changed()
    town.add("b", "codex", 8120)
    assert town.directory.changed() and not town.directory.changed()
    town.local.unregister("id-b")
    assert town.directory.changed()
    town.external.add(
        ExternalAgent(name="far", url="http://x.example", alias="far", endpoint="http://x.example/")
    )
    assert town.directory.changed()


def test_a_status_that_changes_is_no_reason_to_read_all_entries_again(town: Town) -> None:
    town.add("b", "codex", 8120)
    assert town.directory.changed()
    for status in ("READY", "PROCESSING"):
        town.local.update_status("id-b", status)
        assert not town.directory.changed()
    town.local.unregister("id-b")
    town.add("c", "codex", 8120)
    assert town.directory.changed() and not town.directory.changed()


def test_who_is_meant(town: Town) -> None:
    town.external.add(
        ExternalAgent(name="far", url="http://x.example", alias="Far", endpoint="http://x.example/")
    )
    town.add("b", "codex", 8120)
    for name in ("B", "codex", "codex-8120"):
        assert town.directory.find(name).address == "agent:id-b"
    assert (town.directory.find("far").name, town.directory.find("far").address) == ("Far", "alias:Far")
    with pytest.raises(NoSuchAgent):
        town.directory.find("me")
    town.add("c", "codex", 8121, "/there")
    assert town.directory.find("codex").name == "b", "the one in the same directory"
    town.add("d", "codex", 8122)
    with pytest.raises(TargetError, match="could be any of b"):
        town.directory.find("codex")


def test_everybody(town: Town) -> None:
    with pytest.raises(TargetError, match="no other agent is running"):
        town.directory.everybody()
    town.add("b", "codex", 8120)
    assert [peer.name for peer in town.directory.everybody()] == ["b"]


def test_an_address_is_good_in_a_later_process_and_after_the_end(town: Town) -> None:
    town.add("b", "codex", 8120)
    town.external.add(
        ExternalAgent(name="far", url="http://x.example", alias="far", endpoint="http://x.example/")
    )
    assert town.directory.author({"id": "id-b", "name": "b"}) is not None
    for name, idempotent in (("b", True), ("far", False)):
        address = town.directory.find(name).address
        town.local.unregister("id-b")
        again = town.directory.at(address, name)
        assert (again.name, again.address, again.idempotent) == (name, address, idempotent)
    ended = town.directory.at("agent:id-b", "b")
    assert ended.sender == {"id": "id-b", "name": "b"} and town.directory.author(ended.sender) is None
    with pytest.raises(TargetError, match="b has ended: see `synapse logs b`"):
        asyncio.run(ended.send("hello"))
    with pytest.raises(NoSuchAgent, match="mesh:x"):
        town.directory.at("mesh:x", "x")


def test_the_commands_that_a_person_types(town: Town) -> None:
    here = town.directory.at("agent:id-b", "b").commands("0123456789")
    assert here == ("01234567", "synapse task 01234567", "synapse input 01234567", "synapse cancel 01234567")
    far = town.directory.at("alias:far", "far").commands("t 1;rm")
    assert (far.short, far.shows) == ("t 1;rm", "synapse external task far 't 1;rm'")
    assert far.answers == "synapse external send far --task 't 1;rm'"
