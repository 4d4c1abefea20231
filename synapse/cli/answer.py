"""`synapse answer`: answer a question of an agent."""

import asyncio
import getpass
import sys

from synapse.cli.questions import shown
from synapse.cli.shared.output import say
from synapse.cli.shared.parser import QUESTION, Parser
from synapse.errors import SynapseError, UsageError
from synapse.peers.origin import Origin
from synapse.peers.prompts import about, is_secret, takes_nothing
from synapse.peers.questions import Open, answer_question, find_question
from synapse.registry import AgentRegistry

HELP = """\
Answer a question of an agent: an option's number, key or words, or any text. Without an answer, the question
is shown and the answer read from the terminal; a secret is not shown.

The answer is typed only if the agent still asks that question; otherwise nothing is typed. The
status is 0 when the question has then left the agent's screen.
"""


def parser() -> Parser:
    found = Parser("synapse answer", HELP)
    found.add_word("question", QUESTION, help="its id, or the beginning of it")
    found.add_argument("answer", nargs="*", help="the answer; - reads it from standard input")
    return found


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    return asyncio.run(_answer(options.question, options.answer))


async def _answer(question_id: str, words: list[str]) -> int:
    found = await find_question(AgentRegistry(), question_id)
    question = found.question
    text = _read(found) if not words else " ".join(words)
    if words == ["-"]:
        text = sys.stdin.readline().rstrip("\n")
    elif words and is_secret(question):
        raise UsageError(
            f"{question['agent']} asks for a secret, which `ps` would show: "
            f"`synapse answer {question['id']}` reads it without showing it."
        )
    origin = Origin.of_this_process() or Origin.from_environment()
    await answer_question(found, text, origin)
    say(f"answered {question['agent']}: {about(question)}")
    return 0


def _read(found: Open) -> str:
    question = found.question
    if not sys.stdin.isatty():
        raise UsageError("an answer is missing: see `synapse answer --help`.")
    say(shown(question), error=True)
    if is_secret(question):
        return getpass.getpass("answer (not shown): ", sys.stderr)
    say("answer: ", end="", error=True, flush=True)
    text = sys.stdin.readline()
    if not text.strip() and (not text or not takes_nothing(question)):
        raise SynapseError("nothing was answered: the question is still open, see `synapse questions`.")
    return text.rstrip("\n")
