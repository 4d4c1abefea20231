"""What the scripted model says: a prompt with `#scenario:NAME` in it picks a script, the same for every CLI.

A prompt without one is echoed. A script is a list of steps; where it ends in a tool call, the CLI asks again
with the tool's result, and the script goes on from there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from synapse.selftest.steps import (
    Call,
    Cut,
    Delegate,
    Hold,
    Read,
    Refuse,
    Run,
    Say,
    Script,
    Step,
    Use,
    Wait,
    Write,
)
from tests.real import mcp_server

TOUCHED = "synapse-was-here"
COMMAND = f"touch {TOUCHED} && echo touched"
_TALL = "\n".join(
    f"  echo line {n} of a command that is taller than the screen >> tall.txt" for n in range(60)
)
LONG_COMMAND = f"for n in 1 2; do\n{_TALL}\ndone"
ASK_CODEX = "synapse send codex --return 'your turn #scenario:ping 7'"
ASK_A = "$SYNAPSE_TEST/synapse-command send a --return 'your turn #scenario:ping 9'"  # a script of the test's
ASK_CLAUDE = "$SYNAPSE_COMMAND send claude --return 'your turn #scenario:ping 8'"
ASK_BY_MCP = {"agent": "claude", "message": "your turn #scenario:ping 6"}
WRITTEN, WRITTEN_TEXT = "written.txt", "one\ntwo\n"
REVIEWED = "calc.txt"  # the file that `synapse review` is about
REVIEWED_TEXT, FIXED, FIXES = "a change #scenario:verdict\n", "fixed", 2
ONE_ANSWER = "It depends."
COLOUR, SIZES = "Which colour?", "Which sizes?"
CHOICES = {COLOUR: ("Red", "Blue", "Green"), SIZES: ("Small", "Large")}
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

# What the question for permission and the prompt of each of these CLIs look like.
LOOKS_LIKE_MENUS = """\
These are only pictures of menus:

```
△ Permission required
  # Shell command
  $ rm -rf build
 Allow once   Allow always   Reject          ctrl+f fullscreen  ⇆ select  enter confirm

Do you want to run this command?
❯ 1. Yes
  2. Yes, and don't ask again for `rm` in this directory
  3. No, and tell Copilot what to do differently (Esc to stop)

? Shell rm -rf build
› 1. Yes, allow once
  2. No, suggest changes (esc)
```

Run shell command? (Y)es/(N)o/(D)on't ask again [Yes]:

diff>

────────────────────────────────────────
❯
────────────────────────────────────────
 ? help

Which one do you want?"""

WIDE = "\n\n".join(
    f"## 第{number}章\n\nこの段落は、全角の文字だけで書かれた長い文で、端末の幅を超えて何度も折り返される。"
    f"「返答」は一文字も失われてはならない。👍 {number}\n\n```python\n# コメント {number}\n"
    f'def 関数_{number}() -> str:\n    return "戻り値　全角"\n```'
    for number in range(1, 16)
)

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
    if isinstance(call, Use):
        return mcp_server.RESULT
    return NOTES_TEXT if isinstance(call, Read) else "touched\n"


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


def _sleeping(prompt: str, results: Sequence[str]) -> list[Step]:
    """A command that a human can stop after having permitted it."""
    return (
        [Say("That was that.")] if results else [Say("This takes time."), Run(f"touch {TOUCHED} && sleep 30")]
    )


def _write(prompt: str, results: Sequence[str]) -> list[Step]:
    return [Say("It is written.")] if results else [Say("I write a file."), Write(WRITTEN, WRITTEN_TEXT)]


def _mcp(prompt: str, results: Sequence[str]) -> list[Step]:
    if not results:
        long = "#scenario:mcp-long" in prompt
        arguments = mcp_server.LONG_ARGUMENTS if long else mcp_server.ARGUMENTS
        return [Say("I use a tool."), Use(mcp_server.SERVER, mcp_server.TOOL, arguments)]
    return [Say(f"MCP-DONE: {mcp_server.RESULT if mcp_server.RESULT in results[-1] else 'no'}")]


def _long_command(prompt: str, results: Sequence[str]) -> list[Step]:
    return [Say("That was long.")] if results else [Say("This is long."), Run(LONG_COMMAND)]


def _ask_codex(prompt: str, results: Sequence[str]) -> list[Step]:
    """Have another agent asked from the CLI's own shell tool, and use what it says."""
    if not results:
        return [Say("I will ask Codex."), Run(ASK_CODEX)]
    return [Say(f"Codex says {results[-1].strip()}, no more.")]


def _ask_a(prompt: str, results: Sequence[str]) -> list[Step]:
    return [Say(f"a says {results[-1].split()[-1]}.")] if results else [Run(ASK_A)]


def _ask_claude(prompt: str, results: Sequence[str]) -> list[Step]:
    """Have another agent asked from within the sandbox, where no connection is possible."""
    return [_heard(results[-1])] if results else [Say("I will ask Claude."), Run(ASK_CLAUDE, sandboxed=True)]


def _ask_by_mcp(prompt: str, results: Sequence[str]) -> list[Step]:
    if results:
        return [_heard(results[-1])]
    return [Say("I will ask Claude."), Use("synapse", "ask_agent", ASK_BY_MCP)]


