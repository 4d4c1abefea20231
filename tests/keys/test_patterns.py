"""Patterns that backtrack without end are abandoned. The timer is the process's: each test has its own."""

import subprocess
import sys

import pytest

BEGIN = r"""
import re
from synapse.keys import patterns
told = []
patterns.limit_time(told.append)
BAD, ROW = r"^(a+)+\Z", "a" * 60 + "!"
"""


def run(script: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + script], capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize(
    "search",
    [
        "patterns.Pattern(BAD).search(ROW)",
        "patterns.Pattern(BAD, re.MULTILINE).match(ROW)",
        "patterns.search(BAD, ROW)",
        "patterns.match(BAD, ROW)",
        "patterns.fullmatch(BAD, ROW)",
    ],
)
def test_a_search_that_does_not_end_is_abandoned_and_named(search: str) -> None:
    assert run(f"print({search}, patterns.slow() == [BAD], len(told))") == "None True 1"


def test_a_pattern_that_took_too_long_rests_and_the_others_go_on() -> None:
    script = """
patterns.search(BAD, ROW)
print(patterns.search(BAD, "aaa"), patterns.search("a+!", ROW).group()[-2:])
patterns._resting[BAD] = 0.0
print(bool(patterns.search(BAD, "aaa")), patterns.slow())
"""
    assert run(script).split("\n") == ["None a!", "True []"]


def test_many_short_searches_are_not_one_long_one() -> None:
    script = """
import time
until = time.process_time() + 1.0
while time.process_time() < until:
    assert patterns.search("b", "a" * 1000 + "b")
print(patterns.slow(), told)
"""
    assert run(script) == "[] []"


def test_a_line_for_another_agent_is_bounded_too() -> None:
    script = r"""
from synapse.keys.commands import CommandParser
parser = CommandParser(r"^@((\w+)+)\s(.+)\Z")
print(parser.split("@" + "a" * 60), parser.split("plain"))
"""
    assert run(script) == "None None"
