"""The strategies of the specification, with a clock of our own."""

import pytest

from synapse.watch.idle import SETTLE, IdleDetector


class Scene:
    def __init__(self, detector: IdleDetector) -> None:
        self.detector = detector
        self.now = 0.0
        self.text = ""
        self.modes: set[int] = set()

    def output(self, text: str) -> "Scene":
        self.text = text
        self.detector.output(self.now)
        return self

    def after(self, seconds: float) -> bool:
        self.now += seconds
        return self.detector.is_idle(self.now, lambda: self.text, lambda number: number in self.modes)


def test_nothing_shown_yet_is_not_idle() -> None:
    scene = Scene(IdleDetector("timeout", timeout=1.5))
    assert not scene.after(100)
    assert scene.detector.next_check(100) is None


def test_timeout_counts_the_silence() -> None:
    scene = Scene(IdleDetector("timeout", timeout=1.5)).output("thinking")
    assert not scene.after(1.4)
    assert scene.after(0.2)
    scene.output("more")
    assert not scene.after(1.0)


def test_pattern_needs_the_screen_to_settle() -> None:
    scene = Scene(IdleDetector("pattern", pattern=r"^> $", timeout=10)).output("hello\n> ")
    assert not scene.after(SETTLE / 2)
    assert scene.after(SETTLE)


def test_pattern_falls_back_to_silence() -> None:
    scene = Scene(IdleDetector("pattern", pattern="never", timeout=2)).output("hello")
    assert not scene.after(1.9)
    assert scene.after(0.2)


def test_hybrid_uses_the_pattern_once() -> None:
    scene = Scene(IdleDetector("hybrid", pattern="PROMPT", timeout=5)).output("PROMPT")
    assert scene.after(SETTLE)
    scene.output("PROMPT")
    assert not scene.after(4.9)
    assert scene.after(0.2)


def test_startup_only_is_the_same_for_the_pattern_strategy() -> None:
    detector = IdleDetector("pattern", pattern="PROMPT", pattern_use="startup_only", timeout=5)
    scene = Scene(detector).output("PROMPT")
    assert scene.after(SETTLE)
    scene.output("PROMPT")
    assert not scene.after(1)


def test_a_special_name_means_a_terminal_mode() -> None:
    detector = IdleDetector(
        "pattern", pattern="BRACKETED_PASTE_MODE", timeout=10, modes={"BRACKETED_PASTE_MODE": 2004}
    )
    scene = Scene(detector).output("BRACKETED_PASTE_MODE")
    assert not scene.after(1)
    scene.modes.add(2004)
    assert scene.after(0)


def test_it_says_when_to_look_again() -> None:
    detector = IdleDetector("pattern", pattern="x", timeout=2)
    detector.output(10.0)
    assert detector.next_check(10.0) == pytest.approx(SETTLE)
    assert detector.next_check(10.5) == pytest.approx(1.5)
    assert detector.next_check(12.0) is None


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="strategy"):
        IdleDetector("guess")
    with pytest.raises(ValueError, match="needs a pattern"):
        IdleDetector("hybrid")


def test_one_that_repaints_is_idle_by_its_pattern_without_silence() -> None:
    detector = IdleDetector("pattern", pattern="PROMPT", timeout=5, repaints=True)
    shown = "PROMPT"

    def idle_at(now: float) -> bool:
        detector.output(now)  # the cursor blinks
        return detector.is_idle(now, lambda: shown, lambda mode: False)

    assert [idle_at(at / 10) for at in range(5)] == [False, False, False, True, True]
    assert detector.goes_on(lambda: shown, lambda mode: False)
    shown = "working"
    assert not idle_at(0.5) and not detector.goes_on(lambda: shown, lambda mode: False)
    shown = "PROMPT"
    assert not idle_at(0.6) and idle_at(0.95)
