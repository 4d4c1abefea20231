import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from synapse.base import paths
from synapse.base.commands import COMMANDS
from synapse.base.schema import Section
from synapse.cli import profiles as command
from synapse.errors import ProfileError, UsageError
from synapse.profiles import loader as profiles
from synapse.profiles.loader import clear_steps, instruction_arguments, list_profiles, load_profile, runs_bare
from synapse.registry import RESERVED_NAMES

BUILT_IN = ("claude", "codex", "dummy", "gemini")
Write = Callable[[str, str], Path]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SYNAPSE_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def write(home: Path) -> Write:
    def write(name: str, text: str) -> Path:
        folder = home / "profiles"
        folder.mkdir(exist_ok=True)
        path = folder / (name if "." in name else name + ".yaml")
        path.write_text(text)
        return path

    return write


def problems(name: str) -> list[str]:
    with pytest.raises(ProfileError) as raised:
        load_profile(name)
    return str(raised.value).splitlines()


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_built_in_profiles_load(name: str) -> None:
    profile = load_profile(name)
    assert (profile.name, profile.source) == (name, "built-in")
    assert profile.title and profile.description and profile.install
    assert profile.submit_sequence == "\r"


def test_the_built_in_profiles_say_what_was_measured() -> None:
    claude, codex, gemini, dummy = (load_profile(name) for name in ("claude", "codex", "gemini", "dummy"))
    assert [p.ports for p in (claude, gemini, codex, dummy)] == [
        (8100, 8109),
        (8110, 8119),
        (8120, 8129),
        (8200, 8299),
    ]
    for profile in (claude, codex, gemini):
        assert 1.5 <= profile.idle_detection.timeout <= 2.0
        assert profile.submit_delay == 0.3
        assert profile.paste == "bracketed"
        assert profile.clear_keys == "strong"
        assert profile.interrupt_keys == b"\x1b"
    assert claude.clear_delay == 0.2
    assert codex.idle_detection.strategy == "hybrid"
    assert (dummy.paste, dummy.interrupt_keys) == ("auto", b"\x03")
    assert dummy.command == (*paths.our_python(), "-m", "synapse.dummy_agent")


def test_a_profile_that_says_only_its_command_works(write: Write) -> None:
    path = write("mine", "command: my-cli --flag 'two words'\n")
    profile = load_profile("mine")
    assert profile.command == ("my-cli", "--flag", "two words")
    assert (profile.source, profile.path) == ("user", str(path))
    assert profile.ports is None
    assert profile.args == profile.bare == ()
    assert profile.env == {}
    assert profile.submit_sequence == "\r"
    assert (profile.submit_delay, profile.clear_delay, profile.paste) == (0.3, 0, "auto")
    assert profile.interrupt_keys == b"\x03"
    assert (profile.idle_detection.strategy, profile.idle_detection.timeout) == ("timeout", 2.0)
    assert profile.input_detection.enabled and profile.input_detection.additional_patterns == ()
    assert (profile.instructions.method, profile.response_end, profile.size) == ("message", None, (120, 40))


def test_every_field_is_read(write: Write) -> None:
    write(
        "full",
        r"""
command: [~/bin/agent, "{python}"]
args: [--chat, "8080"]
env: {LANG: C.UTF-8, NO_COLOR: null}
title: Agent
description: an agent
install: pip install agent
ports: 9000
bare: [help, --version]
submit_sequence: "\r\n"
submit_delay: 0
paste: plain
clear_keys: [C-a, C-k]
clear_delay: 1.5
interrupt_keys: [Escape, Escape]
idle_detection: {strategy: hybrid, pattern: BRACKETED_PASTE_MODE, pattern_use: startup_only, timeout: 3}
input_detection:
  enabled: true
  additional_patterns:
    - {pattern: "API key:", type: password}
    - {pattern: "Select option", type: selection, options: [a, b]}
instructions: {method: argument, argument: --system}
response_end: "[RESPONSE_END]"
size: {cols: 100, rows: 30}
""",
    )
    profile = load_profile("full")
    assert profile.command == (os.path.expanduser("~/bin/agent"), sys.executable)
    assert profile.args == ("--chat", "8080")
    assert profile.env == {"LANG": "C.UTF-8", "NO_COLOR": None}
    assert profile.ports == (9000, 9000)
    assert clear_steps(profile, "x" * 1000)[0] == (0.0, b"\x01\x0b")
    assert profile.interrupt_keys == b"\x1b\x1b"
    assert profile.idle_detection.pattern == "BRACKETED_PASTE_MODE"
    first, second = profile.input_detection.additional_patterns
    assert (first.pattern, first.type, first.options) == ("API key:", "password", ())
    assert (second.type, second.options) == ("selection", ("a", "b"))
    assert profile.response_end == "[RESPONSE_END]"
    assert profile.size == (100, 30)


