"""Agents elsewhere as files: whole, private, and their tokens apart."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from synapse.errors import UsageError
from synapse.peers.external.agents import ExternalAgent, ExternalAgentRegistry

WEATHER = ExternalAgent(name="Weather", url="http://x.example", alias="Weather", endpoint="http://x.example/")


def test_add_get_list_remove(tmp_path: Path) -> None:
    registry = ExternalAgentRegistry(tmp_path / "external")
    assert registry.list_agents() == [] and registry.get("weather") is None
    assert registry.add(WEATHER) and not registry.add(WEATHER)
    assert registry.get("Weather") == registry.get("wEATHER") == WEATHER
    registry.update_last_seen("weather")
    seen = registry.get("weather")
    assert seen is not None and seen.last_seen and registry.list_agents() == [seen]
    assert registry.remove("WEATHER") and not registry.remove("weather")
    assert list((tmp_path / "external").iterdir()) == []


def test_only_the_owner_can_read_and_the_token_is_not_in_what_is_shown(tmp_path: Path) -> None:
    registry = ExternalAgentRegistry(tmp_path / "external")
    registry.add(WEATHER, "s3cret")
    registry.add(WEATHER)
    assert registry.token("Weather") == "s3cret", "what is added again keeps its token"
    files = list((tmp_path / "external").iterdir())
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert stat.S_IMODE((tmp_path / "external").stat().st_mode) == 0o700
    text = (tmp_path / "external" / "Weather.json").read_text()
    assert "s3cret" not in text and json.loads(text)["has_token"] is True
    registry.remove("weather")
    assert registry.token("Weather") is None


@pytest.mark.parametrize("alias", ["", "../x", "a/b", "all", "Synapse-System", "-x", "x" * 65, "a b", "é"])
def test_what_cannot_be_an_alias(tmp_path: Path, alias: str) -> None:
    registry = ExternalAgentRegistry(tmp_path)
    with pytest.raises(UsageError, match="alias"):
        registry.add(ExternalAgent(name="x", url="http://x", alias=alias))
    assert registry.get(alias) is None and not registry.remove(alias)


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    registry = ExternalAgentRegistry(tmp_path)
    for name, text in {"a.json": "{", "b.json": "[]", "c.json": '{"name": 1}', "notes.txt": "x"}.items():
        (tmp_path / name).write_text(text)
    registry.add(WEATHER)
    assert registry.list_agents() == [WEATHER]
    assert (tmp_path / "a.json").read_text() == "{"


def test_a_free_alias_is_made_of_a_name(tmp_path: Path) -> None:
    registry = ExternalAgentRegistry(tmp_path)
    assert registry.free_alias("Weather Agent (v2)") == "weather-agent-v2"
    assert registry.free_alias("天気") == registry.free_alias("all") == "agent"
    registry.add(WEATHER)
    assert registry.free_alias("weather") == "weather-2"
