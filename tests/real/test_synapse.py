"""The real CLIs inside Synapse: a human types, and Synapse knows what happens and what was said."""

from __future__ import annotations

import pytest

from synapse.registry import INPUT_REQUIRED, PROCESSING, READY
from tests.real.model_server import ModelServer, expected, texts
from tests.real.scenarios import TOUCHED
from tests.real.wrapped import Agent
from tests.support.home import Home

NOT_SHOWN = ("copilot", "opencode")  # its errors are told by its channel alone


@pytest.mark.shared
def test_replies_are_exact_to_the_character(agent: Agent, model: ModelServer) -> None:
    for number, scenario in enumerate(
        ["markdown", "long200", "looks-like-a-prompt", "two-messages", "ping"], 1
    ):
        prompt = f"typed #scenario:{scenario}"
        agent.driver.submit(prompt)
        turn = agent.ended(number)
        agent.until(READY)
        assert turn["reply"] == expected(scenario, prompt), (scenario, turn)
        assert turn["source"] in ("exact", "transcript") and turn["outcome"] == "completed"
        assert turn["prompt"] == prompt
    assert len(agent.turns) == 5
    two_messages = agent.turns[3]
    assert two_messages["messages"] == texts("two-messages") and two_messages["tools"]
    assert two_messages["usage"]["output_tokens"] > 0
    assert not [note for note in agent.why["notes"] if "refused" in note]  # its hooks are its own processes


@pytest.mark.shared
def test_the_status_follows_the_turn_through_silences(agent: Agent, model: ModelServer) -> None:
    model.speed = 0.75  # three seconds of silence
    for number, scenario in enumerate(["silence-before", "silence-middle"], 1):
        agent.driver.submit(f"typed #scenario:{scenario}")
        agent.until(PROCESSING, 10)
        seen = set()
        while len(model.replies) < number or model.replies[number - 1].finished is None:
            seen.add(agent.status)
            agent.driver.rest(0.1)
        assert seen == {PROCESSING}, "READY in the middle of a turn"
        assert agent.ended(number)["reply"] == expected(scenario)
        agent.until(READY, 5)


@pytest.mark.shared
def test_a_permission_prompt_with_its_options(agent: Agent, home: Home, model: ModelServer) -> None:
    agent.driver.submit("typed #scenario:tool")
    agent.until(INPUT_REQUIRED)
    agent.driver.wait(lambda: agent.why["prompt"] is not None, "the prompt's text", 10)
    prompt = agent.why["prompt"]
    assert len(prompt["options"]) >= 2 and prompt["type"] == "selection"
    assert TOUCHED in prompt["prompt"] or TOUCHED in str(prompt)
    agent.driver.rest(2)
    assert agent.status == INPUT_REQUIRED and not (home.work / TOUCHED).exists()
    agent.driver.type(agent.cli.accept)
    turn = agent.ended(1)
    agent.until(READY)
    assert turn["reply"] == expected("tool") and (home.work / TOUCHED).exists()


def test_escape_and_ctrl_c_interrupt_and_the_status_heals(agent: Agent, model: ModelServer) -> None:
    # Claude shows a row only when it is complete, which leaves half a second of this answer.
    model.speed = 2 if agent.cli.name == "claude" else 1
    for number in (1, 2):
        agent.driver.submit(f"hello {number} #scenario:slow")
        agent.until(PROCESSING, 10)
        agent.driver.wait_for("word03", 20)
        agent.driver.rest(0.6)
        assert agent.status == PROCESSING
        if number == 1 or agent.cli.name == "opencode":  # Ctrl-C ends that
            agent.stop()
        else:
            agent.driver.type("\x03")
        agent.until(READY, 10)
        turn = agent.ended(number, 10)
        assert turn["outcome"] == "interrupted" and turn["reply"].startswith("word01")
        assert turn["prompt"] == f"hello {number} #scenario:slow"
        agent.driver.rest(1)
        agent.driver.type("\x15")  # Claude and Qwen may give the prompt back
        agent.driver.rest(0.5)
    agent.driver.submit("too soon #scenario:silence-before")
    agent.until(PROCESSING, 10)
    agent.driver.rest(0.3)
    agent.stop()
    turn = agent.ended(3, 10)
    assert (turn["outcome"], turn["reply"]) == ("interrupted", ""), "never what an older turn said"
    agent.until(READY, 10)
    agent.driver.type("\x15")
    agent.driver.rest(0.5)
    model.speed = 0
    agent.driver.submit("hello #scenario:ping 9")
    assert agent.ended(4)["reply"] == "PONG-9"


