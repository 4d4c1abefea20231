"""A draft that was set aside is given back as it was, and never makes room for another."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from synapse.delivery.draft_stash import DraftStash
from synapse.delivery.typist import LEFT
from synapse.keys.line_editor import NORMAL
from synapse.profiles.loader import load_profile
from synapse.relay.wire import DONE
from synapse.watch.screen.composer import DRAFT, EMPTY, UNKNOWN, Seen


class Typist:
    def __init__(self) -> None:
        self.typed: list[bytes] = []
        self.cleared = DONE

    async def clear(self, name: str, text: str, **_: object) -> str:
        return self.cleared

    async def inject(self, name: str, steps: list[tuple[float, bytes]], **_: object) -> str:
        self.typed.append(b"".join(data for _, data in steps))
        return "done"


def stash(tmp_path: Path, text: str) -> tuple[DraftStash, Any, Typist]:
    controller: Any = SimpleNamespace(
        profile=load_profile("dummy"), draft=True, draft_text=text, last_key=0.0, takes_pastes=True, keys=1,
        composer=Seen(UNKNOWN), observer=SimpleNamespace(sees_composer=False, is_composer_current=True),
    )  # fmt: skip

    def set_draft(empty: bool, text: str) -> None:
        controller.draft, controller.draft_text = not empty, text

    controller.set_draft = set_draft
    typist: Any = Typist()
    return (
        DraftStash(controller, typist, str(tmp_path / "draft.json"), "run", lambda: 100.0),
        controller,
        typist,
    )


def give_back(it: DraftStash) -> None:
    asyncio.run(it.give_back(now=True))


def test_a_draft_comes_back_when_there_is_no_other(tmp_path: Path) -> None:
    it, controller, typist = stash(tmp_path, "the first")
    asyncio.run(it.take("a", "the first"))
    controller.set_draft(False, "the second")
    give_back(it)
    assert typist.typed == [] and it.held == "the first"
    controller.set_draft(True, "")
    give_back(it)
    give_back(it)
    assert typist.typed == [b"the first"] and not it.held


@pytest.mark.parametrize(
    ("text", "pasted"),
    [("the idea", True), ("日本語", True), ("!ls", False), ("/help", False), ("a\tb", True)],
)
def test_a_draft_is_pasted_where_its_letters_could_be_commands(
    tmp_path: Path, text: str, pasted: bool
) -> None:
    """In the normal mode of vim keys; a CLI switches to another mode at `!` or `/` only if that is typed."""
    it, controller, typist = stash(tmp_path, text)
    controller.observer.sees_composer = True
    asyncio.run(it.take("a", text))
    controller.set_draft(True, "")
    give_back(it)
    (typed,) = typist.typed
    assert typed == (b"\x1b[200~%b\x1b[201~" if pasted else b"%b") % text.encode()


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("- item (x)", [b"\x1b[200~- item (x)\x1b[201~"]),
        ("@notes.txt is it", [b"\x1b[200~@notes.txt is it\x1b[201~"]),
        ("!ls", [b"i!ls\x1b"]),
    ],
)
def test_no_key_of_a_draft_is_a_command_in_normal_mode(tmp_path: Path, text: str, typed: list[bytes]) -> None:
    it, controller, typist = stash(tmp_path, text)
    controller.observer.sees_composer = True
    asyncio.run(it.take("a", text))
    controller.set_draft(True, "")
    controller.composer = Seen(EMPTY, vim_mode=NORMAL)
    give_back(it)
    assert typist.typed == typed


@pytest.mark.parametrize("state", ["dialog", "absent"])
def test_a_draft_does_not_come_back_as_an_answer_or_into_another_program(tmp_path: Path, state: str) -> None:
    it, controller, typist = stash(tmp_path, "mine")
    asyncio.run(it.take("a", "mine"))
    controller.set_draft(True, "")
    controller.composer = Seen(state)
    give_back(it)
    assert typist.typed == []


def test_a_draft_that_the_screen_does_not_show_is_typed_again(tmp_path: Path) -> None:
    it, controller, typist = stash(tmp_path, "mine")
    asyncio.run(it.take("a", "mine"))
    controller.set_draft(True, "")
    controller.composer = Seen(EMPTY)
    give_back(it)
    controller.observer.is_composer_current = False
    give_back(it)
    assert typist.typed == [b"mine"] and (tmp_path / "draft.json").exists()
    controller.observer.is_composer_current = True
    give_back(it)
    assert typist.typed == [b"mine"], "a CLI that works draws other things first"
    it.clock = lambda: 103.0
    give_back(it)
    assert typist.typed == [b"mine"] * 2
    controller.composer = Seen(DRAFT, "mine")
    give_back(it)
    assert typist.typed == [b"mine"] * 2 and not it.held and not (tmp_path / "draft.json").exists()


def test_a_draft_that_the_human_has_submitted_is_not_typed_again(tmp_path: Path) -> None:
    it, controller, typist = stash(tmp_path, "mine")
    asyncio.run(it.take("a", "mine"))
    controller.set_draft(True, "")
    controller.composer = Seen(EMPTY)
    give_back(it)
    controller.keys += 1
    give_back(it)
    assert typist.typed == [b"mine"] and not it.held


@pytest.mark.parametrize("text", ["a\tb", "a\nb"])
def test_what_would_be_a_key_is_pasted(tmp_path: Path, text: str) -> None:
    it, controller, typist = stash(tmp_path, text)
    asyncio.run(it.take("a", text))
    controller.set_draft(True, "")
    give_back(it)
    assert typist.typed == [b"\x1b[200~" + text.encode() + b"\x1b[201~"]


def test_a_draft_that_could_not_be_cleared_does_not_come_back_a_second_time(tmp_path: Path) -> None:
    it, controller, typist = stash(tmp_path, "!")
    controller.composer = Seen(DRAFT, "!")
    typist.cleared = LEFT
    asyncio.run(it.take("a", "!"))
    assert it.is_full and not (tmp_path / "draft.json").exists(), "and it is not tried again by itself"
    controller.keys += 1
    controller.set_draft(True, "")
    controller.composer = Seen(EMPTY)
    give_back(it)
    assert typist.typed == [] and not it.is_full


def test_what_was_cleared_in_part_comes_back_when_the_rest_is_gone(tmp_path: Path) -> None:
    it, controller, typist = stash(tmp_path, "one two")
    controller.composer = Seen(DRAFT, "one")
    typist.cleared = LEFT
    asyncio.run(it.take("a", "one two"))
    controller.set_draft(True, "")
    controller.composer = Seen(EMPTY)
    give_back(it)
    assert typist.typed == [b"one two"]
