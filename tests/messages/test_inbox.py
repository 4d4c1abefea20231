"""The inbox: what it shows, and what its keys do."""

from __future__ import annotations

import pytest

from synapse.messages.inbox import Answer, Close, Copy, HandOver, Inbox
from synapse.messages.panel_keys import KeyReader
from synapse.terminal.overlay import Box

SIZE = (80, 24)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def text(boxes: list[Box]) -> str:
    return "\n".join("".join(part for part, _ in line) for box in boxes for line in box.lines)


def opened(reply: str = "hello") -> Inbox:
    inbox = Inbox(Clock())
    inbox.sending("1", "codex", "say hello")
    inbox.reply("1", reply)
    inbox.focus(True)
    inbox.picture(SIZE, 20)
    return inbox


def test_toasts_follow_several_messages_at_once() -> None:
    clock = Clock()
    inbox = Inbox(clock)
    assert inbox.picture(SIZE, 20) == [] and inbox.next_change() is None
    inbox.sending("1", "codex", "a")
    inbox.sending("2", "gemini", "b")
    inbox.progress("1", "working", "reading files")
    clock.now += 12.5
    shown = text(inbox.picture(SIZE, 20))
    assert "→ codex: working 12 s · reading files" in shown and "→ gemini: sending" in shown
    assert inbox.next_change() == pytest.approx(0.5)
    inbox.reply("1", "\n\n# All *good*\n")
    assert "← codex: replied   (C-] o)" in text(inbox.picture(SIZE, 20))
    assert "All *good" in text(inbox.picture(SIZE, 20))
    inbox.failed("2", "it \x1b[31mdied")
    assert "✗ gemini: failed" in text(inbox.picture(SIZE, 20)) and "it died" in text(inbox.picture(SIZE, 20))
    clock.now += 60
    assert inbox.picture(SIZE, 20) == [] and inbox.next_change() is None


def test_a_toast_keeps_away_from_the_cursor() -> None:
    inbox = Inbox(Clock())
    inbox.sending("1", "codex", "a")
    (box,) = inbox.picture(SIZE, 20)
    assert box.y == 1
    (box,) = inbox.picture(SIZE, 1)
    assert box.y > 10


def test_what_is_unknown_is_ignored() -> None:
    inbox = Inbox(Clock())
    inbox.reply("x", "y")
    inbox.asks("x", "y")
    inbox.progress("x", "working")
    assert inbox.is_empty


def test_a_long_reply_scrolls() -> None:
    inbox = opened("\n\n".join(f"line {n}" for n in range(100)))
    assert "1–" in text(inbox.picture(SIZE, 20)) and "line 0" in text(inbox.picture(SIZE, 20))
    for keys, first in (
        (b"G", "line 99"),
        (b"\x1b[H", "line 0"),
        (b"\x1b[6~", "line 9"),
        (b"\x1b[5~", "line 0"),
        (b"jjjj\x1b[B\x1b[B", "line 2"),
        (b"\x1b[<65;1;1M" * 9, "line 16"),
        (b"k" * 500, "line 0"),
        (b"j" * 500, "line 99"),
    ):
        assert inbox.keys(keys) == []
        assert first in text(inbox.picture(SIZE, 20)).replace("\n", " ")


def test_copy_hand_over_and_close() -> None:
    inbox = opened("the *reply*")
    assert inbox.keys(b"c") == [Copy("the *reply*")]
    assert "copied" in text(inbox.picture(SIZE, 20))
    assert inbox.keys(b"i") == [HandOver("1", "the *reply*"), Close()]
    assert inbox.keys(b"c") == []  # it has no focus any more
    for key in (b"q", b"\x1b", b"\x1b[27u", b"\x03"):
        inbox.focus(True)
        assert inbox.keys(key) == [Close()]
        assert not inbox.focused and inbox.picture(SIZE, 20) == []  # and it has been read


