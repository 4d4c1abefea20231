"""`@name [flags] message`, and what stays ordinary input."""

from __future__ import annotations

import pytest

from synapse.keys.commands import Command, CommandParser, Refusal

PARSER = CommandParser(names=["codex", "claude-2", "all", "Reviewer"])


def command(line: str) -> Command:
    found = PARSER.parse(line)
    assert isinstance(found, Command), found
    return found


@pytest.mark.parametrize(
    "line",
    [
        *(
            "",
            "@",
            "@codex",
            "@codex ",
            "@codex   \n ",
            "hello @codex hi",
            " @codex hi",
            "mail me@codex hi",
            "@codex, hi",
        ),
        *(
            "email@example.com",
            "email@example.com hi",
            "@file.py",
            "@src/app.py fix this",
            "@codex@host hi",
            "@@codex hi",
        ),
        *("@nobody hi", "@codexx hi", "/codex hi", "@codex: hi", "@-codex hi"),
    ],
)
def test_ordinary_input(line: str) -> None:
    assert PARSER.parse(line) is None


@pytest.mark.parametrize(
    ("line", "name", "message"),
    [
        ("@codex hi", "codex", "hi"),
        ("@CODEX hi", "codex", "hi"),
        ("@reviewer  hi there ", "Reviewer", "hi there"),
        ("@claude-2 hi", "claude-2", "hi"),
        ("@all 作業終了", "all", "作業終了"),
        ("@codex\u3000設計をレビューして", "codex", "設計をレビューして"),
        ("@codex one\ntwo\n\nthree", "codex", "one\ntwo\n\nthree"),
        ("@codex\nfix it", "codex", "fix it"),
        ("@codex 'quoted text'", "codex", "quoted text"),
        ('@codex "quoted text"', "codex", "quoted text"),
        ('@codex "a" and "b"', "codex", '"a" and "b"'),
        ("@codex it's", "codex", "it's"),
        ("@codex '", "codex", "'"),
        ("@codex fix @src/app.py now", "codex", "fix @src/app.py now"),
        ("@codex --verbose is broken", "codex", "--verbose is broken"),
        ("@codex why does --return fail", "codex", "why does --return fail"),
        ("@codex --returning", "codex", "--returning"),
    ],
)
def test_a_message_for_somebody(line: str, name: str, message: str) -> None:
    found = command(line)
    assert (found.name, found.message, found.wait) == (name, message, True)
    assert found.priority is None and found.timeout is None


def test_flags_in_any_order() -> None:
    for flag in ("--return", "--response", "--here"):
        assert command(f"@codex {flag} hi").wait
    for flag in ("--no-wait", "--non-response", "--display"):
        assert not command(f"@codex {flag} 'ログを記録して'").wait
    found = command('@codex --priority 5 --no-wait --timeout 2.5 "look here"')
    assert (found.priority, found.timeout, found.wait, found.message) == (5, 2.5, False, "look here")
    found = command("@codex --timeout=60 --return --priority=1 hi")
    assert (found.priority, found.timeout, found.wait, found.message) == (1, 60.0, True, "hi")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("@codex --priority x hi", "--priority wants a number from 1 to 5, not x"),
        ("@codex --priority 6 hi", "--priority wants a number from 1 to 5, not 6"),
        ("@codex --priority", "--priority wants a number from 1 to 5"),
        ("@codex --timeout soon hi", "--timeout wants a number of seconds, not soon"),
        ("@codex --timeout 0 hi", "--timeout wants a number of seconds, not 0"),
        ("@codex --timeout nan hi", "--timeout wants a number of seconds, not nan"),
        ("@codex --return", "there is no message for codex"),
        ("@codex ''", "there is no message for codex"),
    ],
)
def test_a_wrong_flag_is_refused_with_the_reason(line: str, reason: str) -> None:
    found = PARSER.parse(line)
    assert isinstance(found, Refusal) and (found.reason, found.line, found.name) == (reason, line, "codex")


def test_an_unknown_name_is_refused_where_it_may_not_pass() -> None:
    parser = CommandParser(names=["codex"])
    parser.passthrough = False
    found = parser.parse("@nobody hi")
    assert isinstance(found, Refusal) and found.reason == "no agent is called nobody"
    assert parser.parse("@src/app.py fix this") is None


def test_another_pattern() -> None:
    parser = CommandParser(r"^>>(\w+):(.*)$", ["codex"])
    assert isinstance(parser.parse(">>codex: hi"), Command)
    assert parser.parse("@codex hi") is None
    parser.set_pattern(r"^@(\w+)$")  # no group for the message: nothing is a command
    assert parser.parse("@codex") is None


def test_a_message_of_200_kb() -> None:
    assert len(command("@codex " + "line\n" * 40_000).message) == 199_999
