"""Turns from facts, with a clock of our own."""

from __future__ import annotations

from synapse.agents.base import HOOK
from synapse.agents.facts import Failed, PromptAccepted, Said, Steered, TokensUsed, ToolUsed, TurnEnded
from synapse.watch.screen.reply import ScreenReply
from synapse.watch.turns import NO_REPLY, SURE, UNSURE, TurnTracker


def tracker(screen: str | None = "from the screen", sure: bool = True) -> TurnTracker:
    return TurnTracker(lambda prompt: None if screen is None else ScreenReply(screen, sure))


def test_a_turn_from_prompt_to_reply() -> None:
    turns = tracker()
    turns.take(PromptAccepted("hook", "hello"), 1.0)
    assert turns.current is not None and turns.current.prompt == "hello"
    turns.take(Said("transcript", "let me look", "a"), 2.0)
    turns.take(ToolUsed("transcript", "Bash", "t", {"command": "ls"}), 2.1)
    turns.take(TokensUsed(10, 5, "r1"), 2.2)
    turns.take(TokensUsed(10, 7, "r1"), 2.3)
    turns.take(TokensUsed(1, 1, "r2"), 2.4)
    turns.take(TurnEnded("hook", "completed", "**done**"), 3.0)
    (turn,) = turns.finished
    shown = turn.to_dict()
    assert (turn.reply, turn.source, turn.outcome) == ("**done**", "exact", "completed")
    assert shown["usage"] == {"input_tokens": 11, "output_tokens": 8}
    assert shown["tools"] == [{"name": "Bash", "input": {"command": "ls"}}]
    assert (turn.started_at, turn.ended_at) == (1.0, 3.0) and turns.current is None


def test_the_last_message_is_the_reply_where_no_one_gives_it() -> None:
    turns = tracker()
    turns.take(PromptAccepted("transcript", "hello"), 1.0)
    turns.take(Said("transcript", "part", "1"), 1.5)
    turns.take(Said("transcript", "part and whole", "1"), 1.6)
    turns.settle("completed", None, 2.0)
    assert (turns.finished[0].reply, turns.finished[0].source) == ("part and whole", "transcript")


def test_the_screen_is_asked_last() -> None:
    turns = tracker()
    turns.submitted(1.0)
    turns.settle("completed", None, 2.0)
    assert (turns.finished[0].reply, turns.finished[0].source) == ("from the screen", "screen")


def test_a_reply_from_the_screen_says_how_sure_it_is() -> None:
    for sure, confidence in ((True, SURE), (False, UNSURE)):
        turns = tracker(sure=sure)
        turns.submitted(1.0)
        turns.settle("completed", None, 2.0)
        assert turns.finished[0].confidence == confidence
    turns.take(PromptAccepted("hook", "hello"), 3.0)
    turns.take(TurnEnded("hook", "completed", "hi"), 4.0)
    assert turns.finished[1].confidence == 1.0


def test_a_reply_that_cannot_be_found_is_none() -> None:
    turns = tracker(None)
    turns.submitted(1.0)
    turns.settle("completed", None, 2.0)
    assert (turns.finished[0].outcome, turns.finished[0].error) == ("failed", NO_REPLY)
    turns.submitted(3.0)
    turns.settle("interrupted", None, 4.0)
    assert (turns.finished[1].outcome, turns.finished[1].error) == ("interrupted", None)


def test_enter_and_the_channels_word_are_one_turn() -> None:
    turns = tracker()
    turns.submitted(1.0)
    turns.take(PromptAccepted("hook", "hello"), 1.1)
    turns.take(TurnEnded("hook", "completed", "hi"), 2.0)
    assert len(turns.finished) == 1 and turns.finished[0].prompt == "hello"


def test_an_interrupted_turn_has_what_was_said() -> None:
    turns = tracker("half of")
    turns.take(PromptAccepted("hook", "hello"), 1.0)
    turns.take(TurnEnded("transcript", "interrupted"), 2.0)
    assert (turns.finished[0].outcome, turns.finished[0].reply) == ("interrupted", "half of")


