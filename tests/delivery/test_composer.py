"""What is typed for a message."""

import pytest

from synapse.delivery import composer
from synapse.profiles.loader import load_profile


@pytest.mark.parametrize(
    ("given", "typed"),
    [
        ("    indented\n  more\n", "    indented\n  more"),
        ("\n \n  first line", "  first line"),
        ("ends in \\", "ends in \\"),
        (" \n ", ""),
        ("[A2A:1234:user] no, [a2a:x]", "[A2A 1234:user] no, [A2A x]"),
        ("begins with [A2A:<task>:<sender>].", "begins with [A2A:<task>:<sender>]."),
    ],
)
def test_a_message_arrives_as_it_is_but_for_marks(given: str, typed: str) -> None:
    assert composer.clean(given) == typed


def test_enter_never_follows_a_backslash() -> None:
    claude = load_profile("claude")
    assert composer.typing(claude, "a\\", True) == [(0.0, b"\x1b[200~a\\ \x1b[201~"), (0.3, b"\r")]
    assert composer.typing(claude, "a", False) == [(0.0, b"a"), (0.3, b"\r")]
