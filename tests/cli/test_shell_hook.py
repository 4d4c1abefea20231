"""`@agent message` at the prompts of real shells: exactly as typed, and nothing else is touched."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator

import pytest

from synapse.cli import shell_hook
from synapse.testing import Terminal
from tests.support.home import SYNAPSE, Home
from tests.support.shells import SHELLS, STATUS, Recorder, interactive

HOSTILE = [
    "  @a indented",
    "@a it's \"half",
    "@a $HOME ${PATH} $(touch pwned) `touch pwned`; touch pwned & | > pwned",
    "@a wow! !! !$ ^a^b^ # comment",
    "@a * ?? [a-z] ~ {1,2} \\n \\ \\\\",
    "@a --return 日本語の「引用」と絵文字 🎉 é",
    "@all %s %d %% \\e[31m -n -- --return",
    "@a '; touch pwned; '",
    "@a@desk-1.local x",
    "@a --foo -- x",
    "@日本 x",
]


@pytest.fixture
def recorder(home: Home) -> Recorder:
    return Recorder(home)


@pytest.fixture
def hooked(home: Home, recorder: Recorder) -> Iterator[Callable[..., Terminal]]:
    """The shell with the hook, which calls the recorder."""
    opened: list[Terminal] = []

    def start(shell: str, before: str = "", after: str = "", **more: str) -> Terminal:
        text = shell_hook.script("hook", shell).replace(shell_hook.program(shell), f"command {recorder.path}")
        (home.path / "hook").write_text(text)
        config = f"{before}\n. {home.path}/hook\n. {home.path}/hook\n{after}\n"  # twice is once
        opened.append(interactive(home, shell, config.replace("\n. ", "\nsource "), **more))
        return opened[-1]

    yield start
    for terminal in opened:
        terminal.__exit__(None, None, None)


def run(terminal: Terminal, line: str, shows: str) -> None:
    terminal.type(line + "\r")
    terminal.wait_for(shows)


def rest(terminal: Terminal, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        terminal.pump(0.05)


@pytest.mark.parametrize("shell", SHELLS)
class TestEveryShell:
    def test_messages_arrive_as_typed_and_stay_on_screen_and_in_the_history(
        self, home: Home, hooked: Callable[..., Terminal], recorder: Recorder, shell: str
    ) -> None:
        terminal = hooked(shell)
        for line in HOSTILE:
            if shell == "fish" and line == HOSTILE[-1]:
                rest(terminal, 1.1)  # it takes in its history once a second
            terminal.type(line + "\r")
            assert recorder.take() == line
            terminal.wait_for(f"% {line.rstrip()}\n")
        terminal.wait(lambda: terminal.screen.text().rstrip().endswith("3%"), "prompt with the status")
        assert not (home.work / "pwned").exists()
        assert "__synapse" not in terminal.screen.text()
        terminal.type("\x1b[A")
        terminal.wait(lambda: terminal.screen.text().rstrip().endswith(HOSTILE[-1]), "last line, recalled")
        terminal.type("\r")
        assert recorder.take() == HOSTILE[-1]
        run(terminal, {"fish": "history"}.get(shell, "fc -ln 1"), "half")
        for line in HOSTILE[1:]:
            shown = terminal.screen.text()
            assert line in shown or line.replace("\\", "\\\\") in shown
        assert "__synapse" not in terminal.screen.text()

    def test_a_paste_of_several_lines_is_one_message(
        self, hooked: Callable[..., Terminal], recorder: Recorder, shell: str
    ) -> None:
        terminal = hooked(shell)
        terminal.type("\x1b[200~@a one 'two\necho three \\\n$(four)\x1b[201~")
        terminal.wait_for("$(four)")
        terminal.type("\r")
        assert recorder.take() == "@a one 'two\necho three \\\n$(four)"
        run(terminal, "echo all is $((1 + 1)) well" if shell != "fish" else "echo all is 2 well", "is 2 well")

    def test_other_lines_run_as_ever(
        self, hooked: Callable[..., Terminal], recorder: Recorder, shell: str
    ) -> None:
        own = {"fish": "function @mine; echo own-$argv; end"}.get(shell, "@mine() { echo own-$1; }")
        terminal = hooked(shell, after=own)
        run(terminal, "echo a@b; echo @a b", "@a b\n")
        run(terminal, f"false; echo was {STATUS[shell]}", "was 1")
        run(terminal, "@mine x", "own-x")
        terminal.type("@a\r")
        terminal.wait(lambda: "127%" in terminal.screen.text(), "status of an unknown command")
        terminal.type("@file.py x\r")
        terminal.wait(lambda: terminal.screen.text().count("127%") == 2, "another")
        if shell != "fish":
            run(terminal, "cat <<X\r@a in a document\rX", "\n@a in a document\n")
        terminal.type("echo 'one\r@a two\r'\r")
        terminal.wait_for("\none\n@a two\n")
        assert recorder.empty

    def test_after_an_unfinished_command(
        self, hooked: Callable[..., Terminal], recorder: Recorder, shell: str
    ) -> None:
        terminal = hooked(shell)
        run(terminal, "echo 'half", {"bash": "\n>", "zsh": "\nquote>"}.get(shell, "half"))
        rest(terminal, 0.5)  # each looks for Ctrl-C in its own time after the prompt
        terminal.type("\x03")
        terminal.wait_for("^C" if shell == "fish" else "\n130%")
        terminal.type("@a after it\r")
        assert recorder.take() == "@a after it"

    def test_in_both_modes_of_vi(
        self, hooked: Callable[..., Terminal], recorder: Recorder, shell: str
    ) -> None:
        vi = {"bash": "set -o vi", "zsh": "bindkey -v", "fish": "fish_vi_key_bindings"}[shell]
        terminal = hooked(shell, after=vi, INPUTRC="/dev/null")
        terminal.type("@a it's inserted\r")
        assert recorder.take() == "@a it's inserted"
        terminal.wait_for("recorded")
        terminal.type("@a commande")
        terminal.wait_for("commande")
        terminal.type("\x1b")
        rest(terminal, 0.7)  # a lone ESC is told from a key by the time after it
        terminal.type("x\r")
        assert recorder.take() == "@a command"

    def test_a_real_agent(self, home: Home, shell: str) -> None:
        home.run("start", "dummy", "--name", "a")
        words = " ".join(SYNAPSE)
        load = f"{words} shell-hook | source" if shell == "fish" else f'eval "$({words} shell-hook)"'
        with interactive(home, shell, f"{load}\n") as terminal:
            for number, message in enumerate(("it's $HOME `x` !!", 'say "日本')):
                run(terminal, f"@a {message} {number}", f"% @a {message} {number}\nsent ")
            run(terminal, "@a --return say here I am", "\nhere I am\n")
            run(terminal, "@nobody hi", "no agent named 'nobody' is running")
            run(terminal, f"echo '<'{STATUS[shell]}'>'", "<3>")
            run(terminal, "@a --priority 9 x", "wants a number")
            run(terminal, f"echo '<'{STATUS[shell]}'>'", "<2>")
            if shell == "fish":
                rest(terminal, 1.1)  # it takes in its history once a second
            terminal.type("@a --return silent 60 x\r")
            terminal.wait_for("→ a:")
            terminal.type("\x03")
            terminal.wait_for("Cancel the task?")
            terminal.type("y\r")
            terminal.wait_for("\n130%")
            terminal.type("\x1b[A")  # the line is in the history, though its command was interrupted
            terminal.wait_for("130% @a --return silent 60 x")
            terminal.type("\x15")
            run(terminal, f"echo '<'{STATUS[shell]}'>'", "<130>")
        tasks = json.loads(home.run("tasks", "--json").stdout)
        sent = {part["text"] for task in tasks for part in task["message"]["parts"]}
        assert {"it's $HOME `x` !! 0", 'say "日本 1'} <= sent


class TestBash:
    def test_lives_with_others(self, hooked: Callable[..., Terminal], recorder: Recorder) -> None:
        """PROMPT_COMMAND, a DEBUG trap, HISTCONTROL, nounset and a second Enter of one's own."""
        terminal = hooked(
            "bash",
            before="PROMPT_COMMAND='printf \"<pc $?>\"'\nHISTCONTROL=ignoreboth\nset -u\n"
            "bind '\"\\C-j\": \"# by ctrl-j\\C-m\"'\ntrap 'last=$BASH_COMMAND' DEBUG",
        )
        run(terminal, "false", "<pc 1>top\n1%")
        run(terminal, "@a one", "<pc 3>top\n3%")
        assert recorder.take() == "@a one"
        run(terminal, " @a hidden", "%  @a hidden")
        assert recorder.take() == " @a hidden"
        terminal.type("echo no\n")
        terminal.wait_for("echo no# by ctrl-j")
        run(terminal, "echo $HISTCONTROL; history; echo that-is-$((1 + 1))", "that-is-2")
        listed = terminal.screen.text().rpartition("\nignoreboth")[2]
        assert "@a one" in listed and "hidden" not in listed

    def test_read_e_and_a_prompt_command_set_anew(
        self, hooked: Callable[..., Terminal], recorder: Recorder
    ) -> None:
        terminal = hooked("bash")
        terminal.type("read -e -p 'name: ' x; echo \"<$x>\"\r")
        terminal.wait_for("name: ")
        run(terminal, "@a not for an agent", "<@a not for an agent>")
        assert recorder.empty
        run(terminal, "PROMPT_COMMAND='echo anew'", "anew\n")
        for _ in range(2):
            terminal.type("@a x\r")
            assert recorder.take() == "@a x"
        terminal.wait(lambda: terminal.screen.text().count("anew\n") >= 3, "PROMPT_COMMAND of the user")

    def test_unhook(self, hooked: Callable[..., Terminal], recorder: Recorder) -> None:
        terminal = hooked("bash", before="PROMPT_COMMAND='true'")
        run(terminal, '__synapse_unhook; echo "<$PROMPT_COMMAND>"', "<true>")
        run(terminal, "@a x", "command not found")
        run(terminal, "bind -p | grep C-m", '"\\C-m": accept-line')
        assert recorder.empty


