"""The questions of the agents: the specification's cases, every recording, and screens of the real CLIs."""

# mypy: disable-error-code="union-attr,operator,index"
# ruff: noqa: E501

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synapse.agents.look import Look
from synapse.agents.requests import tool_request
from synapse.delivery.answers import answer_keys
from synapse.keys.names import parse_key
from synapse.profiles.loader import built_in_profile
from synapse.terminal.screen import Screen, make_screen
from synapse.watch.screen.looks import look_of
from synapse.watch.screen.questions import InputPrompt, InputRequiredDetector, explained

RECORDINGS = sorted(Path(__file__).parent.glob("recordings/*/*/session.cast.gz"))
QUIET = 0.3
WHOLE = 0.04  # the same for a CLI that repaints while it is idle: between two of its frames
RULE = "─" * 100


class TestInputRequiredDetector:
    """As the specification has them."""

    def test_detects_yn_confirmation(self) -> None:
        """y/n確認を検出できる"""
        detector = InputRequiredDetector()
        prompt = detector.detect("続行しますか？ (y/n): ")
        assert prompt is not None
        assert prompt.input_type == "confirmation"
        assert "y" in prompt.options

    def test_detects_yes_no(self) -> None:
        """yes/no確認を検出できる"""
        detector = InputRequiredDetector()
        prompt = detector.detect("Continue? yes/no: ")
        assert prompt.input_type == "confirmation"

    def test_detects_password(self) -> None:
        """パスワードプロンプトを検出できる"""
        detector = InputRequiredDetector()
        prompt = detector.detect("Password: ")
        assert prompt.input_type == "password"

    def test_detects_text_input(self) -> None:
        """テキスト入力を検出できる"""
        detector = InputRequiredDetector()
        prompt = detector.detect("Enter your name: ")
        assert prompt.input_type == "text"

    def test_no_detection_for_normal_output(self) -> None:
        """通常の出力では検出しない"""
        detector = InputRequiredDetector()
        prompt = detector.detect("Processing complete.")
        assert prompt is None

    def test_to_a2a_format(self) -> None:
        """A2A形式に変換できる"""
        prompt = InputPrompt(prompt_text="Continue? (y/n):", input_type="confirmation", options=["y", "n"])
        a2a = prompt.to_a2a_format()
        assert a2a["type"] == "confirmation"
        assert a2a["options"] == ["y", "n"]


@pytest.mark.parametrize(
    ("line", "kind", "options"),
    [
        ("ok? (y/n)", "confirmation", ["y", "n"]),
        ("Overwrite? [Y/n] ", "confirmation", ["Y", "n"]),
        ("Sure? yes/no?", "confirmation", ["yes", "no"]),
        ("続行しますか", "confirmation", ["y", "n"]),
        ("Continue? [press a key]", "confirmation", ["y", "n"]),
        ("Select [1/2/3]: ", "selection", ["1", "2", "3"]),
        ("(1) apples (2) pears", "selection", None),
        ("Enter a new file name:", "text", None),
        ("Input:", "text", None),
        ("Name: ", "text", None),
        ("Value:", "text", None),
        ("dummy> ", "text", None),
        (">>> ", "text", None),
        ("パスワード: ", "password", None),
        ("Secret:", "password", None),
        ("Token: ", "password", None),
    ],
)
def test_every_pattern_of_the_document(line: str, kind: str, options: list[str] | None) -> None:
    prompt = InputRequiredDetector().detect(f"earlier\n{line}")
    assert prompt is not None
    assert (prompt.input_type, prompt.options, prompt.prompt_text) == (kind, options, line.strip())


def test_additional_patterns_of_all_four_types() -> None:
    detector = InputRequiredDetector(
        [
            (r"API key:", "password", None),
            (r"Select option", "selection", ["a", "b"]),
            (r"Proceed with it", "confirmation", ["ja", "nein"]),
            (r"Your answer", "text", None),
        ]
    )
    for line, kind, options in (
        ("API key:", "password", None),
        ("select option", "selection", ["a", "b"]),
        ("Proceed with it", "confirmation", ["ja", "nein"]),
        ("Your answer", "text", None),
    ):
        for prompt in (detector.detect(line), detector.detect_screen(["x", line], (len(line), 1), True)):
            assert prompt is not None
            assert (prompt.input_type, prompt.options) == (kind, options)


