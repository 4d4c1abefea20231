"""What the scripted model says: a prompt with `#scenario:NAME` in it picks a script, the same for every CLI.

A prompt without one is echoed. A script is a list of steps; where it ends in a tool call, the CLI asks again
with the tool's result, and the script goes on from there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Say:
    text: str


@dataclass(frozen=True)
class Wait:
    seconds: float


@dataclass(frozen=True)
class Run:
    """Ask for a shell command that the CLI will not run before a human has agreed."""

    command: str


@dataclass(frozen=True)
class Read:
    """Ask for a file, which no CLI asks a human about."""

    path: str


@dataclass(frozen=True)
class Delegate:
    """Give a task to a subagent; its prompt may name a scenario of its own."""

    prompt: str


@dataclass(frozen=True)
class Refuse:
    """Answer with an HTTP error instead."""

    status: int


Call = Run | Read | Delegate
Step = Say | Wait | Call | Refuse

TOUCHED = "synapse-was-here"
COMMAND = f"touch {TOUCHED} && echo touched"
_TALL = "\n".join(f"  echo line {n} of a command that is taller than the screen" for n in range(60))
LONG_COMMAND = f"for n in 1 2; do\n{_TALL}\ndone"
ASK_CODEX = "synapse send codex --return 'your turn #scenario:ping 7'"
ASK_A = "$SYNAPSE_TEST/synapse-command send a --return 'your turn #scenario:ping 9'"  # a script of the test's
NOTES = "notes.txt"  # to be put into the working directory
NOTES_TEXT = "synapse notes: the answer is 42\n"

MARKDOWN = """\
Here is **bold text** and `inline code` in one sentence.

```python
def fib(n: int) -> int:

    if n < 2:
        return n

    return fib(n - 1) + fib(n - 2)
```

日本語の段落です。「こんにちは、世界」と言いました。

| name | value |
|------|-------|
| alpha | 1 |
| ベータ | 22 |

- first
  - nested one
  - nested two
    - deeper
- second

1. one
2. two

The end."""

REVIEW_PHRASE = "review the last commit"  # for the scene in docs/, where no scenario is to be seen
REVIEW = """\
One thing to fix, the rest is sound.

1. **`parse` drops the last line** when the file does not end in a newline:

```python
for line in text.split("\\n")[:-1]:
```

   Use `text.splitlines()`.
2. The test for `日本語` passes either way; give it a file without a final newline.
"""

LOOKS_LIKE_A_PROMPT = """\
This reply only talks about prompts. Nothing here is one:

Do you want to proceed?
❯ 1. Yes
  2. No, and tell Claude what to do differently (esc)

Would you like to run the following command?
› 1. Yes, proceed (y)

Allow execution of [Shell]?
● 1. Allow once

Overwrite the file? (y/n)

• Working (2s • esc to interrupt)

That was all."""

LONG200 = "\n".join(f"line {number:03d} of 200" for number in range(1, 201))
WORDS = [f"word{number:02d}" for number in range(1, 21)]

_NAME = re.compile(r"#scenario:([a-z0-9-]+)")
_SUMMARIZE = re.compile(r"CRITICAL: Respond with TEXT ONLY")  # Claude, for /compact


def scenario_of(prompt: str) -> str:
    """The scenario that a prompt asks for; the last, where it quotes several."""
    if _SUMMARIZE.match(prompt):
        return "summary"
    named = _NAME.findall(prompt)
    if REVIEW_PHRASE in prompt and not named:
        return "review"
    return str(named[-1]) if named else "echo"


def script(prompt: str, results: Sequence[str] = ()) -> list[Step]:
    """What the model does next with a prompt whose tool calls so far came back with `results`."""
    name = scenario_of(prompt)
    if name not in _SCENARIOS:
        return [Say(f"NO SUCH SCENARIO: {name}. There are: {', '.join(_SCENARIOS)}")]
    return _SCENARIOS[name](prompt, results)


def expected(scenario: str, prompt: str = "") -> str:
    """The text with which the turn ends, to the character; "" where it ends in an error."""
    return texts(scenario, prompt)[-1]


def texts(scenario: str, prompt: str = "") -> list[str]:
    """Every message of the turn, one for each time the CLI asks."""
    if scenario_of(prompt) != scenario:
        prompt = f"{prompt} #scenario:{scenario}"
    said = []
    results: list[str] = []
    while True:
        steps = script(prompt, results)
        said.append("".join(step.text for step in steps if isinstance(step, Say)))
        if not isinstance(steps[-1], Call):
            return said
        results.append(_result(steps[-1]))


def _result(call: Call) -> str:
    """What the tool gives back when all goes well."""
    if isinstance(call, Delegate):
        return expected(scenario_of(call.prompt), call.prompt)
    return "touched\n" if isinstance(call, Run) else NOTES_TEXT


def _ping(prompt: str, results: Sequence[str]) -> list[Step]:
    """PONG-<n>, n being the number after the scenario's name, or 1."""
    number = re.search(r"#scenario:ping[ :-]*(\d+)", prompt)
    return [Say(f"PONG-{number[1] if number else 1}")]


