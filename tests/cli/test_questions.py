"""`synapse questions` and `synapse answer`: what all agents ask, and the answer to one of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from typing import Any

import pytest

from tests.support.home import SYNAPSE, Home, hosts, wait


def start(home: Home, *names: str) -> None:
    for name in names:
        home.run("start", "dummy", "--name", name, "--", "--tui")
        home.run("status", name)  # its server is loaded


def ask(home: Home, name: str, line: str) -> dict[str, Any]:
    """The question that the agent asks when its human types this line."""
    home.run("keys", name, line, "Enter")
    wait(lambda: name in [q["agent"] for q in listed(home)], f"a question of {name}")
    return next(q for q in listed(home) if q["agent"] == name)


def listed(home: Home) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(home.run("questions", "--json").stdout)
    return found


def test_what_all_agents_ask_is_listed_and_answered_by_id(home: Home) -> None:
    start(home, "a", "b")
    none = home.run("questions", "--exit-status")
    assert (none.stdout, none.stderr) == ("no agent asks anything\n", "") and listed(home) == []
    first, second = ask(home, "a", "choose keep|delete"), ask(home, "b", "password")
    assert [q["agent"] for q in listed(home)] == ["a", "b"], "the oldest first"
    shown = home.run("questions", "--exit-status", check=False)
    assert shown.returncode == 5
    assert f"{first['id']}  a asks in its human's turn" in shown.stdout
    assert "Choose one:\n  1. keep\n  2. delete" in shown.stdout

    wrong = home.run("answer", first["id"], "purple", check=False)
    assert wrong.returncode == 1 and "none of the answers" in wrong.stderr
    assert home.run("answer", first["id"][:6], "delete").stdout == "answered a: Choose one:\n"
    wait(lambda: "You chose: delete" in home.run("screen", "a").stdout, "the answer")
    late = home.run("answer", first["id"], "keep", check=False)
    assert late.returncode == 1 and "`synapse questions` lists them" in late.stderr

    seen = home.run("answer", second["id"], "hunter2", check=False)
    assert seen.returncode == 2 and "`ps` would show" in seen.stderr
    assert home.run("answer", second["id"], "-", input="hunter2\n").stdout == "answered b: Password:\n"
    wait(lambda: "7 characters" in home.run("screen", "b").stdout, "the secret")
    assert home.run("answer", second["id"], check=False).returncode == 1


def test_a_question_is_answered_at_the_terminal(home: Home) -> None:
    start(home, "a")
    question = ask(home, "a", "password")
    with home.terminal("answer", question["id"]) as terminal:
        terminal.wait_for("answer (not shown):")
        terminal.type("hunter2\r")
        terminal.wait_for("answered a")
        assert "hunter2" not in terminal.screen.text()
    question = ask(home, "a", "choose keep|delete")
    with home.terminal("answer", question["id"]) as terminal:
        terminal.wait_for("2. delete")
        terminal.type("2\r")
        terminal.wait_for("answered a")
    wait(lambda: "You chose: delete" in home.run("screen", "a").stdout, "the answer")


def test_an_agent_that_hangs_delays_nobody(home: Home) -> None:
    start(home, "a", "b")
    question = ask(home, "a", "confirm Go on?")
    (stuck,) = hosts(home, "b")
    os.kill(stuck, signal.SIGSTOP)
    try:
        found = home.run("questions", "--json")
        assert [q["id"] for q in json.loads(found.stdout)] == [question["id"]]
        assert found.stderr == "synapse: b does not answer: see `synapse why b`.\n"
        assert home.run("answer", question["id"], "n").stdout.startswith("answered a: Go on?")
    finally:
        os.kill(stuck, signal.SIGCONT)


def test_an_agent_may_not_answer_the_question_of_another(home: Home) -> None:
    start(home, "a", "b")
    question = ask(home, "a", "confirm Go on?")
    refused = home.run("answer", question["id"], "y", check=False, **home.inside("b"))
    assert refused.returncode == 1 and "b may not answer" in refused.stderr
    assert home.run("answer", question["id"], "n").returncode == 0


@pytest.mark.parametrize("as_json", [True, False])
def test_questions_are_watched(home: Home, as_json: bool) -> None:
    start(home, "a")
    words = [*SYNAPSE, "questions", "-w", *(["--json"] if as_json else [])]
    with subprocess.Popen(words, env=home.env, stdout=subprocess.PIPE, text=True) as watching:
        try:
            question = ask(home, "a", "choose keep|delete")
            assert watching.stdout is not None
            lines = [watching.stdout.readline() for _ in range(1 if as_json else 4)]
            home.run("answer", question["id"], "1")
            lines.append(watching.stdout.readline())
        finally:
            watching.send_signal(signal.SIGINT)
    if as_json:
        assert json.loads(lines[0]) == {"event": "asked", "question": question}
        assert json.loads(lines[1]) == {"event": "gone", "id": question["id"]}
    else:
        assert lines[0].startswith(f"{question['id']}  a asks") and lines[3] == "  2. delete\n"
        assert lines[4] == f"a no longer asks {question['id']}\n"
    assert watching.returncode == 0


def test_completion_offers_the_open_questions(home: Home) -> None:
    start(home, "a")
    question = ask(home, "a", "confirm Go on?")
    offered = home.run("completion", "--words", "synapse", "answer", "").stdout
    assert offered.split("\t")[0] == question["id"] and "a: " in offered


def test_a_question_that_somebody_else_answers_meanwhile_is_no_longer_asked_here(home: Home) -> None:
    start(home, "a")
    with home.terminal("send", "a", "--return", "choose keep|delete") as sending:
        sending.wait_for("answer:")
        (question,) = listed(home)
        home.run("answer", question["id"], "delete")
        sending.wait_for("You chose: delete")
        assert sending.wait_exit() == 0
