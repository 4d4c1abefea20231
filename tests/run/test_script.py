"""Scripts as runs, with real agents: killed, resumed, interrupted."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
from collections.abc import Iterator

import pytest

from tests.support.home import SYNAPSE, Home, new_home, wait

FIVE = """
from synapse.run import ask, gather
first = ask("a", "say one")
both = gather(lambda: ask("a", f"say two after {first}"), lambda: ask("b", "say three"))
fourth = ask("b", "say four", key="named")
print(first, *both, fourth, ask("a", "say five"))
"""


@pytest.fixture(scope="module")
def agents() -> Iterator[Home]:
    with new_home() as home, home.ours():
        for name in "ab":
            home.run("start", "dummy", "--name", name)
        yield home


def script(home: Home, text: str, name: str = "script.py") -> str:
    path = home.work / name
    path.write_text(text)
    return str(path)


def asked(home: Home, mark: str) -> int:
    """How often a prompt was typed into an agent, from the agents' own stores."""
    tasks = json.loads(home.run("tasks", "--json").stdout)
    return sum(mark in json.dumps(task["message"]) for task in tasks)


def test_a_run_prints_what_the_script_prints(agents: Home) -> None:
    done = agents.run("run", script(agents, FIVE))
    assert done.stdout == "one two after one three four five\n"


def test_arguments_options_and_the_status_of_the_script(agents: Home) -> None:
    path = script(
        agents, "import sys\nfrom synapse.run import args\nprint(args, sys.argv[1:])\nsys.exit(len(args))"
    )
    done = agents.run("run", path, "--max-turns", "3", "x", "--y", check=False)
    assert (done.returncode, done.stdout) == (2, "['x', '--y'] ['x', '--y']\n")
    assert agents.run("run", path, "--", "--resume", check=False).stdout == "['--resume'] ['--resume']\n"


