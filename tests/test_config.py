import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synapse.cli import config as command
from synapse.config import DEFAULTS, Settings, load_settings, unpack_settings, variable
from synapse.errors import ConfigError, UsageError
from synapse.keys.commands import PATTERN


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SYNAPSE_HOME", str(tmp_path))
    for key in DEFAULTS:
        monkeypatch.delenv(variable(key), raising=False)
    return tmp_path


@pytest.fixture
def file(home: Path) -> Path:
    return home / "config.yaml"


def problems() -> list[str]:
    with pytest.raises(ConfigError) as raised:
        load_settings()
    return str(raised.value).splitlines()


def test_without_a_file_everything_has_its_default() -> None:
    settings = load_settings()
    assert settings.input_routing.enabled is True
    assert settings.input_routing.pattern == PATTERN
    assert settings.input_routing.feedback == "inline"
    assert settings.input_routing.passthrough_on_fail is True
    assert settings.default_response_mode == "display"
    assert settings.response_timeout == 300
    assert settings.shell_prompt == "synapse> "
    assert settings.initial_instructions == "auto"
    assert settings.detach_keys == (b"\x1d", b"d")
    assert settings.log_level == "info"
    assert settings.allowed_hosts == []
    assert (settings.limits.body, settings.limits.rate, settings.limits.connections) == (2 << 20, 200, 256)
    assert settings.push.allow_private is False
    assert settings.agents == {}
    assert set(settings.origins.values()) == {"default"}


def test_an_empty_file_is_no_different(file: Path) -> None:
    file.write_text("# nothing yet\ninput_routing:\nresponse_timeout:\nagents:\n")
    assert load_settings().values == DEFAULTS
    assert set(load_settings().origins.values()) == {"default"}


def test_the_files_of_the_specification_are_read(file: Path) -> None:
    file.write_text(
        """
input_routing:
  enabled: true
  pattern: "^@(\\\\w+)\\\\s+(.+)$"
  feedback: "silent"  # or "inline"
  passthrough_on_fail: true
default_response_mode: display
response_timeout: 30  # seconds
shell_prompt: "synapse> "
agents:
  gemini:
    port: 8102
    auto_start: true
  claude:
    port: 8100
    auto_start: false
  reviewer: {profile: claude}
"""
    )
    settings = load_settings()
    assert settings.input_routing.pattern == r"^@(\w+)\s+(.+)$"
    assert settings.response_timeout == 30
    assert settings.origins["response_timeout"] == str(file)
    gemini, reviewer = settings.agents["gemini"], settings.agents["reviewer"]
    assert (gemini.port, gemini.auto_start, gemini.profile) == (8102, True, "gemini")
    assert (reviewer.port, reviewer.auto_start, reviewer.profile) == (None, False, "claude")
    assert settings.origins["agents.gemini.port"] == str(file)
    assert settings.origins["agents.gemini.profile"] == "default"


@pytest.mark.parametrize(
    ("word", "expected"),
    [("off", "off"), ("on", "auto"), ("false", "off"), ("yes", "auto"), ("auto", "auto"), ("typed", "typed")],
)
def test_instructions_are_turned_on_and_off_by_any_of_the_words(
    file: Path, monkeypatch: pytest.MonkeyPatch, word: str, expected: str
) -> None:
    file.write_text(f"initial_instructions: {word}\n")
    assert load_settings().initial_instructions == expected
    file.unlink()
    monkeypatch.setenv("SYNAPSE_INITIAL_INSTRUCTIONS", word)
    assert load_settings().initial_instructions == expected


