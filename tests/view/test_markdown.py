"""Replies as elements: text is never HTML, and only safe links can be followed."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from synapse.view.markdown import LONGEST, Element, elements


def test_the_usual_parts_of_a_reply() -> None:
    text = "# Title\n\nSome *very* **bold** `code`.\n\n- one\n- two\n\n3. three\n\n"
    text += "```python\nx = 1\n```\n\n> quote\n\n---\n"
    found = elements(text)
    tags = [element["tag"] for element in found if isinstance(element, dict)]
    assert tags == ["h3", "p", "ul", "ol", "pre", "blockquote", "hr"]
    assert found[4] == {"tag": "pre", "children": ["x = 1"], "language": "python"}
    assert isinstance(found[3], dict) and found[3]["start"] == 3


def test_a_table() -> None:
    assert '"tag": "td", "children": ["1"]' in json.dumps(elements("| a | b |\n|---|---|\n| 1 | 2 |\n"))


def test_html_is_text() -> None:
    text = "<img src=x onerror=alert(1)> <script>alert(1)</script>"
    assert texts(elements(text)) == text


def test_only_safe_links_can_be_followed() -> None:
    for address in (
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "JAVASCRIPT:x",
        "//evil",
    ):
        assert "href" not in json.dumps(elements(f"[click]({address})"))
    found = json.dumps(elements("[click](https://x.example/a) ![picture](http://x.example/p.png)"))
    assert found.count('"href"') == 2 and '"img"' not in found


def test_a_very_long_reply_is_shown_as_it_is() -> None:
    assert elements("a" * (LONGEST + 1)) == [{"tag": "pre", "children": ["a" * (LONGEST + 1)]}]


@given(st.text(alphabet="ab*_`#[]()<>|-!\\ \n1.", max_size=60))
def test_any_text_gives_elements(text: str) -> None:
    json.dumps(elements(text))


def texts(found: list[Element]) -> str:
    return "".join(part if isinstance(part, str) else texts(part["children"]) for part in found)
