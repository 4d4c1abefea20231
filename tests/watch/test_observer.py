"""Everything joined: bytes, events and keys in, with a clock of our own."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synapse.agents.base import TRANSCRIPT, Channel, Surroundings, open_channel
from synapse.agents.facts import Denied, Fact, PromptAccepted, Said, StateSeen, TurnEnded
from synapse.profiles.loader import load_profile
from synapse.registry import INPUT_REQUIRED, PROCESSING, READY
from synapse.terminal.screen import make_screen
from synapse.watch.observer import Observer
from synapse.watch.screen.composer import DIALOG, DRAFT, EMPTY
from synapse.watch.screen.reader import Place
from tests.support.home import Home

NOWHERE = Surroundings("/nonexistent", {"HOME": "/nonexistent"}, 0.0)
IDLE = "\x1b[2J\x1b[H● hello\r\n\r\n" + "─" * 60 + "\r\n❯ \r\n" + "─" * 60 + "\r\n  ? for shortcuts\x1b[4;3H"
MENU = "\x1b[2J\x1b[H Do you want to proceed?\r\n ❯ 1. Yes\r\n   2. No\r\n\r\n Esc to cancel\x1b[?25l"


class Agent:
    """A CLI as the observer sees it; time passes only when told to."""

    def __init__(self, name: str, channel: Channel | None = None) -> None:
        self.now = 0.0
        self.screen = make_screen(80, 24)
        self.seen: list[str] = []
        channel = channel or open_channel(load_profile(name).channel, NOWHERE)
        self.observer = Observer(
            load_profile(name), self.screen, channel, lambda verdict: self.seen.append(verdict.status)
        )

    def writes(self, text: str) -> None:
        self.screen.feed(text.encode())
        self.observer.output(self.now)

    def hook(self, name: str, **more: Any) -> None:
        self.observer.event({"hook_event_name": name, **more}, self.now)

    def after(self, seconds: float) -> str:
        until = self.now + seconds
        while self.now < until:
            wait = self.observer.check(self.now)
            self.now = min(until, self.now + (wait if wait is not None else seconds))
        self.observer.check(self.now)
        return self.observer.verdict.status


def test_an_error_that_an_agent_tells_by_itself_is_the_turns() -> None:
    agent = Agent("dummy")
    agent.observer.event({"event": "turn_started", "prompt": "save it"}, agent.now)
    told = {"code": "DISK_FULL", "message": "there is no room left"}
    agent.observer.event({"event": "turn_ended", "outcome": "failed", "error": told}, agent.now)
    turn = agent.observer.turns.finished[-1]
    assert (turn.outcome, turn.error) == ("failed", told)


def test_a_turn_of_claude_by_its_hooks() -> None:
    claude = Agent("claude")
    claude.writes("\x1b]0;✳ Claude Code\x07" + IDLE)
    assert claude.after(1) == READY
    claude.hook("UserPromptSubmit", prompt="hello")
    assert claude.observer.verdict.status == PROCESSING
    claude.writes("\x1b]0;⠂ Claude Code\x07")
    assert claude.after(20) == PROCESSING
    claude.hook("Stop", last_assistant_message="**hi**")
    assert claude.observer.verdict.status == READY
    (turn,) = claude.observer.turns.finished
    assert (turn.prompt, turn.reply, turn.source) == ("hello", "**hi**", "exact")


def test_hooks_twice_out_of_order_or_never_do_no_harm() -> None:
    claude = Agent("claude")
    claude.hook("Stop", last_assistant_message="late")
    claude.hook("Stop", last_assistant_message="late")
    claude.hook("UserPromptSubmit", prompt="one")
    claude.hook("UserPromptSubmit", prompt="one")
    claude.writes("\x1b]0;✳ Claude Code\x07" + IDLE)
    assert claude.after(3) == READY, "the Stop was lost; title and screen heal it"
    assert claude.observer.turns.current is None


def test_a_permission_request_and_its_answer() -> None:
    claude = Agent("claude")
    claude.hook("UserPromptSubmit", prompt="do it")
    claude.hook("PermissionRequest")
    claude.writes("\x1b]0;✳ Claude Code\x07" + MENU)
    assert claude.after(1) == INPUT_REQUIRED
    assert claude.observer.prompt is not None and claude.observer.prompt.options == ["Yes", "No"]
    claude.writes("\x1b]0;⠂ Claude Code\x07\x1b[2J\x1b[?25h")
    claude.hook("PostToolUse")
    assert claude.after(0.5) == PROCESSING and claude.observer.prompt is None


def test_a_permission_request_that_comes_after_its_dialog_says_what_that_is_about() -> None:
    claude = Agent("claude")
    claude.hook("UserPromptSubmit", prompt="do it")
    claude.writes("\x1b]0;✳ Claude Code\x07" + MENU)
    claude.hook("Notification", notification_type="permission_prompt")  # both hooks run at the same time
    assert claude.after(1) == INPUT_REQUIRED
    asked = claude.observer.prompt
    assert asked is not None and asked.detail != "make all\nmake clean"
    claude.hook("PermissionRequest", tool_name="Bash", tool_input={"command": "make all\nmake clean"})
    assert claude.after(1) == INPUT_REQUIRED
    told = claude.observer.prompt
    assert told is not None and told.detail == "make all\nmake clean" and told.options == asked.options


def test_text_that_is_not_drawn_yet_is_not_taken_for_nothing() -> None:
    """A CLI that has just ended its turn draws that first. An empty composer says nothing until the text
    has had time to appear."""
    claude = Agent("claude")
    claude.writes("\x1b]0;✳ Claude Code\x07" + IDLE)
    assert claude.after(1) == READY and claude.observer.is_composer_current
    for shows in (True, False):
        claude.observer.key(False, claude.now, text=True)
        claude.writes("\x1b[1;3Hhello\x1b[4;3H")
        claude.after(0.6)
        assert claude.observer.composer.state == EMPTY and not claude.observer.is_composer_current
        if shows:
            claude.writes("@b hi")
            claude.after(0.3)
            assert claude.observer.composer.text == "@b hi" and claude.observer.is_composer_current
            claude.writes("\x1b[4;3H\x1b[K")
            claude.after(0.3)
    claude.after(0.5)
    assert claude.observer.is_composer_current, "it was a key that the CLI knows"


def test_typing_at_an_idle_agent_is_not_work() -> None:
    dummy = Agent("dummy")
    dummy.writes("dummy> ")
    assert dummy.after(1) == READY
    dummy.seen.clear()
    for letter in "hello":
        dummy.observer.key(False, dummy.now)
        dummy.writes(letter)
        dummy.after(0.1)
    assert dummy.seen == []
    dummy.observer.key(True, dummy.now)
    dummy.writes("\r\nYou said: hello\r\ndummy> ")
    assert dummy.seen == [PROCESSING]
    assert dummy.after(2) == READY
    assert dummy.observer.turns.finished[0].reply == "You said: hello"


def test_a_pause_in_typing_is_not_work_either() -> None:
    dummy = Agent("dummy")
    dummy.writes("dummy> ")
    assert dummy.after(1) == READY
    dummy.seen.clear()
    for letter in "hello":
        dummy.observer.key(False, dummy.now)
        dummy.writes(letter)
        dummy.after(0.25)
    assert dummy.seen == []


def test_enter_while_a_paste_is_still_painted_is_a_turn() -> None:
    dummy = Agent("dummy")
    dummy.writes("dummy> ")
    dummy.after(1)
    dummy.writes("a line that nobody typed\r\ndummy> ")
    assert dummy.observer.verdict.status == PROCESSING
    dummy.observer.key(True, dummy.now)
    assert dummy.after(0.4) == READY
    dummy.writes("\r\nworking")
    assert dummy.observer.verdict.status == PROCESSING, "this is no echo"


def test_an_enter_that_the_title_does_not_answer_is_no_turn() -> None:
    """Gemini, while it starts, queues the prompt; and a command of its own begins nothing either."""
    gemini = Agent("gemini")
    gemini.writes("\x1b]0;◇  Ready (work)\x07 > hello")
    assert gemini.after(1) == READY
    gemini.observer.key(True, gemini.now)
    gemini.writes("\r\nQueued (press ↑ to edit):\r\n  hello")
    gemini.after(3)
    assert gemini.observer.turns.current is None and not gemini.observer.turns.finished


class Chat(Channel):
    """A transcript, as long as it has been written."""

    name = "gemini"

    def __init__(self) -> None:
        super().__init__(NOWHERE)
        self.facts: list[Fact] = []

    def poll(self) -> list[Fact]:
        facts, self.facts = self.facts, []
        return facts


def asked() -> tuple[Agent, Chat]:
    """Enter has just been pressed."""
    chat = Chat()
    gemini = Agent("gemini", chat)
    gemini.writes("\x1b]0;◇  Ready (work)\x07 > hello")
    assert gemini.after(5) == READY
    gemini.observer.key(True, gemini.now)
    return gemini, chat


def test_a_turn_that_is_over_before_its_chat_is_read() -> None:
    """Title, screen and chat have all gone on by the time anybody looks; nothing is written after that."""
    gemini, chat = asked()
    gemini.writes("\x1b]0;✦  Working… (work)\x07")
    gemini.writes("\x1b]0;◇  Ready (work)\x07\r\n✦ hi\r\n\r\n > ")
    gemini.after(0.2)
    chat.facts = [PromptAccepted("transcript", "hello"), Said("transcript", "hi", "2")]
    gemini.after(1)
    (turn,) = gemini.observer.turns.finished
    assert (turn.prompt, turn.reply, turn.source, turn.outcome) == ("hello", "hi", "transcript", "completed")


def test_an_accepted_prompt_that_nothing_more_is_heard_of_is_over_too() -> None:
    gemini, chat = asked()
    chat.facts = [PromptAccepted("transcript", "hello")]
    gemini.after(5)
    (turn,) = gemini.observer.turns.finished
    assert turn.prompt == "hello" and turn.outcome == "completed"


def test_a_message_that_a_long_reply_has_moved_off_the_screen_is_not_waited_for() -> None:
    chat = Chat()
    qwen, rule = Agent("qwen", chat), "─" * 60
    box = f"{rule}\r\n> {{}}\r\n{rule}\r\n  ➜ work\x1b[2A\r\x1b[{{}}C"
    qwen.writes("\x1b]0;Qwen - work\x07\x1b[2J\x1b[H  ◆ hi\r\n\r\n" + box.format("count to a hundred", 20))
    assert qwen.after(2) == READY and qwen.observer.composer.text == "count to a hundred"
    qwen.observer.key(True, qwen.now)
    assert qwen.after(0.1) == PROCESSING  # nothing shows yet that it was taken
    chat.facts = [PromptAccepted("transcript", "count to a hundred"), Said("transcript", "1 2 3", "2")]
    qwen.writes(
        "\x1b[2J\x1b[H" + "".join(f"    {n}\r\n" for n in range(90, 101)) + "\r\n" + box.format("", 2)
    )
    assert qwen.after(2) == READY
    assert [turn.reply for turn in qwen.observer.turns.finished] == ["1 2 3"]


def test_an_interrupted_turn_waits_for_the_screen() -> None:
    codex = Agent("codex")
    codex.writes("\x1b]7501;state=working:app=codex\x07")
    codex.observer._take([PromptAccepted("transcript", "count")], codex.now)
    codex.after(1)
    codex.observer._take([TurnEnded("transcript", "interrupted")], codex.now)
    codex.writes("\x1b]7501;state=idle:app=codex\x07\x1b[H› count\r\n\r\n\r\n• one two\r\n\r\n")
    codex.writes("■ Conversation interrupted\r\n\r\n› Ask Codex\r\n\r\n  gpt · ~/work")
    codex.after(1)
    (turn,) = codex.observer.turns.finished
    assert (turn.outcome, turn.reply) == ("interrupted", "one two")


END = "[RESPONSE_END]"


def marked(home: Home) -> Agent:
    """A program without a channel that works on for minutes, and marks the end of each answer."""
    home.profile("marked", f"command: cat\nresponse_end: '{END}'\nidle_detection: {{timeout: 60}}\n")
    agent = Agent("marked")
    agent.writes("welcome\r\n> ")
    return agent


def test_the_marker_of_the_profile_ends_a_turn_at_once(home: Home) -> None:
    agent = marked(home)
    agent.observer.submit(agent.now, "[A2A:1:b] say it")
    agent.writes("[A2A:1:b] say it\r\nthe answer\r\nof two lines ")
    agent.after(2)
    assert agent.observer.turns.current is not None
    agent.writes(f"{END}\r\nstill printing\r\n")
    (turn,) = agent.observer.turns.finished
    assert (turn.outcome, turn.reply, turn.ended_at) == ("completed", "the answer\nof two lines", agent.now)
    assert agent.observer.verdict.status == PROCESSING, "the program is not idle yet"


def test_the_marker_in_the_prompt_or_in_an_earlier_answer_ends_nothing(home: Home) -> None:
    agent = marked(home)
    agent.writes(f"earlier\r\n{END}\r\n> ")
    prompt = f"[A2A:2:b] {'please ' * 9}end with {END}"
    agent.observer.submit(agent.now, prompt)
    agent.after(2)
    assert agent.observer.turns.current is not None, "before the echo"
    agent.writes(f"{prompt}\r\n")
    agent.after(2)
    agent.writes("the ")
    agent.after(2)
    assert agent.observer.turns.current is not None, "after the echo"
    agent.writes(f"answer\r\n{END}")
    assert agent.observer.turns.finished[-1].reply == "the answer"


def test_a_marker_that_was_there_before_the_turn_was_known_ends_it_too(home: Home) -> None:
    agent = marked(home)
    agent.writes(f"[A2A:3:b] hi\r\nhello{END}\r\n> ")
    agent.observer.submit(agent.now, "[A2A:3:b] hi", Place(0))
    agent.after(0)
    assert agent.observer.turns.finished[-1].reply == "hello"


def test_a_marker_that_is_cut_by_the_edge_of_the_window_counts(home: Home) -> None:
    agent = marked(home)
    agent.observer.submit(agent.now, "[A2A:4:b] hi")
    agent.writes(f"[A2A:4:b] hi\r\nshort\r\n{'y' * 74}{END}")
    assert agent.observer.turns.finished[-1].reply == f"short\n{'y' * 74}"


def test_an_agent_that_ends_fails_its_turn() -> None:
    claude = Agent("claude")
    claude.hook("UserPromptSubmit", prompt="x")
    claude.observer.exited(3, 1.0)
    assert claude.observer.turns.finished[0].outcome == "failed"
    assert "status 3" in claude.observer.explain(1.0)["error"]["message"]


def test_without_any_evidence_it_says_so() -> None:
    why = Agent("codex").observer.explain(5.0)
    assert why["status"] == PROCESSING and why["confidence"] < 0.5 and why["missing"]


steps = st.one_of(
    st.tuples(st.just("bytes"), st.binary(max_size=40)),
    st.tuples(
        st.just("bytes"),
        st.sampled_from([IDLE.encode(), MENU.encode(), b"\x1b]0;\xe2\x9c\xb3 x\x07", b"\x1b["]),
    ),
    st.tuples(st.just("event"), st.sampled_from(["Stop", "UserPromptSubmit", "PermissionRequest", "x", ""])),
    st.tuples(st.just("key"), st.booleans()),
    st.tuples(st.just("wait"), st.floats(0.001, 5)),
    st.tuples(st.just("resize"), st.integers(0, 90)),
)


@settings(max_examples=80)
@given(st.sampled_from(["claude", "codex", "gemini", "dummy"]), st.lists(steps, max_size=25))
def test_whatever_happens_it_goes_on(name: str, happening: list[tuple[str, Any]]) -> None:
    agent = Agent(name)
    for kind, value in happening:
        if kind == "bytes":
            agent.screen.feed(value)
            agent.observer.output(agent.now)
        elif kind == "event":
            agent.hook(value, prompt=value, transcript_path="/nonexistent/x")
        elif kind == "key":
            agent.observer.key(value, agent.now)
        elif kind == "resize":
            agent.screen.resize(value, value // 3)
        else:
            agent.after(value)
    assert agent.observer.explain(agent.now)["status"] in (READY, PROCESSING, INPUT_REQUIRED)


def test_the_composer_is_reported_when_it_changes_and_after_each_key() -> None:
    claude = Agent("claude")
    found: list[tuple[str, str | None]] = []
    claude.observer.on_composer(lambda seen: found.append((seen.state, seen.text)))
    claude.writes(IDLE)
    claude.after(1)
    assert found == [(EMPTY, None)]
    claude.observer.key(False, claude.now)
    claude.writes("\x1b[4;3Hhi")
    claude.after(0.2)
    assert found == [(EMPTY, None), (DRAFT, "hi")]
    claude.observer.key(False, claude.now)  # Escape, which shows nothing
    claude.after(0.3)
    assert len(found) == 2  # its echo may still come
    claude.after(0.3)
    assert found[2:] == [(DRAFT, "hi")]
    claude.observer.key(False, claude.now)
    claude.writes(MENU)
    claude.after(1)
    assert found[3:] == [(DIALOG, None)]
    assert claude.observer.explain(claude.now)["composer"]["state"] == DIALOG


def test_the_composer_is_seen_while_the_output_never_pauses() -> None:
    claude = Agent("claude")
    claude.writes(IDLE + "\x1b[4;3Hhi")
    claude.after(1)
    claude.observer.key(True, claude.now)
    claude.writes(IDLE)
    for number in range(30):
        claude.writes(f"\x1b7\x1b[1;1H● hello {number}\x1b8")
        claude.after(0.05)
    assert claude.observer.composer.state == EMPTY


def test_a_line_mode_agent_has_a_draft_behind_its_prompt() -> None:
    dummy = Agent("dummy")
    dummy.writes("dummy> ")
    assert dummy.after(1) == READY
    assert dummy.observer.composer.state == EMPTY
    dummy.observer.key(False, dummy.now)
    dummy.writes("hello")
    dummy.after(1)
    assert (dummy.observer.composer.state, dummy.observer.composer.text) == (DRAFT, "hello")
    dummy.observer.key(True, dummy.now, "hello")
    dummy.writes("\r\nYou said: hello\r\ndummy> ")
    dummy.after(1)
    assert dummy.observer.composer.state == EMPTY


def test_text_that_does_not_show_yet_leaves_the_composer_unconfirmed() -> None:
    """Codex may take seconds to show text that came in one piece."""
    claude = Agent("claude")
    found: list[str] = []
    claude.writes(IDLE)
    claude.after(1)
    claude.observer.on_composer(lambda seen: found.append(seen.state))
    claude.observer.key(False, claude.now, text=True)
    claude.after(5)
    assert found == []
    claude.writes("\x1b[4;3Hhi")
    claude.after(1)
    assert found == [DRAFT]


TOOL = {"tool_name": "Bash", "tool_input": {"command": "rm -rf build"}}


def at_permission() -> Agent:
    claude = Agent("claude")
    claude.writes(IDLE)
    claude.after(1)
    claude.hook("UserPromptSubmit", prompt="hello")
    claude.after(1)
    claude.hook("PermissionRequest", **TOOL)
    claude.writes(MENU)
    assert claude.after(1) == INPUT_REQUIRED
    return claude


def test_a_dialog_that_shows_nothing_is_explained_by_its_hook() -> None:
    claude = at_permission()
    prompt = claude.observer.prompt
    assert prompt is not None and prompt.subject == "rm -rf build" and not prompt.unseen
    claude.hook("PostToolUse", **TOOL)
    claude.writes(MENU)
    claude.after(1)
    prompt = claude.observer.prompt
    assert prompt is not None and prompt.subject is None and prompt.unseen


def test_a_turn_that_stops_at_a_permission_prompt_was_denied_and_a_later_stop_is_none() -> None:
    for wait, denied in ((0.2, "rm -rf build"), (5.0, None)):
        claude = at_permission()
        claude.writes(IDLE)
        claude.after(wait)
        claude.observer._take([TurnEnded("transcript", "interrupted")], claude.now)
        claude.after(2)
        assert claude.observer.turns.finished[-1].denied == denied


def test_a_turn_that_goes_on_after_a_denial_was_not_denied() -> None:
    claude = at_permission()
    claude.observer._take([Denied("transcript")], claude.now)
    assert claude.observer.turns.current is not None
    assert claude.observer.turns.current.denied == "rm -rf build"
    claude.observer._take([Said("transcript", "Then I do it otherwise.")], claude.now)
    assert claude.observer.turns.current.denied is None


MESSAGE = "[A2A:12345678:user] tell me"


def test_a_message_that_was_seen_while_it_was_typed_is_no_draft() -> None:
    claude = Agent("claude")
    claude.writes(IDLE)
    claude.after(1)
    claude.observer.key(False, claude.now)
    claude.writes(IDLE.replace("❯ ", f"❯ {MESSAGE}"))
    claude.after(0.25)
    assert (claude.observer.composer.state, claude.observer.is_composer_current) == (DRAFT, True)
    claude.observer.submit(claude.now, MESSAGE, claude.observer.place())
    claude.hook("UserPromptSubmit", prompt=MESSAGE)
    claude.hook("Stop")
    claude.after(0.1)
    assert not claude.observer.is_composer_current
    claude.writes(IDLE)
    claude.after(1)
    assert (claude.observer.composer.state, claude.observer.is_composer_current) == (EMPTY, True)


class Unknown(Agent):
    """A program of which only the command is known."""

    def __init__(self) -> None:
        super().__init__("dummy", Channel(NOWHERE))

    def asked(self) -> None:
        place = self.observer.place()
        self.observer.key(False, self.now)
        self.observer.submit(self.now, MESSAGE, place)


def test_a_program_that_shows_no_prompt_is_starting() -> None:
    program = Unknown()
    program.writes("\x1b[?25l\x1b[5;20HGRAND SPLASH SCREEN")
    assert program.after(20) == PROCESSING
    program.writes("\x1b[?2004h\x1b[?25h\x1b[2J\x1b[20;4H| ")
    assert program.after(5) == READY


def test_a_program_that_never_shows_one_is_ready_after_a_long_silence() -> None:
    program = Unknown()
    program.writes("\x1b[?1049h\x1b[?2004h")
    assert program.after(100) == PROCESSING  # nothing is on its screen
    program.writes("\x1b[2J\x1b[5;20HGRAND SPLASH SCREEN\x1b[?2004l\x1b[?25l")
    assert program.after(29) == PROCESSING
    assert program.after(5) == READY


def test_a_program_that_reads_without_a_word_is_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `cat` does."""
    program = Unknown()
    assert program.after(100) == PROCESSING
    monkeypatch.setattr(Surroundings, "reads_terminal", lambda self: True)
    program = Unknown()
    assert program.after(5) == READY
    assert program.observer.composer.state == EMPTY


