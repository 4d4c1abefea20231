"""Runs whose steps are turns of the real CLIs: review, council, and a run that is killed again and again."""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from synapse.selftest.steps import Refuse
from tests.real.clis import CLIS
from tests.real.install import Installed
from tests.real.model_server import ModelServer
from tests.real.scenarios import FIXED, ONE_ANSWER, REVIEWED, REVIEWED_TEXT
from tests.real.wrapped import Agent, wrapped
from tests.support.home import SYNAPSE, Home

LIMIT = 240.0  # seconds for one command
KILLS = 20
STEPS = 24


@contextmanager
def agents(installed: Installed, home: Home, model: ModelServer, *names: str) -> Iterator[list[Agent]]:
    """Each named CLI, wrapped; they write files without a question."""
    with ExitStack() as stack:
        found = []
        for name in names:
            cli = CLIS[name](installed, home.path, home.work, model.url)
            if name == "claude":
                cli = replace(cli, args=["--permission-mode", "acceptEdits"], ready="accept edits on")
            if name == "gemini":
                cli = replace(cli, args=[*cli.args, "--approval-mode", "auto_edit"])
            found.append(stack.enter_context(wrapped(cli, home, SYNAPSE_INITIAL_INSTRUCTIONS="off")))
        yield found


class Command:
    """`synapse …` beside the agents, whose terminals are read meanwhile."""

    def __init__(self, home: Home, around: Sequence[Agent], *words: str) -> None:
        self._around = around
        self.process = subprocess.Popen(
            [*SYNAPSE, *words],
            env=home.env,
            cwd=home.work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def rest(self, seconds: float) -> bool:
        """Whether it still runs after that."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and self.process.poll() is None:
            for agent in self._around:
                agent.driver.pump(0.01)
        return self.process.poll() is None

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def output(self) -> str:
        """What it has printed, when it has ended well."""
        if self.rest(LIMIT):
            self.kill()
            pytest.fail("\n".join(agent.driver.screen.text() for agent in self._around))
        out, errors = self.process.communicate()
        assert self.process.returncode == 0, (out, errors, [a.driver.screen.text() for a in self._around])
        return out


def git(home: Home, *words: str) -> str:
    mail = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    command = ["git", *mail, *words]
    return subprocess.run(command, cwd=home.work, check=True, capture_output=True, text=True).stdout


def shown(home: Home) -> dict[str, Any]:
    """The only run."""
    [run] = json.loads(home.run("runs", "--json").stdout)
    return dict(run)


def a_change(home: Home) -> None:
    git(home, "init", "-q")
    (home.work / REVIEWED).write_text("nothing yet\n")
    git(home, "add", REVIEWED)
    git(home, "commit", "-qm", "one")
    (home.work / REVIEWED).write_text(REVIEWED_TEXT)


REVIEW = ("review", "--by", "codex", "--author", "claude")


def conversation(model: ModelServer) -> list[tuple[str, str]]:
    """Which model was asked, and what it said; a turn with tools comes once."""
    return [(sent.api, sent.text) for sent in model.replies if not sent.calls]


APPROVED_IN_ROUND_3 = [
    ("responses", False),
    ("messages", "Fix 1 is there."),
    ("responses", False),
    ("messages", "Fix 2 is there."),
    ("responses", True),
]


def verdicts(model: ModelServer) -> list[tuple[str, object]]:
    said = conversation(model)
    return [(who, json.loads(text)["approved"] if who == "responses" else text) for who, text in said]


def test_codex_rejects_twice_and_approves_what_claude_changed(
    installed: Installed, home: Home, model: ModelServer
) -> None:
    a_change(home)
    with agents(installed, home, model, "claude", "codex") as around:
        out = Command(home, around, *REVIEW).output()
        assert out.splitlines()[-1] == "codex approved the change in round 3."
        assert verdicts(model) == APPROVED_IN_ROUND_3
        assert (home.work / REVIEWED).read_text() == f"{REVIEWED_TEXT}{FIXED} 1\n{FIXED} 2\n"
        run = shown(home)
        assert (run["state"], run["turns"], run["messages"]) == ("completed", 5, 5)
        # The scripted model counts ten tokens and more for a request; a turn that writes a file has two.
        least = {"claude": 20, "codex": 10}
        assert all(step["tokens"] > least[step["agent"]] for step in run["steps"]), run["steps"]


def test_a_review_that_is_killed_goes_on_to_the_same_result(
    installed: Installed, home: Home, model: ModelServer
) -> None:
    a_change(home)
    model.speed = 1
    with agents(installed, home, model, "claude", "codex") as around:
        killed = Command(home, around, *REVIEW)
        while len(model.replies) < 3:  # Claude is at its first fix
            assert killed.rest(0.05), killed.process.communicate()
        killed.kill()
        assert shown(home)["state"] == "killed"
        out = Command(home, around, "review", "--resume").output()
        assert out.splitlines()[-1] == "codex approved the change in round 3."
        assert verdicts(model) == APPROVED_IN_ROUND_3
        assert shown(home)["messages"] == 5


def test_a_council_of_three(installed: Installed, home: Home, model: ModelServer) -> None:
    with agents(installed, home, model, "claude", "codex", "gemini") as around:
        question = "Tabs or spaces? #scenario:council"
        out = Command(home, around, "council", question, "--agents", "claude,codex,gemini").output()
        assert out == "JOINED 3 ANSWERS\n"
        answers = sorted(who for who, text in conversation(model) if text == ONE_ANSWER)
        assert answers == ["generate", "messages", "responses"]
        assert conversation(model)[-1] == ("messages", "JOINED 3 ANSWERS")


def test_the_humans_of_agents_that_change_one_file_are_told(
    installed: Installed, home: Home, model: ModelServer
) -> None:
    with agents(installed, home, model, "claude", "codex", "gemini") as around:
        for name in ("claude", "codex"):
            Command(home, around, "send", name, "--return", "#scenario:write").output()
        for agent, other in zip(around, ("codex", "claude"), strict=False):
            agent.driver.wait_for(f"! {other}: has changed the same file", 30)
        Command(home, around, "send", "gemini", "--return", "#scenario:write").output()
        around[2].driver.wait_for("has changed the same file", 30)
        assert len(conversation(model)) == 3, "no turn is spent on it"


FALLBACK = """\
from synapse.run import ask
for number in (1, 2):
    reply = ask("codex", f"#scenario:ping {number}", fallback="claude")
    print(reply.agent, reply)
"""


def test_at_a_usage_limit_the_same_task_goes_to_the_fallback(
    installed: Installed, home: Home, model: ModelServer
) -> None:
    (home.work / "fallback.py").write_text(FALLBACK)
    with ModelServer(speed=0) as limited, ExitStack() as stack:
        limited.script = lambda prompt, results: [Refuse(429, resets_at=int(time.time()) + 7200)]
        around = [
            stack.enter_context(wrapped(cli, home, SYNAPSE_INITIAL_INSTRUCTIONS="off"))
            for name, url in (("claude", model.url), ("codex", limited.url))
            for cli in [CLIS[name](installed, home.path, home.work, url)]
        ]
        out = Command(home, around, "run", "fallback.py").output()
        assert out.splitlines() == ["claude PONG-1", "claude PONG-2"]
        assert [text for _, text in conversation(model)] == ["PONG-1", "PONG-2"]
        assert len(limited.replies) == 1, "until its limit ends, it is not asked again"
        assert "codex is at its usage limit until" in home.run("list").stdout
        until = json.loads(home.run("status", "codex", "--json").stdout)["limited_until"]
        left = datetime.fromisoformat(until).timestamp() - time.time()
        assert 7000 < left <= 7260
        assert [step["agent"] for step in shown(home)["steps"]] == ["claude", "claude"]


SCRIPT = f"""\
from synapse.run import ask
print(" ".join(ask("claude", f"#scenario:ping {{n}}") for n in range(1, {STEPS} + 1)))
"""


def test_a_run_that_is_killed_twenty_times_asks_each_prompt_once(
    installed: Installed, home: Home, model: ModelServer
) -> None:
    script = home.work / "pings.py"
    script.write_text(SCRIPT)
    chance = random.Random(int(os.environ.get("SYNAPSE_SEED", "1")))
    pongs = [f"PONG-{n}" for n in range(1, STEPS + 1)]
    kills = runs = 0
    with agents(installed, home, model, "claude") as around:
        while kills < KILLS:
            runs += 1
            run = Command(home, around, "run", "--run", f"r{runs}", str(script))
            while kills < KILLS and run.rest(chance.uniform(0.2, 2.5)):
                run.kill()
                kills += 1
                run = Command(home, around, "run", "--run", f"r{runs}", str(script))
            assert run.output().split() == pongs
            steps = json.loads(home.run("runs", "show", f"r{runs}", "--json").stdout)["steps"]
            assert all(step["tokens"] > 10 for step in steps), [step["tokens"] for step in steps]
        assert [text for _, text in conversation(model)] == runs * pongs
