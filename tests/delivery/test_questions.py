"""What an agent asks, in a task or in its human's own turn: its id, and the one answer that is typed."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from synapse.delivery.question import Question, fingerprint
from synapse.delivery.questions import ANSWERED, UNHEARD, Questions
from synapse.tasks.engine import TaskEngine
from synapse.tasks.store import TaskStore
from synapse.watch.screen.questions import InputPrompt
from tests.support.home import Home, hosts, wait
from tests.support.running import Agent, Lasting, start
from tests.support.terminals import agent_terminal

MODES: dict[str, tuple[str, ...]] = {"line": (), "tui": ("--tui",)}


@pytest.fixture(scope="module", params=MODES)
def lasting(request: pytest.FixtureRequest) -> Iterator[Lasting]:
    with Lasting(*MODES[request.param]) as made:
        yield made


@pytest.fixture
def agent(lasting: Lasting) -> Iterator[Agent]:
    with lasting.lent() as agent:
        yield agent


@pytest.fixture
def own(home: Home) -> Iterator[Agent]:
    with start(home, "--tui") as agent:
        yield agent


def asked(agent: Agent) -> list[dict[str, Any]]:
    try:
        found: list[dict[str, Any]] = agent.http.get("/questions").json()["questions"]
    except httpx.TransportError:
        return []  # the host is being replaced
    return found


def next_question(agent: Agent, but: str = "") -> dict[str, Any]:
    wait(lambda: [q for q in asked(agent) if q["id"] != but], "a question")
    return asked(agent)[0]


def answer(agent: Agent, question: str, text: str, **more: str) -> httpx.Response:
    return agent.http.post(f"/questions/{question}", json={"answer": text, **more})


def type_line(agent: Agent, text: str) -> None:
    """As the human at the agent's own prompt."""
    agent.home.run("keys", agent.name, text, "Enter")


def test_a_question_of_a_task_has_an_id_and_is_answered_by_it(agent: Agent) -> None:
    task = agent.send("choose red|green|blue")
    prompt = agent.until(task, "input_required")["prompt"]
    found = next_question(agent)
    assert found["id"] == prompt["id"] and found["asked_at"] == prompt["asked_at"]
    assert (found["agent"], found["task"], found["type"]) == ("a", task, "selection")
    assert [option["label"] for option in found["options"]] == ["red", "green", "blue"]
    assert [option["key"] for option in found["options"]] == ["1", "2", "3"]
    assert answer(agent, found["id"], "purple").status_code == 400, "none of the options"
    assert asked(agent)[0]["id"] == found["id"], "it is still open"
    assert answer(agent, found["id"], "green").json()["question"]["id"] == found["id"]
    done = agent.until(task)
    assert done["artifacts"][0]["data"] == "You chose: green"
    receipt = next(receipt for receipt in done["receipts"] if receipt["step"] == "answered")
    assert receipt["question"] == found["id"]
    assert asked(agent) == []
    late = answer(agent, found["id"], "1")
    assert late.status_code == 409 and late.json()["code"] == "QUESTION_GONE"
    assert "answered" in late.json()["detail"]


def test_a_question_in_the_humans_own_turn_belongs_to_no_task(agent: Agent) -> None:
    type_line(agent, "confirm Delete it?")
    found = next_question(agent)
    assert found["task"] is None and "Delete it?" in found["text"]
    assert answer(agent, found["id"], "y", sender="claude").status_code == 403
    assert answer(agent, found["id"], "yes").status_code == 200
    wait(lambda: "Confirmed." in agent.contents(), "the answer")
    assert asked(agent) == []


def test_an_answer_to_a_question_that_has_changed_types_nothing(agent: Agent) -> None:
    type_line(agent, "confirm Delete it?")
    first = next_question(agent)
    agent.home.run("keys", agent.name, "n", "Enter")
    wait(lambda: "Declined." in agent.contents(), "the human's answer")
    type_line(agent, "confirm Delete it?")
    second = next_question(agent, but=first["id"])
    assert second["text"] == first["text"] and second["id"] != first["id"]
    refused = answer(agent, first["id"], "y")
    assert refused.status_code == 409 and refused.json()["code"] == "QUESTION_GONE"
    assert "Confirmed." not in agent.contents().rpartition("Delete it?")[2]
    assert asked(agent)[0]["id"] == second["id"], "it is still open"
    assert answer(agent, second["id"], "n").status_code == 200


