"""`synapse shell-hook`: `@agent message` at the prompt of the user's own shell."""

from __future__ import annotations

import os
import sys

from synapse.errors import UsageError

HELP = """\
usage: synapse shell-hook [bash|zsh|fish]

Prints a hook for your shell: a line that begins with `@agent` goes to that agent instead of being run.

  @codex review the last commit
  @codex --return what is in this directory?      waits, and prints the reply
  @all --no-wait I am done for today              to everybody who runs

The message arrives as it was typed, quotes, $, ! and all, and stays in the shell's history. Other lines are
run as ever, and so is a line whose first word is a command of yours, such as an alias named @codex.

To install it, add one line at the end of

  ~/.bashrc                     eval "$(synapse shell-hook bash)"
  ~/.zshrc                      eval "$(synapse shell-hook zsh)"
  ~/.config/fish/config.fish    synapse shell-hook fish | source

To remove it, delete the line; `__synapse_unhook` removes it from a shell that is running.
Without an argument it is the hook for the shell that runs the command.
"""

SHELLS = ("bash", "zsh", "fish")


def main(argv: list[str]) -> int:
    if any(word in ("-h", "--help") for word in argv):
        print(HELP, end="")
        return 0
    if len(argv) > 1 or (argv and argv[0] not in SHELLS):
        raise UsageError(f"there is no hook for {' '.join(argv)!r}: only for {', '.join(SHELLS)}.")
    shell = argv[0] if argv else this_shell()
    print(script("hook", shell), end="")
    return 0


def script(name: str, shell: str) -> str:
    """One of the files in `shell_hooks`, which calls this very Synapse."""
    folder = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "shell_hooks")
    with open(os.path.join(folder, f"{name}.{shell}"), encoding="utf-8") as file:
        return file.read().replace("__SYNAPSE__", program(shell))


def program(shell: str) -> str:
    """The very Synapse that is running, as a command of that shell."""
    own = os.path.abspath(sys.argv[0])
    if os.path.basename(own).startswith("synapse") and os.access(own, os.X_OK):
        words = [own]
    else:
        from synapse.base.paths import our_python

        words = [*our_python(), "-m", "synapse"]
    return " ".join(["command", *(quote(word, shell) for word in words)])


def quote(word: str, shell: str) -> str:
    if shell == "fish":
        return "'" + word.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return "'" + word.replace("'", "'\\''") + "'"


def this_shell() -> str:
    """The shell that has started us, whatever the login shell is; else the login shell."""
    for name in (_parent(), os.environ.get("SHELL", "")):
        shell = os.path.basename(name).lstrip("-")
        if shell in SHELLS:
            return shell
    raise UsageError("which shell is this? Say `synapse shell-hook bash`, `zsh` or `fish`.")


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