def test_a_question_is_answered_with_a_typed_line() -> None:
    inbox = opened()
    inbox.sending("2", "gemini", "b")
    inbox.asks("2", "Which one?\n1. this\n2. that")
    inbox.focus(True)
    assert "Which one?" in text(inbox.picture(SIZE, 20)) and "a answer" in text(inbox.picture(SIZE, 20))
    assert inbox.keys("a漢x\x7f字 qj\x1b[200~pas\nted\x1b[201~\x1b[97u".encode()) == []
    assert "answer › 漢字 qjpas teda" in text(inbox.picture(SIZE, 20))
    assert inbox.keys(b"\r") == [Answer("2", "漢字 qjpas teda")]
    assert inbox.keys(b"axyz\x1b") == [] and inbox.focused
    assert inbox.keys(b"p") == []
    assert "hello" in text(inbox.picture(SIZE, 20))


def test_entries_are_stepped_through_and_the_oldest_are_dropped() -> None:
    clock = Clock()
    inbox = Inbox(clock)
    inbox.sending("waits", "codex", "x")
    for number in range(150):
        clock.now += 1
        inbox.sending(str(number), "gemini", "")
        inbox.reply(str(number), f"reply {number}")
    assert len(inbox.entries) == 100 and inbox.entries[0].name == "waits"
    inbox.focus(True)
    assert "reply 149" in text(inbox.picture(SIZE, 20))
    inbox.keys(b"p")
    assert "reply 148" in text(inbox.picture(SIZE, 20))
    inbox.keys(b"\tn")
    assert "No answer yet" in text(inbox.picture(SIZE, 20))


@pytest.mark.parametrize("size", [(20, 4), (21, 5), (30, 8), (300, 90)])
def test_every_size_has_its_panel(size: tuple[int, int]) -> None:
    inbox = opened("| a | b |\n|---|---|\n| 漢字漢字 | 2 |\n\n" + "word " * 200)
    (box,) = inbox.picture(size, 2)
    assert len(box.lines) <= size[1] and box.x >= 2 and box.x + box.width <= size[0] - 1
    (box,) = opened().picture((19, 4), 2)
    assert "too small" in box.lines[0][0][0]


@pytest.mark.parametrize(
    ("data", "names"),
    [
        (b"a\x1b[A\x1bOB\x1b[1;2C", ["a", "Up", "Down", "Right"]),
        (b"\x1b[1~\x1b[4~\x1b[5~\x1b[6;5~\x1b[Z\t", ["Home", "End", "PageUp", "PageDown", "S-Tab", "Tab"]),
        (b"\x1b[106;1:1u\x1b[106;1:3u\x1b[117;5u\x1b[13u\x1b[9;2u", ["j", "C-u", "Enter", "S-Tab"]),
        (b"\x1b[27;5;117~\x1b[1;1:3A", ["C-u"]),
        (b"\x1b[<64;3;4M\x1b[<0;3;4M\x1b[<64;3;4m", ["WheelUp"]),
        (b"\x15\x7f\x08\r\n", ["C-u", "Backspace", "Backspace", "Enter", "Enter"]),
        (b"\x1b[200~a\x1b[Bb\x1b[201~c", ["paste:a[Bb", "c"]),
        (b"\x1bx\x1b[15~\x1b", ["Escape"]),
    ],
)
def test_keys_have_names(data: bytes, names: list[str]) -> None:
    assert KeyReader().feed(data) == names


def test_characters_and_pastes_that_come_in_pieces() -> None:
    reader = KeyReader()
    data = "漢é".encode() + b"\x1b[200~" + "字".encode() + b"\x1b[201~"
    assert [k for byte in "漢é".encode() for k in reader.feed(bytes([byte]))] == ["漢", "é"]
    assert reader.feed(data[:12]) + reader.feed(data[12:15]) + reader.feed(data[15:]) == [
        "漢",
        "é",
        "paste:字",
    ]