def test_a_vi_mode_without_ctrl_u_is_cleared_key_by_key() -> None:
    text = "日本 @name hello" * 10
    (_, keys), _ = clear_steps(load_profile("qwen"), text, behind=5)
    assert keys.count(b"\x7f") >= len(text) and keys.endswith(b"\x1b[3~" * 5)
    (_, strong), _ = clear_steps(load_profile("claude"), text)
    assert strong.count(b"\x7f") < len(text)


def test_a_profile_does_not_change() -> None:
    profile = load_profile("claude")
    with pytest.raises(AttributeError):
        profile.title = "x"
    with pytest.raises(AttributeError):
        profile.idle_detection.timeout = 0
    assert profile == load_profile("claude")
    assert profile != load_profile("codex")


def test_a_users_file_replaces_the_built_in_one(write: Write) -> None:
    write("claude", "command: /opt/claude\n")
    profile = load_profile("claude")
    assert profile.source == "user, over the built-in one"
    assert profile.command == ("/opt/claude",)
    assert (profile.bare, profile.instructions.method) == ((), "message")


def test_extends_merges_mappings_replaces_lists_and_null_is_the_default(write: Write) -> None:
    write("base", "command: x\nargs: [a, b]\nenv: {A: '1', B: '2'}\ntitle: Base\nsize: {cols: 99, rows: 9}\n")
    write("upper", "extends: base\nargs: [c]\nenv: {B: '3', C: null}\ntitle: null\nsize: {cols: null}\n")
    profile = load_profile("upper")
    assert profile.command == ("x",)
    assert profile.args == ("c",)
    assert profile.env == {"A": "1", "B": "3", "C": None}
    assert profile.title == ""
    assert profile.size == (120, 9)


def test_a_file_that_extends_its_own_name_means_the_built_in_one(write: Write) -> None:
    write("claude", "extends: claude\nidle_detection: {timeout: 5}\ninstructions: {method: off}\n")
    profile = load_profile("claude")
    assert profile.idle_detection.timeout == 5
    assert profile.idle_detection.strategy == "pattern"
    assert profile.instructions.method == "off"
    assert "mcp" in profile.bare


def test_extends_that_goes_in_a_circle_or_nowhere_is_named(write: Write) -> None:
    write("a", "extends: b\n")
    path = write("b", "extends: a\n")
    assert problems("a") == [f"{path}: extends goes in a circle: a -> b -> a."]
    path = write("own", "extends: own\n")
    assert problems("own") == [f"{path}: extends names own, and there is no such profile to extend."]
    path = write("far", "extends: ../../claude\n")
    assert problems("far")[0].startswith(f"{path}: extends names ../../claude, and there is no such profile")


def test_an_error_in_an_extended_file_names_that_file(write: Write) -> None:
    path = write("base", "command: x\ntitel: y\n")
    write("upper", "extends: base\n")
    assert problems("upper") == [f"{path}: titel is not a known field (did you mean title?)"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("title: x\n", "command is missing: it must be the command that starts the agent"),
        ("command: x\nidle_detection: {strategy: hybrid}\n", "idle_detection.pattern is missing"),
        ("command: x\nidle_detection: {strategy: pattern}\n", "idle_detection.pattern is missing"),
        (
            "command: x\nidle_detection: {pattern: '('}\n",
            "idle_detection.pattern is not a valid regular expr",
        ),
        ("command: x\ninstructions: {method: argument}\n", "instructions.argument is missing"),
        ("command: x\nsubmit_sequence: \\r\n", "submit_sequence must be the keys that submit"),
        ("command: x\nsubmit_sequence: Enter\n", "submit_sequence must be the keys that submit"),
        ("command: x\nenv: {A: 1}\n", "env.A must be text, not 1: put it in quotes"),
        (
            "command: x\nenv: {'A=B': '1'}\n",
            "env has the key 'A=B', and a key here must be the name of a var",
        ),
        (
            "command: x\ninput_detection: {additional_patterns: [{pattern: a}]}\n",
            "input_detection.additional_patterns[0].type is missing: it must be one of confirmation,",
        ),
        ("- command\n", "the file must be a mapping of fields, not a list"),
    ],
)
def test_what_is_wrong_names_the_file_and_the_field(write: Write, text: str, expected: str) -> None:
    path = write("mine", text)
    (problem,) = problems("mine")
    assert problem.startswith(f"{path}: {expected}")