def test_a_type_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="not 'menu'"):
        InputRequiredDetector([("x", "menu", None)])


def test_disabled_finds_nothing() -> None:
    detector = InputRequiredDetector(enabled=False)
    assert detector.detect("(y/n)") is None
    assert detector.detect_screen(["(y/n)"], (5, 0), True) is None


def test_the_a2a_form_has_four_keys_and_more_only_when_there_is_more() -> None:
    assert set(InputPrompt("Name:", "text").to_a2a_format()) == {"type", "prompt", "options", "default"}
    menu = InputPrompt("q", "selection", ["a"], "a", question="q", keys={"a": "1"}, cancel="Escape")
    assert set(menu.to_a2a_format()) == {
        *("type", "prompt", "options", "default"),
        *("question", "keys", "cancel"),
    }


# Recordings


def moments(path: Path, quiet: float = QUIET) -> Iterator[tuple[float, Screen, str]]:
    """Each quiet moment of a recording: when it begins, the screen, and Codex's last word on its state."""
    with gzip.open(path, "rt") as file:
        head, *events = [json.loads(line) for line in file]
    screen = make_screen(head["width"], head["height"])
    state = ""
    ends = [event[0] for event in events[1:]] + [events[-1][0] + 60]
    for (at, kind, data), end in zip(events, ends, strict=True):
        if kind == "o":
            screen.feed(data.encode())
            state = (re.findall(r"\x1b]7501;([^\x07\x1b]*)", data) or [state])[-1]
        elif kind == "r":
            cols, _, rows = data.partition("x")
            screen.resize(int(cols), int(rows))
        if end - at > quiet:
            yield at, screen, state


def asked(screen: Screen, look: Look | None = None) -> InputPrompt | None:
    return InputRequiredDetector(look=look).detect_screen(
        screen.text().split("\n"), screen.cursor, screen.cursor_visible
    )


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda p: f"{p.parent.parent.name}-{p.parent.name}")
def test_every_quiet_moment_of_every_recording(path: Path) -> None:
    expected: list[dict[str, Any]] = json.loads((path.parent / "prompts.json").read_text())
    profile = built_in_profile(path.parent.parent.name)
    look = look_of(profile)
    seen = []
    for at, screen, state in moments(path, WHOLE if profile.idle_detection.repaints else QUIET):
        prompt = asked(screen, look)
        span = next((span for span in expected if span["from"] <= at < span["until"]), None)
        assert (prompt is not None) == (span is not None), f"at {at}: {prompt}"
        if "Action Required" in screen.title or "blocked" in state:
            assert span is not None, f"at {at} the CLI itself says that it waits"
        if prompt is None or span is None:
            continue
        seen.append(span["from"])
        assert {
            "type": prompt.input_type,
            "question": prompt.question,
            "options": prompt.options,
            "keys": prompt.keys,
            "default": prompt.default,
            "subject": prompt.subject,
            "cancel": prompt.cancel,
        } == {name: value for name, value in span.items() if name not in ("from", "until", "evidence")}
        assert all(parse_key(key) for keys in prompt.keys.values() for key in keys.split())
    assert sorted(set(seen)) == [span["from"] for span in expected]


# Screens of the real CLIs that no recording holds, as Claude 2.1.197, Codex 0.166.0, Gemini 0.61.0, Qwen 0.15.10
# and Copilot 1.0.102 drew them.


def rows(text: str) -> list[str]:
    return text.strip("\n").split("\n")


def hidden(text: str, row: int = 0) -> InputPrompt | None:
    return InputRequiredDetector().detect_screen(rows(text), (1, row), False)


TRUST = f"""
{RULE}
 Accessing workspace:

 /tmp/w/proj

 Quick safety check: Is this a project you created or one you trust? (Like your own code, a well-known
 project, or work from your team). If not, take a moment to review what's in this folder first.

 Claude Code'll be able to read, edit, and execute files here.

 Security guide

 ❯ 1. Yes, I trust this folder
   2. No, exit

 Enter to confirm · Esc to cancel
"""


def test_claude_trust() -> None:
    prompt = hidden(TRUST, 12)
    assert prompt.question == "Quick safety check: Is this a project you created or one you trust?"
    assert prompt.input_type == "confirmation"
    assert prompt.subject == "/tmp/w/proj"
    assert prompt.keys == {"Yes, I trust this folder": "1", "No, exit": "2"}
    assert (prompt.default, prompt.cancel) == ("Yes, I trust this folder", "Escape")


