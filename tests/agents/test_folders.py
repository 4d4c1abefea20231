"""A CLI from a package that knows Synapse, and that Synapse does not know."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from synapse.agents import folders
from synapse.agents.base import Surroundings, open_channel
from synapse.agents.offline import find_prepare
from synapse.errors import SynapseError
from synapse.profiles.loader import load_profile
from synapse.watch.screen.looks import look_of
from tests.support.home import Home
from tests.support.packages import ROOT, install
from tests.support.running import Agent


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site"
    folder.mkdir()
    os.utime(folder, (1, 1))  # else it is too young for the cache
    return folder


def settled(site: Path, moment: int) -> None:
    os.utime(site, (moment, moment))


def python(home: Home, site: Path, code: str) -> subprocess.CompletedProcess[str]:
    env = {**home.env, "PYTHONPATH": f"{ROOT}:{site}"}
    return subprocess.run([sys.executable, "-P", "-c", code], env=env, capture_output=True, text=True)


class TestRunning:
    @pytest.fixture
    def ours(self, home: Home, site: Path) -> Home:
        install(site, "acme")
        # Synapse itself comes from PYTHONPATH here, so that the host process looks there too.
        home.env["PYTHONPATH"] = f"{ROOT}:{site}"
        return home

    @contextmanager
    def start(self, home: Home, *words: str) -> Iterator[Agent]:
        home.run("start", "acme", "--name", "a", *words)
        agent = Agent(home)
        with agent.http:
            yield agent

    def test_channel_and_flags_tell_of_its_turns(self, ours: Home) -> None:
        with self.start(ours) as agent:
            assert agent.reply("hello") == "said *and* done"
            failed = agent.until(agent.send("break"))
        assert (failed["state"], failed["error"]["code"]) == ("failed", "USAGE_LIMIT")
        assert "the plan is used up" in failed["error"]["message"]

    def test_its_questions_are_recognised_by_its_profile(self, ours: Home) -> None:
        with self.start(ours) as agent:
            asked = agent.until(agent.send("ask"), "input_required")
        assert asked["prompt"]["options"] == ["Yes", "No"]
        assert asked["prompt"]["subject"] == "rm -rf build"

    def test_its_replies_and_errors_are_read_from_its_screen(self, ours: Home) -> None:
        with self.start(ours, "--", "--quiet") as agent:
            assert agent.reply("hello") == "Said and\ndone."
            failed = agent.until(agent.send("break"))
        assert (failed["state"], failed["error"]["code"]) == ("failed", "RATE_LIMIT")

    def test_it_is_listed_and_can_be_extended(self, ours: Home) -> None:
        assert "acme" in ours.run("profiles").stdout
        ours.profile("mine", "extends: acme\ntitle: Mine\n")
        assert '"title": "Mine"' in ours.run("profiles", "show", "mine", "--json").stdout


class TestSearch:
    FIND = "from synapse.agents import folders; print(folders.exists('acme'))"

    def test_a_package_is_noticed_when_it_comes_and_when_it_goes(self, home: Home, site: Path) -> None:
        settled(site, 100)
        assert python(home, site, self.FIND).stdout == "False\n"
        about = install(site, "acme")
        settled(site, 200)
        assert python(home, site, self.FIND).stdout == "True\n"
        shutil.rmtree(about)
        settled(site, 300)
        assert python(home, site, self.FIND).stdout == "False\n"

    def test_what_was_found_is_kept(self, home: Home, site: Path) -> None:
        install(site, "acme")
        settled(site, 100)
        assert python(home, site, self.FIND).stdout == "True\n"
        quick = f"{self.FIND}; import sys; print('importlib.metadata' in sys.modules)"
        assert python(home, site, quick).stdout == "True\nFalse\n"

    def test_a_broken_cache_is_made_again(self, home: Home, site: Path) -> None:
        install(site, "acme")
        settled(site, 100)
        cache = home.path / "synapse" / "cache" / "entry-points-synapse.agents.json"
        cache.parent.mkdir(parents=True)
        for text in ("", "[]", '{"key": 1}', "{"):
            cache.write_text(text)
            assert python(home, site, self.FIND).stdout == "True\n"

    def test_a_built_in_name_is_never_searched_for(self, home: Home, site: Path) -> None:
        install(site, "acme")
        code = "from synapse.profiles.loader import load_profile; load_profile('claude')"
        assert python(home, site, code).returncode == 0
        assert not list((home.path / "synapse" / "cache").glob("entry-points*"))

    def test_a_package_only_for_the_users_own_programs_is_left_alone(self, home: Home, site: Path) -> None:
        """Where PYTHONPATH is not how Synapse itself is found, the host process ignores it."""
        install(site, "acme")
        env = {**home.env, "PYTHONPATH": str(site)}
        words = [sys.executable, "-P", "-c", self.FIND]
        assert subprocess.run(words, env=env, capture_output=True, text=True).stdout == "False\n"


def test_every_folder_is_complete() -> None:
    assert {"claude", "codex", "events", "gemini"} <= set(folders.built_in())
    for name in set(folders.built_in()) - {"events"}:
        channel, flags, screen = (folders.load(name, part) for part in ("channel", "flags", "screen"))
        assert channel and screen and channel.CHANNEL.name == name
        assert flags is None or flags.arguments([], {"PATH": "", "HOME": "/"}) is not None
        assert look_of(load_profile(name)).composers
    assert folders.load("none", "channel") is None


@pytest.mark.parametrize("name", [name for name in folders.built_in() if find_prepare(name)])
def test_a_check_uses_its_temporary_home_alone(name: str, tmp_path: Path) -> None:
    """Beside addresses on loopback, it names no place outside of it."""
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    prepare = find_prepare(name)
    assert prepare is not None
    offline = prepare(home, work, "http://127.0.0.1:1")
    said = " ".join([*offline.args, *offline.env.values()]).replace(str(tmp_path), "here")
    assert os.path.expanduser("~") not in said and "~" not in said
    assert not [path for path in re.findall(r"(?<![\w/:.@])/\w[\w./-]*", said) if os.path.exists(path)], said


def test_an_unknown_channel_is_one_sentence_with_the_next_step(home: Home) -> None:
    home.profile("x", "command: cat\nchannel: klaude\n")
    failed = home.run("start", "x", check=False)
    assert failed.returncode != 0 and failed.stderr.count("\n") == 1
    assert (
        "there is no channel klaude: install the package that adds it, or name one of none, " in failed.stderr
    )
    with home.ours(), pytest.raises(SynapseError, match="no channel klaude"):
        folders.load("klaude", "flags")


def test_a_channel_that_cannot_be_loaded_costs_only_what_it_would_tell(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package = tmp_path / "broken_cli"
    package.mkdir()
    package.joinpath("channel.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(folders, "_installed", lambda: {"broken": ["broken_cli", str(package)]})
    channel = open_channel("broken", Surroundings("/", {}, 0.0))
    assert channel.poll() == [] and not channel.tells
    assert channel.missing() == ["the channel broken cannot be loaded: division by zero"]
