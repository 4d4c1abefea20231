"""Questions of a CLI that is translated: Qwen Code speaks the language of its user's locale."""

from __future__ import annotations

import pytest

from synapse.agents.base import Channel, Surroundings
from synapse.delivery.answers import denies
from synapse.profiles.loader import load_profile
from synapse.terminal.screen import make_screen
from synapse.watch.screen.reader import ScreenReader

JAPANESE = """\
╰──────────────────────╯

  ◆ I will touch a file.
  ? Shell touch synapse-was-here && echo touched ←

     touch synapse-was-here && echo touched

   'touch' の実行を許可しますか?

   › 1. はい(今回のみ許可)
     2. このプロジェクトでrun 'touch *' commandsを常に許可
     3. このユーザーにrun 'touch *' commandsを常に許可
     4. いいえ、変更を提案 (Esc)

  ⠏ ユーザーの確認を待っています..."""
CHINESE = """\
╰──────────────────────╯

  ◆ I will touch a file.
  ? Shell touch synapse-was-here && echo touched ←

     touch synapse-was-here && echo touched

   允许执行：'touch'？

   › 1. 是，允许一次
     2. 在本项目中总是允许run 'touch *' commands
     3. 对该用户总是允许run 'touch *' commands
     4. 否，建议更改 (esc)

  ⠏ 等待用户确认..."""


@pytest.mark.parametrize(
    ("shown", "question", "yes", "no"),
    [
        (JAPANESE, "'touch' の実行を許可しますか?", "はい", "いいえ"),
        (CHINESE, "允许执行：'touch'？", "是", "否"),
    ],
)
def test_a_permission_question_in_another_language(shown: str, question: str, yes: str, no: str) -> None:
    screen = make_screen(100, 24)
    screen.feed((shown.replace("\n", "\r\n") + "\x1b[?25l").encode())
    prompt = ScreenReader(load_profile("qwen"), screen, Channel(Surroundings("/", {}, 0.0))).question()
    assert prompt is not None and prompt.permission
    assert (prompt.question, prompt.subject) == (question, "touch synapse-was-here && echo touched")
    assert prompt.options is not None and len(prompt.options) == 4 and prompt.cancel == "Escape"
    assert not denies(prompt, yes) and denies(prompt, no) and denies(prompt, "4")