def test_a_run_killed_at_random_moments_asks_each_step_once(agents: Home) -> None:
    path = script(agents, FIVE.replace("say ", "say kill "))
    chance = random.Random(4)
    for number in range(4):
        run_id = f"killed-{number}"
        for _ in range(3):
            process = subprocess.Popen(
                [*SYNAPSE, "run", path, "--run", run_id],
                env=agents.env,
                cwd=agents.work,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            try:
                process.wait(chance.uniform(0.05, 0.6))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        done = agents.run("run", path, "--run", run_id)
        assert done.stdout == "kill one kill two after kill one kill three kill four kill five\n"
        shown = json.loads(agents.run("runs", "show", run_id, "--json").stdout)
        assert [step["attempt"] for step in shown["steps"]] == [1] * 5 and shown["state"] == "completed"
    for word in ("one", "two after", "three", "four", "five"):
        assert asked(agents, f"say kill {word}") == 4


def test_a_script_that_raises_is_continued(agents: Home) -> None:
    text = 'from synapse.run import ask\nprint(ask("a", "say before"))\nraise ValueError("my own fault")\n'
    path = script(agents, text, "raises.py")
    done = agents.run("run", path, check=False)
    assert done.returncode == 1 and "ValueError: my own fault" in done.stderr
    assert "synapse/run/script.py" not in done.stderr and "what was answered is kept" in done.stderr
    script(agents, text.replace('raise ValueError("my own fault")', 'print("after")'), "raises.py")
    done = agents.run("run", path, "--resume")
    assert done.stdout == "before\nafter\n" and "the script has changed" in done.stderr
    assert asked(agents, "say before") == 1


def test_a_closed_pipe_is_silent(agents: Home) -> None:
    path = script(agents, "for number in range(100_000):\n    print(number)\n", "loud.py")
    command = [*SYNAPSE, "run", path, "--run", "loud"]
    process = subprocess.Popen(
        command, env=agents.env, cwd=agents.work, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b"" and process.wait(60) == 1
    process.stderr.close()
    assert "failed: BrokenPipeError" in agents.run("runs", "show", "loud").stdout


def test_the_second_process_with_one_run_is_refused(agents: Home) -> None:
    path = script(agents, 'from synapse.run import ask\nprint(ask("a", "silent 3 slow"))\n', "slow.py")
    first = subprocess.Popen(
        [*SYNAPSE, "run", path, "--run", "twice"],
        env=agents.env,
        cwd=agents.work,
        stdout=subprocess.PIPE,
        text=True,
    )
    wait(lambda: (agents.path / "synapse/runs/twice/journal.jsonl").exists(), "the run")
    wait(lambda: "asked" in (agents.path / "synapse/runs/twice/journal.jsonl").read_text(), "its step")
    second = agents.run("run", path, "--run", "twice", check=False)
    assert second.returncode == 1 and f"the run twice is being executed (pid {first.pid})" in second.stderr
    assert "running" in agents.run("runs").stdout
    assert first.communicate(timeout=60)[0] == "slow\n"


def test_a_worker_is_started_found_again_and_stopped(agents: Home) -> None:
    text = """
import os, signal
from synapse.run import ask, worker
with worker("dummy") as w:
    print(w, ask(w, "pid"), flush=True)
    if not os.path.exists("killed"):
        open("killed", "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
"""
    path = script(agents, text, "workers.py")
    first = agents.run("run", path, "--run", "team", check=False)
    assert first.returncode == -signal.SIGKILL and "team-dummy-1" in agents.agents()
    second = agents.run("run", path, "--run", "team")
    assert second.stdout == first.stdout and second.stdout.startswith("team-dummy-1 ")
    assert "team-dummy-1" not in agents.agents()


def test_an_agent_that_ended_is_asked_again_where_it_is_now(agents: Home) -> None:
    path = script(agents, 'from synapse.run import ask\nprint(ask("c", "silent 2 from c"))\n', "gone.py")
    agents.run("start", "dummy", "--name", "c")
    process = subprocess.Popen([*SYNAPSE, "run", path, "--run", "gone"], env=agents.env, cwd=agents.work)
    journal = agents.path / "synapse/runs/gone/journal.jsonl"
    wait(lambda: journal.exists() and '"task"' in journal.read_text(), "the task")
    process.kill()
    process.wait()
    agents.run("stop", "c")
    agents.run("start", "dummy", "--name", "c")
    assert agents.run("run", path, "--run", "gone").stdout == "from c\n"
    (step,) = json.loads(agents.run("runs", "show", "gone", "--json").stdout)["steps"]
    assert step["attempt"] == 2
    agents.run("stop", "c")


def test_a_run_that_has_ended_stays_what_it_came_to(agents: Home) -> None:
    script(agents, 'from synapse.run import ask\nask("a", "say one")\n', "short.py")
    agents.run("run", "--run", "short", "short.py")
    refused = agents.run("runs", "cancel", "short", check=False)
    assert refused.returncode == 2 and "has completed: nothing is under way" in refused.stderr
    shown = agents.run("runs", "show", "short").stdout
    assert "completed" in shown.splitlines()[0] and "1 turn, 1 message" in shown


def test_cancel_ends_the_process_the_task_and_the_worker(agents: Home) -> None:
    text = 'from synapse.run import ask, worker\nwith worker("dummy") as w:\n    ask(w, "honour 600")\n'
    path = script(agents, text, "long.py")
    process = subprocess.Popen([*SYNAPSE, "run", path, "--run", "long"], env=agents.env, cwd=agents.work)
    journal = agents.path / "synapse/runs/long/journal.jsonl"
    wait(lambda: journal.exists() and '"task"' in journal.read_text(), "the task")
    done = agents.run("runs", "cancel", "long")
    assert process.wait(30) != 0 and "canceled long" in done.stdout
    assert "long-dummy-1" not in agents.agents()
    assert "canceled" in agents.run("runs", "show", "long").stdout.splitlines()[0]


def test_an_id_that_is_used_again_is_another_run(agents: Home) -> None:
    """The agents still know the requests of the run that was removed."""
    path = script(agents, 'from synapse.run import ask\nprint(ask("a", "say before"))\n', "reused.py")
    assert agents.run("run", path, "--run", "reused").stdout == "before\n"
    agents.run("runs", "prune", "reused")
    script(agents, 'from synapse.run import ask\nprint(ask("a", "say after"))\n', "reused.py")
    assert agents.run("run", path, "--run", "reused").stdout == "after\n"


def test_two_runs_with_workers_at_once(agents: Home) -> None:
    text = """
from synapse.run import args, ask, gather, worker
def go(word):
    with worker("dummy") as w:
        return ask(w, f"silent 1 {word}-{args[0]}")
print(*gather(lambda: go("left"), lambda: go("right")))
"""
    path = script(agents, text, "teams.py")
    runs = [
        subprocess.Popen(
            [*SYNAPSE, "run", path, "--run", name, name],
            env=agents.env,
            cwd=agents.work,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("red", "blue")
    ]
    assert [run.communicate(timeout=120)[0] for run in runs] == [
        "left-red right-red\n",
        "left-blue right-blue\n",
    ]
    assert set(agents.agents()) == {"a", "b"}


def test_a_gather_does_not_pass_the_limit(agents: Home) -> None:
    text = """
from synapse.run import ask, gather
done = gather(*(lambda n=n: ask("a", f"say limit {n}") for n in range(4)), failures="return")
print(sum(isinstance(one, str) for one in done), next(one for one in done if not isinstance(one, str)))
"""
    path = script(agents, text, "limit.py")
    out = agents.run("run", path, "--max-turns", "2").stdout
    assert out.startswith("2 ") and "is not asked: the run has used 2 of 2 turns" in out
    assert asked(agents, "say limit") == 2


def test_runs_lists_shows_and_removes(agents: Home) -> None:
    agents.run("run", script(agents, FIVE, "listed.py"), "--run", "listed")
    assert "listed" in agents.run("runs").stdout
    shown = agents.run("runs", "show", "listed").stdout
    assert "2.1.1  a  completed" in shown and "named  b  completed" in shown
    assert agents.run("runs", "prune", "listed").stdout == "removed listed\n"
    assert agents.run("runs", "show", "listed", check=False).returncode == 3


def test_async_scripts_have_their_twins(agents: Home) -> None:
    text = """
import asyncio
from synapse.run import aio
async def main():
    print(*await aio.gather(aio.ask("a", "say x"), aio.ask("b", "say y")))
    print(await aio.gather(aio.ask("nobody", "x"), aio.ask("b", "say z"), failures="return"))
asyncio.run(main())
"""
    out = agents.run("run", script(agents, text, "async.py")).stdout
    assert out.startswith("x y\n[StepFailed(\"step 2.1.1: no agent named 'nobody'") and "'z']" in out


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        (["run"], 2, "no script is named"),
        (["run", "nothing.py"], 2, "there is no file 'nothing.py' and no script of that name"),
        (["run", "review", "--run", "a/b"], 2, "cannot be the id of a run"),
        (["run", "review", "--resume"], 2, "there is no run of"),
        (["run", "review", "--max-turns", "-1"], 2, "must be from 0"),
        (["runs", "show"], 2, "no run is named"),
        (["council", "x", "--agents", " , "], 2, "name at least one agent"),
        (["review", "--rounds", "0"], 2, "use a number from 1 on"),
    ],
)
def test_bad_input(agents: Home, words: list[str], status: int, sentence: str) -> None:
    done = agents.run(*words, check=False)
    assert done.returncode == status and sentence in done.stderr and "Traceback" not in done.stderr


def test_a_step_outside_a_run_says_how_to_start_one(agents: Home) -> None:
    import sys

    probe = 'from synapse.run import ask\ntry:\n    ask("a", "x")\nexcept Exception as e:\n    print(e)'
    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, env={**os.environ, **agents.env}
    )
    assert done.stdout == "no run is being executed: start this script with `synapse run FILE.py`.\n"