def test_a_variable_wins_over_the_file_and_is_named(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text("response_timeout: 30\ninput_routing: {feedback: silent, enabled: false}\n")
    monkeypatch.setenv("SYNAPSE_RESPONSE_TIMEOUT", "12.5")
    monkeypatch.setenv("SYNAPSE_INPUT_ROUTING__FEEDBACK", "inline")
    settings = load_settings()
    assert settings.response_timeout == 12.5
    assert settings.input_routing.feedback == "inline"
    assert settings.input_routing.enabled is False
    assert settings.origins["response_timeout"] == "SYNAPSE_RESPONSE_TIMEOUT"
    assert settings.origins["input_routing.feedback"] == "SYNAPSE_INPUT_ROUTING__FEEDBACK"
    assert settings.origins["input_routing.enabled"] == str(file)


def test_variables_that_are_not_settings_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SYNAPSE_AGENT_ID", "SYNAPSE_INPUT_ROUTING__FOO", "SYNAPSE_INPUT_ROUTING", "SYNAPSE_AGENTS"):
        monkeypatch.setenv(name, "anything")
    monkeypatch.setenv("SYNAPSE_LOG_LEVEL", "")
    assert set(load_settings().origins.values()) == {"default"}


def test_settings_survive_a_journey_to_another_process(file: Path) -> None:
    file.write_text(
        "limits: {rate: 0.5}\nallowed_hosts: a.example b.example\nagents: {claude: {port: 8100}}\n"
    )
    settings = load_settings()
    arrived = unpack_settings(json.loads(json.dumps(settings.values)))
    assert arrived.limits.rate == 0.5 and arrived.allowed_hosts == ["a.example", "b.example"]
    for name in set(Settings.names) - {"origins"}:
        assert getattr(arrived, name) == getattr(settings, name), name


def test_wrong_variables_are_named_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYNAPSE_RESPONSE_TIMEOUT", "soon")
    monkeypatch.setenv("SYNAPSE_INPUT_ROUTING__ENABLED", "maybe")
    monkeypatch.setenv("SYNAPSE_LOG_LEVEL", "loud")
    assert sorted(problems()) == [
        "SYNAPSE_INPUT_ROUTING__ENABLED must be true or false, not 'maybe'",
        "SYNAPSE_LOG_LEVEL must be one of debug, info, warning, error, not 'loud'",
        "SYNAPSE_RESPONSE_TIMEOUT must be a number from 1 to 604800, not 'soon'",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("respons_timeout: 3\n", "respons_timeout is not a known field (did you mean response_timeout?)"),
        ("response_timeout: 0\n", "response_timeout must be a number from 1 to 604800, not 0"),
        (
            "input_routing: {feedback: loud}\n",
            "input_routing.feedback must be one of silent, inline, not 'loud'",
        ),
        (
            "input_routing: {pattern: '@('}\n",
            "input_routing.pattern is not a valid regular expression: missing )",
        ),
        (
            "input_routing: {pattern: '^@(a)'}\n",
            "input_routing.pattern must have 2 groups in parentheses, and has 1",
        ),
        ("input_routing: on\n", "input_routing must be a mapping of fields, not true"),
        ("limits: {body: 10}\n", "limits.body must be a whole number from 1024 to 1073741824, not 10"),
        ("limits: {rate: -1}\n", "limits.rate must be a number from 0 to 1000000, not -1"),
        ("detach_keys: q d\n", "detach_keys must be two key names such as `C-] d`"),
        ("agents: {a: {port: 99999}}\n", "agents.a.port must be a whole number from 1 to 65535, not 99999"),
        ("agents: {a: {prot: 1}}\n", "agents.a.prot is not a known field (did you mean port?)"),
        ("agents: {a b: {port: 1}}\n", "agents has the key 'a b', and a key here must be a name of letters"),
        ("agents: {a: {port: 8100}, b: {port: 8100}}\n", "agents.b.port is 8100, which agents.a has already"),
    ],
)
def test_what_is_wrong_names_the_file_and_the_key(file: Path, text: str, expected: str) -> None:
    file.write_text(text)
    (problem,) = problems()
    assert problem.startswith(f"{file}: {expected}")


def test_a_broken_file_says_where(file: Path) -> None:
    file.write_text("response_timeout: 3\nagents: {\n")
    assert problems()[0].startswith(f"{file}, line 3, column 1: ")


@given(
    st.sampled_from(sorted(DEFAULTS)),
    st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1),
)
def test_any_text_in_a_variable_is_a_value_or_a_config_error(key: str, text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(variable(key), text)
        try:
            settings = load_settings()
        except ConfigError as error:
            assert str(error).startswith(variable(key))
        else:
            assert settings.origins[key] == variable(key)


def test_the_command_shows_each_setting_and_where_it_comes_from(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main([]) == 0
    assert f"There is no {file} yet" in capsys.readouterr().out
    file.write_text("shell_prompt: '> '\nagents: {claude: {port: 8100}}\n")
    monkeypatch.setenv("SYNAPSE_RESPONSE_TIMEOUT", "60")
    assert command.main([]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert lines["shell_prompt"].split() == ["shell_prompt", '">', '"', str(file)]
    assert lines["response_timeout"].split() == ["response_timeout", "60", "SYNAPSE_RESPONSE_TIMEOUT"]
    assert lines["agents.claude.port"].split() == ["agents.claude.port", "8100", str(file)]
    assert command.main(["--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["settings"]["response_timeout"] == {"value": 60, "source": "SYNAPSE_RESPONSE_TIMEOUT"}
    assert document["file"] == str(file) and document["exists"] is True


def test_wrong_usage_is_one_sentence_and_help_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match=r"invalid choice: 'x' .*: see `synapse config --help`\."):
        command.main(["x"])
    with pytest.raises(SystemExit) as raised:
        command.main(["--help"])
    assert raised.value.code == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("usage: synapse config") and captured.err == ""


def test_the_documentation_has_every_key_with_its_default_and_its_example_loads(file: Path) -> None:
    text = Path(__file__).parent.parent.joinpath("docs", "configuration.md").read_text()
    file.write_text(text.split("```yaml\n")[1].split("```")[0])
    assert load_settings().agents["reviewer"].profile == "claude"
    for key, value in DEFAULTS.items():
        shown = json.dumps(value)
        row = next(line for line in text.splitlines() if line.startswith(f"| `{key}` |"))
        assert shown in row or str(value) in row