def test_a_menu_left_behind_by_a_program_that_ended_is_not_live() -> None:
    lines = rows(TRUST)
    assert InputRequiredDetector().detect_screen(lines, (0, len(lines)), True) is None
    assert InputRequiredDetector().detect_screen([*lines, "$ "], (2, len(lines)), True) is None


def test_claude_api_key_and_the_option_that_enter_takes() -> None:
    prompt = hidden(f"""
{RULE}
  Detected a custom API key in your environment

  ANTHROPIC_API_KEY: sk-ant-...abcdefghij0123456789

  Do you want to use this API key?

    1. Yes
  ❯ 2. No (recommended)

  Enter to confirm · Esc to cancel
""")
    assert prompt.question == "Do you want to use this API key?"
    assert prompt.options == ["Yes", "No (recommended)"]
    assert prompt.default == "No (recommended)"


def test_claude_theme_with_a_preview_below_the_menu() -> None:
    prompt = hidden("""
 Let's get started.

 Choose the text style that looks best with your terminal
 To change this later, run /theme

   1. Auto (match terminal)
 ❯ 2. Dark mode ✔
   3. Light mode
   4. Dark mode (colorblind-friendly)

 ╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌
  1  function greet() {
  2 -  console.log("Hello, World!");
  2 +  console.log("Hello, Claude!");
  3  }
 ╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌
  Syntax theme: Monokai Extended (ctrl+t to disable)
""")
    assert prompt.question == "Choose the text style that looks best with your terminal"
    assert prompt.default == "Dark mode"
    assert prompt.keys["Dark mode (colorblind-friendly)"] == "4"


def test_claude_login_and_the_code_to_paste() -> None:
    menu = hidden(f"""
❯ /login

{RULE}
  Login

  Claude Code can be used with your Claude subscription or billed based on API usage.

  Select login method:

  ❯ 1. Claude account with subscription · Pro, Max, Team, or Enterprise
    2. Anthropic Console account · API usage billing
    3. 3rd-party platform · Amazon Bedrock, Microsoft Foundry, or Vertex AI

  Esc to cancel
""")
    assert menu.question == "Select login method:"
    assert list(menu.keys.values()) == ["1", "2", "3"]
    field = hidden(f"""
{RULE}
  Login

  Browser didn't open? Use the url below to sign in (c to copy)

https://claude.com/cai/oauth/authorize?code=true&client_id=9d1c250a&response_type=code

  Paste code here if prompted >

  Esc to cancel
""")
    assert (field.input_type, field.question) == ("password", "Paste code here if prompted >")
    assert field.keys == {"cancel": "Escape"}


def test_claude_page_that_wants_enter() -> None:
    prompt = hidden("""
 Security notes:

 1. Claude can make mistakes.
    You're responsible for Claude's actions and should always

 2. Due to prompt injection risks, only use it with code you trust
    Learn more: https://code.claude.com/docs/en/security

 Press Enter to continue…
""")
    assert (prompt.input_type, prompt.keys) == ("confirmation", {"continue": "Enter"})
    assert prompt.question == "Security notes:"


def test_claude_file_and_key_names_in_parentheses() -> None:
    prompt = hidden(f"""
● Write(new.py)

{RULE}
 Create file
 new.py
╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌
  1 print('hi')
  2 print('ho')
╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌
 Do you want to create new.py?
 ❯ 1. Yes
   2. Yes, allow all edits during this session (shift+tab)
   3. No

 Esc to cancel · Tab to amend
""")
    assert prompt.question == "Do you want to create new.py?"
    assert prompt.subject == "new.py"
    assert prompt.prompt_text == "Do you want to create new.py?\nnew.py"
    assert list(prompt.keys.values()) == ["1", "2", "3"]


def test_claude_menu_with_nothing_below_it() -> None:
    prompt = hidden(f"""
● Fetch(https://example.com/)

{RULE}
 Fetch

   url: "https://example.com/", prompt: "x"
   Claude wants to fetch content from example.com

 Do you want to allow Claude to fetch this content?
 ❯ 1. Yes
   2. Yes, and don't ask again for example.com
   3. No, and tell Claude what to do differently (esc)
""")
    assert prompt.question == "Do you want to allow Claude to fetch this content?"
    assert prompt.keys["No, and tell Claude what to do differently"] == "Escape"