def test_silent_tells_that_it_was_sent_and_then_only_what_came_of_it() -> None:
    now = [100.0]
    inbox = Inbox(clock=lambda: now[0], silent=True)
    inbox.sending("1", "codex", "hello")
    assert inbox.picture((80, 24), 20) == [] and inbox.next_change() is None
    inbox.sent("1")
    for state in ("sending", "delivered", "working"):
        inbox.progress("1", state, "the agent is busy")
        (box,) = inbox.picture((80, 24), 20)
        assert "→ codex: sent" in str(box) and state not in str(box) and "busy" not in str(box)
    assert inbox.next_change() is not None
    now[0] += 3.0
    inbox.late("1", "how")
    assert inbox.picture((80, 24), 20) == [], "nothing else until something comes of it"
    inbox.asks("1", "Which?")
    assert inbox.picture((80, 24), 20)
    inbox.progress("1", "working")
    inbox.reply("1", "done")
    assert inbox.picture((80, 24), 20)


def test_after_its_timeout_a_message_is_still_working_and_says_how_to_get_the_reply() -> None:
    now = [100.0]
    inbox = Inbox(clock=lambda: now[0])
    inbox.sending("1", "codex", "hello")
    inbox.progress("1", "sending", "2 messages are ahead of it")
    now[0] += 40.0
    inbox.late("1", "`synapse task 1` shows it")
    (box,) = inbox.picture((80, 24), 20)
    assert "still waiting 40 s · 2 messages are ahead of it" in str(box) and "`synapse task 1`" in str(box)
    inbox.progress("1", "working")
    now[0] += 2.0
    assert "→ codex: still working 42 s" in str(inbox.picture((80, 24), 20))
    inbox.reply("1", "done")
    assert "← codex: replied" in str(inbox.picture((80, 24), 20))


def test_what_could_not_be_sent_can_be_copied_and_what_was_told_before_is_only_there_to_read() -> None:
    inbox = Inbox()
    inbox.sending("1", "codex", "@codex hello", ago=7.0)
    inbox.failed("1", "--priority wants a number")
    (box,) = inbox.picture((80, 24), 20)
    assert "--priority wants" in "".join(text for text, _ in box.lines[1])
    inbox.seen("1")
    assert inbox.picture((80, 24), 20) == []
    inbox.focus(True)
    (box,) = inbox.picture((80, 24), 20)
    assert "failed after 7 s" in "".join(text for text, _ in box.lines[0])
    assert inbox.keys(b"c") == [Copy("@codex hello")]


def asked(prompt: str, secret: bool = False) -> Inbox:
    inbox = Inbox(Clock())
    inbox.sending("1", "codex", "do it")
    inbox.asks("1", prompt, secret)
    inbox.focus(True)
    inbox.picture(SIZE, 20)
    return inbox


def test_a_secret_is_not_shown() -> None:
    inbox = asked("Password:", secret=True)
    inbox.keys(b"ahunter2")
    shown = text(inbox.picture(SIZE, 20))
    assert "hunter2" not in shown and "•••••••" in shown
    assert inbox.keys(b"\r") == [Answer("1", "hunter2")]
    inbox.asks("1", "Which file?")
    inbox.keys(b"amain")
    assert "main" in text(inbox.picture(SIZE, 20))


def test_an_answer_is_never_given_to_the_next_question() -> None:
    inbox = asked("Read it?")
    inbox.keys(b"aye")
    inbox.asks("1", "Read it?")  # told again
    assert "answer › ye" in text(inbox.picture(SIZE, 20))
    inbox.asks("1", "Delete it?")
    assert inbox.keys(b"s\r") == []
    inbox.asks("1", "Delete everything?")
    inbox.keys(b"ax")
    inbox.asks("1", "Delete it?")
    assert "it asks something else now" in text(inbox.picture(SIZE, 20))