def test_a_pattern_without_a_strategy_is_the_pattern_strategy(write: Write) -> None:
    write("mine", "command: x\nidle_detection: {pattern: '^> $'}\n")
    assert load_profile("mine").idle_detection.strategy == "pattern"


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    assert problems("cluade") == [
        "there is no profile cluade (did you mean claude?): see `synapse profiles`."
    ]
    assert problems("../claude")[0].startswith("there is no profile ../claude")
    assert problems("")[0].startswith("there is no profile ")


def test_a_reserved_word_and_an_odd_name_are_no_profiles(write: Write) -> None:
    write("send", "command: x\n")
    assert problems("send") == [
        "send is a word of synapse itself and cannot name a profile: see `synapse profiles`."
    ]
    path = write("my agent.yaml", "command: x\n")
    assert problems("my agent") == [f"{path}: the name of a profile must be letters, digits, _ and -."]


def test_the_reserved_words_are_the_commands_and_the_groups_of_agents() -> None:
    assert {*COMMANDS, "help", *RESERVED_NAMES} - {"synapse-system"} == profiles.RESERVED


def test_yml_works_and_both_endings_at_once_do_not(write: Write) -> None:
    write("mine.yml", "command: x\n")
    assert load_profile("mine").command == ("x",)
    write("mine.yaml", "command: y\n")
    assert "remove one of them" in problems("mine")[0]


def built_in() -> set[str]:
    names = os.listdir(paths.builtin_profiles_dir())
    return {name.removesuffix(".yaml") for name in names if name.endswith(".yaml")}


def test_the_list_has_every_profile_and_the_errors_of_the_broken_ones(write: Write) -> None:
    write("mine", "command: x\n")
    write("claude", "extends: claude\n")
    write("broken", "comand: x\n")
    write("list", "command: x\n")
    rows = {row.name: row for row in list_profiles()}
    assert set(rows) == {"broken", "list", "mine", *built_in()}
    assert rows["mine"].source == "user"
    assert rows["claude"].source == "user, over the built-in one"
    assert rows["codex"].source == "built-in"
    assert rows["broken"].profile is None and "did you mean command?" in str(rows["broken"].error)
    assert "is a word of synapse itself" in str(rows["list"].error)


@pytest.mark.parametrize(
    ("name", "arguments", "bare"),
    [
        ("claude", [], False),
        ("claude", ["--resume"], False),
        ("claude", ["mcp", "list"], True),
        ("claude", ["fix", "mcp"], False),
        ("claude", ["--model", "opus", "-p", "hi"], True),
        ("claude", ["--", "-p"], False),
        ("claude", ["explain -p"], False),
        ("codex", ["exec", "hi"], True),
        ("codex", ["resume", "--last"], False),
        ("codex", ["-p", "work"], False),  # a configuration profile, not a prompt
        ("codex", ["-V"], True),
        ("gemini", ["-i", "hi"], False),
        ("gemini", ["--prompt=hi"], True),
        ("gemini", ["extensions", "list"], True),
    ],
)
def test_what_opens_no_conversation_runs_bare(name: str, arguments: list[str], bare: bool) -> None:
    assert runs_bare(load_profile(name), arguments) is bare


def test_the_strong_clear_grows_with_the_draft() -> None:
    claude = load_profile("claude")
    assert clear_steps(claude, "") == [(0.0, b"\x15\x7f" * 6 + b"\x0b\x1b[3~" * 6), (0.2, b"")]
    assert clear_steps(claude, "x" * 100)[0][1] == b"\x15\x7f" * 11 + b"\x0b\x1b[3~" * 11
    assert clear_steps(load_profile("dummy"), "x" * 100)[0][1] == b"\x0b\x1b[3~\x15\x7f"


def test_a_mode_that_the_clear_keys_do_not_leave_is_left_by_its_own() -> None:
    gemini = load_profile("gemini")
    assert clear_steps(gemini, "!ls")[1:] == [(0.15, b"\x1b"), (0.15, b""), (0, b"")]
    assert clear_steps(gemini, "ls!")[1:] == [(0, b"")]


@pytest.mark.parametrize(("name", "back"), [("claude", [(0.15, b"\x1b"), (0.15, b"")]), ("codex", [])])
def test_the_clear_keys_in_the_normal_mode_of_vim_keys(name: str, back: list[tuple[float, bytes]]) -> None:
    profile = load_profile(name)
    (_, keys), last = clear_steps(profile, "hello", behind=5)
    assert clear_steps(profile, "hello", normal_mode=True) == [(0.0, b"i"), (0.15, keys), *back, last]