def test_claude_narrow_where_options_and_footer_wrap() -> None:
    prompt = hidden(f"""
{RULE[:46]}
 Bash command

   cat > a.txt <<'X'
   world?
   X
   curl http://x/?a=1
   Write a file

 This command requires approval

 Do you want to proceed?
 ❯ 1. Yes
   2.Yes, and don't ask again for cat and curl
     http://x/?a=1 commands in /tmp/w/proj
   3. No

 Esc to cancel · Tab to amend · ctrl+e to
 explain
""")
    assert prompt.question == "Do you want to proceed?"
    assert prompt.options == [
        "Yes",
        "Yes, and don't ask again for cat and curl http://x/?a=1 commands in /tmp/w/proj",
        "No",
    ]
    assert prompt.subject == "cat > a.txt <<'X' … (4 lines)"
    assert prompt.detail and "cat > a.txt <<'X'\nworld?\nX\ncurl http://x/?a=1" in prompt.detail


@pytest.mark.parametrize("marked", [19, 23])
def test_claude_own_questions_with_descriptions_and_a_rule_inside(marked: int) -> None:
    lines = rows(f"""
❯ GO
{RULE}
←  ☐ Features  ☐ DB  ✔ Submit  →

Which database?

  1. Postgres
     The large one
  2. SQLite
     The small one
  3. Type something.
{RULE}
  4. Chat about this

Enter to select · Tab/Arrow keys to navigate · Esc to cancel
""")
    at = 6 if marked == 19 else 12
    lines[at] = "❯" + lines[at][1:]
    prompt = InputRequiredDetector().detect_screen(lines, (0, at), False)
    assert prompt.question == "Which database?"
    assert prompt.options == ["Postgres", "SQLite", "Type something.", "Chat about this"]
    assert prompt.default == ("Postgres" if marked == 19 else "Chat about this")


def test_claude_model_with_a_column_of_descriptions() -> None:
    prompt = hidden("""
  Select model
  Switch between Claude models. Your pick
  becomes the default for new sessions.

  ❯ 1. Default (recommended) ✔  Use the default
                                model (currently
                                Opus 4.8)
    2. Opus                     Opus 4.8 with 1M
                                context
    3. Sonnet                   Sonnet 5

  ● High effort (default) ←/→ to adjust

  Enter to set as default · s to use this
  session only · Esc to cancel
""")
    assert prompt.options == ["Default (recommended)", "Opus", "Sonnet"]
    assert prompt.question == "Select model"


def test_codex_login() -> None:
    prompt = hidden("""
  Welcome to Codex, OpenAI's command-line coding agent

  Choose how you want to use Codex.

> 1. Sign in with ChatGPT
     Usage included with Plus, Pro, Business, and Enterprise plans

  2. Sign in with Device Code
     Sign in from another device with a one-time code

  3. Use an OpenAI API key
     Pay for what you use

  Press enter to continue
""")
    assert prompt.question == "Choose how you want to use Codex."
    assert prompt.keys == {
        "Sign in with ChatGPT": "1",
        "Sign in with Device Code": "2",
        "Use an OpenAI API key": "3",
    }
    field = hidden("""
  Welcome to Codex, OpenAI's command-line coding agent

> Use your own OpenAI API key for usage-based billing

╭API key───────────────────────────────────────────╮
│Paste or type your API key                        │
╰──────────────────────────────────────────────────╯
  Press enter to save
  Press esc to go back
""")
    assert (field.input_type, field.keys) == ("password", {"save": "Enter", "go back": "Escape"})


def boxed(*texts: str, corner: str = "╭╮╰╯") -> str:
    body = [f"│ {text:<76} │" for text in texts]
    return "\n".join([corner[0] + "─" * 78 + corner[1], *body, corner[2] + "─" * 78 + corner[3]])


