"""The question of an agent as text, and the answer as the agent expects it.

An external agent may write anything into its question: what is not understood is left out.
"""

from collections.abc import Mapping
from typing import Any

MOST_OPTIONS = 100
GONE = "it does not ask any more: nothing was sent."  # the reply to a late answer
_NAMES = ("label", "title", "name", "text", "value", "id")  # of an option that is an object
_VALUES = ("value", "id", *_NAMES)


def question(prompt: Mapping[str, Any]) -> str:
    text = str(prompt.get("question") or prompt.get("prompt") or "")
    offered = [f"{number}. {_named(option, _NAMES)}" for number, option in enumerate(_options(prompt), 1)]
    return "\n".join([text, *offered])


def is_secret(prompt: Mapping[str, Any]) -> bool:
    return prompt.get("type") == "password"


def takes_nothing(prompt: Mapping[str, Any]) -> bool:
    """Whether Enter alone is an answer: to `ok? [Enter]` and `[Y/n]`, but not to a choice."""
    if prompt.get("type") in ("password", "selection"):
        return False
    return not _options(prompt) or bool(prompt.get("default") and not prompt.get("keys"))


def chosen(prompt: Mapping[str, Any], text: str) -> str:
    """The option, if its number as `question` shows it was typed; else the text."""
    options = _options(prompt)
    said = text.strip()
    for option in options:
        if said in (_named(option, _NAMES), _named(option, _VALUES)):
            return _named(option, _VALUES)
    if said.isascii() and said.isdecimal() and len(said) < 4 and 1 <= int(said) <= len(options):
        return _named(options[int(said) - 1], _VALUES)
    return text


def _options(prompt: Mapping[str, Any]) -> list[object]:
    options = prompt.get("options")
    return options[:MOST_OPTIONS] if isinstance(options, list) else []


def _named(option: object, names: tuple[str, ...]) -> str:
    if isinstance(option, dict):
        return next((str(option[name]) for name in names if isinstance(option.get(name), str | int)), "?")
    return str(option)