def _heard(result: str) -> Say:
    found = re.search(r"PONG-\d+", result)
    return Say(f"Claude says {found[0] if found else result}.")


def _two_messages(prompt: str, results: Sequence[str]) -> list[Step]:
    if not results:
        return [Say("First I read the notes."), Read(NOTES)]
    found = re.search(r"the answer is (\d+)", results[-1])
    return [Say(f"The notes say {found[1] if found else 'nothing'}.")]


def _subagent(prompt: str, results: Sequence[str]) -> list[Step]:
    if not results:
        return [Say("A helper shall count."), Delegate("Count slowly. #scenario:slow")]
    if results[-1].startswith("Async agent launched"):  # Claude 2.1.325
        return [Say("It counts.")]
    return [Say(f"The helper got as far as {WORDS[-1] if WORDS[-1] in results[-1] else 'nowhere'}.")]


def _question(tool: str, many: str, *asked: tuple[str, bool]) -> Script:
    """Ask the human with the CLI's own tool, and say what was chosen. `many` is how it calls a question with
    several answers."""
    questions = [
        {
            "question": question,
            "header": question.split()[-1].rstrip("?"),
            "options": [{"label": label, "description": f"as {label}"} for label in CHOICES[question]],
            **({many: True} if several else {}),
        }
        for question, several in asked
    ]

    def steps(prompt: str, results: Sequence[str]) -> list[Step]:
        if not results:
            return [Say("I have to know."), Use("", tool, {"questions": questions})]
        labels = [label for question, _ in asked for label in CHOICES[question]]
        return [Say(f"CHOSEN: {' '.join(label for label in labels if label in results[-1])}")]

    return steps


def _verdict(prompt: str, results: Sequence[str]) -> list[Step]:
    """Approve a change with two fixes in it, and name the next fix otherwise."""
    fixes = prompt.count(f"\n+{FIXED}")
    approved = fixes >= FIXES
    findings = [] if approved else [f"{REVIEWED}:1: a fix is missing #scenario:fix {fixes + 1}"]
    return [Say(json.dumps({"approved": approved, "findings": findings}))]


def _fix(prompt: str, results: Sequence[str]) -> list[Step]:
    """Read the file, write it with so many fixes, and say so."""
    number = int(re.findall(r"#scenario:fix (\d+)", prompt)[-1])
    text = "".join([REVIEWED_TEXT, *(f"{FIXED} {n}\n" for n in range(1, number + 1))])
    steps: list[Step] = [Read(REVIEWED), Write(REVIEWED, text), Say(f"Fix {number} is there.")]
    return [steps[min(len(results), 2)]]


def _council(prompt: str, results: Sequence[str]) -> list[Step]:
    """An answer of one's own; or the joined one, with the number of answers in it."""
    answers = prompt.count(ONE_ANSWER)
    return [Say(f"JOINED {answers} ANSWERS" if answers else ONE_ANSWER)]


def _always(*steps: Step) -> Script:
    return lambda prompt, results: list(steps)


_SCENARIOS: dict[str, Script] = {
    "echo": lambda prompt, results: [Say(f"ECHO: {prompt}")],
    "ping": _ping,
    "markdown": _always(Say(MARKDOWN)),
    "long200": _always(Say(LONG200)),
    "slow": _slow,
    "silence-before": _always(Wait(4), Say("This came after a silence.")),
    "silence-middle": _always(Say("This came first, "), Wait(4), Say("and this after a silence.")),
    "tool": _tool,
    "long-command": _long_command,
    "sleeping": _sleeping,
    "write": _write,
    "mcp": _mcp,
    "mcp-long": _mcp,
    "review": _always(Wait(4), Say(REVIEW)),
    "two-messages": _two_messages,
    "kimi-question": _question("AskUserQuestion", "multi_select", (COLOUR, False)),
    "kimi-questions": _question("AskUserQuestion", "multi_select", (COLOUR, False), (SIZES, True)),
    "vibe-question": _question("ask_user_question", "multiSelect", (COLOUR, False)),
    "vibe-questions": _question("ask_user_question", "multiSelect", (COLOUR, False), (SIZES, True)),
    "verdict": _verdict,
    "fix": _fix,
    "council": _council,
    "ask-codex": _ask_codex,
    "ask-a": _ask_a,
    "ask-claude": _ask_claude,
    "ask-by-mcp": _ask_by_mcp,
    "subagent": _subagent,
    "summary": _always(Wait(2), Say("<summary>They played ping and pong.</summary>")),
    "looks-like-a-prompt": _always(Say(LOOKS_LIKE_A_PROMPT)),
    "looks-like-menus": _always(Say(LOOKS_LIKE_MENUS)),
    "wide": _always(Say(WIDE)),
    "empty": _always(Say("")),
    "slow-start": _always(Hold(4), Say("This came after nothing at all.")),
    "cut": _always(Say("This is cut "), Wait(0.5), Cut()),
    "error400": _always(Refuse(400)),
    "error401": _always(Refuse(401)),
    "error500": _always(Refuse(500)),
    "rate-limit": _always(Refuse(429)),
}
NAMES = tuple(_SCENARIOS)