REVIEWER = """
verdicts = iter(['{"approved": false, "findings": ["f.py:1 is wrong"]}', '{"approved": true}'])
while True:
    input("reviewer> ")
    print(next(verdicts))
"""
QUICK = "idle_detection: {strategy: timeout, timeout: 0.5}\n"  # instead of after 2 s of silence


def test_a_review_goes_on_until_it_is_approved(agents: Home) -> None:
    folder = agents.work / "repository"
    folder.mkdir()
    git = ["git", "-C", str(folder), "-c", "user.name=n", "-c", "user.email=e@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    (folder / "f.py").write_text("before\n")
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "x"], check=True)
    program = agents.path / "reviewer.py"  # a new file in the repository would be a change
    program.write_text(REVIEWER)
    agents.profile("reviewer", f"command: python3 {program}\ninstructions: {{method: off}}\n{QUICK}")
    agents.run("start", "reviewer")
    words = ["review", "--by", "reviewer", "--author", "a"]
    done = subprocess.run(
        [*SYNAPSE, *words], env=agents.env, cwd=folder, capture_output=True, text=True, timeout=90
    )
    assert done.returncode == 1 and "there is no change to review" in done.stderr
    (folder / "f.py").write_text("after\n")
    done = subprocess.run(
        [*SYNAPSE, *words], env=agents.env, cwd=folder, capture_output=True, text=True, timeout=90
    )
    assert done.stdout.endswith("reviewer approved the change in round 2.\n"), done.stdout + done.stderr
    (last, *_) = json.loads(agents.run("runs", "--json").stdout)
    assert [step["agent"] for step in last["steps"]] == ["reviewer", "a", "reviewer"]
    assert "+after" in last["steps"][0]["prompt"] and "f.py:1 is wrong" in last["steps"][1]["prompt"]
    agents.run("stop", "reviewer")


def test_the_council_joins_the_answers(agents: Home) -> None:
    for name in ("p", "q"):
        agents.run("start", "dummy", "--name", name, "--", "--tui")
    done = agents.run("council", "Is it done?", "--agents", "p,q")
    assert "## p" in done.stdout and "## q" in done.stdout and "Question: Is it done?" in done.stdout
    (last, *_) = json.loads(agents.run("runs", "--json").stdout)
    assert [(step["key"], step["agent"]) for step in last["steps"]] == [
        ("1.1.1", "p"),
        ("1.2.1", "q"),
        ("2", "p"),
    ]
    agents.run("stop", "p", "q")