@pytest.mark.shared
def test_an_api_error_is_an_error_and_not_a_reply(agent: Agent, model: ModelServer) -> None:
    agent.driver.submit("typed #scenario:error400")
    turn = agent.ended(1)  # it may be over before anybody has seen PROCESSING
    agent.until(READY, 30)
    if agent.cli.name not in NOT_SHOWN:
        agent.driver.wait(lambda: agent.why["error"] is not None, "the error on the screen", 10)
        assert agent.why["error"]["code"] == "API_ERROR"
        assert "scripted refusal" in agent.why["error"]["message"]
    assert (turn["outcome"], turn["reply"], turn["error"]["code"]) == ("failed", "", "API_ERROR")
    assert "scripted refusal" in turn["error"]["message"]
    agent.driver.submit("typed #scenario:ping 3")
    agent.driver.wait_for("PONG-3")
    assert agent.ended(2)["reply"] == "PONG-3"


CLEAR = dict.fromkeys(("claude", "codex", "copilot", "gemini", "opencode", "qwen"), "/clear")
CLEAR |= dict.fromkeys(("codex", "opencode"), "/new")
COMPACT = dict.fromkeys(CLEAR, "/compact") | dict.fromkeys(("gemini", "qwen"), "/compress")


def test_another_conversation_and_a_compacted_one(agent: Agent, model: ModelServer) -> None:
    """What follows a command of the CLI's own is a turn as before, and the command itself is none."""
    commands = [CLEAR[agent.cli.name], "", COMPACT[agent.cli.name], ""]
    for number, command in enumerate(commands, 1):
        agent.driver.submit(f"hello #scenario:ping {number}")
        turn = agent.ended(number)
        assert (turn["reply"], turn["outcome"]) == (f"PONG-{number}", "completed")
        agent.until(READY)
        if command:
            model.speed = model.thinking = 1  # long enough to be seen
            agent.driver.submit(command)
            if command == "/compact" and agent.cli.name != "copilot":  # that has done it in a moment
                agent.until(PROCESSING, 5)
            agent.driver.rest(0.5)
            model.speed = model.thinking = 0
            agent.driver.settle()
            agent.until(READY, 5)
            assert len(agent.turns) == number, agent.turns


@pytest.mark.parametrize("cli", ["claude", "copilot", "kimi", "opencode"], indirect=True)
@pytest.mark.shared
def test_a_subagent_is_part_of_the_turn(agent: Agent, model: ModelServer) -> None:
    """Also where it works in the background and the CLI continues when it has finished (2.1.325)."""
    model.speed = 0.6
    agent.driver.submit("typed #scenario:subagent")
    agent.until(PROCESSING, 10)
    seen = set()
    while not any(sent.text.startswith("The helper") and sent.finished for sent in model.replies):
        status = agent.status
        if not model.replies or not model.replies[-1].text.startswith("The helper"):
            seen.add(status)
        agent.driver.rest(0.1)
    assert seen == {PROCESSING}, "READY while the subagent works"
    assert agent.ended(1)["reply"] == expected("subagent")
    first, last = texts("subagent")
    agent.driver.wait(lambda: agent.turns[0]["messages"][-1:] == [last], "the transcript", 5)
    (turn,) = agent.turns
    assert turn["messages"] in ([first, last], [first, "It counts.", last])
    assert [tool["name"] in ("Agent", "task") for tool in turn["tools"]] == [True]
    agent.until(READY)
