"""The keys that answer an agent's prompt. Pure."""

import re
from collections.abc import Iterable

from synapse.delivery.composer import clean
from synapse.keys import names as keys
from synapse.tasks.task import BadMessage
from synapse.watch.screen.questions import InputPrompt

# Some CLIs are translated.
_YES = frozenset(
    ("y", "yes", "ok", "はい", "是", "ja", "oui", "sí", "sim", "да", "approve", "proceed", "allow")
)
_NO = frozenset(("n", "no", "いいえ", "否", "nein", "non", "não", "нет", "deny", "cancel", "reject"))


def answer_keys(prompt: InputPrompt, text: str, submit: bytes, delay: float) -> list[tuple[float, bytes]]:
    """The writes that answer, each with the pause before it. Raises BadMessage for an answer not offered."""
    said = clean(text).strip("\n")
    if prompt.keys and prompt.chosen is not None:
        pressed = _several(prompt, said.strip(), prompt.keys, prompt.chosen)
        return [(delay if number else 0.0, keys.encode([key])) for number, key in enumerate(pressed)]
    if prompt.keys:
        option = _pick(said.strip(), prompt.keys, prompt.options or list(prompt.keys))
        if option is not None and prompt.typed:
            return [(0.0, prompt.keys[option].encode()), (delay, submit)]
        if option is not None:
            return [
                (delay if number else 0.0, keys.encode([key]))
                for number, key in enumerate(prompt.keys[option].split())
            ]
        if prompt.input_type in ("selection", "confirmation"):
            raise _not_offered(said, (f"{key} ({label})" for label, key in prompt.keys.items()))
    if not said and (prompt.default or not prompt.options):
        return [(0.0, submit)]  # Enter alone: [Y/n], ok? [Enter]
    if prompt.options and prompt.input_type == "confirmation":
        said = _word(said.strip(), prompt.options)
    elif prompt.options and prompt.input_type == "selection" and said.strip() not in prompt.options:
        raise _not_offered(said, prompt.options)
    if "\n" in said:
        raise BadMessage("the answer to this prompt is one line.")
    return [(0.0, said.encode()), (delay, submit)]


def _several(prompt: InputPrompt, said: str, offered: dict[str, str], chosen: list[str]) -> list[str]:
    """The keys that check what is said, and nothing else, and then end the question."""
    options = prompt.options or list(offered)
    whole = _pick(said, offered, options)
    parts = [whole] if whole else [_pick(part.strip(), offered, options) for part in said.split(",")]
    wanted = [option for option in parts if option is not None]
    if len(wanted) < len(parts):
        raise _not_offered(said, (f"{key} ({label})" for label, key in offered.items()))
    toggled = [option for option in options if (option in wanted) != (option in chosen)]
    pressed = [offered[option] for option in toggled]
    if prompt.finish != "below":
        return [*pressed, prompt.finish]
    at = options.index(toggled[-1] if toggled else prompt.default or options[0])
    return [*pressed, *["Down"] * (len(options) - at), "Enter"]


def denies(prompt: InputPrompt, text: str) -> bool:
    """Whether this answer says no to a permission prompt."""
    said = clean(text).strip()
    if prompt.keys:
        option = _pick(said, prompt.keys, prompt.options or list(prompt.keys))
        said = option if option is not None else said
    return _first_word(said) in _NO


def _pick(said: str, offered: dict[str, str], options: list[str]) -> str | None:
    """The option that is meant: by its words, its key, its number, or plain yes and no."""
    lower = said.casefold()
    for option, key in offered.items():
        if lower in (option.casefold(), key.casefold()):
            return option
    if said.isdecimal() and 1 <= int(said) <= len(options):
        option = options[int(said) - 1]
        return option if option in offered else None
    starts = [option for option in offered if lower and option.casefold().startswith(lower)]
    if len(starts) == 1:
        return starts[0]
    for words in (_YES, _NO):
        if lower in words:
            return next((option for option in offered if _first_word(option) in words), None)
    return None


def _first_word(text: str) -> str:
    return re.split(r"[\s,、，（(]", text.casefold(), maxsplit=1)[0]


def _word(said: str, options: list[str]) -> str:
    lower = said.casefold()
    for words in ({lower}, _YES, _NO):
        for option in options:
            if lower in words and option.casefold() in words:
                return option
    raise _not_offered(said, options)


def _not_offered(said: str, offered: Iterable[str]) -> BadMessage:
    return BadMessage(f"{said[:60]!r} is none of the answers: it offers {', '.join(offered)}.")
