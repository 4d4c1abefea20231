"""`synapse shell-hook`: `@agent message` at the prompt of the user's own shell."""

import os
import sys

from synapse.cli.shared.parser import SHELL, Parser
from synapse.errors import UsageError
from synapse.shell.dialects import quoted

HELP = """\
Print a hook for your shell: a line that begins with `@agent` then goes to that agent instead of being run.

  @codex review the last commit
  @codex --return what is in this directory?      waits, and prints the reply
  @all --no-wait I am done for today              goes to every running agent

The message arrives as you typed it, with quotes, $ and !, and stays in the shell's history. Other lines are
run as before, and so is a line whose first word is a command of yours, such as an alias named @codex.

To install it, add one line at the end of

  ~/.bashrc                     eval "$(synapse shell-hook bash)"
  ~/.zshrc                      eval "$(synapse shell-hook zsh)"
  ~/.config/fish/config.fish    synapse shell-hook fish | source

To remove it, delete the line; `__synapse_unhook` removes it from a running shell.
"""

SHELLS = ("bash", "zsh", "fish")


def parser() -> Parser:
    return add_shell(Parser("synapse shell-hook", HELP))


def add_shell(found: Parser) -> Parser:
    return found.add_word(
        "shell", SHELL, nargs="?", help="bash, zsh or fish (default: the shell that runs this)"
    )


def main(argv: list[str]) -> int:
    print(script("hook", parser().parse_args(argv).shell), end="")
    return 0


def script(name: str, shell: str | None) -> str:
    """A file of `shell_hooks` that calls this installation of Synapse; by default for the current shell."""
    if shell is None:
        shell = this_shell()
    elif shell not in SHELLS:
        raise UsageError(f"there is no {name} for {shell!r}: choose one of {', '.join(SHELLS)}.")
    folder = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "shell_hooks")
    with open(os.path.join(folder, f"{name}.{shell}"), encoding="utf-8") as file:
        return file.read().replace("__SYNAPSE__", program(shell))


def program(shell: str) -> str:
    own = os.path.abspath(sys.argv[0])
    if os.path.basename(own).startswith("synapse") and os.access(own, os.X_OK):
        words = [own]
    else:
        from synapse.base.paths import our_python

        words = [*our_python(), "-m", "synapse"]
    return " ".join(["command", *(quoted(shell, word) for word in words)])


def this_shell() -> str:
    for name in (_parent(), os.environ.get("SHELL", "")):
        shell = os.path.basename(name).lstrip("-")
        if shell in SHELLS:
            return shell
    raise UsageError("it is not known which shell this is: add `bash`, `zsh` or `fish` to the command.")


def _parent() -> str:
    try:
        with open(f"/proc/{os.getppid()}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        import subprocess

        command = ["ps", "-o", "comm=", "-p", str(os.getppid())]
        try:
            return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
        except OSError:
            return ""