@pytest.mark.parametrize("shell", SHELLS[1:2])
class TestZsh:
    def test_lives_with_others(self, hooked: Callable[..., Terminal], recorder: Recorder, shell: str) -> None:
        terminal = hooked(
            shell,
            before="setopt hist_ignore_space hist_ignore_dups ksh_arrays sh_word_split\n"
            "mine() { count=$((count + 1)); zle .accept-line }\nzle -N accept-line mine\n"
            "precmd() { print -n '<pc>' }\npreexec() { seen+=\"[$1]\" }",
        )
        for line in ("@a one 'x", "@a one 'x", " @a hidden", "@a two   spaces"):
            terminal.type(line + "\r")
            assert recorder.take() == line
        terminal.wait(lambda: terminal.screen.text().count("recorded") == 4, "four")
        run(terminal, "echo counted $count", "counted 5")
        run(terminal, "fc -ln 1; echo that-is-$((1 + 1))", "that-is-2")
        listed = terminal.screen.text().rpartition("fc -ln 1;")[2]
        assert listed.split("\n")[1:4] == ["@a one 'x", "@a two   spaces", "echo counted $count"]

    def test_unhook(self, hooked: Callable[..., Terminal], recorder: Recorder, shell: str) -> None:
        terminal = hooked(shell)
        run(terminal, "__synapse_unhook", "")
        run(terminal, "@a x", "command not found: @a")
        assert recorder.empty