def test_an_error_is_not_a_reply() -> None:
    turns = tracker("API Error: 400")
    error = {"code": "API_ERROR", "message": "no"}
    turns.take(PromptAccepted("hook", "hello"), 1.0)
    turns.take(TurnEnded("hook", "failed", error=error), 2.0)
    turns.take(PromptAccepted("transcript", "again"), 3.0)
    turns.take(Failed("transcript", error), 4.0)
    turns.settle("completed", None, 5.0)
    for turn in turns.finished:
        assert (turn.outcome, turn.reply, turn.error) == ("failed", "", error)


def test_what_is_said_after_an_error_takes_it_back() -> None:
    turns = tracker()
    turns.take(PromptAccepted("transcript", "hello"), 1.0)
    turns.take(Failed("transcript", {"code": "API_ERROR", "message": "no"}), 2.0)
    turns.take(Said("transcript", "at last", "1"), 3.0)
    turns.settle("completed", None, 4.0)
    assert (turns.finished[0].outcome, turns.finished[0].error) == ("completed", None)


def test_a_prompt_in_mid_turn_ends_the_turn_before() -> None:
    turns = tracker()
    turns.take(PromptAccepted("transcript", "one"), 1.0)
    turns.take(Said("transcript", "half an ans", "1"), 1.5)
    turns.take(PromptAccepted("transcript", "two"), 2.0)
    assert turns.finished[0].reply == "half an ans"
    assert turns.current is not None and turns.current.prompt == "two"


def test_a_message_that_is_added_to_a_turn_leaves_its_reply_to_it() -> None:
    turns = tracker()
    turns.take(PromptAccepted(HOOK, "one"), 1.0)
    turns.take(Steered(HOOK, "and this"), 2.0)
    turns.take(TurnEnded(HOOK, "completed", "both"), 3.0)
    (turn,) = turns.finished
    assert (turn.prompt, turn.reply) == ("one", "both") and "its human added" in turn.evidence["steered"]
    turns.take(PromptAccepted(HOOK, "of a human"), 4.0)
    turns.take(Steered(HOOK, "[A2A:0123abcd:user] ours"), 5.0)
    turns.take(TurnEnded(HOOK, "completed", "ours"), 6.0)
    assert (turns.finished[-1].prompt, turns.finished[-1].reply) == ("[A2A:0123abcd:user] ours", "ours")


def test_a_transcript_that_lags_behind_the_hook_still_counts() -> None:
    turns = tracker()
    turns.take(PromptAccepted("hook", "hello"), 1.0)
    turns.take(TurnEnded("hook", "completed", "hi"), 2.0)
    turns.take(TokensUsed(3, 4, "r"), 2.1)
    assert turns.finished[0].to_dict()["usage"]["output_tokens"] == 4


def test_a_lost_prompt_does_not_lose_the_reply() -> None:
    turns = tracker()
    turns.take(TurnEnded("hook", "completed", "hi"), 2.0)
    assert turns.finished[0].reply == "hi" and turns.finished[0].prompt is None


def test_an_end_that_is_told_twice_is_one() -> None:
    turns = tracker()
    turns.take(PromptAccepted("hook", "hello"), 1.0)
    for moment in (2.0, 2.1):
        turns.take(TurnEnded("hook", "completed", "hi"), moment)
    turns.take(PromptAccepted("hook", "stop"), 3.0)
    for moment in (4.0, 4.1):
        turns.take(TurnEnded("transcript", "interrupted"), moment)
    assert [turn.prompt for turn in turns.finished] == ["hello", "stop"]
    turns.take(TurnEnded("hook", "completed", "hi"), 9.0)
    assert len(turns.finished) == 3, "a turn of which only the end was told"


def test_an_agent_that_is_gone_fails_its_turn() -> None:
    turns = tracker()
    turns.take(PromptAccepted("hook", "hello"), 1.0)
    turns.abandon("failed", {"code": "PROCESS_EXIT", "message": "gone"}, 2.0)
    assert turns.finished[0].outcome == "failed" and turns.finished[0].error is not None


def test_who_wants_to_know_is_told() -> None:
    turns = tracker()
    seen: list[tuple[str, str | None]] = []
    forget = turns.on_turn(
        lambda turn: seen.append(("begun", turn.prompt)), lambda turn: seen.append(("ended", turn.reply))
    )
    turns.take(PromptAccepted("hook", "hello"), 1.0)
    turns.take(TurnEnded("hook", "completed", "hi"), 2.0)
    forget()
    turns.take(PromptAccepted("hook", "again"), 3.0)
    assert seen == [("begun", "hello"), ("ended", "hi")]
