"""The parser: which blocks of a reply are finished, and where it goes beyond CommonMark."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from synapse.output_parser import ArtifactType, OutputParser
from synapse.terminal.commonmark import Node, finished, parse

LINES = st.builds(
    lambda indent, line: indent + line,
    st.sampled_from(["", "", "", "  ", "   ", "    ", "> ", "\t"]),
    st.sampled_from(
        ["", "", "text", "*a", "b*", "- a", "1. b", "2) c", "```", "```py", "~~~", "| a | b |", "|---|---|",
         "# head", "---", "===", "[a]: b", "> q", "`code`", "<b>", "- ```"]
    ),
)  # fmt: skip
TEXTS = st.lists(LINES, max_size=20).map("\n".join)


def codes(node: Node) -> list[str]:
    return [child.content.rstrip() for child in node.walk() if child.type == "fence"]


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("one\ntwo", []),
        ("one\ntwo\n", []),
        ("one\ntwo\n\n", ["one\ntwo\n", "\n"]),
        ("# head\n", ["# head\n"]),
        ("- a\n\n  b\n- c\n", ["- a\n\n  b\n"]),
        ("- a\n\ntext\n", ["- a\n", "\n"]),
        ("10. a\n\n    ```\n    x\n    ```\ntext", []),
        ("```\n\n```\n", ["```\n\n```\n"]),
        ("> a\n\n", ["> a\n", "\n"]),
        ("one\n# head\n", ["one\n", "# head\n"]),
    ],
)
def test_blocks_that_more_text_cannot_change(text: str, blocks: list[str]) -> None:
    assert list(finished(text)) == blocks


@settings(max_examples=300, deadline=None)
@given(TEXTS, st.integers(0, 200))
def test_a_finished_block_stays_as_it_is(text: str, length: int) -> None:
    whole = list(finished(text))
    begun = list(finished(text[:length]))
    assert whole[: len(begun)] == begun
    assert text.startswith("".join(whole))


# A list that begins with 2 cannot interrupt a paragraph; OutputParser takes it for one all the same.
@settings(max_examples=300, deadline=None)
@given(
    TEXTS.filter(lambda text: ">" not in text and "\t" not in text).map(lambda text: text.replace("2)", "1)"))
)
@example("- a\n# head\n    ```")
@example("- a\n---\n    ```")
@example("- a\n      # no head\n  ```\nx\n```")
@example("- a\n* * *\n  ```\nx\n  ```")
def test_code_is_the_code_that_the_output_parser_finds(text: str) -> None:
    pieces = OutputParser(parse_json=False, parse_file_refs=False).parse(text)
    assert codes(parse(text)) == [
        piece.content.rstrip() for piece in pieces if piece.type == ArtifactType.CODE
    ]


def test_code_in_a_list_item_can_be_closed_where_the_agent_forgot_to_indent() -> None:
    text = "1. run\n   ```sh\ncat <<EOF\nEOF\n```\n2. rest\n"
    assert codes(parse(text)) == ["cat <<EOF\nEOF"]
    assert [node.type for node in parse(text).children] == ["ordered_list"]


@pytest.mark.parametrize("unit", ["```a `\n", "```\n", "- a\n", "> a\n", "word\n", "# a\n", "\n", "1. ```\n"])
def test_of_looking_for_finished_blocks_is_linear(unit: str) -> None:
    started = time.process_time()
    for _ in finished(unit * (100_000 // len(unit))):
        pass
    assert time.process_time() - started < 10