def test_an_answer_names_the_question_that_was_read() -> None:
    inbox = Inbox(Clock())
    inbox.sending("1", "codex", "go")
    inbox.asks("1", "Run it?", question="3f9c01ab")
    inbox.focus(True)
    inbox.picture(SIZE, 20)
    assert inbox.keys(b"ay\r") == [Answer("1", "y", "3f9c01ab")]
    inbox.keys(b"ay")
    inbox.asks("1", "Run it?", question="5d20c7ee")  # it reads the same, and is another one
    assert "it asks something else now" in text(inbox.picture(SIZE, 20))
    assert inbox.keys(b"ay\r") == [Answer("1", "y", "5d20c7ee")]


def test_an_answer_that_was_not_taken_is_there_to_be_sent_again() -> None:
    inbox = asked("Which?")
    inbox.keys(b"amain\rq")
    assert inbox.picture(SIZE, 20) == []
    inbox.not_taken("1", "main", "codex cannot be reached.")
    assert "codex cannot be reached" in text(inbox.picture(SIZE, 20)), "the panel is closed: a toast"
    inbox.focus(True)
    assert "Which?" in text(inbox.picture(SIZE, 20)) and "cannot be reached" in text(inbox.picture(SIZE, 20))
    inbox.keys(b"a")
    assert "answer › main" in text(inbox.picture(SIZE, 20))
    assert inbox.keys(b"\r") == [Answer("1", "main")]
    inbox.asks("1", "Which else?")
    inbox.keys(b"a")
    assert "answer ›  " in text(inbox.picture(SIZE, 20)), "that was for the other question"
    inbox.keys(b"\x1b")
    inbox.asks("1", "Password:", secret=True)
    inbox.not_taken("1", "hunter2", "no")
    assert inbox.keys(b"a\r") == [], "a secret is not kept"


def test_an_empty_answer_is_sent_where_it_is_one() -> None:
    inbox = asked("ok? [Enter]")
    inbox.keys(b"a")
    assert "send an empty answer" not in text(inbox.picture(SIZE, 20))
    assert inbox.keys(b"\r") == [], "back, as there is nothing to send"
    inbox.asks("1", "ok? [Enter]", may_be_empty=True)
    inbox.keys(b"a")
    assert "Enter send an empty answer" in text(inbox.picture(SIZE, 20))
    inbox.keys(b"x")
    assert "Enter send" in text(inbox.picture(SIZE, 20))
    assert inbox.keys(b"\x7f\r") == [Answer("1", "")]
    assert "answer sent" in text(inbox.picture(SIZE, 20))
    assert inbox.keys(b"a\x1b") == []


def test_a_note_is_one_line_that_no_terminal_acts_on() -> None:
    inbox = opened()
    inbox.not_taken("1", "an answer", "no \x1b[31m\nsecond")
    shown = text(inbox.picture(SIZE, 20))
    assert "│ no " in shown and "\x1b" not in shown and "second" not in shown


def test_what_is_being_read_is_not_dropped() -> None:
    inbox = opened("the reply that is read")
    for number in range(200):
        inbox.sending(f"later-{number}", "gemini", "")
        inbox.reply(f"later-{number}", "more")
    assert "the reply that is read" in text(inbox.picture(SIZE, 20)) and len(inbox.entries) == 100


def test_a_toast_names_what_would_be_run_and_a_number_does_not_answer_what_nobody_saw() -> None:
    inbox = Inbox(clock=lambda: 0.0)
    inbox.sending("1", "codex", "do it")
    inbox.asks("1", "Proceed?\n1. Yes", subject="rm -rf build")
    boxes = inbox.picture((80, 24), 0)
    assert "rm -rf build" in str(boxes)
    inbox.asks("1", "Proceed?", in_words=True)
    inbox.focus(True)
    assert inbox.keys(b"a1\r") == [] and "in words" in str(inbox.picture((80, 24), 0))
    assert inbox.keys(b"aYes\r") == [Answer("1", "Yes")]
