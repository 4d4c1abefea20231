"""How a CLI looks is what its profile says, then its own folder, then what the known CLIs have in common."""

from __future__ import annotations

from pathlib import Path

import pytest

from synapse.agents import folders
from synapse.agents.generic.screen import LOOK as GENERIC
from synapse.agents.look import Composer, Look, Marks, MenuStyle, merged
from synapse.errors import ProfileError
from synapse.profiles.loader import Profile, load_profile
from synapse.watch.screen.looks import known, look_of
from synapse.watch.screen.questions import InputRequiredDetector
from tests.support.home import Home
from tests.support.replaying import extract_reply


def profile(home: Home, text: str) -> Profile:
    home.profile("x", text)
    return load_profile("x")


def test_a_program_of_which_nothing_is_known_looks_like_any_of_the_known(home: Home) -> None:
    assert look_of(profile(home, "command: cat\n")) == known()
    assert {composer.first for composer in known().composers} > {r"›(?: |$)"}


def test_a_known_cli_has_its_own_marks_and_the_common_ones() -> None:
    look = look_of(load_profile("codex"))
    assert set(look.reply.answer) == set("•■") and set(look.reply.echo) == set(">›")
    assert [menu.mark for menu in look.menus] == ["›", ">", *(menu.mark for menu in GENERIC.menus)]


def test_what_a_users_profile_says_wins(home: Home) -> None:
    mine = profile(home, "extends: claude\ncomposer: [{first: '»', above: '~{5}'}]\nmenus: [{mark: '*'}]\n")
    look = look_of(mine)
    assert look.composers == (Composer("»", "~{5}"),)
    assert look.menus == (MenuStyle("*"), *GENERIC.menus)
    assert look.reply.answer == look_of(load_profile("claude")).reply.answer
    question = InputRequiredDetector(look=look).detect_screen(["Sure?", "* 1. Yes", "  2. No"], (0, 1), False)
    assert question is not None and question.options == ["Yes", "No"]
    rows = ["❯ go", "", "● Done.", "", "~~~~~~~", "» draft", "~~~~~~~"]
    assert extract_reply(rows, "go", marks=Marks(echo="❯»", answer="●", edges=look.reply.edges)) == "Done."


def test_a_users_own_profile_for_a_known_channel_may_leave_both_out(home: Home) -> None:
    look = look_of(profile(home, "command: claude\nchannel: claude\n"))
    assert (look.composers, look.menus) == (known().composers, known().menus)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("composer: [{above: '─'}]", "composer[0].first is missing"),
        ("composer: [{first: '('}]", "composer[0].first is not a valid regular expression"),
        ("menus: [{mark: ''}]", "menus[0].mark must not be empty"),
        ("menus: [{mark: '>', subject: 'x'}]", "menus[0].subject must have 1 groups"),
        ("channel: [claude]", "channel must be the name of a CLI"),
    ],
)
def test_what_is_wrong_names_the_field(home: Home, text: str, problem: str) -> None:
    with pytest.raises(ProfileError) as error:
        profile(home, f"command: cat\n{text}\n")
    assert problem in str(error.value)


def test_a_screen_module_that_cannot_be_loaded_costs_only_its_own_rules(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tmp_path.joinpath("bad_screen").mkdir()
    tmp_path.joinpath("bad_screen", "screen.py").write_text("LOOK = None.x\n")
    monkeypatch.syspath_prepend(tmp_path)
    found = {"bad": ["bad_screen", str(tmp_path / "bad_screen")]}
    monkeypatch.setattr(folders, "_installed", lambda: found)
    assert look_of(profile(home, "command: cat\nchannel: bad\n")) == known()
    assert "how bad looks on the screen cannot be loaded" in caplog.text


def test_two_looks_are_put_together_field_by_field() -> None:
    one = Look(pointer="a", stopped=("x",), reply=Marks(echo="1", tool=("t",)))
    other = Look(pointer="b", stopped=("y",), reply=Marks(echo="2"))
    both = Look(pointer="ab", stopped=("x", "y"), reply=Marks(echo="12", tool=("t",)))
    assert merged((one, other)) == both