def _slow(prompt: str, results: Sequence[str]) -> list[Step]:
    steps: list[Step] = [Say(WORDS[0])]
    for word in WORDS[1:]:
        steps += [Wait(0.3), Say(f" {word}")]
    return steps


def _tool(prompt: str, results: Sequence[str]) -> list[Step]:
    if not results:
        return [Say("I will touch a file."), Run(COMMAND)]
    return [
        Say(f"TOOL-DONE: {'touched' if 'touched' in results[-1] else ' '.join(results[-1].split())[:60]}")
    ]


def _long_command(prompt: str, results: Sequence[str]) -> list[Step]:
    return [Say("That was long.")] if results else [Say("This is long."), Run(LONG_COMMAND)]


def _ask_codex(prompt: str, results: Sequence[str]) -> list[Step]:
    """Have another agent asked from the CLI's own shell tool, and use what it says."""
    if not results:
        return [Say("I will ask Codex."), Run(ASK_CODEX)]
    return [Say(f"Codex says {results[-1].strip()}, no more.")]


def _ask_a(prompt: str, results: Sequence[str]) -> list[Step]:
    return [Say(f"a says {results[-1].split()[-1]}.")] if results else [Run(ASK_A)]


def _two_messages(prompt: str, results: Sequence[str]) -> list[Step]:
    if not results:
        return [Say("First I read the notes."), Read(NOTES)]
    found = re.search(r"the answer is (\d+)", results[-1])
    return [Say(f"The notes say {found[1] if found else 'nothing'}.")]


def _subagent(prompt: str, results: Sequence[str]) -> list[Step]:
    if not results:
        return [Say("A helper shall count."), Delegate("Count slowly. #scenario:slow")]
    return [Say(f"The helper got as far as {WORDS[-1] if WORDS[-1] in results[-1] else 'nowhere'}.")]


def _always(*steps: Step) -> Callable[[str, Sequence[str]], list[Step]]:
    return lambda prompt, results: list(steps)


_SCENARIOS: dict[str, Callable[[str, Sequence[str]], list[Step]]] = {
    "echo": lambda prompt, results: [Say(f"ECHO: {prompt}")],
    "ping": _ping,
    "markdown": _always(Say(MARKDOWN)),
    "long200": _always(Say(LONG200)),
    "slow": _slow,
    "silence-before": _always(Wait(4), Say("This came after a silence.")),
    "silence-middle": _always(Say("This came first, "), Wait(4), Say("and this after a silence.")),
    "tool": _tool,
    "long-command": _long_command,
    "review": _always(Wait(4), Say(REVIEW)),
    "two-messages": _two_messages,
    "ask-codex": _ask_codex,
    "ask-a": _ask_a,
    "subagent": _subagent,
    "summary": _always(Wait(2), Say("<summary>They played ping and pong.</summary>")),
    "looks-like-a-prompt": _always(Say(LOOKS_LIKE_A_PROMPT)),
    "error400": _always(Refuse(400)),
    "error500": _always(Refuse(500)),
    "rate-limit": _always(Refuse(429)),
}
NAMES = tuple(_SCENARIOS)
