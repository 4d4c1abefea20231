"""`synapse <profile>`: run an agent in this terminal."""

from __future__ import annotations

from synapse.cli.shared.output import say
from synapse.errors import ProfileError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from synapse.cli.shared.parser import Parser
    from synapse.launch.run import Report
    from synapse.profiles.loader import Profile
    from synapse.relay.console import Console

HELP = """\
Run {name} ({title}) in this terminal, unchanged, and serve it as an agent.

For the options of {program} itself: synapse {name} -- --help
"""
ARGUMENTS = "everything else goes to {program} unchanged; after -- also what looks like an option of Synapse"

# Options that take a value: its name and one line of help.
VALUED = {
    "--port": ("N", "serve on this port (default: the first free one of the profile)"),
    "--name": ("NAME", "the name that others use for this agent (default: the profile's)"),
    "--host": ("ADDR", "listen on this address instead of 127.0.0.1; other machines need a token"),
    "--token-file": (
        "FILE",
        "every request must carry the token in FILE, which only you may read (chmod 600); SYNAPSE_TOKEN does "
        "the same, and so does --token TOKEN, which `ps` shows to all users",
    ),
    "--token": ("TOKEN", ""),
    "--checkpoints": ("FD", ""),  # for tests
}


WORKTREE = "--in-worktree"
WORKTREE_HELP = (
    "work in a git worktree of its own; =NAME names it (default: a new one, called after the agent)"
)


def add_options(parser: Parser, program: str) -> None:
    """Synapse's own options, for the help and for completion. `Options` reads them: argparse costs 8 ms."""
    import argparse

    parser.add_argument(WORKTREE, metavar="NAME", nargs="?", help=WORKTREE_HELP)
    for name, (value, text) in VALUED.items():
        parser.add_argument(name, metavar=value, help=text or argparse.SUPPRESS)
    parser.add_argument(
        "args", nargs=argparse.REMAINDER, metavar="ARGS", help=ARGUMENTS.format(program=program)
    )


def parser(word: str) -> Parser:
    from synapse.cli.shared.parser import Parser

    profile = _load(word)
    # A command of several words is an interpreter and a program; the options are those of the program.
    program = profile.command[0].rsplit("/", 1)[-1] if len(profile.command) == 1 else word
    text = HELP.format(name=word, title=profile.title or program, program=program)
    found = Parser(f"synapse {word}", text)
    add_options(found, program)
    return found


class Options:
    """Synapse's own options, which come first, and the rest, which belongs to the CLI."""

    def __init__(self, argv: list[str]) -> None:
        self.port: int | None = None
        self.name: str | None = None
        self.host: str | None = None
        self.token: str | None = None
        self.token_file: str | None = None
        self._token_taken = False
        self.help = False
        self.foreground = False
        self.in_worktree = False
        self.worktree: str | None = None
        self.rest = list(argv)
        while self.rest and self.rest[0] != "--":
            word, equals, value = self.rest[0].partition("=")
            if self.rest[0] in ("-h", "--help"):
                self.help = True
            elif self.rest[0] == "--foreground":
                self.foreground = True
            elif word == WORKTREE:
                self.in_worktree, self.worktree = True, value if equals else None
            elif word not in VALUED:
                return
            else:
                if not equals:
                    if len(self.rest) == 1:
                        raise UsageError(f"{word} needs a value: see `synapse start --help`.")
                    value = self.rest.pop(1)
                self._take(word, value)
            del self.rest[0]
        del self.rest[:1]  # the `--`

    def _take(self, word: str, value: str) -> None:
        if word == "--name":
            from synapse.registry import check_name

            check_name(value)
            self.name = value
        elif word == "--checkpoints":
            _report_checkpoints(value)
        elif word != "--port":
            setattr(self, word[2:].replace("-", "_"), value)
        elif not value.isascii() or not value.isdigit() or not 1 <= int(value) <= 65535:
            raise UsageError(f"--port is {value!r}: use a number from 1 to 65535.")
        else:
            self.port = int(value)

    def enter_worktree(self, profile: str) -> None:
        """Go into the worktree that the options ask for. What is not committed stays where it is."""
        if not self.in_worktree:
            return
        import os

        from synapse.launch.worktrees import create

        made, inside = create(self.worktree, self.name or profile)
        os.chdir(inside)
        os.environ["PWD"] = inside
        say(f"worktree {made.name} on branch {made.branch}: {inside}", error=True)

    @property
    def is_for_agent(self) -> bool:
        """Whether some of them make sense for an agent only."""
        given = (self.port, self.name, self.host, self.token, self.token_file)
        return self.in_worktree or any(value is not None for value in given)

    def take_token(self) -> str | None:
        """The token of these options or of the environment; a file is read once."""
        from synapse.launch.tokens import take_token

        if not self._token_taken:
            self.token, self._token_taken = take_token(self.token, self.token_file), True
        return self.token


def _report_checkpoints(value: str) -> None:
    from synapse.base import checkpoints

    try:
        checkpoints.report_to(int(value))
    except (ValueError, OSError, OverflowError):
        raise UsageError(f"--checkpoints is {value!r}: it is for tests, which pass a descriptor.") from None


def main(word: str, argv: list[str]) -> int:
    profile = _load(word)
    options = Options(argv)
    if options.help:
        parser(word).print_help()
        return 0
    from synapse.launch import run as launch
    from synapse.launch.program import find_command, run_bare
    from synapse.profiles.loader import runs_bare
    from synapse.relay.console import Console

    if runs_bare(profile, options.rest):
        run_bare(profile, options.rest)
    find_command(profile)  # report a missing program before a missing terminal
    missing = launch.missing_terminal()
    if missing and options.is_for_agent:
        raise launch.no_terminal(word, missing)
    if missing:
        _tell_human(f"standard {missing} is not a terminal, so {profile.command[0]} runs without Synapse.")
        run_bare(profile, [*profile.args, *options.rest])
    console = Console.of_this_process()
    options.enter_worktree(profile.name)
    return run(profile, options, console)


def _tell_human(line: str) -> None:
    """A log or another program does not want it."""
    import os

    if os.isatty(2):
        from synapse.cli.shared.output import say

        say(f"synapse: {line}", error=True, flush=True)


def run(profile: Profile, options: Options, console: Console | None, report: Report | None = None) -> int:
    """Run one agent as the options say; in the background without a console. If a signal kills it, this
    process ends by the same signal."""
    from synapse.base.processes import end_as
    from synapse.launch import run as launch

    status = launch.run_agent(
        profile,
        options.rest,
        name=options.name,
        port=options.port,
        console=console,
        report=report,
        host=options.host,
        token=options.take_token(),
        token_file=options.token_file,
    )
    return end_as(status)


def _load(word: str) -> Profile:
    from synapse.profiles.loader import load_profile

    try:
        return load_profile(word)
    except ProfileError as error:
        raise _unknown(word, error) from error


def _unknown(word: str, error: ProfileError) -> ProfileError:
    """A mistyped word may have meant a command as well as a profile."""
    from synapse.base.commands import COMMANDS
    from synapse.profiles.files import profile_names

    names = profile_names()
    if word in names:
        return error  # the profile exists and is invalid
    import difflib

    near = difflib.get_close_matches(word, [*COMMANDS, *names], 3, 0.6)
    hint = f"did you mean {' or '.join(near)}?" if near else "see `synapse --help` and `synapse profiles`."
    return ProfileError(f"{word!r} is neither a command nor a profile; {hint}")