def test_a_message_without_an_echo_has_no_reply() -> None:
    program = Unknown()
    program.writes("welcome\r\nsome earlier text\r\n$ ")
    assert program.after(5) == READY
    program.asked()
    program.writes("\r\nwho knows what this is\r\n$ ")
    program.after(20)
    assert not program.observer.turns.finished
    program.after(20)
    (turn,) = program.observer.turns.finished
    assert turn.error is not None and (turn.outcome, turn.error["code"], turn.reply) == (
        "failed",
        "NO_REPLY",
        "",
    )


def test_an_echo_with_nothing_after_it_waits_for_a_prompt() -> None:
    program = Unknown()
    program.writes("welcome\r\n$ ")
    assert program.after(5) == READY
    program.asked()
    program.writes(f"{MESSAGE}\r\n")
    program.after(20)
    assert not program.observer.turns.finished
    program.writes("$ ")
    program.after(5)
    (turn,) = program.observer.turns.finished
    assert (turn.outcome, turn.reply) == ("completed", "")


def test_codex_is_not_ready_while_its_server_starts() -> None:
    """It is silent then, for 20 s on a busy machine, and its composer is there already."""
    codex = Agent("codex")
    codex.writes("\x1b[2J")
    assert codex.after(5) == PROCESSING
    head = "\x1b[2J\x1b[H\r\n  >_ OpenAI Codex (v0.166.0)\r\n     ~/work\r\n\r\n"
    codex.writes(f"{head}› Ask Codex to do anything\r\n\r\n\r\n  ? for shortcuts")
    assert codex.after(20) == PROCESSING
    codex.writes(f"{head}› [A2A:x:y] hello\r\n\r\n  Waiting for startup  · esc cancel")
    assert codex.after(20) == PROCESSING
    codex.writes(
        f"{head}› Ask Codex to do anything\r\n\r\n  gpt · ~/work\r\n  ← for agents · ? for shortcuts"
    )
    codex.writes("\x1b]7501;state=idle:app=codex\x07")
    assert codex.after(1) == READY


