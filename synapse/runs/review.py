"""One agent reviews a change until it approves, and another one fixes what it finds."""

import argparse
import os
import subprocess
import sys
from contextlib import ExitStack

from pydantic import BaseModel

import synapse
from synapse.run import ask, log, once, worker

REVIEW = """\
Review this change. Approve it if it is correct, tested and clear; otherwise list what must be changed, each
finding in one sentence with its file and line.

{diff}"""
FIX = """\
A reviewer has rejected the change in this directory. Fix each of these findings, then say what you did:

{findings}"""


class Verdict(BaseModel):
    approved: bool
    findings: list[str] = []


def git(*words: str, differs: int = 0) -> str:
    done = subprocess.run(["git", *words], capture_output=True, encoding="utf-8", errors="replace")
    if done.returncode not in (0, differs):
        sys.exit(f"synapse: git cannot show the change: {done.stderr.strip()}")
    return done.stdout


def diff(range_: str | None) -> str:
    """What git shows for a range; without one, the working tree with its new files."""
    if range_:
        return git("diff", range_, "--")
    new = git("ls-files", "--others", "--exclude-standard", "-z", ":/").split("\0")
    return git("diff", "HEAD", "--") + "".join(
        git("diff", "--no-index", "--", os.devnull, path, differs=1) for path in new if path
    )


def other(agent: str | None, option: str) -> str:
    """The only agent in this directory beside `agent`."""
    here = [
        str(e["name"])
        for e in synapse.list_agents()
        if e["working_dir"] == os.getcwd() and e["name"] != agent
    ]
    if len(here) != 1:
        sys.exit(
            f"synapse: name an agent with {option}: {', '.join(here) or 'no other'} runs in this directory."
        )
    return here[0]


def rounds(word: str) -> int:
    if not word.isdecimal() or int(word) < 1:
        raise argparse.ArgumentTypeError("use a number from 1 on")
    return int(word)


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser("synapse review", description=__doc__)
    found.add_argument("range", nargs="?", metavar="RANGE", help="as for git diff (default: HEAD)")
    found.add_argument("--by", metavar="AGENT", help="the reviewer (default: the other agent here)")
    found.add_argument(
        "--author", metavar="AGENT", help="who fixes what is found (default: the other agent here)"
    )
    found.add_argument("--rounds", type=rounds, default=3, help="how often it is reviewed (default: 3)")
    found.add_argument("--start", action="store_true", help="start these profiles, and stop them at the end")
    return found


def main() -> None:
    options = parser().parse_args()
    with ExitStack() as stack:
        by = options.by or once(lambda: other(options.author, "--by"))
        names = (by, options.author or once(lambda: other(by, "--author")))
        reviewer, author = (stack.enter_context(worker(n)) if options.start else n for n in names)
        for number in range(1, options.rounds + 1):
            change = once(lambda: diff(options.range))
            if not change:
                sys.exit("synapse: there is no change to review: name a range, or change something.")
            verdict = ask(reviewer, REVIEW.format(diff=change), schema=Verdict).data
            log(f"round {number}: {'approved' if verdict.approved else f'{len(verdict.findings)} findings'}")
            if verdict.approved:
                print(f"{by} approved the change in round {number}.")
                return
            if number < options.rounds:
                print(ask(author, FIX.format(findings="\n".join(f"- {found}" for found in verdict.findings))))
    print("\n".join(verdict.findings))
    sys.exit(f"synapse: {by} has not approved the change in {options.rounds} rounds.")


if __name__ == "__main__":
    main()
