"""The small parts of `synapse-shell`: lines, completion, history, marks, what is unfinished."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from synapse.keys.commands import Command, Refusal
from synapse.peers.base import Listed
from synapse.peers.directory import open_directory
from synapse.peers.external.agents import ExternalAgent, ExternalAgentRegistry
from synapse.shell import completion
from synapse.shell.agent_lines import AgentLines, is_whole
from synapse.shell.channel import AWAITS_COMMAND, Channel, CommandEnded
from synapse.shell.command_readers import whole_command
from synapse.shell.completeness import Completeness
from synapse.shell.dialects import BASH, FISH, POSIX, ZSH, Dialect, find_shell, quoted
from synapse.shell.history import KEPT, History
from synapse.shell.prompt_marks import PromptMarks
from tests.support.home import Home

PATTERN = r"^@([\w-]+)\s+(.+)$"
LINES = AgentLines(PATTERN, waits=False)


def command(line: str, lines: AgentLines = LINES) -> Command:
    found = lines.parse(line)
    assert isinstance(found, Command), found
    return found


# --- lines --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("line", ["@a hi", "@a", "@a ", "@a\nhi", "@Gemini 明日の天気は？", "@nobody hi"])
def test_for_an_agent(line: str) -> None:
    assert LINES.is_for_agent(line)


@pytest.mark.parametrize("line", ["ls", "echo @a hi", "@", "@file.py x", "./@a hi", " @a hi", "me@a hi", ""])
def test_for_the_shell(line: str) -> None:
    assert not LINES.is_for_agent(line)


def test_whether_to_wait() -> None:
    waiting = AgentLines(PATTERN, waits=True)
    for line in ("@a --return hi", "@a hi --return", "@a --priority 2 --here hi", "@a hi --response "):
        assert command(line).wait and command(line).message == "hi", line
    for line in ("@a --no-wait hi", "@a hi --display", "@a --non-response hi"):
        assert not command(line, waiting).wait and command(line, waiting).message == "hi", line
    assert not command("@a hi").wait and command("@a hi", waiting).wait
    assert command("@a 'why does --return fail'").message == "why does --return fail"
    assert command("@a why does --return fail").message == "why does --return fail"
    assert command("@a -- why --return").message == "why --return" and not command("@a -- why --return").wait


def test_a_message_of_several_lines() -> None:
    assert not is_whole("@a one \\") and is_whole("@a one \\\\") and is_whole("@a it's")
    assert command("@a one\\\ntwo").message == "one\ntwo"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("@a", "no message for a"),
        ("@a --priority 9 x", "from 1 to 5"),
        ("@a --retrun x", "--retrun is no flag (nearest: --return; `--` ends the flags)"),
    ],
)
def test_refused(line: str, said: str) -> None:
    found = LINES.parse(line)
    assert isinstance(found, Refusal) and said in found.reason


# --- completion ---------------------------------------------------------------------------------------------

AGENTS = [Listed("claude", "claude, ready"), Listed("codex", "codex, processing"), Listed("all", "everybody")]
SENT = ["@codex --return look at this", "@claude look there", "@claude look at this"]


def test_who_can_be_started_is_offered(home: Home) -> None:
    assert open_directory(startable=["gemini"]).listed() == [Listed("gemini", "not running")]


def test_a_name_is_offered_once_for_whoever_would_be_sent_it(home: Home) -> None:
    registry = home.registry  # it is registered for as long as this lives
    registry.register("f" * 64, "claude", 8100, name="reviewer")
    for alias in ("Reviewer", "far"):
        ExternalAgentRegistry().add(ExternalAgent("Far", "http://127.0.0.1:1", alias=alias))
    found = open_directory(startable=["far", "reviewer", "gemini"]).listed()
    assert [person.name for person in found] == ["reviewer", "all", "all-here", "far", "gemini"]
    assert found[0].about == "claude, processing"
    registry.unregister("f" * 64)


def choices(text: str) -> list[str]:
    return [choice.text for choice in completion.for_agent(text, AGENTS, SENT)]


def test_names_flags_and_what_was_sent() -> None:
    assert choices("@") == ["@claude ", "@codex ", "@all "]
    assert choices("@C") == ["@claude ", "@codex "]
    assert choices("@codex --p") == ["--priority "]
    assert "--return " not in choices("@codex --return ") and "--no-wait " in choices("@codex --return ")
    assert choices("@codex look") == ["look at this", "look there"]
    assert choices("@codex --priority 2 look t") == ["look there"]
    assert choices("@codex look at this") == [] and choices("hello") == []


def test_files_and_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a folder").mkdir()
    (tmp_path / "a folder" / "inner").touch()
    (tmp_path / "prog").touch()

    def found(text: str) -> list[str]:
        return [choice.text for choice in completion.for_shell(text, str(tmp_path))]

    assert found("pr") == ["prog "] and found("ls | pr") == ["prog "] and found("") == []
    assert found("ls a") == ["a\\ folder/"]
    assert found("ls a\\ f") == ["a\\ folder/"]
    assert found("ls a\\ folder/") == ["a\\ folder/inner "]
    assert found(f"cat {tmp_path}/p") == [f"{tmp_path}/prog "]
    assert found("ls /no/such/folder/x") == []


# --- history ------------------------------------------------------------------------------------------------


def test_the_history_keeps_lines_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "home" / "history"
    history = History(str(path))
    lines = ["ls", "@a hi", "two\nlines", "back\\slash \\n", "@a hi", "caf\udce9"]
    for line in (*lines, "caf\udce9", " not kept", "  "):
        history.add(line)
    assert History(str(path)).entries == lines == history.entries
    assert history.sent() == ["@a hi"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_the_history_does_not_grow_for_ever_nor_fail(tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_text("".join(f"line {n}\n" for n in range(KEPT + 3000)))
    assert len(History(str(path)).entries) == KEPT
    assert path.read_text().count("\n") == KEPT
    unwritable = History("/proc/nowhere/history")
    unwritable.add("kept here")
    assert unwritable.entries == ["kept here"]


# --- marks and facts ----------------------------------------------------------------------------------------


def test_marks_are_cut_out_wherever_they_are_split() -> None:
    for size in (1, 2, 3, 7, 1000):
        marks = PromptMarks()
        stream = f"one{marks.prompt}two\x1b]77{marks.hide}unseen{marks.prompt}three\x1b]7711;".encode()
        shown = b"".join(marks.feed(stream[at : at + size]) for at in range(0, len(stream), size))
        assert shown + marks.rest() == b"onetwo\x1b]77three\x1b]7711;"
        assert marks.seen == 2


def test_facts(home: Home) -> None:
    channel = Channel()
    folder = Path(channel.folder)
    with open(folder / "facts", "wb", buffering=0) as pipe:
        pipe.write(b"T\0E130 2 /a dir\nectory\0E7 0 /x")
        assert channel.read()[0] == AWAITS_COMMAND
        pipe.write(b"\0nonsense\0")
        assert channel.read() == [CommandEnded(7, 0, b"/x")]
    channel.give("ls")
    assert stat.S_IMODE((folder / "line").stat().st_mode) == 0o600
    channel.close()
    assert not folder.exists()


# --- whole or not -------------------------------------------------------------------------------------------

HERE = [
    pytest.param(shutil.which(name), dialect, id=name)
    for name, dialect in (("bash", BASH), ("zsh", ZSH), ("dash", POSIX), ("fish", FISH))
    if shutil.which(name)
]


@pytest.mark.parametrize(("program", "dialect"), HERE)
def test_what_goes_on_in_the_next_line(program: str, dialect: Dialect) -> None:
    whole = Completeness(program, dialect).is_whole
    for text in ("ls", "echo 'a b'", "", "echo \\\\", "echo it is", "echo )"):
        assert whole(text), text
    unfinished = [
        "echo 'a",
        "for i in 1 2; do",
        "if true; then",
        "echo $(ls",
        "echo a |",
        "echo a \\",
        'echo "a\nb',
    ]
    if dialect is FISH:
        unfinished = ["echo 'a", "for i in 1 2", "if true", "function f", "echo (ls", "echo a |", "echo a \\"]
    else:
        unfinished += ["cat <<E", "cat <<E\nx", "f() {", "{ echo", "case x in"]
        assert whole("cat <<E\nx\nE") and whole("# comment \\")
    for text in unfinished:
        assert not whole(text), text


def test_a_shell_that_cannot_be_asked_is_given_everything() -> None:
    assert Completeness("/no/such/shell", BASH).is_whole("for")


def test_lines_until_they_make_a_command() -> None:
    lines = iter([b"one \\\n", b"two\xff\n", b"three"])

    def read() -> bytes:
        return next(lines, b"")

    assert whole_command(read, lambda text: not text.endswith("\\")) == "one \\\ntwo\udcff"
    assert whole_command(read, lambda text: False) == "three"
    with pytest.raises(EOFError):
        whole_command(read, lambda text: True)


def test_the_users_shell() -> None:
    assert find_shell({"SHELL": shutil.which("bash") or "/bin/sh"})[1] in (BASH, POSIX)
    assert find_shell({"SHELL": "/bin/tcsh"}) == ("/bin/sh", POSIX)
    assert os.access(find_shell({})[0], os.X_OK)
    assert quoted("bash", "it's") == "'it'\\''s'" and quoted("fish", "it's\\") == "'it\\'s\\\\'"
