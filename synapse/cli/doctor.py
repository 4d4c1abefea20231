"""`synapse doctor`: check this machine: programs, profiles, files, terminal."""

import os
import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

from synapse import __version__
from synapse.base import paths
from synapse.cli.shared.checks import is_drivable, last_check, last_checks
from synapse.cli.shared.output import say
from synapse.cli.shared.page import BOLD, GREEN, RED, YELLOW, Page
from synapse.cli.shared.parser import PROFILE, Parser, number
from synapse.config import load_settings
from synapse.errors import SynapseError, UsageError
from synapse.launch import program
from synapse.launch.extras import missing_mcp
from synapse.profiles.loader import Profile, list_profiles, load_profile
from synapse.registry import AgentRegistry

HELP = """\
Check this machine. The exit status is 1 if something must be repaired.

With --drive: start the installed CLI of a profile inside Synapse, in a temporary home, against a scripted
model on this machine (no network, no login, none of your files), and check that messages, replies, questions,
interrupts and drafts work with it as they were measured. That takes up to a minute. The exit status is 1 if
something differs, or if the time was over.
"""
OK, NOTE, BAD = "✓", "-", "✗"
COLOURS = {OK: GREEN, NOTE: YELLOW, BAD: RED}
Finding = tuple[str, str]


def parser() -> Parser:
    found = Parser("synapse doctor", HELP)
    found.add_word("profile", PROFILE, nargs="?", help="check only this profile, in detail")
    found.add_argument("--drive", action="store_true", help="run the CLI of the profile, and check it")
    found.add_argument("--all", action="store_true", help="with --drive: every CLI that is installed")
    found.add_argument("--record", metavar="FILE", help="with --drive: save its terminal, as an asciicast")
    found.add_argument(
        "--timeout",
        type=number(float, 1, 3600),
        metavar="SECONDS",
        help="with --drive: for all checks of a CLI (60, or 120 if it starts slowly)",
    )
    return found


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    if options.drive:
        return _drive(options)
    if options.all or options.record or options.timeout:
        raise UsageError("--all, --record and --timeout go with --drive: see `synapse doctor --help`.")
    sections = {
        "Synapse": _installation(),
        "directories": _directories(),
        "profiles": _profiles(),
        "last checks": _last_checks(),
        "agents": _agents(),
        "terminal": _terminal(),
    }
    if options.profile:
        sections = {f"profile {options.profile}": _one_profile(options.profile)}
    status, page = 0, Page()
    for title, findings in sections.items():
        say(page.paint(title, BOLD))
        for mark, text in findings:
            say(page.line(f"  {mark} {text}", 4, mark, COLOURS[mark]))
            status |= mark == BAD
    return int(status)


def _drive(options: Namespace) -> int:
    if options.all == bool(options.profile):
        raise UsageError("--drive takes the name of a profile, or --all: `synapse doctor PROFILE --drive`.")
    if options.all and options.record:
        raise UsageError("--record takes one profile: `synapse doctor PROFILE --drive --record FILE`.")
    from synapse.cli.shared.driving import drive_all, drive_one

    if options.all:
        return drive_all(options.timeout)
    record = Path(options.record) if options.record else None
    return drive_one(load_profile(options.profile), record, options.timeout)


def _last_checks() -> Iterator[Finding]:
    found = list(last_checks())
    for good, text in found:
        yield (OK if good else NOTE), text
    if not found:
        yield NOTE, "no CLI that can be checked is installed"


def _installation() -> Iterator[Finding]:
    yield OK, f"synapse {__version__}, Python {sys.version.split()[0]} ({sys.executable})"
    yield _in_path()
    try:
        from synapse.terminal.screen import make_screen

        screen = make_screen(20, 5)
        screen.feed("日本\x1b[1mok".encode())
        works = screen.text() == "日本ok"
        yield (OK if works else BAD), f"screen model: {screen.name}{'' if works else ' draws wrongly'}"
    except (ImportError, OSError) as error:
        yield BAD, f"the screen model cannot be loaded ({error}): install a2a-synapse again"
    for module in ("fastapi", "uvicorn", "uvloop", "httptools"):
        try:
            __import__(module)
        except ImportError as error:
            yield BAD, f"{module} cannot be imported ({error}): install a2a-synapse again"


def _in_path() -> Finding:
    """Another package has commands of the same names; agents and shells take the first one in PATH."""
    places = (os.path.join(folder, "synapse") for folder in os.get_exec_path())
    found = next((path for path in places if os.path.isfile(path) and os.access(path, os.X_OK)), None)
    ours = os.path.join(os.path.dirname(sys.executable), "synapse")
    if found is None:
        return NOTE, f"`synapse` is not in PATH, so agents cannot send: add {os.path.dirname(ours)} to it"
    if os.path.realpath(found) == os.path.realpath(ours) or _is_ours(found):
        return OK, f"`synapse` in PATH is {found}"
    return NOTE, f"another `synapse` is first in PATH ({found}): put {os.path.dirname(ours)} before it"


def _is_ours(script: str) -> bool:
    """Whether a script runs this Python: a link or a wrapper in ~/.local/bin may be named differently."""
    try:
        with open(script, "rb") as file:
            first = file.readline(4096).strip()
    except OSError:
        return False
    interpreter = first.removeprefix(b"#!").strip().split(b" ")[0].decode("utf-8", "replace")
    return bool(interpreter) and os.path.dirname(interpreter) == os.path.dirname(sys.executable)


