"""The ground under `make test-real`: the CLIs as they come, without Synapse, talk to the scripted model."""

from __future__ import annotations

from synapse.selftest.driver import Driver
from tests.real.clis import Cli
from tests.real.model_server import ModelServer, expected, texts
from tests.real.scenarios import TOUCHED
from tests.support.home import Home

# The end of each reply, as every one of the CLIs paints it.
SEEN = {
    "echo": "ECHO: just words",
    "ping": "PONG-7",
    "markdown": "The end.",
    "long200": "line 200 of 200",
    "slow": "word20",
    "silence-before": "This came after a silence.",
    "silence-middle": "and this after a silence.",
    "looks-like-a-prompt": "That was all.",
    "two-messages": "The notes say 42.",
}


def ask(bare: Driver, model: ModelServer, prompt: str, seen: str) -> None:
    before = len(model.replies)
    bare.submit(prompt)
    bare.wait(lambda: len(model.replies) > before and seen in bare.screen.text(), seen, 30)
    bare.settle(0.6)  # the scripted model makes no pauses


def test_it_starts_at_its_prompt_and_answers(bare: Driver, model: ModelServer) -> None:
    bare.submit("hello #scenario:ping 7")
    bare.wait_for("PONG-7")
    assert model.prompts == ["hello #scenario:ping 7"]
    assert model.replies[0].text == expected("ping", "hello #scenario:ping 7") == "PONG-7"


def test_it_asks_before_it_runs_a_command(bare: Driver, cli: Cli, home: Home, model: ModelServer) -> None:
    bare.submit("hello #scenario:tool")
    bare.wait_for(cli.asks)
    bare.rest(1)
    assert not (home.work / TOUCHED).exists()
    bare.type(cli.accept)
    bare.wait_for(expected("tool"))
    assert (home.work / TOUCHED).exists()
    assert [sent.text for sent in model.replies] == texts("tool")


def test_every_scenario_that_ends_in_text_reaches_the_screen(bare: Driver, model: ModelServer) -> None:
    for scenario, seen in SEEN.items():
        prompt = "just words" if scenario == "echo" else f"hello #scenario:{scenario} 7"
        before = len(model.replies)
        ask(bare, model, prompt, seen)
        assert [sent.text for sent in model.replies[before:]] == texts(scenario, prompt)
        assert {sent.prompt for sent in model.replies[before:]} == {prompt}


def test_a_refusal_is_shown_and_the_conversation_goes_on(bare: Driver, model: ModelServer) -> None:
    ask(bare, model, "hello #scenario:error400", "scripted refusal 400")
    ask(bare, model, "hello #scenario:ping 2", "PONG-2")


def test_a_pause_in_the_reply_is_kept(bare: Driver, model: ModelServer) -> None:
    model.speed = 0.5
    ask(bare, model, "hello #scenario:silence-middle", "and this after a silence.")
    (sent,) = model.replies
    assert sent.finished is not None
    assert 1.9 < sent.finished - sent.request.at < 4
