"""Several agents answer one question, and one of them joins the answers."""

import argparse
from contextlib import ExitStack

from synapse.run import ask, gather, worker

ANSWER = "Answer this question on your own. Say what you are sure of and what you are not.\n\n{question}"
JOIN = """\
{count} agents have answered the question below on their own. Join their answers into one: say where
they agree, decide where they do not and why, and leave out what is wrong.

Question: {question}

{answers}"""


def names(words: str) -> list[str]:
    found = [name.strip() for name in words.split(",") if name.strip()]
    if not found:
        raise argparse.ArgumentTypeError("name at least one agent")
    return found


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser("synapse council", description=__doc__)
    found.add_argument("question")
    found.add_argument("--agents", type=names, required=True, help="the agents, separated by commas")
    found.add_argument("--judge", help="who joins the answers (default: the first agent)")
    found.add_argument("--start", action="store_true", help="start these profiles, and stop them at the end")
    return found


def main() -> None:
    options = parser().parse_args()
    judge = options.judge or options.agents[0]
    with ExitStack() as stack:
        agents = {}
        for name in dict.fromkeys([*options.agents, judge]):
            agents[name] = stack.enter_context(worker(name)) if options.start else name
        prompt = ANSWER.format(question=options.question)
        replies = gather(*(lambda name=name: ask(agents[name], prompt) for name in options.agents))
        answers = "\n\n".join(
            f"## {name}\n{reply}" for name, reply in zip(options.agents, replies, strict=True)
        )
        print(ask(agents[judge], JOIN.format(count=len(replies), question=options.question, answers=answers)))


if __name__ == "__main__":
    main()
