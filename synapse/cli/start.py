"""`synapse start`: start an agent in the background."""

from __future__ import annotations

import json
import os
import sys

from synapse.base import paths
from synapse.cli.run import Options, add_options, run
from synapse.config import load_settings
from synapse.errors import SynapseError, UsageError
from synapse.launch import program
from synapse.launch import run as launch
from synapse.profiles.loader import Profile, load_profile, runs_bare

TYPE_CHECKING = False
if TYPE_CHECKING:
    from synapse.cli.shared.parser import Parser

HELP = """\
Start an agent in the background and return when it answers. Instead of a profile you can give the name of an
agent in ~/.synapse/config.yaml (`agents:`).
"""
EPILOG = "`synapse attach <name>` shows its terminal, `synapse stop <name>` stops it."

PATIENCE = 30.0  # seconds until the agent must answer


def parser() -> Parser:
    from synapse.cli.shared.parser import PROFILE, raw_parser

    found = raw_parser("synapse start", HELP, epilog=EPILOG)
    found.add_word("profile", PROFILE, help="the agent to start; its options come after it")
    found.add_argument(
        "--all", action="store_true", help="start every agent of config.yaml that is not running"
    )
    found.add_argument(
        "--foreground", action="store_true", help="run it in this terminal, like `synapse <profile>`"
    )
    add_options(found, "the agent's program")
    return found


def main(argv: list[str]) -> int:
    if not argv or argv[0] in ("-h", "--help"):
        parser().print_help()
        return 0 if argv else 2
    if argv == ["--all"]:
        return _start_all()
    if argv[0].startswith("-"):
        raise UsageError("the profile comes first: use `synapse start <profile> [options]`.")
    word, options = argv[0], Options(argv[1:])
    configured = load_settings().agents.get(word)
    if configured is not None and configured.profile != word:
        word, options.name = configured.profile, options.name or word
    profile = load_profile(word)
    if options.help:
        parser().print_help()
        return 0
    if options.foreground:
        console = launch.terminal_or_error(profile.name)
        return run(profile, options, console)
    if runs_bare(profile, options.rest):
        raise UsageError(
            f"`{profile.name} {' '.join(options.rest)}` is not a session that can run in the background: "
            f"use `synapse {profile.name} {' '.join(options.rest)}`."
        )
    return _start_detached(profile, options)


def _start_all() -> int:
    settings = load_settings()
    if not settings.agents:
        raise UsageError(f"there are no agents in {paths.config_file()}: add them under `agents:`.")
    from synapse.launch.starter import start_all

    left, failed = set(settings.agents), 0
    for name, said in start_all(settings):
        left.discard(name)
        if isinstance(said, SynapseError):
            failed += 1
            print(f"synapse: {said}", file=sys.stderr)
        else:
            print(said, flush=True)
    for name in settings.agents:
        if name in left:
            print(f"{name} is running already")
    return 1 if failed else 0


def _start_detached(profile: Profile, options: Options) -> int:
    program.find_command(profile)  # report a missing program before the fork
    options.take_token()
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        os._exit(_become_daemon(profile, options, write))
    os.close(write)
    with os.fdopen(read, encoding="utf-8") as pipe:
        message = _first_message(pipe.fileno())
    if "ready" in message:
        entry = message["ready"]
        assert isinstance(entry, dict)
        print(f"started {entry['name']} at {entry['endpoint']} (pid {entry['pid']})")
        return 0
    if "error" in message:
        error = SynapseError(str(message["error"]))
        error.exit_status = int(str(message["status"]))
        raise error
    if "ended" in message:
        tail = _rendered_tail(str(message["output"]), profile)
        more = f" Its last lines:\n{tail}" if tail else " It wrote nothing."
        raise SynapseError(f"{profile.name} ended at once with status {message['ended']}.{more}")
    name = options.name or profile.name
    raise SynapseError(f"{name} did not answer within {PATIENCE:g} s: see `synapse logs {name}`.")


def _become_daemon(profile: Profile, options: Options, pipe: int) -> int:
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)

    def report(message: dict[str, object]) -> None:
        """Sends only the first message: the parent waits for one."""
        nonlocal pipe
        if pipe >= 0:
            written, pipe = pipe, -1  # the number may be used again after this
            try:
                os.write(written, json.dumps(message).encode() + b"\n")
            except OSError:
                pass  # the parent has ended
            os.close(written)

    try:
        return run(profile, options, None, report)
    except SynapseError as error:
        report({"error": str(error), "status": error.exit_status})
        return error.exit_status
    except BaseException as error:
        report({"error": f"cannot start {profile.name}: {error!r}", "status": 1})
        raise


def _first_message(fd: int) -> dict[str, object]:
    """One line from the child; an empty dict if it takes too long or ends without one."""
    import select
    import time

    data, deadline = b"", time.monotonic() + PATIENCE
    while not data.endswith(b"\n"):
        readable, _, _ = select.select([fd], [], [], max(deadline - time.monotonic(), 0))
        chunk = os.read(fd, 1 << 16) if readable else b""
        if not chunk:
            return {}
        data += chunk
    return dict(json.loads(data))


def _rendered_tail(output: str, profile: Profile, lines: int = 15) -> str:
    from synapse.terminal.screen import make_screen

    screen = make_screen(*profile.size)
    screen.feed(output.encode())
    text = [line for line in screen.contents().split("\n") if line.strip()]
    return "\n".join(f"  {line}" for line in text[-lines:])
