"""Programs that run what they read: instructions for a model would be commands to them."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

ETC_SHELLS = "/etc/shells"

# Without a script to run, they run what is typed.
_INTERPRETERS = (
    "ash", "bash", "bun", "busybox", "clj", "csh", "dash", "deno", "elvish", "erl", "fish", "ghci",
    "guile", "iex", "ipython", "irb", "jshell", "julia", "ksh", "lua", "luajit", "mksh", "node", "nu",
    "ocaml", "perl", "php", "pwsh", "python", "r", "ruby", "sbcl", "scala", "sh", "swift", "tclsh",
    "tcsh", "utop", "xonsh", "yash", "zsh",
)  # fmt: skip
# What follows them is a database, a machine or a container, not a script.
_CLIENTS = (
    "bc", "chroot", "clickhouse-client", "docker", "duckdb", "gdb", "kubectl", "lldb", "lxc",
    "machinectl", "mariadb", "mongosh", "mosh", "mysql", "nix-shell", "nsenter", "podman", "psql",
    "redis-cli", "screen", "sqlite3", "sqlplus", "ssh", "su", "telnet", "tmux", "toolbox", "wsl",
)  # fmt: skip
_WRAPPERS = (
    "command", "doas", "env", "exec", "ionice", "nice", "nohup", "rlwrap", "setsid", "stdbuf", "sudo",
    "time", "timeout",
)  # fmt: skip
_SCRIPT_FLAGS = ("-c", "-e", "-m", "-lc", "-ic", "--eval")


def runs_what_it_reads(command: Sequence[str]) -> bool:
    """Whether this command is a shell, an interpreter or the like, with nothing to run but its input."""
    for at, word in enumerate(command):
        name = os.path.basename(word).lower()
        if name in _CLIENTS:
            return True
        if _unversioned(name) in _INTERPRETERS or word in _shells():
            return not _has_script(command[at + 1 :])
        if at == 0 and name not in _WRAPPERS:
            return False
    return False


def _unversioned(name: str) -> str:
    """python3.12 is python."""
    return name.rstrip("0123456789.-")


def _has_script(words: Sequence[str]) -> bool:
    return any(word in _SCRIPT_FLAGS or not word.startswith("-") for word in words)


def _shells() -> list[str]:
    try:
        with open(ETC_SHELLS, encoding="utf-8", errors="replace") as file:
            return file.read().split()
    except OSError:
        return []
