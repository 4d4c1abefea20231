"""An agent's reply as artifacts, whole and in chunks."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from synapse import output_parser
from synapse.base import fences
from synapse.output_parser import ArtifactType, OutputParser, ParsedArtifact, StreamingOutputParser

TEXT, CODE, FILE, JSON = ArtifactType.TEXT, ArtifactType.CODE, ArtifactType.FILE, ArtifactType.JSON


def parse(text: str) -> list[tuple[ArtifactType, str]]:
    return [(piece.type, piece.content) for piece in OutputParser().parse(text)]


def codes(text: str) -> list[str]:
    return [content for type, content in parse(text) if type == CODE]


def jsons(text: str) -> list[str]:
    return [content for type, content in parse(text) if type == JSON]


def paths(text: str) -> list[str]:
    return [piece.metadata["path"] for piece in OutputParser().parse(text) if piece.type == FILE]


class TestOutputParser:
    """The cases of the specification."""

    def test_parses_code_block(self) -> None:
        """コードブロックをパースできる"""
        parser = OutputParser()
        output = "結果:\n```python\nprint('hello')\n```"
        artifacts = parser.parse(output)

        code_artifacts = [a for a in artifacts if a.type == ArtifactType.CODE]
        assert len(code_artifacts) == 1
        assert code_artifacts[0].content == "print('hello')"
        assert code_artifacts[0].metadata["language"] == "python"

    def test_parses_multiple_code_blocks(self) -> None:
        """複数のコードブロックをパースできる"""
        parser = OutputParser()
        output = "```js\nfoo()\n```\n中間テキスト\n```python\nbar()\n```"
        artifacts = parser.parse(output)

        code_artifacts = [a for a in artifacts if a.type == ArtifactType.CODE]
        assert len(code_artifacts) == 2

    def test_parses_file_reference(self) -> None:
        """ファイル参照をパースできる"""
        parser = OutputParser()
        output = "Created: /tmp/test.py"
        artifacts = parser.parse(output)

        file_artifacts = [a for a in artifacts if a.type == ArtifactType.FILE]
        assert len(file_artifacts) == 1
        assert file_artifacts[0].metadata["path"] == "/tmp/test.py"

    def test_parses_json(self) -> None:
        """JSONをパースできる"""
        parser = OutputParser()
        output = '{"key": "value"}'
        artifacts = parser.parse(output)

        json_artifacts = [a for a in artifacts if a.type == ArtifactType.JSON]
        assert len(json_artifacts) == 1

    def test_to_a2a_artifact_code(self) -> None:
        """コードArtifactをA2A形式に変換できる"""
        artifact = ParsedArtifact(
            type=ArtifactType.CODE, content="print('hello')", metadata={"language": "python"}
        )
        a2a = artifact.to_a2a_artifact()
        assert a2a["type"] == "code"
        assert a2a["metadata"]["language"] == "python"


class TestStreamingOutputParser:
    """The case of the specification."""

    def test_streaming_code_block(self) -> None:
        """ストリーミングでコードブロックをパースできる"""
        parser = StreamingOutputParser()

        artifacts1 = parser.feed("結果:\n```py")
        assert len(artifacts1) == 0  # まだ完成していない

        artifacts2 = parser.feed("thon\nprint('hello')\n")
        assert len(artifacts2) == 0  # まだ完成していない

        artifacts3 = parser.feed("```\n続き")
        assert len(artifacts3) == 2  # TEXT + CODE

        artifacts4 = parser.flush()
        assert len(artifacts4) == 1  # 残りのテキスト


class TestOrder:
    def test_pieces_come_in_the_order_of_the_text(self) -> None:
        text = 'one\n```js\nfoo()\n```\ntwo\nthree\n{"a": 1}\n\nfour\n```\nbar\n```\n'
        assert parse(text) == [
            (TEXT, "one"),
            (CODE, "foo()"),
            (TEXT, "two\nthree"),
            (JSON, '{"a": 1}'),
            (TEXT, "four"),
            (CODE, "bar"),
        ]

    def test_files_follow_the_text_that_names_them_and_it_stays_whole(self) -> None:
        text = "Done.\nCreated: a.py\nWrote: b.py\nThat is all.\n```\nx\n```\n"
        assert parse(text) == [
            (TEXT, "Done.\nCreated: a.py\nWrote: b.py\nThat is all."),
            (FILE, "File reference: a.py"),
            (FILE, "File reference: b.py"),
            (CODE, "x"),
        ]

    @pytest.mark.parametrize("text", ["", "\n", " \r\n\t\n"])
    def test_nothing_makes_no_piece(self, text: str) -> None:
        assert parse(text) == []

    def test_crlf_is_a_line_end(self) -> None:
        text = 'one\r\n```py\r\na\r\n\r\nb\r\n```\r\n{"a":\r\n1}\r\n'
        assert parse(text) == parse(text.replace("\r\n", "\n"))

    def test_an_error_in_a_reply_is_text(self) -> None:
        assert parse("API Error: 500 overloaded") == [(TEXT, "API Error: 500 overloaded")]


class TestFences:
    # The sections are those of CommonMark 0.31, "Fenced code blocks".
    @pytest.mark.parametrize(
        ("text", "code"),
        [
            ("```\n<\n >\n```\n", ["<\n >"]),
            ("~~~\n<\n >\n~~~\n", ["<\n >"]),
            ("``\nfoo\n``\n", []),
            ("```\naaa\n~~~\n```\n", ["aaa\n~~~"]),
            ("~~~\naaa\n```\n~~~\n", ["aaa\n```"]),
            ("````\naaa\n```\n``````\n", ["aaa\n```"]),
            ("~~~~\naaa\n~~~\n~~~~\n", ["aaa\n~~~"]),
            ("```\n\n  \n```\n", ["\n  "]),
            ("```\n```\n", [""]),
            (" ```\n aaa\naaa\n```\n", ["aaa\naaa"]),
            ("  ```\naaa\n  aaa\naaa\n  ```\n", ["aaa\naaa\naaa"]),
            ("   ```\n   aaa\n    aaa\n  aaa\n   ```\n", ["aaa\n aaa\naaa"]),
            ("    ```\n    aaa\n    ```\n", []),
            ("```\naaa\n  ```\n", ["aaa"]),
            ("   ```\naaa\n  ```\n", ["aaa"]),
            ("```\naaa\n    ```\n", ["aaa\n    ```"]),
            ("``` ```\naaa\n", []),
            ("~~~~~~\naaa\n~~~ ~~\n", ["aaa\n~~~ ~~"]),
            ("foo\n```\nbar\n```\nbaz\n", ["bar"]),
            ("```\naaa\n``` \t\n", ["aaa"]),
            ("```\n``` aaa\n```\n", ["``` aaa"]),
            ("~~~ aa ``` ~~~\nfoo\n~~~\n", ["foo"]),
            ("  ```\n\tx\n  ```\n", ["  x"]),
        ],
    )
    def test_are_those_of_commonmark(self, text: str, code: list[str]) -> None:
        assert codes(text) == code

    @pytest.mark.parametrize(
        ("text", "code"),
        [
            ("1. run\n   ```sh\n   make\n     test\n   ```\n2. rest\n", ["make\n  test"]),
            ("- a\n  - b\n\n    ```\n    x\n    ```\n", ["x"]),
            ("10. a\n\n     ```\n     x\n     ```\n", ["x"]),
            ("- ```py\n  x\n  ```\n- rest\n", ["x"]),
            ("- 1. ```py\n     x\n     ```\n", ["x"]),
            ("-\ta\n\n\t```\n\tx\n\t\ty\n\t```\n", ["x\n\ty"]),
            ("- a\nwrapped\n    ```\n    x\n    ```\n", ["x"]),
            ("- a\n\nno item\n\n    ```\n    x\n    ```\n", []),
            ("- a\n\n`no item`\n\n    ```\n    x\n    ```\n", []),
            ('- a\n{"b": 1}\nno item\n    ```\n    x\n    ```\n', []),
            ("    - no item\n\n      ```\n      x\n      ```\n", []),
            ("-      code\n\n     ```\n     x\n     ```\n", ["x"]),
            ("-\n     ```\n     x\n     ```\n", ["x"]),
        ],
    )
    def test_are_indented_with_the_text_of_their_list_item(self, text: str, code: list[str]) -> None:
        assert codes(text) == code

    def test_in_a_list_item_can_be_closed_where_the_agent_forgot_to_indent(self) -> None:
        text = "1. run\n   ```sh\ncat <<EOF\nEOF\n```\n2. rest\n"
        assert parse(text) == [(TEXT, "1. run"), (CODE, "cat <<EOF\nEOF"), (TEXT, "2. rest")]

    def test_leave_the_marker_of_their_list_item_in_the_text(self) -> None:
        assert parse("Steps:\n1. ```sh\n   make\n   ```\n") == [(TEXT, "Steps:\n1."), (CODE, "make")]

    @pytest.mark.parametrize(
        ("info", "metadata"),
        [
            ("", {"language": "text"}),
            ("python", {"language": "python"}),
            ("  c++\t", {"language": "c++"}),
            ('python title="x y"  {1, 3} ', {"language": "python", "info": 'title="x y"  {1, 3}'}),
        ],
    )
    def test_name_the_language_and_keep_the_rest(self, info: str, metadata: dict[str, Any]) -> None:
        [piece] = OutputParser().parse(f"```{info}\nx\n```")
        assert piece.metadata == metadata

    def test_that_are_never_closed_last_to_the_end(self) -> None:
        [text, code] = OutputParser().parse("one\n```py\nx\n\n  y\n\n")
        assert text.content == "one"
        assert code == ParsedArtifact(CODE, "x\n\n  y\n", {"language": "py", "unclosed": True})

    def test_of_json_are_code(self) -> None:
        [piece] = OutputParser().parse('```json\n{"a": 1}\n```')
        assert (piece.type, piece.metadata["language"]) == (CODE, "json")

    @given(st.lists(st.text(st.characters(exclude_characters="`\r\n"))))
    def test_keep_their_content_exactly(self, lines: list[str]) -> None:
        text = "".join(f"{line}\n" for line in ["one", "```", *lines, "```", "two"])
        assert parse(text) == [(TEXT, "one"), (CODE, "\n".join(lines)), (TEXT, "two")]


class TestJson:
    @pytest.mark.parametrize(
        "value",
        [
            "{}",
            "[]",
            '[{"a": [1, -2.5e3, true, null]}, "]"]',
            '{\n  "a": {\n    "b": [\n      1\n    ]\n  },\n\n  "c"\n:\n"}{"\n}',
            '["\\u00e9\\n\\"", "日本"]',
        ],
    )
    def test_that_fills_whole_lines_is_a_piece(self, value: str) -> None:
        assert parse(f"one\n  {value} \ntwo") == [(TEXT, "one"), (JSON, value), (TEXT, "two")]

    @pytest.mark.parametrize(
        "text",
        [
            '{"a": 1',
            '{"a": 1}, and more',
            'so: {"a": 1}',
            "[ ] to do",
            "[x] done",
            "[1](https://example.com)",
            "{a: 1}",
            "{'a': 1}",
            "[1,]",
            "[01]",
            "[NaN]",
            "[1e999]",
            "[" + "9" * 5000 + "]",
            '["a\tb"]',
            '{"a" 1}',
            "[}",
            "[\n}",
            "- [1]",
            "[" * 101 + "]" * 101,
        ],
    )
    def test_that_does_not_or_is_not_valid_is_text(self, text: str) -> None:
        assert parse(text) == [(TEXT, text)]

    def test_within_what_is_not_valid_is_found(self) -> None:
        text = '[\n{"a": 1}\n[\n[2]\n],\nand so on\n'
        assert parse(text) == [
            (TEXT, "["),
            (JSON, '{"a": 1}'),
            (TEXT, "["),
            (JSON, "[2]"),
            (TEXT, "],\nand so on"),
        ]

    def test_that_breaks_off_lets_a_fence_begin(self) -> None:
        assert parse("[1,\n```\n2]\n```") == [(TEXT, "[1,"), (CODE, "2]")]

    def test_can_be_as_deep_as_json_reads_anywhere(self) -> None:
        [piece] = OutputParser().parse("[" * 100 + "]" * 100)
        assert piece.to_a2a_artifact()["parts"][0]["data"] is not None

    @given(
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers()
            | st.floats(allow_nan=False, allow_infinity=False)
            | st.text(),
            lambda values: st.lists(values) | st.dictionaries(st.text(), values),
        ).filter(lambda value: isinstance(value, (list, dict))),
        st.none() | st.integers(0, 3),
        st.booleans(),
    )
    def test_comes_through_as_it_was(self, value: object, indent: int | None, ascii: bool) -> None:
        written = json.dumps(value, indent=indent, ensure_ascii=ascii)
        [piece] = OutputParser().parse(written)
        assert (piece.type, piece.content) == (JSON, written)
        assert piece.to_a2a_artifact()["parts"] == [{"type": "data", "data": value}]

    @given(
        st.lists(
            st.sampled_from(
                [
                    "[",
                    "]",
                    "{",
                    "}",
                    "[]",
                    "],",
                    '{"a":',
                    '"b":',
                    "1",
                    "1,",
                    ",",
                    '"s"',
                    ":",
                    " ",
                    "\n",
                    "\n",
                    "x",
                ]
            )
        ).map("".join),
        st.integers(1, 4),
    )
    @example("[\n[\n[\n[1]\n]\n]\n]", 2)
    @example("[\n[[[[\n[]\n]]]]\n]", 3)
    @example('{\n"a": [1]\nx', 3)
    @example("[\n[1],\nx", 3)
    def test_is_what_the_decoder_finds_line_after_line(self, text: str, depth: int) -> None:
        with patch.object(output_parser, "_MAX_DEPTH", depth):
            assert jsons(text) == _decoded(text, depth)


def _decoded(text: str, depth: int) -> list[str]:
    """The slow way: try the decoder at every line that begins with a bracket."""

    def refuse(constant: str) -> NoReturn:
        raise ValueError(constant)

    decoder = json.JSONDecoder(parse_constant=refuse)
    lines = text.split("\n")
    found, number = [], 0
    while number < len(lines):
        rest = "\n".join(lines[number:]).lstrip(" ")
        number += 1
        if not rest.startswith(("[", "{")):
            continue
        try:
            value, end = decoder.raw_decode(rest)
        except ValueError:
            continue
        if _depth(value) <= depth and not rest[end:].partition("\n")[0].strip():
            found.append(rest[:end])
            number += rest[:end].count("\n")
    return found


def _depth(value: object) -> int:
    if isinstance(value, dict):
        value = list(value.values())
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list) else 0


class TestFileReferences:
    @pytest.mark.parametrize(
        ("line", "path"),
        [
            ("[File: src/app.py]", "src/app.py"),
            ("[file: my notes/a b.txt], as asked", "my notes/a b.txt"),
            ("[File: app/[id]/page.tsx]", "app/[id]/page.tsx"),
            ("Created: /tmp/test.py and then more", "/tmp/test.py"),
            ("WROTE:   ./a.txt.", "./a.txt"),
            ("- Created: Makefile", "Makefile"),
            ("  2. wrote: a.py, b.py", "a.py"),
            ("• Created: a.py", "a.py"),
            ("Created: `my file.py`.", "my file.py"),
            ("Created: \"my 'own' file\" (new)", "my 'own' file"),
            ("Created: 'a b'", "a b"),
            ("Created: a.py (new)", "a.py"),
            ("Created: app/[id]).", "app/[id]"),
            ("Created: copy(1)", "copy(1)"),
            ("Created: C:\\src\\a.py!", "C:\\src\\a.py"),
            ("Created: 報告/結果.md。", "報告/結果.md"),
        ],
    )
    def test_give_the_path(self, line: str, path: str) -> None:
        assert paths(f"Here:\n{line}\n") == [path]

    @pytest.mark.parametrize(
        "line",
        [
            "I have created: a.py",
            "See [File: a.py]",
            "Created:",
            "Created: ...",
            "Created: ``",
            "Created: a parser for replies",
            "[File: ]",
            "[File: a.py",
            "Recreated: a.py",
        ],
    )
    def test_are_not_seen_where_there_is_none(self, line: str) -> None:
        assert paths(line) == []

    def test_in_code_are_code(self) -> None:
        assert paths("```\nCreated: a.py\n```") == []


class TestFlags:
    TEXT = '```py\nx\n```\nCreated: a.py\n{"a": 1}'

    def types(self, **flags: bool) -> list[ArtifactType]:
        return [piece.type for piece in OutputParser(**flags).parse(self.TEXT)]

    def test_all_on(self) -> None:
        assert self.types() == [CODE, TEXT, FILE, JSON]

    def test_without_code(self) -> None:
        assert self.types(parse_code_blocks=False) == [TEXT, FILE, JSON]

    def test_without_files(self) -> None:
        assert self.types(parse_file_refs=False) == [CODE, TEXT, JSON]

    def test_without_json(self) -> None:
        assert self.types(parse_json=False) == [CODE, TEXT, FILE]

    def test_all_off(self) -> None:
        parser = OutputParser(parse_code_blocks=False, parse_file_refs=False, parse_json=False)
        assert parser.parse(self.TEXT) == [ParsedArtifact(TEXT, self.TEXT)]


class TestA2A:
    def test_code(self) -> None:
        artifact = ParsedArtifact(CODE, "x", {"language": "Python", "filename": "a.py", "info": "y"})
        assert artifact.to_a2a_artifact() == {
            "type": "code",
            "name": "a.py",
            "parts": [{"type": "text", "text": "x"}],
            "metadata": {"language": "Python", "mimeType": "text/x-python"},
        }

    def test_code_of_no_known_language(self) -> None:
        artifact = ParsedArtifact(CODE, "x").to_a2a_artifact()
        assert artifact["name"] == "code"
        assert artifact["metadata"] == {"language": "text", "mimeType": "text/plain"}

    def test_file(self) -> None:
        assert ParsedArtifact(FILE, "File reference: a", {"path": "a"}).to_a2a_artifact() == {
            "type": "file",
            "name": "a",
            "parts": [{"type": "text", "text": "File reference: a"}],
            "metadata": {"path": "a"},
        }

    def test_json(self) -> None:
        assert ParsedArtifact(JSON, '{"a": [1]}').to_a2a_artifact() == {
            "type": "data",
            "name": "json_output",
            "parts": [{"type": "data", "data": {"a": [1]}}],
        }

    def test_error(self) -> None:
        assert ParsedArtifact(ArtifactType.ERROR, "no", {"code": "E1"}).to_a2a_artifact() == {
            "type": "text",
            "name": "error",
            "parts": [{"type": "text", "text": "no"}],
            "metadata": {"isError": True, "errorCode": "E1"},
        }

    def test_text(self) -> None:
        assert ParsedArtifact(TEXT, "hi").to_a2a_artifact() == {
            "type": "text",
            "name": "output",
            "parts": [{"type": "text", "text": "hi"}],
        }


FENCES = ["```", "````", "~~~", "~~~~", "```py", '```py title="x"', "~~~ a`b", "``` a`b", "``` "]
ITEMS = ["- a", "1. b", "10. c", "-\td", "* - e", "- ```sh", "+", "-      f"]
VALUES = [
    "[",
    "]",
    "],",
    "{",
    "}",
    "},",
    '{"a": 1}',
    '{"a": [',
    '"b": 2,',
    '"c": 3',
    "[1, 2]",
    "3,",
    "[x]",
    '["',
]
REFERENCES = ["[File: a.py]", "Created: `a b`", "- wrote: /tmp/x.", "created: a thing"]
PLAIN = ["", "", " ", "text", "日本語", "# heading", "\x00", "\ud800", "a\rb", "\r", "\x0b", "\u2028"]
LINES = st.builds(
    lambda indent, line: indent + line,
    st.sampled_from(["", "", "", " ", "  ", "   ", "    ", "      ", "\t"]),
    st.sampled_from(FENCES + ITEMS + VALUES + REFERENCES + PLAIN),
)
ENDS = st.sampled_from(["\n", "\n", "\n", "\r\n"])
MARKDOWN = st.lists(st.builds(lambda line, end: line + end, LINES, ENDS), max_size=25).map("".join)
UNICODE = st.text(st.characters(exclude_categories=()))
MARKS = st.text('`~-1.[]{}",:a \t\r\n\n')
TEXTS = st.one_of(st.builds(lambda text, end: text + end, MARKDOWN, LINES), UNICODE, MARKS)


class TestStreaming:
    @given(TEXTS, st.data())
    def test_gives_the_same_pieces_however_the_text_is_cut(self, text: str, data: st.DataObject) -> None:
        cuts = sorted(data.draw(st.lists(st.integers(0, len(text)))))
        parser = StreamingOutputParser()
        pieces = []
        for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
            pieces += parser.feed(text[start:end])
        assert pieces + parser.flush() == OutputParser().parse(text)

    @given(TEXTS, st.booleans(), st.booleans(), st.booleans())
    def test_gives_the_same_pieces_character_by_character(
        self, text: str, code: bool, files: bool, json: bool
    ) -> None:
        parser = StreamingOutputParser(code, files, json)
        pieces = [piece for character in text for piece in parser.feed(character)]
        assert pieces + parser.flush() == OutputParser(code, files, json).parse(text)

    @given(TEXTS)
    def test_loses_no_text(self, text: str) -> None:
        pieces = OutputParser(parse_code_blocks=False).parse(text)
        kept = "".join(piece.content for piece in pieces if piece.type != FILE)
        assert "".join(kept.split()) == "".join(text.split())

    @given(TEXTS)
    def test_every_piece_is_an_artifact(self, text: str) -> None:
        for piece in OutputParser().parse(text):
            assert json.dumps(piece.to_a2a_artifact(), allow_nan=False)

    def test_a_piece_comes_as_soon_as_its_last_line_has_ended(self) -> None:
        parser = StreamingOutputParser()
        assert parser.feed("one\n```\nx\n```") == []
        assert [piece.type for piece in parser.feed("\n")] == [TEXT, CODE]
        assert parser.feed('{"a":\n1}') == []
        assert [piece.type for piece in parser.feed("\n")] == [JSON]
        assert parser.flush() == []

    def test_begins_anew_after_a_flush(self) -> None:
        parser = StreamingOutputParser()
        parser.feed("- a\n```py\nx\n")
        parser.flush()
        assert parser.feed("    ```\ntext") + parser.flush() == [ParsedArtifact(TEXT, "```\ntext")]


class Steps:
    """Counts the lines of the parser that are executed."""

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> Steps:
        sys.settrace(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _called(self, frame: FrameType, event: str, _: object) -> Callable[..., Any] | None:
        return self._step if frame.f_code.co_filename in (output_parser.__file__, fences.__file__) else None

    def _step(self, frame: FrameType, event: str, _: object) -> Callable[..., Any]:
        self.count += event == "line"
        return self._step


class TestTime:
    """Linear in the text: four times the text takes four times the steps. If it were quadratic, 16 times."""

    LINES = (
        *("[\n", "[x\n", '{"a":\n', "[[1],\n", "[1],\n", '["\n', "1234567. \n"),
        *("``` `\n", "```a `\n", "```\n"),
    )
    MARKS = ("[", '{"a":', "- ", "-\t", ")", " ", "\t", "`", "~")

    @pytest.mark.parametrize("unit", [*LINES, *MARKS])
    def test_of_parsing_is_linear(self, unit: str) -> None:
        for before in ("", "[\n", "Created: ", "[File: ", "```\n", "- - - - "):
            once, four_times = (_steps(before + unit * count) for count in (500, 2000))
            assert four_times <= 5 * once + 100, before

    @pytest.mark.parametrize("size", [1, 1024])
    def test_of_feeding_is_linear(self, size: int) -> None:
        texts = ["[\n" * count + "word " * count + "\n```\n" + "code\n" * count for count in (300, 1200)]
        once, four_times = (_steps(text, size) for text in texts)
        assert four_times <= 5 * once + 100


def _steps(text: str, size: int = 1 << 30) -> int:
    parser = StreamingOutputParser()
    with Steps() as steps:
        for start in range(0, len(text), size):
            parser.feed(text[start : start + size])
        parser.flush()
    return steps.count