def test_of_eight_who_answer_at_once_one_wins_and_the_others_are_told(agent: Agent) -> None:
    type_line(agent, "choose a|b|c|d|e|f|g|h")
    found = next_question(agent)
    with ThreadPoolExecutor(8) as pool:
        given = [pool.submit(answer, agent, found["id"], letter) for letter in "abcdefgh"]
    won = [letter for letter, each in zip("abcdefgh", given, strict=True) if each.result().is_success]
    lost = [each.result() for each in given if not each.result().is_success]
    assert len(won) == 1 and {each.status_code for each in lost} == {409}
    assert {each.json()["detail"] for each in lost} == {"somebody else has answered the question."}
    wait(lambda: f"You chose: {won[0]}" in agent.contents(), "the answer")
    assert agent.contents().rpartition("choose a|b")[2].count("You chose: ") == 1


def test_a_message_to_a_task_may_name_the_question_that_it_answers(agent: Agent) -> None:
    task = agent.send("confirm Go on?")
    prompt = agent.until(task, "input_required")["prompt"]
    parts = [{"type": "text", "text": "y"}]

    def send(question: str) -> httpx.Response:
        message = {"role": "user", "parts": parts, "metadata": {"x-synapse-question": question}}
        return agent.http.post("/tasks/send", json={"message": message, "task_id": task})

    other = send("0badc0de")
    assert other.status_code == 409 and other.json()["code"] == "QUESTION_GONE"
    assert agent.get(task)["state"] == "input_required"
    assert send(prompt["id"]).status_code == 200
    assert agent.until(task)["artifacts"][0]["data"] == "Confirmed."


def test_a_secret_is_shown_nowhere_and_kept_nowhere(agent: Agent) -> None:
    type_line(agent, "password")
    found = next_question(agent)
    assert found["type"] == "password" and found["options"] == []
    assert found["text"] == "Password:"  # once
    told = answer(agent, found["id"], "hunter-2-secret")
    assert told.status_code == 200 and "hunter" not in told.text
    wait(lambda: "15 characters" in agent.contents(), "the answer")
    kept = [
        path for path in agent.home.path.rglob("*") if path.is_file() and b"hunter-2" in path.read_bytes()
    ]
    assert kept == []


def test_what_cannot_be_read_is_a_question_too_and_is_answered_in_the_terminal(home: Home) -> None:
    with start(home) as agent:
        type_line(agent, "ask Which one")
        found = next_question(agent)
        assert found["type"] == "unknown" and "Which one" in found["detail"] and found["options"] == []
        refused = answer(agent, found["id"], "this")
        assert refused.status_code == 409 and "synapse attach a" in refused.json()["detail"]
        type_line(agent, "that")
        wait(lambda: "You answered: that" in agent.contents() and asked(agent) == [], "the human's answer")


def test_a_new_host_knows_the_question_by_the_same_id(own: Agent) -> None:
    task = own.send("choose red|green")
    own.until(task, "input_required")
    before = next_question(own)
    for pid in hosts(own.home):
        os.kill(pid, signal.SIGKILL)
    wait(lambda: not asked(own) or hosts(own.home), "the end of the host")
    after = next_question(own)
    assert after == before
    assert own.get(task)["state"] == "input_required" and own.get(task)["prompt"]["id"] == before["id"]
    assert answer(own, before["id"], "2").status_code == 200
    assert own.until(task)["artifacts"][0]["data"] == "You chose: green"


def test_a_new_host_gives_a_question_another_id_if_a_key_was_pressed_meanwhile(own: Agent) -> None:
    type_line(own, "choose red|green")
    before = next_question(own)
    path = next((own.home.path / "synapse").glob("agents/*/question.json"))
    kept = json.loads(path.read_text())
    assert path.stat().st_mode & 0o777 == 0o600 and kept["id"] == before["id"]
    path.write_text(json.dumps({**kept, "keys": kept["keys"] - 1}))
    for pid in hosts(own.home):
        os.kill(pid, signal.SIGKILL)
    after = next_question(own, but=before["id"])
    assert after["text"] == before["text"]
    assert answer(own, before["id"], "2").status_code == 409
    assert answer(own, after["id"], "2").status_code == 200


def test_the_question_of_an_agent_that_ends_is_gone(own: Agent) -> None:
    type_line(own, "confirm Go on?")
    next_question(own)
    own.home.run("stop", "a")
    assert own.home.agents() == {}


def test_a_question_says_what_can_be_answered() -> None:
    prompt = InputPrompt(
        "Run it?\nrm -r build",
        "selection",
        ["Yes", "No, and say why"],
        question="Run it?",
        subject="rm -r build",
        detail="rm -r build\n\nRemoves the build",
        keys={"Yes": "1", "No, and say why": "Escape"},
        permission=True,
    )
    found = Question("3f9c01ab", "claude", prompt, 0.0, "t1").to_dict()
    assert found == {
        "id": "3f9c01ab",
        "agent": "claude",
        "task": "t1",
        "type": "selection",
        "subject": "rm -r build",
        "detail": "rm -r build\n\nRemoves the build",
        "question": "Run it?",
        "text": "Run it?\n\nrm -r build\n\nRemoves the build",
        "options": [{"key": "1", "label": "Yes"}, {"key": "Escape", "label": "No, and say why"}],
        "asked_at": "1970-01-01T00:00:00.000Z",
        "permission": True,
    }