def test_gemini_authentication() -> None:
    menu = hidden(
        boxed(
            "? Get started",
            "",
            "  How would you like to authenticate for this project?",
            "",
            "  ● 1. Sign in with Google",
            "    2. Use Gemini API Key",
            "    3. Vertex AI",
            "",
            "  (Use Enter to select)",
            "",
            "  https://geminicli.com/docs/resources/tos-privacy/",
            "",
        )
    )
    assert menu.question == "How would you like to authenticate for this project?"
    assert menu.keys == {"Sign in with Google": "1", "Use Gemini API Key": "2", "Vertex AI": "3"}
    field = hidden(
        boxed(
            "Enter Gemini API Key",
            "",
            "Please enter your Gemini API key. It will be securely stored.",
            "",
            "(Press Enter to submit, Esc to cancel, Ctrl+C to clear stored key)",
            "",
        )
    )
    assert (field.input_type, field.question) == ("password", "Enter Gemini API Key")
    assert field.keys == {"submit": "Enter", "cancel": "Escape"}


def test_copilot_and_qwen_in_boxes() -> None:
    copilot = hidden(
        boxed(
            "Confirm folder trust",
            "Do you trust the files in this folder?",
            "",
            "❯ 1. Yes",
            "  2. Yes, and remember this folder for future sessions",
            "  3. No (Esc)",
            "",
            "↑/↓ to navigate · enter to select · esc to cancel",
        )
    )
    assert list(copilot.keys.items())[-1] == ("No", "Escape")
    qwen = hidden(
        boxed(
            "Select Authentication Method",
            "",
            "› Alibaba ModelStudio",
            "  Official recommended setup",
            "",
            "  OAuth",
            corner="┌┐└┘",
        )
    )
    assert qwen.question == "Select Authentication Method"
    assert qwen.keys == {"Alibaba ModelStudio": "Enter"}


def test_the_reference_agent() -> None:
    menu = hidden(f"{RULE}\nDo you want to proceed?\n❯ 1. Yes\n  2. No\n\nEsc to cancel")
    assert (menu.input_type, menu.options, menu.cancel) == ("confirmation", ["Yes", "No"], "Escape")
    line = InputRequiredDetector().detect_screen(
        [RULE, "Which colour?", "❯ blu", "", "Enter to submit · Esc to cancel"], (5, 2), True
    )
    assert (line.input_type, line.question, line.options) == ("text", "Which colour?", None)
    secret = InputRequiredDetector().detect_screen(
        [RULE, "Password: ", "", "Enter to submit · Esc to cancel"], (10, 1), True
    )
    assert secret.input_type == "password"


@pytest.mark.parametrize(
    ("line", "kind", "options", "default"),
    [
        ("Do it? (y/n) ", "confirmation", ["y", "n"], None),
        ("Overwrite? [y/N]: ", "confirmation", ["y", "N"], "N"),
        ("続行しますか？ (y/n): ", "confirmation", ["y", "n"], None),
        ("続行しますか？", "confirmation", ["y", "n"], None),
        ("Continue? ", "confirmation", ["y", "n"], None),
        (
            "Are you sure you want to continue connecting (yes/no/[fingerprint])? ",
            "confirmation",
            ["yes", "no"],
            None,
        ),
        ("Press Enter to continue...", "confirmation", None, None),
        ("ok? [Enter]", "confirmation", None, None),
        ("Ready to deploy (press return): ", "confirmation", None, None),
        ("Select [1/2/3]: ", "selection", ["1", "2", "3"], None),
        ("(1) apples (2) pears: ", "selection", ["1", "2"], None),
        ("Enter your name: ", "text", None, None),
        ("Password: ", "password", None, None),
        ("[sudo] password for dev: ", "password", None, None),
        ("パスワード: ", "password", None, None),
        (
            "Add file to the chat? (Y)es/(N)o/(D)on't ask again [Yes]: ",
            "confirmation",
            ["Yes", "No", "Don't ask again"],
            "Yes",
        ),
    ],
)
def test_a_question_on_the_line_of_the_cursor(
    line: str, kind: str, options: list[str] | None, default: str | None
) -> None:
    detect = InputRequiredDetector().detect_screen
    prompt = detect(["before", line], (len(line), 1), True)
    assert prompt is not None
    assert (prompt.input_type, prompt.options, prompt.default) == (kind, options, default)
    assert detect(["before", line, "$ "], (2, 2), True) is None
    assert detect(["before", line], (0, 0), True) is None
    assert detect(["before", line], (0, 2), True) is None


