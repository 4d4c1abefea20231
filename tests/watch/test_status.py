"""Evidence in, status out, with a clock of our own."""

from synapse.agents.base import HOOK, OSC, PROCESS, SCREEN, SILENCE, TITLE, TRANSCRIPT
from synapse.registry import INPUT_REQUIRED, PROCESSING, READY
from synapse.watch.status import HEAL_ALONE, HEAL_TOGETHER, StatusModel

NOT_BUSY = (READY, INPUT_REQUIRED)
NO_QUESTION = (READY, PROCESSING)


def test_before_any_evidence_it_is_starting() -> None:
    verdict = StatusModel().verdict(0)
    assert verdict.status == PROCESSING and verdict.confidence < 0.5


def test_a_hook_is_believed_before_the_screen() -> None:
    model = StatusModel()
    model.observe(SCREEN, READY, 1.0, "screen idle")
    model.observe(HOOK, PROCESSING, 1.1, "hook UserPromptSubmit")
    assert model.verdict(1.2).status == PROCESSING
    assert model.verdict(100).status == PROCESSING, "the screen's word is older than the hook's"


def test_of_hook_and_transcript_the_newer_counts() -> None:
    model = StatusModel()
    model.observe(HOOK, PROCESSING, 1.0, "hook UserPromptSubmit")
    model.observe(TRANSCRIPT, READY, 2.0, "transcript: interrupted")
    assert model.verdict(2.0).status == READY


def test_an_escape_that_no_hook_tells_heals_by_the_title() -> None:
    model = StatusModel()
    model.observe(HOOK, PROCESSING, 1.0, "hook UserPromptSubmit")
    model.observe(TITLE, NOT_BUSY, 5.0, "title ✳")
    model.observe(SCREEN, NO_QUESTION, 5.05, "screen: no question on it")
    assert model.verdict(5.1).status == PROCESSING
    assert model.verdict(5.1).overruled_in is not None
    assert model.verdict(5.0 + HEAL_ALONE).status == READY
    model.observe(HOOK, PROCESSING, 9.0, "hook UserPromptSubmit")
    assert model.verdict(9.0).status == PROCESSING, "the same event again is news"


def test_an_idle_looking_screen_does_not_heal_what_the_title_bears_out() -> None:
    model = StatusModel()
    model.observe(HOOK, PROCESSING, 1.0, "hook UserPromptSubmit")
    model.observe(TITLE, PROCESSING, 1.1, "title ⠂")
    model.observe(SCREEN, READY, 1.5, "screen idle")
    assert model.verdict(60).status == PROCESSING


def test_two_that_agree_heal_sooner() -> None:
    model = StatusModel()
    model.observe(HOOK, PROCESSING, 1.0, "hook")
    model.observe(TITLE, NOT_BUSY, 5.0, "title")
    model.observe(SCREEN, READY, 5.2, "screen")
    assert model.verdict(5.2 + HEAL_TOGETHER).status == READY


def test_a_second_voice_never_delays_what_one_has_healed() -> None:
    """ESC before Claude has said a word: the title heals it, and every key repaints the screen."""
    model = StatusModel()
    model.observe(HOOK, PROCESSING, 1.0, "hook")
    model.observe(TITLE, NOT_BUSY, 5.0, "title")
    model.observe(SCREEN, NO_QUESTION, 5.1, "screen")
    assert model.verdict(7.0).status == READY
    model.observe(SCREEN, READY, 9.0, "screen idle")
    assert model.verdict(9.1).status == READY


def test_a_title_that_goes_on_saying_busy_after_the_stop_wins() -> None:
    """A user's own Stop hook makes Claude go on."""
    model = StatusModel()
    model.observe(TITLE, PROCESSING, 1.0, "title ⠂")
    model.observe(HOOK, READY, 5.0, "hook Stop")
    assert model.verdict(8.0).status == READY
    model.observe(TITLE, PROCESSING, 5.9, "title ⠐")
    assert model.verdict(6.0).status == READY
    assert model.verdict(5.0 + HEAL_ALONE).status == PROCESSING


