"""The animated picture of the README: what `make pictures` makes of the recording."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

from scripts.cast_svg import animate

DOCS = Path(__file__).parent.parent / "docs"
SVG = "{http://www.w3.org/2000/svg}"


def made() -> str:
    captions = {"": "Type", "sent": "Wait", "the reply": "Read", "handed over": "<Go on>"}
    return animate(DOCS / "at-codex.cast", "A & B", captions, still="the reply")


def test_the_picture_is_plain_svg_that_loads_nothing() -> None:
    for text in (made(), (DOCS / "at-codex.svg").read_text()):
        tree = ElementTree.fromstring(text)
        assert {element.tag.removeprefix(SVG) for element in tree.iter()} == {
            "svg", "title", "style", "g", "rect", "text"
        }  # fmt: skip
        assert not re.search(r"url\(|@import|href|@font-face", text)
        assert len(text.encode()) < 200_000


def test_every_moment_shows_the_screen_of_that_moment() -> None:
    text = made()
    tree = ElementTree.fromstring(text)
    shown = {group.get("id"): "".join(group.itertext()) for group in tree.iter(f"{SVG}g")}
    frames = dict(re.findall(r"@keyframes k(\d+)\{([^@#]*)\}#", text))
    sent = next(name for name, words in shown.items() if name and "@codex review the last commit" in words)
    reply = next(name for name, words in shown.items() if name and "← codex: replied" in words)

    def begins(name: str) -> float:
        return float(re.findall(r"([\d.]+)%\{visibility:visible\}", frames[name[1:]])[0])

    assert 0 < begins(sent) < begins(reply) < 100
    assert "<Go on>" in "".join(tree.itertext())


def test_without_motion_the_reply_is_shown() -> None:
    tree = ElementTree.fromstring(made())
    still = "".join("".join(g.itertext()) for g in tree.iter(f"{SVG}g") if g.get("class") == "m")
    assert "← codex: replied" in still and "Read" in still and "Type" not in still


def test_the_picture_is_that_of_the_recording() -> None:
    """Its texts are those that the recording has now: run `make pictures` after a new recording."""

    def texts(svg: str) -> list[str]:
        found = ElementTree.fromstring(svg).iter(f"{SVG}text")
        return sorted("".join(one.itertext()) for one in found if one.get("class") != "said")

    assert texts((DOCS / "at-codex.svg").read_text()) == texts(made())