@pytest.mark.parametrize(
    "line",
    [
        "dummy> ",
        ">>> ",
        "> ",
        "$ ",
        "Processing complete.",
        "It printed 続行しますか and went on",
        "It asks Continue? when in doubt",
        "see note (1) above:",
        "the values are [1/2] so far",
        "a list [1/2/3] of things",
    ],
)
def test_an_idle_prompt_and_plain_text_are_no_question(line: str) -> None:
    assert InputRequiredDetector().detect_screen(["before", line], (len(line), 1), True) is None


@pytest.mark.parametrize(
    ("above", "line", "offered"),
    [
        (
            ["Choose one:", "1. Keep", "2. Delete", "3. Quit"],
            "Select [1/2/3]: ",
            {"Keep": "1", "Delete": "2", "Quit": "3"},
        ),
        (["[1] Keep", "[2] Delete"], "Which (1/2)? [1/2]: ", {"Keep": "1", "Delete": "2"}),
        ([], "(k)eep, (d)elete, (q)uit: ", {"keep": "k", "delete": "d", "quit": "q"}),
        ([], "What now? [k]eep, [d]elete or [q]uit? ", {"keep": "k", "delete": "d", "quit": "q"}),
        ([], "Overwrite a.txt? [y/N/a] ", {"y": "y", "N": "N", "a": "a"}),
        ([], "Stage this hunk [y,n,q,a,d,e,?]? ", {k: k for k in "ynqade?"}),
        ([], "Choose (keep/delete/quit): ", {"keep": "keep", "delete": "delete", "quit": "quit"}),
    ],
)
def test_a_line_offers_its_options_with_the_keys_that_choose_them(
    above: list[str], line: str, offered: dict[str, str]
) -> None:
    rows = ["$ tidy", *above, line]
    prompt = InputRequiredDetector().detect_screen(rows, (len(line), len(rows) - 1), True)
    assert prompt is not None and prompt.keys == offered and prompt.options == list(offered)
    for label, key in offered.items():
        assert answer_keys(prompt, label, b"\r", 0.3) == [(0.0, key.encode()), (0.3, b"\r")]


@pytest.mark.parametrize("line", ["it was (red/green/blue)", "see (a), (b), (c)", "of the kinds [x, y, z]"])
def test_a_list_in_brackets_is_no_question(line: str) -> None:
    assert InputRequiredDetector().detect_screen(["before", line], (len(line), 1), True) is None


# What a question is about

UNSEEN = "does not show"


def permission(text: str, look: str = "claude", row: int = 0) -> InputPrompt:
    detector = InputRequiredDetector(look=look_of(built_in_profile(look)))
    prompt = detector.detect_screen(rows(text), (1, row), False)
    assert prompt is not None and prompt.permission
    return prompt


def test_the_command_between_rules_is_the_subject_and_not_the_tip() -> None:
    """As Claude Code 2.1.325 draws it."""
    prompt = permission(f"""
● Touching a file
{RULE}
 Bash command

 Tip: auto mode handles these prompts for you — choose "switch to auto mode" below
 Touch a file
{"╌" * 60}
 touch synapse-was-here && echo touched
{"╌" * 60}

 Do you want to proceed?
 ❯ 1. Yes
   2. Yes, and switch to auto mode · auto mode handles these prompts for you
   3. No

 Esc to cancel · Tab to amend
""")
    assert prompt.subject == "touch synapse-was-here && echo touched" and not prompt.unseen
    assert prompt.detail and "Tip:" not in prompt.detail and "Touch a file" in prompt.detail
    told = prompt.to_a2a_format()
    assert told["text"] == f"Do you want to proceed?\n\n{prompt.detail}"
    assert told["prompt"] == "Do you want to proceed?\ntouch synapse-was-here && echo touched"


@pytest.mark.parametrize(
    ("page", "title"),
    [
        (
            """
   Select model
   Switch between Claude models. Your pick becomes the default for new sessions.

   ❯ 1. Default (recommended) ✔  Use the default model (currently Opus 5.5)
     2. Sonnet                   Sonnet 5.5 · Efficient for routine tasks

   Enter to set as default · s to use this session only · Esc to cancel
""",
            "Select model",
        ),
        (
            """
   Effort

                   Faster                             Smarter
                   ──────────▲───────────────────────────────
                   low     medium     high     xhigh      max

   ←/→ to adjust · Enter to confirm · s for this session only · Esc to cancel
""",
            "Effort",
        ),
    ],
)
def test_a_menu_below_a_rule_of_another_kind_is_named_by_its_title(page: str, title: str) -> None:
    """As Claude Code 2.1.326 draws it: not the conversation above the rule, and not the rule."""
    above = f"❯ /memory\n  ⎿  Closed memory\n{'▔' * 60}"
    detector = InputRequiredDetector(look=look_of(built_in_profile("claude")))
    prompt = detector.detect_screen(rows(above + page), (1, 0), False)
    assert prompt is not None and prompt.prompt_text == title and not prompt.permission


