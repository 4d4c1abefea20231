"""The question of an agent as text, and the answer as the agent expects it.

An external agent may write anything into its question: what is not understood is left out.
"""

from collections.abc import Mapping
from typing import Any

MOST_OPTIONS = 100
QUESTION_GONE = "QUESTION_GONE"  # the code of the refusal of an answer to another question
STILL_ASKED = "STILL_ASKED"  # the code of an answer that was typed, after which the agent asks as before
GONE = "it does not ask any more: nothing was sent."  # the reply to a late answer
_NAMES = ("label", "title", "name", "text", "value", "id")  # of an option that is an object
_VALUES = ("value", "id", *_NAMES)


def question(prompt: Mapping[str, Any]) -> str:
    """The question, what it is about and its options, as Markdown."""
    parts = (_asked(prompt), _fenced(_about(prompt)), unseen(prompt), _answers(prompt))
    return "\n".join(filter(None, parts))


def plain_question(prompt: Mapping[str, Any] | None) -> str:
    """The same as lines of text."""
    prompt = prompt or {}
    about = "\n".join(f"  {line}" for line in _about(prompt).splitlines())
    return "\n".join(filter(None, (_asked(prompt), about, unseen(prompt), _answers(prompt))))


def subject(prompt: Mapping[str, Any]) -> str:
    """What it is about in one line: the command, the file; or that nobody can see it."""
    return _words(prompt.get("subject")) or unseen(prompt)


def about(prompt: Mapping[str, Any]) -> str:
    """In one line: the command or file, or else the question itself."""
    line = _words(prompt.get("subject")) or " ".join(_asked(prompt).split())
    return f"{line} (look at its screen)" if unseen(prompt) else line


def unseen(prompt: Mapping[str, Any]) -> str:
    """A sentence, if the screen does not show all that a yes would run: a number is no answer then."""
    return _words(prompt.get("unseen"))


def _asked(prompt: Mapping[str, Any]) -> str:
    return str(prompt.get("question") or prompt.get("prompt") or "")


def _about(prompt: Mapping[str, Any]) -> str:
    """The detail; the subject too, if the detail does not have it."""
    line, detail = _words(prompt.get("subject")), _words(prompt.get("detail"))
    if detail.strip() == _asked(prompt).strip():
        detail = ""
    whole = line.partition(" … ")[0]
    if not detail or (whole and whole not in detail):
        return "\n".join(filter(None, (line, detail)))
    return detail


def _answers(prompt: Mapping[str, Any]) -> str:
    names = [_named(option, _NAMES) for option in _options(prompt)]
    if unseen(prompt):
        return f"Answer in words: {'; '.join(names)}" if names else ""
    return "\n".join(f"{number}. {name}" for number, name in enumerate(names, 1))


def _fenced(text: str) -> str:
    """As code, so that Markdown changes nothing in it."""
    marks = "```"
    while marks in text:
        marks += "`"
    return f"{marks}\n{text}\n{marks}" if text else ""


def _words(value: object) -> str:
    return value if isinstance(value, str) else ""


def question_id(prompt: Mapping[str, Any] | None) -> str:
    """The id of the question, if the agent gives its questions one."""
    return _words((prompt or {}).get("id"))


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
