"""`synapse config set`: one value changes, and nothing else in the file."""

from __future__ import annotations

import difflib
import json
import os

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from synapse.cli.shared.config_file import edited
from tests.support.home import Home

FILE = """\
# my settings
response_timeout: 30   # short

limits:        # these
  queue: 5
  # last comment of limits
# before routing
routing: {max_hops: 3}  # in one line
push:
input_routing: ~
agents:
  reviewer:
    profile: "claude"  # mine
  other: {port: 8109}
allowed_hosts:
  - a.example  # first
  # end of the list
shell_prompt: |
  two
  lines
log_level: info"""


def changes(before: str, after: str) -> tuple[list[str], list[str]]:
    lines = list(difflib.ndiff(before.splitlines(), after.splitlines()))
    removed = [line[2:] for line in lines if line.startswith("- ")]
    return removed, [line[2:] for line in lines if line.startswith("+ ")]


@pytest.mark.parametrize(
    ("key", "value", "removed", "added"),
    [
        ("response_timeout", 600, ["response_timeout: 30   # short"], ["response_timeout: 600   # short"]),
        ("limits.queue", 7, ["  queue: 5"], ["  queue: 7"]),
        ("limits.rate", 5, [], ["  rate: 5"]),
        (
            "routing.max_hops",
            4,
            ["routing: {max_hops: 3}  # in one line"],
            ["routing: {max_hops: 4}  # in one line"],
        ),
        (
            "routing.draft_patience",
            0,
            ["routing: {max_hops: 3}  # in one line"],
            ["routing: {max_hops: 3, draft_patience: 0}  # in one line"],
        ),
        ("push.allow_private", True, [], ["  allow_private: true"]),
        ("input_routing.enabled", False, ["input_routing: ~"], ["input_routing: {enabled: false}"]),
        (
            "agents.reviewer.profile",
            "codex",
            ['    profile: "claude"  # mine'],
            ["    profile: codex  # mine"],
        ),
        ("agents.reviewer.port", 8101, [], ["    port: 8101"]),
        (
            "agents.other.auto_start",
            True,
            ["  other: {port: 8109}"],
            ["  other: {port: 8109, auto_start: true}"],
        ),
        ("agents.new.profile", "gemini", [], ["  new:", "    profile: gemini"]),
        ("allowed_hosts", ["b", "c"], ["  - a.example  # first"], ["  [b, c]  # first"]),
        ("shell_prompt", "# ", ["shell_prompt: |", "  two", "  lines"], ["shell_prompt: '# '"]),
        ("log_level", "debug", ["log_level: info"], ["log_level: debug"]),
        ("default_response_mode", "return", [], ["default_response_mode: return"]),
        ("initial_instructions", "off", [], ["initial_instructions: 'off'"]),
    ],
)
def test_only_the_lines_of_the_value_change(
    key: str, value: object, removed: list[str], added: list[str]
) -> None:
    after = edited(FILE, key.split("."), value)
    assert changes(FILE, after) == (removed, added)
    assert yaml.safe_load(after) == _with(yaml.safe_load(FILE), key.split("."), value)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
        max_leaves=8,
    ).filter(lambda value: isinstance(value, dict)),
    st.lists(st.sampled_from("abcd"), min_size=1, max_size=3),
    st.text(max_size=10) | st.integers() | st.lists(st.text(max_size=5), max_size=3),
    st.sampled_from([None, True, False]),
)
def test_any_file_keeps_what_else_it_says(data: object, keys: list[str], value: object, flow: bool) -> None:
    text = yaml.safe_dump(data, default_flow_style=flow, allow_unicode=True)
    node = data
    for key in keys[:-1]:
        node = node.get(key) if isinstance(node, dict) else node
        if not isinstance(node, dict) and node is not None:
            return  # a value where a section should be is refused
    assert yaml.safe_load(edited(text, keys, value)) == _with(yaml.safe_load(text), keys, value)


def _with(data: object, keys: list[str], value: object) -> object:
    held = dict(data) if isinstance(data, dict) else {}
    held[keys[0]] = _with(held.get(keys[0]), keys[1:], value) if keys[1:] else value
    return held


def test_the_command(home: Home) -> None:
    path = home.path / "synapse" / "config.yaml"
    assert "response_timeout is 600 in " in home.run("config", "set", "response_timeout", "600").stdout
    assert path.read_text() == "response_timeout: 600\n" and path.stat().st_mode & 0o777 == 0o600
    path.write_text("# mine\nlog_level: info # why\n")
    path.chmod(0o644)
    done = home.run("config", "set", "log_level", "debug", "--json")
    assert json.loads(done.stdout) == {"file": str(path), "key": "log_level", "value": "debug"}
    assert path.read_text() == "# mine\nlog_level: debug # why\n" and path.stat().st_mode & 0o777 == 0o644
    said = home.run("config", "set", "log_level", "info", SYNAPSE_LOG_LEVEL="error").stdout
    assert "SYNAPSE_LOG_LEVEL is set, and goes before the file" in said


def test_a_link_stays_a_link(home: Home) -> None:
    (home.path / "synapse").mkdir()
    real = home.path / "dotfiles.yaml"
    real.write_text("log_level: info\n")
    os.symlink(real, home.path / "synapse" / "config.yaml")
    home.run("config", "set", "log_level", "debug")
    assert (home.path / "synapse" / "config.yaml").is_symlink() and real.read_text() == "log_level: debug\n"


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (["response_timeout", "soon"], 2, "response_timeout must be a number from 1 to 604800"),
        (["limits.queue", "0"], 2, "limits.queue must be a whole number"),
        (["limits", "3"], 2, "limits is a section: set one of limits.body"),
        (["limit.queue", "3"], 2, "did you mean limits.queue?"),
        (["agents.a.colour", "red"], 2, "an agent has no setting 'colour'"),
        (["agents.-x.port", "80"], 2, "config.yaml"),
        (["detach_keys", "x"], 2, "two key names"),
    ],
)
def test_what_is_wrong_changes_nothing(home: Home, words: list[str], status: int, says: str) -> None:
    path = home.path / "synapse" / "config.yaml"
    path.parent.mkdir()
    path.write_text("log_level: info\n")
    done = home.run("config", "set", "--", *words, check=False)
    assert (done.returncode, done.stdout) == (status, "") and says in done.stderr
    assert done.stderr.startswith("synapse: ") and done.stderr.count("\n") == 1
    assert path.read_text() == "log_level: info\n"
    assert os.listdir(path.parent) == ["config.yaml"] or "cache" in os.listdir(path.parent)


def test_a_broken_file_is_left_alone(home: Home) -> None:
    path = home.path / "synapse" / "config.yaml"
    path.parent.mkdir()
    for text in ("a: [", "- a list\n", "limits: 3\n"):
        path.write_text(text)
        done = home.run("config", "set", "limits.queue", "3", check=False)
        assert done.returncode == 2 and "config.yaml" in done.stderr and "Traceback" not in done.stderr
        assert path.read_text() == text