LONG_COMMAND = f"""
 │   echo line 30 of a command
 │   echo line 31 of a command
 │ done
{"╌" * 60}

 Do you want to proceed?
 ❯ 1. Yes
   2. No

 Esc to cancel · Tab to amend
"""


def test_a_dialog_whose_top_is_not_on_the_screen_says_so() -> None:
    prompt = permission(LONG_COMMAND)
    assert prompt.subject is None and UNSEEN in prompt.unseen
    assert "synapse screen" in str(prompt.to_a2a_format()["text"])


def test_a_question_with_nothing_above_it_says_that_nothing_is_shown() -> None:
    prompt = permission("  Proceed?\n❯ 1. Yes\n  2. No\n\n Esc to cancel")
    assert prompt.unseen.startswith(
        "the screen does not show what it would run: look at it with `synapse screen"
    )


def test_geminis_command_is_in_the_box_and_not_the_description_above_it() -> None:
    inner = "│ │ touch a.txt && \\ │ │\n│ │   touch b.txt     │ │"
    text = """
╭────────────────────────╮
│ ? Shell  Touch a file  │
│ ╭────────────────────╮ │
BOX
│ ╰────────────────────╯ │
│ Allow execution of [Shell]? │
│                        │
│ ● 1. Allow once        │
│   2. No, suggest changes (esc) │
╰────────────────────────╯
"""
    prompt = permission(text.replace("BOX", inner), "gemini")
    assert prompt.subject == "touch a.txt && \\ … (2 lines)"
    assert prompt.detail and prompt.detail.startswith("touch a.txt && \\\n  touch b.txt")
    cut = permission(
        text.replace("BOX", f"│ │ ... first 9 lines hidden (Ctrl+O to show) ... │ │\n{inner}"), "gemini"
    )
    assert cut.subject is None and UNSEEN in cut.unseen


def test_a_long_command_of_codex_is_known_in_part() -> None:
    prompt = permission(
        """
  Would you like to run the following command?

  Reason: May I?

  $ for f in a b; do
    echo $f
  [… 67 lines] ^a view all

› 1. Yes, proceed (y)
  2. No, and tell Codex what to do differently (esc)

  Press enter to confirm or esc to cancel
""",
        "codex",
    )
    assert prompt.subject == "for f in a b; do … (2 lines)" and UNSEEN in prompt.unseen


def test_a_line_that_only_says_proceed_is_about_the_line_above_it() -> None:
    line = "Proceed? [y/N] "
    detect = InputRequiredDetector().detect_screen
    prompt = detect(["I would run:", "rm -rf build", line], (len(line), 2), True)
    assert prompt is not None and (prompt.subject, prompt.unseen) == ("rm -rf build", "")
    alone = detect([line], (len(line), 0), True)
    assert alone is not None and UNSEEN in alone.unseen
    says = "Delete build? [y/N] "
    named = detect(["before", says], (len(says), 1), True)
    assert named is not None and named.subject is None and not named.unseen


def test_the_request_that_the_dialog_shows_explains_it() -> None:
    prompt = permission(LONG_COMMAND)
    command = "\n".join(
        ["for n in $(seq 31); do", *(f"  echo line {n} of a command" for n in range(1, 32)), "done"]
    )
    other = tool_request("Write", {"file_path": "/w/new.txt", "content": "x"})
    asked = tool_request("Bash", {"command": command, "description": "Count"})
    assert other is not None and asked is not None
    for requests in ([other, asked], [asked, other], [asked]):
        found = explained(prompt, requests)
        assert found is not None and found.subject == "for n in $(seq 31); do … (33 lines)"
        assert found.detail == f"{command}\n\nCount" and not found.unseen


# Text that only looks like a question

