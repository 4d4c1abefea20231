"""A draft that was set aside is given back as it was, and never makes room for another."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from synapse.delivery.draft_stash import WAITS, DraftStash
from synapse.profiles.loader import load_profile


class Typist:
    def __init__(self) -> None:
        self.typed: list[bytes] = []

    async def clear(self, name: str, text: str, **_: object) -> str:
        return "done"

    async def inject(self, name: str, steps: list[tuple[float, bytes]], **_: object) -> str:
        self.typed.append(b"".join(data for _, data in steps))
        return "done"


def stash(tmp_path: Path, text: str) -> tuple[DraftStash, Any, Typist]:
    controller: Any = SimpleNamespace(
        profile=load_profile("dummy"), draft=True, draft_text=text, last_key=0.0, takes_pastes=True
    )
    controller.set_draft = lambda empty, text: None
    typist: Any = Typist()
    return (
        DraftStash(controller, typist, str(tmp_path / "draft.json"), "run", 20.0, lambda: 100.0),
        controller,
        typist,
    )


def test_a_second_draft_waits_until_the_first_one_is_back(tmp_path: Path) -> None:
    it, controller, typist = stash(tmp_path, "the first")
    assert it.in_the_way() == ("", None)
    asyncio.run(it.take("a"))
    controller.draft_text = "the second"
    assert it.in_the_way() == (WAITS, None) and it.held == "the first"
    controller.draft, controller.draft_text = False, ""
    asyncio.run(it.give_back(now=True))
    assert typist.typed == [b"the first"] and not it.held


@pytest.mark.parametrize("text", ["a\tb", "a\nb"])
def test_what_would_be_a_key_is_pasted(tmp_path: Path, text: str) -> None:
    it, controller, typist = stash(tmp_path, text)
    asyncio.run(it.take("a"))
    controller.draft, controller.draft_text = False, ""
    asyncio.run(it.give_back(now=True))
    assert typist.typed == [b"\x1b[200~" + text.encode() + b"\x1b[201~"]
