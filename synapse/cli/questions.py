"""`synapse questions`: list what the agents ask, once or continuously."""

import asyncio
import json
from datetime import datetime

from synapse.base.text import for_json
from synapse.cli.shared.output import age, print_json, say
from synapse.cli.shared.parser import Parser
from synapse.peers.prompts import plain_question
from synapse.peers.questions import QuestionWatch, list_questions
from synapse.peers.task import Json
from synapse.registry import AgentRegistry

HELP = """\
List what the agents ask: in a task, or in their human's own turn. `synapse answer ID OPTION` answers.

With --watch, print each question when it is asked, and say when it is no longer asked, until Ctrl-C. With
--watch --json, each line is an object: {"event": "asked", "question": {…}} or {"event": "gone", "id": …}.
"""
LOOK_EVERY = 0.5  # seconds, with --watch
ASKS = 5  # the exit status with --exit-status


def parser() -> Parser:
    found = Parser("synapse questions", HELP)
    found.add_json("print one JSON array of questions")
    found.add_argument("-w", "--watch", action="store_true", help="print each as it comes, until Ctrl-C")
    found.add_argument("--exit-status", action="store_true", help=f"exit with {ASKS} if there are any")
    return found


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    if options.watch:
        try:
            asyncio.run(_watch(options.json))
        except KeyboardInterrupt:
            pass
        return 0
    asked = asyncio.run(list_questions(AgentRegistry()))
    if options.json:
        print_json(asked.questions)
    else:
        say("\n\n".join(map(shown, asked.questions)) or "no agent asks anything")
    for name in asked.silent:
        say(f"synapse: {name} does not answer: see `synapse why {name}`.", error=True)
    return ASKS if options.exit_status and asked.questions else 0


async def _watch(as_json: bool) -> None:
    watch = QuestionWatch(AgentRegistry())
    while True:
        asked, gone = await watch.look()
        for each in gone:
            name = str(each.question["id"])
            _tell(as_json, {"event": "gone", "id": name}, f"{each.question['agent']} no longer asks {name}")
        for each in asked:
            _tell(as_json, {"event": "asked", "question": each.question}, shown(each.question))
        await asyncio.sleep(LOOK_EVERY)


def _tell(as_json: bool, document: Json, text: str) -> None:
    say(for_json(json.dumps(document, ensure_ascii=False)) if as_json else text, flush=True)


def shown(question: Json) -> str:
    """A heading, and below it the question, what it is about, and the numbered options."""
    task = question.get("task")
    where = f"in task {str(task)[:8]}" if task else "in its human's turn"
    since = age(datetime.fromisoformat(str(question["asked_at"])).timestamp())
    head = f"{question['id']}  {question['agent']} asks {where}, {since} ago"
    body = plain_question(question).splitlines()
    if question.get("type") == "password":
        body.append(f"(a secret: `synapse answer {question['id']}` reads it without showing it)")
    return "\n".join([head, *(f"  {line}" for line in body)])
