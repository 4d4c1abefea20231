"""Where an agent's token comes from, and who must not see it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synapse.errors import UsageError
from synapse.launch.tokens import VARIABLE, take_token


@pytest.fixture(autouse=True)
def no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text("from-the-file\n")
    path.chmod(0o600)
    return path


def test_no_token_is_none() -> None:
    assert take_token(None, None) is None


def test_options_win_over_the_environment_which_loses_it(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for given_, path, expected in (
        ("said", None, "said"),
        (None, str(file), "from-the-file"),
        (None, None, "inherited"),
    ):
        monkeypatch.setenv(VARIABLE, "inherited")
        assert take_token(given_, path) == expected
        assert VARIABLE not in os.environ


def test_two_options_are_one_too_many(file: Path) -> None:
    with pytest.raises(UsageError, match="leave one of them out"):
        take_token("said", str(file))


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660, 0o602])
def test_a_file_that_others_can_read_is_refused_with_the_cure(file: Path, mode: int) -> None:
    file.chmod(mode)
    with pytest.raises(UsageError, match="chmod 600") as raised:
        take_token(None, str(file))
    assert "from-the-file" not in str(raised.value)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_a_file_of_somebody_else_is_refused(file: Path) -> None:
    os.chown(file, 65534, 65534)
    with pytest.raises(UsageError, match="a file of yours"):
        take_token(None, str(file))


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo", 0o600)
    for name in ("fifo", ".", "missing"):
        with pytest.raises(UsageError):
            take_token(None, str(tmp_path / name))


@pytest.mark.parametrize("text", ["", "\n", "two words", "tab\there", "schlüssel", "x" * 5000])
def test_what_no_header_can_carry_is_refused_and_not_shown(file: Path, text: str) -> None:
    file.write_text(text)
    for arguments in ((text, None), (None, str(file))):
        with pytest.raises(UsageError) as raised:
            take_token(*arguments)
        assert not text.strip() or text.strip() not in str(raised.value)


@given(st.text(max_size=50))
def test_any_text_is_a_token_or_an_error(text: str) -> None:
    try:
        assert take_token(text, None) == text
    except UsageError:
        assert not text or any(not "!" <= character <= "~" for character in text)
