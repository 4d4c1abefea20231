import json
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synapse.base import paths, schema, yamlfile
from synapse.base.schema import (
    Boolean,
    Choice,
    Integer,
    Kind,
    ListOf,
    MappingOf,
    Number,
    Ports,
    Regex,
    Section,
    Text,
    Words,
    validate,
)
from synapse.errors import ConfigError, ProfileError
from synapse.profiles.fields import Keys

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
KINDS: list[Kind] = [
    Text(),
    Boolean(),
    Number(0, 5),
    Integer(1, 9),
    Choice("on", "off", "never"),
    Regex(names=["A_MODE"]),
    Ports(),
    Words(),
    Keys("strong"),
    ListOf(Text(empty=False)),
    MappingOf(Integer(1, 9), schema.is_name, "a name", null=True),
    Section({"a": Text(), "b": ListOf(Integer(1, 9))}, required=("a",)),
]


def problems(kind: Kind, value: object) -> list[str]:
    found: list[str] = []
    kind.check(value, "field", found)
    return found


def accepts(kind: Kind, value: object) -> Any:
    found: list[str] = []
    result = kind.check(value, "field", found)
    assert found == []
    return result


@given(st.sampled_from(KINDS), JSON)
def test_any_value_is_taken_or_named_never_a_traceback(kind: Kind, value: object) -> None:
    for problem in problems(kind, value):
        assert problem.startswith("field")
        assert "\n" not in problem.replace(repr(value), "")


@given(st.sampled_from(KINDS), st.text())
def test_any_variable_is_taken_or_named(kind: Kind, text: str) -> None:
    problems(kind, kind.read(text))


@given(st.integers(1, 65535), st.integers(0, 100))
def test_a_port_range_is_read_as_written(first: int, more: int) -> None:
    last = min(first + more, 65535)
    assert accepts(Ports(), f"{first}-{last}") == (first, last)
    assert accepts(Ports(), first) == accepts(Ports(), str(first)) == (first, first)


@pytest.mark.parametrize(
    "value", [0, 65536, "8109-8100", "8100-", "-1", True, 81.5, "8100-8109-8110", None, []]
)
def test_a_wrong_port_range_says_what_is_right(value: object) -> None:
    (problem,) = problems(Ports(), value)
    assert "a range of ports such as 8100-8109" in problem


def test_numbers_have_a_range_and_bools_are_no_numbers() -> None:
    assert accepts(Number(0, 5), 0.5) == 0.5
    assert accepts(Integer(1, 9), 9) == 9
    for value in (True, "1", 10, -0.1, float("nan"), float("inf"), None):
        assert problems(Number(0, 5), value)
    assert problems(Integer(1, 9), 2.0) == ["field must be a whole number from 1 to 9, not 2.0"]


def test_yaml_off_is_the_word_off_where_it_is_a_choice() -> None:
    assert accepts(Choice("typed", "off"), False) == "off"
    assert accepts(Choice("typed", "off"), "TYPED") == "typed"
    assert problems(Choice("typed", "off"), True) == ["field must be one of typed, off, not true"]


def test_a_number_where_text_belongs_asks_for_quotes() -> None:
    assert problems(Text(), 8080) == ["field must be text, not 8080: put it in quotes"]


def test_a_broken_pattern_says_what_is_wrong_with_it() -> None:
    (problem,) = problems(Regex(), "a(b")
    assert (
        problem == "field is not a valid regular expression: missing ), unterminated subpattern at position 1"
    )
    (problem,) = problems(Regex(), "[[a]")  # Python only warns, and does so on the human's terminal
    assert problem.startswith("field is not a valid regular expression: Possible nested set")
    (problem,) = problems(Regex(groups=2), "^@(x)")
    assert problem == "field must have 2 groups in parentheses, and has 1"


def test_a_mode_name_is_no_pattern_and_a_misspelt_one_is_named() -> None:
    kind = Regex(names=["BRACKETED_PASTE_MODE"])
    assert accepts(kind, "BRACKETED_PASTE_MODE") == "BRACKETED_PASTE_MODE"
    (problem,) = problems(kind, "BRACKETED_PASTE")
    assert "did you mean BRACKETED_PASTE_MODE?" in problem


def test_a_command_is_split_as_a_shell_does_and_a_list_is_not() -> None:
    assert accepts(Words(), "my-cli --flag 'two words'") == ["my-cli", "--flag", "two words"]
    assert accepts(Words(), ["my cli", "it's"]) == ["my cli", "it's"]
    assert problems(Words(), "it's") == ["field cannot be split into words: No closing quotation"]
    assert problems(Words(), "") == problems(Words(), []) == ["field must not be empty"]


