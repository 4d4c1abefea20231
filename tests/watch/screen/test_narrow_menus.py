"""Copilot's question for permission in narrow terminals: an option that it wraps may stand a cell further
left, and its rest below its number."""

from __future__ import annotations

import pytest

from synapse.agents.requests import tool_request
from synapse.profiles.loader import load_profile
from synapse.watch.screen.looks import look_of
from synapse.watch.screen.questions import InputPrompt, InputRequiredDetector, explained

OPTIONS = [
    "Yes",
    "Yes, and don't ask again for `touch` in this directory (~/work)",
    "No, and tell Copilot what to do differently",
]
WIDE = [
    "  2. Yes, and don't ask again for `touch` in this directory (~/work)",
    "  3. No, and tell Copilot what to do differently (Esc to stop)",
]
AT_64 = [
    "  2. Yes, and don't ask again for `touch` in this directory",
    "  (~/work)",
    " 3. No, and tell Copilot what to do differently (Esc to",
    " stop)",
]
AT_62 = [
    " 2. Yes, and don't ask again for `touch` in this directory",
    "  (~/work)",
    "  3. No, and tell Copilot what to do differently (Esc to",
    "  stop)",
]
AT_58 = [
    "  2. Yes, and don't ask again for `touch` in this",
    "  directory (~/work)",
    " 3. No, and tell Copilot what to do differently (Esc to",
    "  stop)",
]
AT_46 = [
    " 2. Yes, and don't ask again for `touch` in",
    "  this directory (~/work)",
    "  3. No, and tell Copilot what to do",
    "  differently (Esc to stop)",
]


def screen(columns: int, options: list[str]) -> list[str]:
    inner = columns - 4
    rows = [
        "Scripted title",
        "─" * inner,
        f"╭{'─' * (inner - 2)}╮",
        f"│ {'touch synapse-was-here':{inner - 4}} │",
        f"╰{'─' * (inner - 2)}╯",
        "",
        "Do you want to run this command?",
        "",
        "❯ 1. Yes",
        *options,
        "",
        "↑/↓ to navigate · enter to select",
    ]
    boxed = [f"│ {row:{inner}} │" for row in rows]
    return [f"╭{'─' * (columns - 2)}╮", *boxed, f"╰{'─' * (columns - 2)}╯"]


def asked(columns: int, options: list[str]) -> InputPrompt:
    detector = InputRequiredDetector(look=look_of(load_profile("copilot")))
    prompt = detector.detect_screen(screen(columns, options), None, False)
    assert prompt is not None
    return prompt


@pytest.mark.parametrize(
    ("columns", "options"), [(96, WIDE), (64, AT_64), (62, AT_62), (58, AT_58), (46, AT_46)]
)
def test_each_width_has_all_options(columns: int, options: list[str]) -> None:
    prompt = asked(columns, options)
    assert prompt.options == OPTIONS and prompt.permission
    assert prompt.keys == {OPTIONS[0]: "1", OPTIONS[1]: "2", OPTIONS[2]: "Escape"}


def test_a_command_of_one_line_that_the_dialog_cuts_is_told_whole() -> None:
    """opencode shows as many rows of it as it has, and nothing says that there are more."""
    steps = [f"echo step number {n} of sixty" for n in range(60)]
    command = "; ".join(steps) + "; rm -rf precious"
    shown = "\n".join(command[at : at + 70] for at in range(0, 700, 70))
    prompt = InputPrompt(
        "Permission required", "selection", ["Allow once", "Reject"], question="Permission required",
        subject=f"{steps[0]} … (10 lines)", detail=shown, permission=True,
    )  # fmt: skip
    request = tool_request("bash", {"command": command})
    other = tool_request("bash", {"command": "echo step number 99; " * 40})
    assert request is not None and other is not None
    told = explained(prompt, [other, request])
    assert told is not None and told.detail is not None and told.detail.startswith(command)