LOOKALIKE = f"""Do you want to proceed?
❯ 1. Yes
  2. No

Esc to cancel · Tab to amend
Would you like to run the following command?
› 1. Yes, proceed (y)
  2. No (esc)
  Press enter to confirm or esc to cancel
● 1. Allow once
  2. No, suggest changes (esc)
{boxed("● 1. Allow once", "  2. No")}
{RULE}
Password:
続行しますか？ (y/n)
1. one
2. two
Select [1/2/3]:
t trust · esc back
Press enter to continue
▄▄▄▄▄▄▄▄▄▄▄▄
> 1. Yes
""".split("\n")

body = st.lists(
    st.one_of(st.sampled_from(LOOKALIKE), st.text(st.characters(exclude_categories=["C", "Z"]), max_size=60)),
    max_size=30,
)


def at_rest(cli: str, reply: list[str], draft: list[str]) -> tuple[list[str], tuple[int, int], bool]:
    """A reply above the composer, as each CLI draws them; the draft may be anything too."""
    mark, first, rest, above, below, shown = {
        "claude": ("● ", "❯ ", "  ", [RULE], [RULE, "  esc to interrupt · ← for agents"], False),
        "claude-draft": ("● ", "❯ ", "  ", [RULE], [RULE, " " * 60 + "ctrl+g to edit in Vim"], False),
        "codex": (
            "• ",
            "› ",
            "  ",
            [""],
            ["", "  gpt-5.1-codex default · /home/dev", "  ? for shortcuts"],
            True,
        ),
        "gemini": (
            "✦ ",
            " > ",
            "   ",
            [RULE, "▄" * 100],
            ["▀" * 100, " /home/dev    no sandbox   Auto"],
            False,
        ),
    }[cli]
    lines = [mark + text if n == 0 else "  " + text for n, text in enumerate(reply)]
    typed = [first + text if n == 0 else rest + text for n, text in enumerate(draft or [""])]
    upper = [*lines, "", *above]
    return [*upper, *typed, *below], (3, len(upper) + len(typed) - 1), shown


@pytest.mark.parametrize("cli", ["claude", "claude-draft", "codex", "gemini"])
@settings(max_examples=150, deadline=None)
@given(body, body)
def test_no_reply_and_no_draft_is_a_question(cli: str, reply: list[str], draft: list[str]) -> None:
    lines, cursor, shown = at_rest(cli, reply, draft)
    assert InputRequiredDetector().detect_screen(lines, cursor, shown) is None


@pytest.mark.parametrize("cli", ["claude", "codex", "gemini"])
@settings(max_examples=60, deadline=None)
@given(body)
def test_nor_is_a_reply_where_the_cursor_is_not_known(cli: str, reply: list[str]) -> None:
    lines, _, _ = at_rest(cli, reply, [])
    assert InputRequiredDetector().detect_screen(lines, None) is None


@settings(max_examples=150, deadline=None)
@given(body)
def test_a_menu_above_a_dialog_is_not_mistaken_for_its_own(reply: list[str]) -> None:
    lines = ["● " + "x", *("  " + text for text in reply)]
    lines += ["", *rows(TRUST)]
    prompt = InputRequiredDetector().detect_screen(lines, (1, len(lines) - 4), False)
    assert prompt.options == ["Yes, I trust this folder", "No, exit"]
    assert prompt.subject == "/tmp/w/proj"


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.one_of(st.sampled_from(LOOKALIKE), st.text(max_size=40)), max_size=30),
    st.one_of(st.none(), st.tuples(st.integers(-1, 200), st.integers(-1, 60))),
    st.sampled_from([None, True, False]),
)
def test_no_screen_makes_it_fail(
    lines: list[str], cursor: tuple[int, int] | None, visible: bool | None
) -> None:
    detector = InputRequiredDetector([("x", "selection", None)])
    for prompt in (detector.detect("\n".join(lines)), detector.detect_screen(lines, cursor, visible)):
        if prompt:
            json.dumps(prompt.to_a2a_format())
            assert prompt.default is None or prompt.options is None or prompt.default in prompt.options


@settings(max_examples=150, deadline=None)
@given(st.text())
def test_no_output_makes_it_fail(output: str) -> None:
    InputRequiredDetector().detect(output)


def test_a_long_line_costs_little() -> None:
    assert InputRequiredDetector().detect("Enter " * 50_000 + "!") is None
    assert InputRequiredDetector().detect_screen(["Enter" + " " * 50_000 + "x"], None) is None