def test_in_normal_mode_the_cursor_may_be_before_all_of_the_text() -> None:
    steps = clear_steps(load_profile("qwen"), "x" * 40, normal_mode=True)
    assert steps[1][1].count(b"\x1b[3~") >= 40 and steps[1][1].count(b"\x7f") >= 40


def test_where_nothing_was_measured_only_keys_that_no_program_takes_as_text_clear(write: Write) -> None:
    write("mine", "command: cat\n")
    profile = load_profile("mine")
    assert clear_steps(profile, "x" * 100) == [(0.0, b"\x15"), (0, b"")]
    assert clear_steps(profile, "one\ntwo", behind=2)[0][1] == b"\x1b[C\x1b[C\x15\x7f\x15"


def test_instructions_reach_each_cli_its_own_way(write: Write) -> None:
    text = 'say "hi"\n日本 🎉 \\ \x7f'
    assert instruction_arguments(load_profile("claude"), text) == ["--append-system-prompt", text]
    assert instruction_arguments(load_profile("codex"), text) == []
    write("codex", "extends: codex\nembedded: true\n")
    flag, value = instruction_arguments(load_profile("codex"), text)
    assert flag == "-c" and load_profile("codex").instructions.method == "config"
    import tomllib

    assert tomllib.loads(value) == {"developer_instructions": text}
    assert instruction_arguments(load_profile("gemini"), text) == []
    assert instruction_arguments(load_profile("dummy"), text) == []


RULE = "─" * 80
SCREENS = {
    ("claude", True): [
        f"✻ Sautéed for 2s\n\n{RULE}\n❯\n{RULE}\n  ? for shortcuts · ← for agents        ● high · /effort",
        f"{RULE}\n❯ \n{RULE}\n  ⏵⏵ accept edits on (shift+tab to cycle)",
    ],
    ("claude", False): [
        f"  slow line 6\n\n{RULE}\n❯\n{RULE}\n  esc to interrupt · ← for agents",
        f"  ❯ second\n{RULE}\n❯ Press up to edit queued messages\n{RULE}\n  esc to interrupt · ← for agents",
        " Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel · Tab to amend",
        f"{RULE}\n❯\n{RULE}\n  ? for shortcuts\n\n● the answer quotes a screen\n\n✢ Baking… (3s)\n",
        "",
    ],
    ("codex", True): [
        "\n\n› Ask Codex to do anything\n\n  gpt-5.1-codex default · /work\n  ? for shortcuts   ⚠ 1 warning",
        "  Tip: x.\n\n\n› Ask Codex to do anything\n\n  gpt-5.1-codex default · /work      ⚠ 1 warning",
    ],
    ("codex", False): [
        "› 1. Yes, proceed (y)\n  2. No (esc)\n\n  Press enter to confirm or esc to cancel",
        "› 1. Review hooks\n  2. Trust all and continue\n\n  enter confirm · esc skip",
        "",
    ],
    ("gemini", True): [
        f"{' ' * 60}? for shortcuts\n{RULE}\n Shift+Tab to accept edits\n{'▄' * 80}\n"
        f" >   Type your message or @path/to/file\n{'▀' * 80}\n workspace (/directory)\n /work   no sandbox"
    ],
    ("gemini", False): [
        f" ⠴ Thinking... (esc to cancel, 0s)\n{RULE}\n Shift+Tab to accept edits\n{'▄' * 80}\n"
        f" >   Type your message or @path/to/file\n{'▀' * 80}\n workspace (/directory)\n /work   no sandbox",
        "│ Allow execution of [Shell]?\n│ ● 1. Allow once\n│   2. Allow for this session\n╰──────────────╯",
        "",
    ],
    ("dummy", True): ["hello\ndummy>", "dummy> ", f"{RULE}\n❯\n{RULE}\n  ? for shortcuts"],
    ("dummy", False): ["dummy> hi\nhi", "dummy>\nhi", f"{RULE}\n❯\n{RULE}\n  esc to interrupt"],
}


@pytest.mark.parametrize(
    ("name", "idle", "screen"), [(*key, screen) for key, screens in SCREENS.items() for screen in screens]
)
def test_the_idle_patterns_are_anchored_to_what_the_clis_show(name: str, idle: bool, screen: str) -> None:
    pattern = load_profile(name).idle_detection.pattern
    assert pattern is not None
    assert bool(re.search(pattern, screen, re.MULTILINE)) is idle