def test_a_question_is_the_same_at_another_width_and_another_one_with_another_detail() -> None:
    wide = InputPrompt("Run it?", "confirmation", ["y", "n"], detail="cp a b and more")
    narrow = InputPrompt("Run\nit?", "confirmation", ["y", "n"], detail="cp a b\n│ and more")
    other = InputPrompt("Run it?", "confirmation", ["y", "n"], detail="cp a c and more")
    assert fingerprint(wide) == fingerprint(narrow) != fingerprint(other)


def test_arrow_keys_move_the_highlight_of_the_same_question_and_an_answer_ends_it(own: Agent) -> None:
    type_line(own, "choose red|green|blue")
    first = next_question(own)
    assert first["default"] == "red"
    own.home.run("keys", own.name, "Down")
    wait(lambda: asked(own) and asked(own)[0].get("default") == "green", "the highlight")
    own.home.run("keys", own.name, "Down", "Up", "Down")
    wait(lambda: asked(own) and asked(own)[0].get("default") == "blue", "the highlight")
    moved = asked(own)[0]
    assert moved == {**first, "default": "blue"}
    assert answer(own, first["id"], "green").status_code == 200
    wait(lambda: "You chose: green" in own.contents(), "the answer")
    type_line(own, "choose red|green|blue")
    second = next_question(own)
    assert second["id"] != first["id"]
    own.home.run("keys", own.name, "Down", "Enter")
    wait(lambda: asked(own) == [], "the answer")
    assert answer(own, second["id"], "1").status_code == 409


def test_a_number_is_no_answer_if_nobody_has_seen_what_it_would_run(own: Agent) -> None:
    task = own.send("confirm Do you want to proceed?")
    prompt = own.until(task, "input_required")["prompt"]
    found = next_question(own)
    assert found["unseen"] and found["options"][0]["key"] == "1"
    refused = answer(own, found["id"], "1")
    assert refused.status_code == 400 and "answer in words" in refused.json()["detail"]
    in_task = own.http.post(f"/tasks/{task}/input", json={"input": " 1 "})
    assert in_task.status_code == 400 and "answer in words" in in_task.json()["detail"]
    told = own.home.run("answer", prompt["id"], "1", check=False)
    assert told.returncode == 1 and "answer in words" in told.stderr
    assert asked(own)[0]["id"] == found["id"], "nothing was typed"
    assert answer(own, found["id"], "yes").status_code == 200
    assert own.until(task)["artifacts"][0]["data"] == "Confirmed."


def test_an_answer_after_which_the_question_stays_is_no_success(home: Home) -> None:
    asks = "printf ''Delete it? [y/N] ''; read one; printf ''\\a''; read two; echo got $one $two; read three"
    home.profile("deaf", f"command: ['sh', '-c', 'stty -echo; {asks}']\n")
    home.run("start", "deaf", "--name", "a")
    agent = Agent(home)
    found = next_question(agent)
    told = home.run("answer", found["id"], "y", check=False)
    assert told.returncode == 1 and "still shows the question" in told.stderr
    again = answer(agent, found["id"], "y")
    assert again.status_code == 409 and again.json()["code"] == "QUESTION_GONE"
    assert answer(agent, next_question(agent)["id"], "no").status_code == 200
    wait(lambda: "got y N" in agent.contents(), "the second answer")
    agent.http.close()


def test_an_answer_that_the_agent_has_not_read_yet_is_not_asked_for_again(tmp_path: Path) -> None:
    """On a busy machine it reads later, and a second answer would go to what it asks next."""
    now = 100.0
    controller = agent_terminal("dummy", tmp_path, lambda: now)
    questions = Questions(controller, TaskEngine(TaskStore()), clock=lambda: now)

    def looked() -> bool:
        controller.check_status()
        questions.look()
        return questions.open is not None

    controller.feed(b"Delete it? [y/N] ")
    now += 5.0
    assert looked() and questions.open is not None
    questions._note(questions.open, "y")
    now += ANSWERED + 1
    assert not looked()
    now += UNHEARD
    assert looked() and questions.open is not None
    questions._note(questions.open, "y")
    controller.feed(b"\a")
    now += ANSWERED + 1
    assert looked(), "it has reacted, and asks again"