def test_a_title_that_cannot_tell_is_narrowed_by_the_screen() -> None:
    model = StatusModel()
    model.observe(TITLE, NOT_BUSY, 1.0, "title ✳")
    assert model.verdict(1.0).status == PROCESSING, "what it was, until the screen has been looked at"
    model.observe(SCREEN, INPUT_REQUIRED, 1.2, "a menu")
    assert model.verdict(1.2).status == INPUT_REQUIRED
    model.observe(SCREEN, NO_QUESTION, 2.0, "screen: no question on it")
    assert model.verdict(2.0).status == READY


def test_a_permission_prompt_is_not_overruled_by_a_title_that_allows_it() -> None:
    model = StatusModel()
    model.observe(HOOK, INPUT_REQUIRED, 1.0, "hook PermissionRequest")
    model.observe(TITLE, NOT_BUSY, 1.1, "title ✳")
    assert model.verdict(100).status == INPUT_REQUIRED


def test_an_answered_prompt_is_left_when_the_title_is_busy() -> None:
    model = StatusModel()
    model.observe(HOOK, INPUT_REQUIRED, 1.0, "hook PermissionRequest")
    model.observe(TITLE, PROCESSING, 4.0, "title ⠂")
    model.observe(SCREEN, PROCESSING, 4.1, "esc to interrupt")
    assert model.verdict(4.1 + HEAL_TOGETHER).status == PROCESSING


def test_a_screen_that_looks_idle_does_not_beat_the_state_sequence() -> None:
    """Codex while it streams."""
    model = StatusModel()
    model.observe(OSC, PROCESSING, 1.0, "OSC working")
    model.observe(SCREEN, READY, 0.9, "screen idle")
    assert model.verdict(50).status == PROCESSING


def test_silence_alone_never_overrules() -> None:
    model = StatusModel()
    model.observe(TITLE, PROCESSING, 1.0, "title busy")
    model.observe(SILENCE, READY, 30.0, "nothing for 2 s")
    assert model.verdict(100).status == PROCESSING


def test_silence_is_better_than_nothing() -> None:
    model = StatusModel()
    model.observe(SILENCE, READY, 3.0, "nothing for 2 s")
    verdict = model.verdict(3.0)
    assert verdict.status == READY and verdict.confidence <= 0.5


def test_a_screen_without_a_question_does_not_take_back_a_permission_request() -> None:
    """It may be one that we do not recognise."""
    model = StatusModel()
    model.observe(HOOK, INPUT_REQUIRED, 1.0, "hook PermissionRequest")
    model.observe(SCREEN, NO_QUESTION, 1.3, "screen: no question on it")
    assert model.verdict(60).status == INPUT_REQUIRED


def test_a_screen_that_cannot_tell_is_narrowed_by_silence() -> None:
    model = StatusModel()
    model.observe(SCREEN, NO_QUESTION, 1.0, "screen: no question on it")
    model.observe(SILENCE, PROCESSING, 1.0, "output")
    assert model.verdict(1.0).status == PROCESSING
    model.observe(SILENCE, READY, 3.0, "no output for 2 s")
    assert model.verdict(3.0).status == READY


def test_the_process_has_the_last_word() -> None:
    model = StatusModel()
    model.observe(HOOK, READY, 1.0, "hook Stop")
    model.observe(PROCESS, PROCESSING, 2.0, "it has stopped itself")
    assert model.verdict(2.0).status == PROCESSING
    model.forget(PROCESS)
    assert model.verdict(2.0).status == READY


def test_a_question_that_is_repainted_overrules_an_event_that_came_late() -> None:
    """Codex repaints under its question, and its rollout may be read after the question was drawn."""
    model = StatusModel()
    model.observe(TRANSCRIPT, PROCESSING, 0.0, "rollout task_started")
    for number in range(5):
        model.forget(SCREEN)
        model.observe(SCREEN, INPUT_REQUIRED, 0.5 + number * 0.5, "screen: 'Run it?'")
    assert model.verdict(2.5).status == INPUT_REQUIRED
    model.observe(TRANSCRIPT, PROCESSING, 3.0, "rollout task_started")
    model.forget(SCREEN)
    assert model.verdict(3.1).status == PROCESSING
    model.observe(SCREEN, INPUT_REQUIRED, 9.0, "screen: 'Run it?'")
    assert model.verdict(9.1).status == PROCESSING