def test_a_key_that_is_none_is_named_with_the_nearest() -> None:
    assert accepts(Keys(), ["Escape", "C-u"]) == ["Escape", "C-u"]
    assert accepts(Keys("strong"), "strong") == "strong"
    assert accepts(Keys(), "Escape") == ["Escape"]
    (problem,) = problems(Keys(), ["Escpe"])
    assert problem.endswith("'Escpe' is no key (did you mean Escape?)")


def test_all_problems_of_a_file_come_together_each_with_file_and_field() -> None:
    section = Section({"name": Text(), "inner": Section({"count": Integer(1, 9)}), "tags": ListOf(Text())})
    data = {"nme": "x", "inner": {"count": 10, "other": 1}, "tags": ["a", 2]}
    with pytest.raises(ConfigError) as raised:
        validate(section, data, "some.yaml", ConfigError)
    assert str(raised.value).splitlines() == [
        "some.yaml: nme is not a known field (did you mean name?)",
        "some.yaml: inner.count must be a whole number from 1 to 9, not 10",
        "some.yaml: inner.other is not a known field (allowed: count)",
        "some.yaml: tags[1] must be text, not 2: put it in quotes",
    ]


def test_a_missing_field_says_what_it_must_be() -> None:
    with pytest.raises(ProfileError, match=r"^f: name is missing: it must be text$"):
        validate(Section({"name": Text()}, required=["name"]), None, "f", ProfileError)


def test_a_file_that_is_no_mapping_says_so() -> None:
    with pytest.raises(ProfileError, match=r"^f: the file must be a mapping of fields, not a list$"):
        validate(Section({}), [1], "f", ProfileError)


# yamlfile: where the values come from


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str | bytes], str]:
    """Writes a file that is old enough to be cached."""
    monkeypatch.setenv("SYNAPSE_HOME", str(tmp_path / "home"))

    def write(content: str | bytes) -> str:
        path = tmp_path / "file.yaml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        old = time.time() - 60 - len(content)
        os.utime(path, (old, old))
        return str(path)

    return write


def cache_files() -> list[str]:
    try:
        return os.listdir(paths.cache_dir())
    except FileNotFoundError:
        return []


def test_the_second_read_comes_from_the_cache(
    write: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("a: [1, 2.5, true, null, text]\n")
    first = yamlfile.load(path, ConfigError)
    monkeypatch.setattr(yamlfile, "_parse", lambda *_: pytest.fail("parsed again"))
    assert yamlfile.load(path, ConfigError) == first == {"a": [1, 2.5, True, None, "text"]}
    (name,) = cache_files()
    info = os.stat(os.path.join(paths.cache_dir(), name))
    assert stat.S_IMODE(info.st_mode) == 0o600
    assert stat.S_IMODE(os.stat(paths.cache_dir()).st_mode) == 0o700


def test_a_changed_file_is_parsed_again(write: Callable[[str], str]) -> None:
    assert yamlfile.load(write("a: 1\n"), ConfigError) == {"a": 1}
    assert yamlfile.load(write("a: 22\n"), ConfigError) == {"a": 22}
    assert len(cache_files()) == 1


def test_a_file_that_was_written_a_moment_ago_is_not_cached(write: Callable[[str], str]) -> None:
    path = write("a: 1\n")
    os.utime(path)
    assert yamlfile.load(path, ConfigError) == {"a": 1}
    assert cache_files() == []


@pytest.mark.parametrize("junk", [b"", b"{", b"[]", b"\xff\xfe", b'{"key": 1}', b"[" * 100_000])
def test_a_corrupt_cache_is_no_problem(write: Callable[[str], str], junk: bytes) -> None:
    path = write("a: 1\n")
    yamlfile.load(path, ConfigError)
    (name,) = cache_files()
    Path(paths.cache_dir(), name).write_bytes(junk)
    assert yamlfile.load(path, ConfigError) == {"a": 1}
    assert json.loads(Path(paths.cache_dir(), name).read_bytes())["data"] == {"a": 1}


def test_a_home_that_takes_no_cache_is_no_problem(
    write: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "occupied").write_text("a file, so nothing can be made below it")
    monkeypatch.setenv("SYNAPSE_HOME", str(tmp_path / "occupied"))
    assert yamlfile.load(write("a: 1\n"), ConfigError) == {"a": 1}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a: 1\nb: [1\n", ", line 3, column 1: while parsing a flow sequence, did not find expected"),
        ("a: 1\n\tb: 2\n", ", line 2, column 1: while scanning a plain scalar, found a tab character"),
        ("a: 1\nb:\n  c: 1\n  c: 2\n", ", line 4, column 3: c appears twice"),
        ("a: 1\n8100: 2\n", ", line 2, column 1: the key 8100 must be text: put it in quotes"),
        ("env:\n  NO: x\n", ", line 2, column 3: the key NO must be text: put it in quotes"),
        ("? [a]\n: 1\n", ", line 1, column 3: the key here must be text: put it in quotes"),
        (
            "a: !!python/name:os.system\n",
            ", line 1, column 4: the type tag:yaml.org,2002:python/name:os.system",
        ),
        ("a: !!binary aGk=\n", ", line 1, column 4: the type tag:yaml.org,2002:binary is not supported"),
        ("日本: 1\nb: \x01\n", ", line 2, column 4: control characters are not allowed"),
        (
            "a: 1\n---\nb: 1\n",
            ", line 2, column 1: expected a single document in the stream, but found another",
        ),
        (b"a: 1\nb: \xff\n", ", line 2: the file is not UTF-8; save it as UTF-8"),
        ("a: &x [*x]\n", ", line 1, column 4: this contains itself"),
        ("[" * 300_000 + "]" * 300_000, " is nested too deeply"),
        ("a: 1\n" + "#" * 1_000_000, " is too large: 1000005 bytes, and at most 1000000 are read"),
    ],
)
def test_what_is_wrong_is_one_sentence_with_file_line_and_column(
    write: Callable[[str | bytes], str], content: str | bytes, expected: str
) -> None:
    path = write(content)
    with pytest.raises(ProfileError) as raised:
        yamlfile.load(path, ProfileError)
    assert str(raised.value).startswith(path + expected)
    assert "\n" not in str(raised.value)
    assert cache_files() == []


