"""The dialogs before the tool of an MCP server is called, as the pinned CLIs draw them."""

from __future__ import annotations

import pytest

from synapse.agents.requests import tool_request
from synapse.profiles.loader import built_in_profile
from synapse.watch.screen.looks import look_of
from synapse.watch.screen.questions import InputPrompt, InputRequiredDetector, explained

CLAUDE = """\
● I use a tool.

  Calling notebook… (ctrl+o to expand)

────────────────────────────────────────────────────────────
 Tool use

   notebook - append_line(path: "book.txt", line: "bought milk") (MCP)
   Append a line to a notebook.

 Do you want to proceed?
 ❯ 1. Yes
   2. Yes, and don't ask again for notebook - append_line commands in /w
   3. No

 Esc to cancel · Tab to amend
"""
CODEX = """\
› hello

• I use a tool.

◦ Calling notebook.append_line
    + Show details


  Field 1/1
  Allow the notebook MCP server to run tool "append_line"?

  line: {line}
  path: book.txt

  › 1. Allow                   Run the tool and continue
    2. Allow for this session  Run the tool and remember this choice for this session
    3. Always allow            Run the tool and remember this choice for future tool calls
    4. Cancel                  Cancel this tool call
  enter to submit | esc to cancel
"""
GEMINI = """\
✦ I use a tool.
╭────────────────────────────────────────────────────────────────────────────────────╮
│ Action Required                                                                    │
│                                                                                    │
│ ?  append_line (notebook MCP Server) {arguments} │
│                                                                                    │
│ MCP Server: notebook                                                               │
│ Tool: append_line                                                                  │
│                                                                                    │
│ MCP Tool Details:                                                                  │
│ (press Ctrl+O to expand MCP tool details)                                          │
│ Allow execution of MCP tool "append_line" from server "notebook"?                  │
│                                                                                    │
│ ● 1. Allow once                                                                    │
│   2. Allow tool for this session                                                   │
│   3. Allow all server tools for this session                                       │
│   4. No, suggest changes (esc)                                                     │
╰────────────────────────────────────────────────────────────────────────────────────╯
"""
MILK = {"path": "book.txt", "line": "bought milk"}
SHOWN = '{"path":"book.txt","line":"bought milk"}     '


def asked(cli: str, screen: str) -> InputPrompt:
    detector = InputRequiredDetector(look=look_of(built_in_profile(cli)))
    prompt = detector.detect_screen(screen.split("\n"), (1, 4), False)
    assert prompt is not None
    return prompt


@pytest.mark.parametrize(
    ("cli", "screen", "keys"),
    [
        ("claude", CLAUDE, ["1", "2", "3"]),
        ("codex", CODEX.format(line="bought milk"), ["1", "2", "3", "4"]),
        ("gemini", GEMINI.format(arguments=SHOWN), ["1", "2", "3", "Escape"]),
    ],
)
def test_the_screen_alone_says_what_would_run(cli: str, screen: str, keys: list[str]) -> None:
    prompt = asked(cli, screen)
    assert prompt.permission and not prompt.unseen
    assert list((prompt.keys or {}).values()) == keys and prompt.cancel == "Escape"
    assert all(part in prompt.text for part in ("notebook", "append_line", "book.txt", "bought milk"))


@pytest.mark.parametrize(("cli", "screen"), [("claude", CLAUDE), ("codex", CODEX.format(line="bought milk"))])
def test_the_subject_is_what_the_channel_says(cli: str, screen: str) -> None:
    """Of two calls of one tool the one that is shown."""
    other = tool_request("mcp__notebook__append_line", {"path": "other.txt", "line": "paid rent"})
    ours = tool_request("mcp__notebook__append_line", MILK)
    assert other is not None and ours is not None
    told = explained(asked(cli, screen), [other, ours])
    assert told is not None and told.detail == "notebook: append_line\n\npath: book.txt\nline: bought milk"
    assert told.subject == 'notebook: append_line {"path": "book.txt", "line": "bought milk"}'


@pytest.mark.parametrize(
    ("cli", "screen"),
    [
        ("codex", CODEX.format(line="line 1 of a long note line 2 of a l...")),
        ("gemini", GEMINI.format(arguments='{"path":"book.txt","line":"line 1 of a lon …')),
    ],
)
def test_arguments_that_are_cut_are_said_to_be(cli: str, screen: str) -> None:
    prompt = asked(cli, screen)
    assert prompt.hidden and "does not show all of what it would run" in prompt.text
    whole = tool_request(
        "mcp__notebook__append_line", {**MILK, "line": "line 1 of a long note line 2 of a long"}
    )
    assert whole is not None
    told = explained(prompt, [whole])
    assert told is not None and not told.unseen and "line 2 of a long" in (told.detail or "")
