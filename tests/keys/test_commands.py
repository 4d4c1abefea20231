"""`@name [flags] message`, and what stays ordinary input."""

from __future__ import annotations

import pytest

from synapse.keys.commands import Command, CommandParser, Refusal

PARSER = CommandParser(names=["codex", "claude-2", "all", "Reviewer", "bob@desk.local"])


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
        ("@codex -- --verbose is broken", "codex", "--verbose is broken"),
        ("@codex -- --return", "codex", "--return"),
        ("@codex -- -- twice", "codex", "-- twice"),
        ("@codex '--verbose is broken'", "codex", "--verbose is broken"),
        ("@codex --> here", "codex", "--> here"),
        ("@codex --- a line ---", "codex", "--- a line ---"),
        ("@codex -1 is wrong", "codex", "-1 is wrong"),
        ("@codex why does --return fail", "codex", "why does --return fail"),
        ("@Bob@Desk.Local hi", "bob@desk.local", "hi"),
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
    assert command("@codex --expires 30 hi").expires == 30.0 and command("@codex hi").expires is None


@pytest.mark.parametrize(
    ("flag", "nearest"),
    [
        ("--retrun", "--return"),
        ("--Return", "--return"),
        ("--time", "--timeout"),
        ("--expire=5", "--expires"),
        ("--foo", "--timeout"),
    ],
)
def test_an_unknown_flag_is_refused_with_the_nearest(flag: str, nearest: str) -> None:
    found = PARSER.parse(f"@codex --priority 2 {flag} hi")
    word = flag.partition("=")[0]
    said = f"{word} is no flag (nearest: {nearest}; `--` ends the flags)"
    assert isinstance(found, Refusal) and found.reason == said


def test_the_last_word_may_decide_where_that_is_wanted() -> None:
    def parsed(line: str) -> tuple[str, bool]:
        found = PARSER.parse(line, wait=False, last_too=True)
        assert isinstance(found, Command), found
        return found.message, found.wait

    assert parsed("@codex hi --return") == ("hi", True)
    assert parsed("@codex -- what is --return") == ("what is --return", False)
    refused = PARSER.parse("@codex --return", last_too=True)
    assert isinstance(refused, Refusal) and refused.reason == "there is no message for codex"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("@codex --priority x hi", "--priority wants a number from 1 to 5, not x"),
        ("@codex --priority 6 hi", "--priority wants a number from 1 to 5, not 6"),
        ("@codex --priority", "--priority wants a number from 1 to 5"),
        ("@codex --timeout soon hi", "--timeout wants a number of seconds, not soon"),
        ("@codex --timeout 0 hi", "--timeout wants a number of seconds, not 0"),
        ("@codex --timeout nan hi", "--timeout wants a number of seconds, not nan"),
        ("@codex --expires never hi", "--expires wants a number of seconds, not never"),
        ("@codex --return=yes hi", "--return takes no value"),
        ("@codex --return", "there is no message for codex"),
        ("@codex --", "there is no message for codex"),
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
