"""`synapse <profile>`: run an agent in this terminal."""

from __future__ import annotations

from synapse.errors import ProfileError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from synapse.launch.run import Report
    from synapse.profiles.loader import Profile
    from synapse.relay.console import Console

HELP = """\
usage: synapse {name} [--port N] [--name NAME] [--host ADDR] [--token-file FILE] [--] [ARGS…]

Runs {command} in this terminal, as it is, and serves it as an agent.

  --port N            serve on this port instead of the first free one of the profile
  --name NAME         the name that others use for this agent (default: {name})
  --host ADDR         listen on this address instead of 127.0.0.1; other machines need a token
  --token-file FILE   every request must carry the token in FILE, which only you may read (chmod 600);
                      SYNAPSE_TOKEN does the same, and --token TOKEN, which `ps` shows to everybody
  ARGS…               everything else goes to {program} as it is; after -- also what looks like ours

For the options of {program} itself: synapse {name} -- --help
"""


VALUED = ("--port", "--name", "--host", "--token", "--token-file")


class Options:
    """Synapse's own flags, which come first, and the rest, which is not ours."""

    def __init__(self, argv: list[str]) -> None:
        self.port: int | None = None
        self.name: str | None = None
        self.host: str | None = None
        self.token: str | None = None
        self.token_file: str | None = None
        self.help = False
        self.foreground = False
        self.rest: list[str] = []
        position = 0
        while position < len(argv):
            word, equals, value = argv[position].partition("=")
            if word in VALUED:
                if not equals:
                    position += 1
                    if position >= len(argv):
                        raise UsageError(f"{word} needs a value.")
                    value = argv[position]
                self._take(word, value)
            elif argv[position] in ("-h", "--help"):
                self.help = True
            elif argv[position] == "--foreground":
                self.foreground = True
            else:
                if argv[position] == "--":
                    position += 1
                break
            position += 1
        self.rest = argv[position:]

    def _take(self, word: str, value: str) -> None:
        if word == "--name":
            from synapse.registry import check_name

            check_name(value)
            self.name = value
        elif word != "--port":
            setattr(self, word[2:].replace("-", "_"), value)
        elif not value.isascii() or not value.isdigit() or not 1 <= int(value) <= 65535:
            raise UsageError(f"--port takes a number from 1 to 65535, not {value!r}.")
        else:
            self.port = int(value)

    def take_token(self) -> str | None:
        """The token of these options or of the environment; a file is read once."""
        from synapse.launch.tokens import take_token

        self.token, self.token_file = take_token(self.token, self.token_file), None
        return self.token


def main(word: str, argv: list[str]) -> int:
    from synapse.profiles.loader import load_profile, runs_bare

    try:
        profile = load_profile(word)
    except ProfileError as error:
        raise _unknown(word, error) from error
    options = Options(argv)
    if options.help:
        program = profile.command[0].rsplit("/", 1)[-1]
        print(HELP.format(name=word, command=" ".join(profile.command), program=program), end="")
        return 0
    from synapse.launch import run as launch
    from synapse.launch.program import find_command, run_bare

    if runs_bare(profile, options.rest):
        run_bare(profile, options.rest)
    find_command(profile)  # a missing program is the first thing to say
    console = launch.terminal_or_error(word)
    return run(profile, options, console)


def run(profile: Profile, options: Options, console: Console | None, report: Report | None = None) -> int:
    """Run one agent as the options say; in the background without a console."""
    from synapse.launch import run as launch

    token = options.take_token()
    return launch.run_agent(
        profile, options.rest, options.name, options.port, console, report, options.host, token
    )


def _unknown(word: str, error: ProfileError) -> ProfileError:
    """A mistyped word may have meant a command as well as a profile."""
    from synapse.base.commands import COMMANDS
    from synapse.profiles.loader import profile_names

    names = profile_names()
    if word in names:
        return error  # the profile is there, and broken
    import difflib

    near = difflib.get_close_matches(word, [*COMMANDS, *names], 3, 0.6)
    hint = f"did you mean {' or '.join(near)}?" if near else "see `synapse --help` and `synapse profiles`."
    return ProfileError(f"{word!r} is neither a command nor a profile; {hint}")