@pytest.mark.parametrize("shell", SHELLS[2:])
class TestFish:
    def test_lives_with_others(self, hooked: Callable[..., Terminal], recorder: Recorder, shell: str) -> None:
        terminal = hooked(
            shell,
            before="function mine; set -g count (math $count + 1); commandline -f execute; end\n"
            "bind \\r mine",
        )
        run(terminal, "echo 1 $count", "1 1")
        terminal.type("@a x\r")
        assert recorder.take() == "@a x"
        run(terminal, "__synapse_unhook; bind \\r", "")
        run(terminal, "echo still $count", "still ")
        assert recorder.empty


class TestCommand:
    def test_the_shell_that_runs_it(self, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
        assert home.run("shell-hook", SHELL="/bin/zsh").stdout == shell_hook.script("hook", "zsh").replace(
            shell_hook.program("zsh"),
            "command " + " ".join(f"'{w}'" for w in [*SYNAPSE[:2], "-E", *SYNAPSE[2:]]),
        )
        monkeypatch.setenv("SHELL", "/bin/tcsh")
        monkeypatch.setattr(shell_hook, "_parent", lambda: "-fish")
        assert shell_hook.this_shell() == "fish"

    @pytest.mark.parametrize(
        ("words", "says"), [("tcsh", "one of bash, zsh, fish"), ("bash zsh", "unrecognized arguments: zsh")]
    )
    def test_no_other_shell(self, home: Home, words: str, says: str) -> None:
        done = home.run("shell-hook", *words.split(), check=False)
        assert done.returncode == 2 and says in done.stderr and done.stdout == ""
        assert home.run("shell-hook", check=False, SHELL="/bin/tcsh").returncode == 2

    @pytest.mark.parametrize("line", ["", "hello", "@a", "@a --return", "@a --priority 7 x"])
    def test_a_line_that_says_nothing(self, home: Home, line: str) -> None:
        done = home.run("send", "--line", check=False, input=line)
        assert done.returncode == 2 and done.stderr.count("\n") == 1