def _directories() -> Iterator[Finding]:
    for path, variable in ((paths.synapse_home(), "SYNAPSE_HOME"), (paths.a2a_home(), "A2A_HOME")):
        yield _directory(path, variable)
    try:
        yield _directory(paths.runtime_dir(), "XDG_RUNTIME_DIR")
    except OSError as error:
        yield BAD, f"{error.filename}: no sockets can be created there ({error.strerror})"
    try:
        settings = load_settings()
        path = paths.config_file()
        yield OK, f"{path}: {'valid' if os.path.exists(path) else 'does not exist'}"
        if settings.default_response_mode == "broadcast":
            yield NOTE, "default_response_mode: broadcast does not wait; send to `@all` to reach every agent"
    except SynapseError as error:
        yield BAD, str(error)


def _directory(path: str, variable: str) -> Finding:
    existing = os.path.abspath(path)
    while not os.path.lexists(existing):
        existing = os.path.dirname(existing)
    if not os.path.isdir(existing):
        return BAD, f"{path}: cannot be created, {existing} is not a directory; set {variable} to another"
    if not os.path.isdir(path):
        if why := _why_not_creatable(existing):
            cannot = f"{path}: cannot be created in {existing} ({why})"
            return BAD, f"{cannot}; change that, or set {variable} to another"
        return NOTE, f"{path}: will be created when needed"
    if not os.access(path, os.W_OK | os.X_OK):
        return BAD, f"{path}: not writable; change that, or set {variable} to another"
    if os.stat(path).st_mode & 0o077:
        return NOTE, f"{path}: other users can read it; `chmod 700 {path}` prevents that"
    return OK, path


def _why_not_creatable(folder: str) -> str:
    """Tries to create a directory: on some file systems the permissions do not tell."""
    import tempfile

    try:
        os.rmdir(tempfile.mkdtemp(prefix=".synapse-", dir=folder))
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _profiles() -> Iterator[Finding]:
    for listed in list_profiles():
        if listed.profile is None:
            yield BAD, f"{listed.name}: {listed.error}"
            continue
        try:
            yield OK, f"{listed.name}: {program.find_command(listed.profile)[0]}"
        except SynapseError as error:
            yield NOTE, str(error)


def _one_profile(name: str) -> Iterator[Finding]:
    try:
        profile = load_profile(name)
        yield OK, f"{profile.path} is valid ({profile.source})"
        command = program.find_command(profile)
    except SynapseError as error:
        yield BAD, str(error)
        return
    yield OK, f"starts {' '.join([*command, *profile.args])}"
    yield _compared(_version(command), profile)
    if profile.mcp and (missing := missing_mcp()):
        yield BAD, f"mcp: true gives it no tools: {missing}"
    if is_drivable(profile):
        good, text = last_check(profile)
        yield (OK if good else NOTE), f"it {text}"
    first, last = profile.ports or (8200, 8209)
    free = next((port for port in range(first, last + 1) if _is_free(port)), None)
    if free:
        yield OK, f"port {free} is free"
    elif profile.ports:
        yield NOTE, f"every port from {first} to {last} is taken; one from 8200 on is used"


def _compared(version: str, profile: Profile) -> Finding:
    """The version, and whether it is older than the one that the profile was measured with."""
    installed, measured = _numbers(version), _numbers(profile.measured)
    if not installed or installed >= measured:
        return OK, f"version: {version}"
    update = f"update it (`{profile.install}`)" if profile.install else "update it"
    return NOTE, (
        f"version: {version}, older than {profile.measured}, with which its profile was measured: {update}, "
        f"or see what differs with `synapse doctor {profile.name} --drive`"
    )


def _numbers(version: str) -> list[int]:
    import re

    found = re.search(r"\d+(?:\.\d+)+", version)
    return [int(part) for part in found[0].split(".")] if found else []


def _is_free(port: int) -> bool:
    import socket

    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def _version(command: list[str]) -> str:
    import subprocess

    try:
        done = subprocess.run(
            [*command, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError) as error:
        return f"unknown ({type(error).__name__})"
    return (done.stdout or done.stderr).strip().split("\n")[0] or "unknown"


def _agents() -> Iterator[Finding]:
    registry = AgentRegistry()
    stale = registry.stale_files()
    try:
        live = registry.list_agents()
    except SynapseError as error:
        yield BAD, str(error)
        return
    yield OK, f"{len(live)} running" + "".join(f", {entry['name']}" for entry in live.values())
    for path in stale:
        yield NOTE, f"{path}: left by an agent that has died{'' if os.path.exists(path) else ', removed now'}"
    live_sockets = {agent_id[:16] for agent_id in live}
    try:
        sockets = sorted(os.scandir(paths.runtime_dir()), key=lambda entry: entry.name)
    except OSError:
        return  # reported with the directories
    for left in sockets:
        # A directory belongs to a shell, which removes it.
        if left.name.split(".")[0] not in live_sockets and not left.is_dir(follow_symlinks=False):
            os.unlink(left.path)
            yield NOTE, f"{left.path}: left by an agent that has died, removed now"


def _terminal() -> Iterator[Finding]:
    term = os.environ.get("TERM")
    if not (os.isatty(0) and os.isatty(1)):
        yield NOTE, "standard input or output is not a terminal: use `synapse start` and `synapse screen`"
        return
    size = os.get_terminal_size(1)
    yield OK, f"{os.ttyname(0)}, {size.columns}x{size.lines}"
    if not term or term == "dumb":
        yield NOTE, f"TERM is {term or 'not set'}: agents will draw little; try TERM=xterm-256color"
    else:
        yield OK, f"TERM={term}"
    if size.columns < 40 or size.lines < 10:
        yield NOTE, "this window is small for a full-screen agent"
    if os.environ.get("SYNAPSE_AGENT_NAME"):
        yield NOTE, f"this terminal belongs to the agent {os.environ['SYNAPSE_AGENT_NAME']}"