def test_loading_a_cached_profile_and_the_settings_imports_nothing_heavy(home: Path) -> None:
    program = """
import sys
from synapse.config import load_settings
from synapse.profiles.loader import load_profile
load_profile("claude"), load_settings()
heavy = ("argparse", "dataclasses", "difflib", "importlib.metadata", "importlib.resources", "inspect",
         "logging", "pathlib", "pydantic", "typing", "yaml")
print([name for name in heavy if name in sys.modules])
"""
    (home / "config.yaml").write_text("response_timeout: 100\n")
    os.utime(home / "config.yaml", (1e9, 1e9))
    run = [sys.executable, "-c", program]
    environment = {**os.environ, "SYNAPSE_HOME": str(home)}
    outputs = [subprocess.run(run, capture_output=True, env=environment, check=True).stdout for _ in range(2)]
    assert b"yaml" in outputs[0]
    assert outputs[1] == b"[]\n"


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert command.main(list(arguments)) == 0
    return capsys.readouterr().out


def test_the_command_lists_an_aligned_table(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    write("mine", "command: no-such-program\n")
    write("broken", "comand: x\n")
    lines = shown(capsys, *[]).splitlines()
    assert lines[0].split() == ["NAME", "COMMAND", "PORTS", "SOURCE", "INSTALLED"]
    row = next(line for line in lines if line.startswith("mine"))
    assert re.split("  +", row) == ["mine", "no-such-program", "from 8200", "user", "no"]
    assert next(line for line in lines if line.startswith("dummy")).endswith("yes")
    column = lines[0].index("SOURCE")
    assert all(line[column - 1] == " " and line[column] != " " for line in lines[1:7])
    assert lines[-1].endswith("comand is not a known field (did you mean command?)")


def test_the_command_prints_json(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    write("broken", "comand: x\n")
    rows: list[dict[str, Any]] = json.loads(shown(capsys, "--json"))
    by_name = {row["name"]: row for row in rows}
    assert by_name["claude"]["ports"] == "8100-8109"
    assert by_name["dummy"]["installed"] is True
    assert by_name["broken"]["command"] is None and "did you mean" in by_name["broken"]["error"]


def test_show_is_a_profile_again_with_the_origin_of_each_value(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write("claude", "extends: claude\nargs: [--model, opus]\nenv: {A: '1'}\nsize: {rows: 50}\n")
    text = shown(capsys, "show", "claude")
    assert f'args: ["--model", "opus"]  # {path}' in text
    assert f"  rows: 50  # {path}" in text
    assert "  cols: 120  # default" in text
    assert "submit_delay: 0.3  # built-in" in text
    write("copy", text)
    original, copy = load_profile("claude"), load_profile("copy")
    for field in set(profiles.Profile.names) - {"name", "path", "source"}:
        assert getattr(copy, field) == getattr(original, field)
    document = json.loads(shown(capsys, "show", "claude", "--json"))
    assert document["profile"] == yaml.safe_load(text)
    assert document["origins"]["args"] == str(path)
    assert document["origins"]["size.cols"] == "default"
    assert document["origins"]["command"] == "built-in"


def test_wrong_usage_is_one_sentence_and_help_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match="see `synapse profiles show --help`"):
        command.main(["show"])
    with pytest.raises(ProfileError, match="did you mean gemini"):
        command.main(["show", "gemni"])
    with pytest.raises(SystemExit) as raised:
        command.main(["--help"])
    assert raised.value.code == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("usage: synapse profiles") and captured.err == ""


def test_every_built_in_file_is_one_that_loads() -> None:
    assert built_in() >= set(BUILT_IN)
    assert {load_profile(name).name for name in built_in()} == built_in()


def test_the_documentation_has_every_field_and_its_examples_load(write: Write) -> None:
    text = Path(__file__).parents[2].joinpath("docs", "profiles.md").read_text()
    own, over = re.findall("```yaml\n(.*?)```", text, re.DOTALL)
    write("acme", own)
    write("claude", over)
    assert load_profile("acme").ports == (8290, 8299)
    assert load_profile("claude").args == ("--model", "opus")
    for field, kind in profiles.FIELDS.fields.items():
        inner = kind.fields if isinstance(kind, Section) and field != "size" else [""]
        for name in inner:
            assert f"`{field}.{name}`".replace(".`", "`") in text or field == "extends"
    for mode in profiles.MODE_NAMES:
        assert f"`{mode}`" in text


def test_two_escapes_that_interrupt_are_two_writes(write: Write) -> None:
    write("twice", "command: cat\ninterrupt_keys: [Escape, Escape]\n")
    write("once", "command: cat\ninterrupt_keys: [C-c]\n")
    pause = profiles.ESCAPE_PAUSE
    assert profiles.interrupt_steps(load_profile("twice")) == [(0.0, b"\x1b"), (pause, b"\x1b")]
    assert profiles.interrupt_steps(load_profile("once")) == [(0.0, b"\x03")]