def test_dates_and_equals_signs_stay_the_text_they_are(write: Callable[[str], str]) -> None:
    data = yamlfile.load(write("a: 2026-11-15\nb: 2026-11-15 10:00:00\nc: =\n"), ConfigError)
    assert data == {"a": "2026-11-15", "b": "2026-11-15 10:00:00", "c": "="}


def _doubling(first: str, again: str) -> str:
    """Ten lines, each of which repeats the one before it nine times."""
    lines = (again.format(this=f"n{n}", inner=", ".join([f"*n{n - 1}"] * 9)) for n in range(1, 10))
    return first + "".join(lines)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (_doubling("n0: &n0 [x]\n", "{this}: &{this} [{inner}]\n"), "aliases"),
        (_doubling("n0: &n0 {k: 1}\n", "{this}: &{this}\n  <<: [{inner}]\n"), "aliases"),
        ("a: &a " + "x" * 500_000 + "\nb: [" + ", ".join(["*a"] * 30) + "]\n", "aliases"),
        ("a: &a [1, *a]\n", "contains itself"),
        ("a: &a {b: &b {c: *a}}\n", "contains itself"),
    ],
)
def test_aliases_that_grow_without_end_are_refused(
    write: Callable[[str], str], text: str, problem: str
) -> None:
    with pytest.raises(ConfigError, match=problem):
        yamlfile.load(write(text), ConfigError)


def test_anchors_and_merge_keys_work(write: Callable[[str], str]) -> None:
    data = yamlfile.load(write("a: &b {x: 1, y: 2}\nc: &d {<<: *b, y: 3}\ne: {<<: *d, x: 9}\n"), ConfigError)
    assert data == {"a": {"x": 1, "y": 2}, "c": {"x": 1, "y": 3}, "e": {"x": 9, "y": 3}}


def test_an_empty_file_says_nothing_and_a_mark_at_its_start_is_skipped(write: Callable[[bytes], str]) -> None:
    assert yamlfile.load(write(b""), ConfigError) is None
    assert yamlfile.load(write(b"# only a comment\n"), ConfigError) is None
    assert yamlfile.load(write(b"\xef\xbb\xbfa: 1\n"), ConfigError) == {"a": 1}


def test_a_directory_a_pipe_and_an_unreadable_file_each_say_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is a directory, and must be a YAML file"):
        yamlfile.load(str(tmp_path), ConfigError)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigError, match="is not a regular file"):
        yamlfile.load(str(tmp_path / "pipe"), ConfigError)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(ConfigError, match="too many levels of symbolic links; make it readable"):
        yamlfile.load(str(tmp_path / "loop"), ConfigError)
    with pytest.raises(FileNotFoundError):
        yamlfile.load(str(tmp_path / "none"), ConfigError)