def test_codex_without_a_status_line_is_ready_if_it_says_so() -> None:
    codex = Agent("codex")
    codex.writes("\x1b[2J\x1b[H\r\n  >_ OpenAI Codex (v0.166.0)\r\n     ~/work\r\n\r\n")
    codex.writes("› Ask Codex to do anything\r\n\r\n\r\n  ? for shortcuts\x1b]7501;state=idle:app=codex\x07")
    assert codex.after(5) == READY


FRAME = "\x1b[?2026h\x1b[39m\x1b[49m\x1b[0m\x1b[?2026l"
MCP_MENU = (
    "\x1b[2J\x1b[H\x1b[?25l• I use a tool.\r\n\r\n◦ Calling\r\n\r\n"
    '  Allow the x MCP server to run tool "y"?\r\n\r\n'
    "  › 1. Allow   Run the tool\r\n    2. Cancel  Do not\r\n  enter to submit | esc to cancel"
)


@pytest.mark.parametrize("late", [False, True], ids=["alone", "with the beginning of the turn read after it"])
def test_a_question_is_seen_while_the_output_never_pauses(late: bool) -> None:
    codex = Agent("codex")
    codex.writes("\x1b]7501;state=blocked:app=codex:kind=permission\x07" + MCP_MENU)
    if late:
        codex.after(0.05)
        working = StateSeen(TRANSCRIPT, (PROCESSING,), "rollout task_started")
        codex.observer._take([working], codex.now)
    for number in range(60):  # three seconds
        codex.writes("\x1b[3;1H" + "•◦"[number // 12 % 2] if number % 12 == 0 else FRAME)
        codex.after(0.05)
        if number > 25:
            prompt = codex.observer.prompt
            assert prompt is not None and prompt.options == ["Allow", "Cancel"], number
            assert codex.observer.composer.state == DIALOG
            if number > 50 or not late:
                assert codex.observer.has_seen_all and codex.observer.verdict.status == INPUT_REQUIRED, number
    codex.writes("\x1b[2J\x1b[H• I use a tool.\r\n")
    codex.after(0.2)
    assert codex.observer.prompt is None


def test_a_question_that_is_asked_again_after_a_key_is_looked_at_again() -> None:
    codex = Agent("codex")
    codex.writes(MCP_MENU)
    codex.after(1)
    assert codex.observer.prompt is not None and codex.observer.has_seen_all
    codex.observer.key(False, codex.now)
    codex.writes(MCP_MENU)
    assert not codex.observer.has_seen_all
    codex.after(1)
    assert codex.observer.prompt is not None and codex.observer.has_seen_all


def test_what_the_output_shows_for_a_moment_is_no_question() -> None:
    codex = Agent("codex")
    for number in range(40):
        codex.writes(MCP_MENU if number % 8 == 0 else f"\x1b[2J\x1b[Hline {number}")
        codex.after(0.1)
        assert codex.observer.prompt is None, number


MODELS = "\x1b[2J\x1b[H Select model\r\n ❯ 1. Opus\r\n   2. Haiku\r\n\r\n Esc to cancel\x1b[?25l"
EFFORT = MODELS.replace("Select model", "Select effort")


def at_its_prompt() -> Agent:
    claude = Agent("claude")
    claude.writes("\x1b]0;✳ Claude Code\x07\x1b[?25h" + IDLE)
    assert claude.after(1) == READY
    return claude


def opens(claude: Agent, menu: str) -> bool:
    """Whether a menu that appears right after Enter is the human's."""
    claude.observer.key(submits=True, now=claude.now)
    claude.writes(menu)
    assert claude.after(3) == INPUT_REQUIRED
    return claude.observer.menu.is_open


def test_a_menu_that_the_human_opens_is_no_question() -> None:
    claude = at_its_prompt()
    assert opens(claude, MODELS)
    assert opens(claude, EFFORT), "one menu has opened the next"
    assert "a menu is open" in claude.observer.composer.why
    claude.writes("\x1b[?25h" + IDLE)
    assert claude.after(1) == READY and not claude.observer.menu.is_open


def test_what_asks_in_a_turn_or_would_run_something_is_a_question() -> None:
    claude = at_its_prompt()
    assert not opens(claude, MENU), "yes would run something"
    claude = at_its_prompt()
    claude.hook("UserPromptSubmit", prompt="which one?")
    assert not opens(claude, MODELS)
    claude = at_its_prompt()
    assert opens(claude, MODELS)
    claude.hook("UserPromptSubmit", prompt="go on with that")
    assert not opens(claude, EFFORT), "a turn has begun since"


def test_what_appears_by_itself_or_at_the_start_is_a_question() -> None:
    claude = at_its_prompt()
    claude.observer.key(submits=True, now=claude.now)
    claude.after(60)
    claude.writes(MODELS)
    assert claude.after(1) == INPUT_REQUIRED and not claude.observer.menu.is_open
    claude = Agent("claude")
    claude.writes("\x1b]0;✳ Claude Code\x07")
    assert not opens(claude, MODELS)
