"""The answer to an agent's prompt, as the keys that give it. Pure."""

from __future__ import annotations

from synapse.delivery.composer import clean
from synapse.keys import names as keys
from synapse.tasks.task import BadMessage
from synapse.watch.questions import InputPrompt

_YES = frozenset(("y", "yes", "ok", "はい", "approve", "proceed", "allow"))
_NO = frozenset(("n", "no", "いいえ", "deny", "cancel", "reject"))


def answer_keys(prompt: InputPrompt, text: str, submit: bytes, delay: float) -> list[tuple[float, bytes]]:
    """The writes that answer, each with the pause before it. What a menu does not offer is refused."""
    said = clean(text).strip("\n")
    if prompt.keys:
        option = _pick(said.strip(), prompt)
        if option is not None:
            return [(0.0, keys.encode([prompt.keys[option]]))]
        if prompt.input_type in ("selection", "confirmation"):
            offered = ", ".join(f"{key} ({label})" for label, key in prompt.keys.items())
            raise BadMessage(f"{said[:60]!r} is none of the answers: it offers {offered}.")
    if not said and (prompt.default or not prompt.options):
        return [(0.0, submit)]  # Enter alone: [Y/n], ok? [Enter]
    if prompt.options and prompt.input_type == "confirmation":
        said = _word(said.strip(), prompt.options)
    elif prompt.options and prompt.input_type == "selection" and said.strip() not in prompt.options:
        raise BadMessage(f"{said[:60]!r} is none of the answers: it offers {', '.join(prompt.options)}.")
    if "\n" in said:
        raise BadMessage("the answer to this prompt is one line.")
    return [(0.0, said.encode()), (delay, submit)]


def _pick(said: str, prompt: InputPrompt) -> str | None:
    """The option that is meant: by its words, its key, its number, or plain yes and no."""
    assert prompt.keys is not None
    options = prompt.options or list(prompt.keys)
    lower = said.casefold()
    for option in prompt.keys:
        if lower in (option.casefold(), prompt.keys[option].casefold()):
            return option
    if said.isdecimal() and 1 <= int(said) <= len(options):
        option = options[int(said) - 1]
        return option if option in prompt.keys else None
    starts = [option for option in prompt.keys if lower and option.casefold().startswith(lower)]
    if len(starts) == 1:
        return starts[0]
    for words in (_YES, _NO):
        if lower in words:
            found = [o for o in prompt.keys if o.casefold().replace(",", " ").split(" ")[0] in words]
            return found[0] if found else None
    return None


def _word(said: str, options: list[str]) -> str:
    for option in options:
        if said.casefold() == option.casefold():
            return option
    for words in (_YES, _NO):
        if said.casefold() in words:
            for option in options:
                if option.casefold() in words:
                    return option
    raise BadMessage(f"{said[:60]!r} is none of the answers: it offers {', '.join(options)}.")
