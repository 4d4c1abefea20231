"""Turns this process into the relay of one agent: claim, bind, register, spawn, run.

Until the agent is spawned every import counts: `json` or `re` alone costs 9 ms.
The relay's own modules are imported while the agent starts.
"""

from __future__ import annotations

import errno
import os
import time

from synapse.agent_context import build_instructions
from synapse.agents.flags import channel_arguments
from synapse.base import jsontext, paths
from synapse.config import Settings, load_settings
from synapse.errors import SynapseError, UsageError
from synapse.launch.addresses import safe_address
from synapse.launch.claim import Claim, claim
from synapse.launch.program import background_environment, environment, find_command
from synapse.profiles.loader import Profile, clear_steps, instruction_arguments, pack_profile
from synapse.relay.console import Console
from synapse.relay.pty import Pty, make_winsize, split_winsize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from synapse.relay.link import HostLink
    from synapse.relay.loop import Relay

    Report = Callable[[dict[str, object]], None]

HOST = "synapse.host"  # the module that the host process runs


class Logger:
    """The relay's few lines in the agent's log: opened for each, because the host rotates the file."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __call__(self, message: str) -> None:
        stamp = time.strftime("%Y-%m-%d %H:%M:%S")
        try:
            fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            os.write(fd, f"{stamp} relay[{os.getpid()}] {message}\n".encode())
            os.close(fd)
        except OSError:
            pass  # no log is no reason to end the human's session


def run_agent(
    profile: Profile,
    args: Sequence[str],
    name: str | None = None,
    port: int | None = None,
    console: Console | None = None,
    report: Report | None = None,
    host: str | None = None,
    token: str | None = None,
    packed: dict[str, object] | None = None,
) -> int:
    """Run one agent to its end and return its exit status. Without a console it runs in the background.

    `packed` is the profile for the host, if it is in no file."""
    settings = load_settings()
    address = safe_address(host, token)
    if settings.grpc_port and token is None:
        raise UsageError(
            "grpc_port lets every user of this machine speak to the agent, which needs a token: "
            "add --token-file FILE or set SYNAPSE_TOKEN, or leave grpc_port out."
        )
    command = find_command(profile)
    _check_writable()
    agent = claim(profile, settings, name, port, address)
    log = Logger(paths.log_file(agent.name))
    try:
        started_at = time.time()
        own = _instructions(profile, settings, agent, args)
        pty = _spawn(profile, command, own, [*profile.args, *args], agent, console)
        log(f"started {agent.name}: {jsontext.dumps(list(args))} as {pty.pid}, port {agent.entry['port']}")
        packed = packed or pack_profile(profile.name)
        relay, link = _make_relay(
            profile, agent, pty, console, settings, token, started_at, report, log, packed
        )
        try:
            status = relay.run()
        except Exception as error:  # a fault of ours, whatever it is: the terminal is restored already
            import traceback

            log(f"the relay failed:\n{traceback.format_exc()}")
            pty.reap()
            raise SynapseError(
                f"Synapse failed and had to end {agent.name} ({error!r}): the log is {log.path}."
            ) from error
        log(f"ended with status {status}")
        # Whoever stopped it waits until all of it is gone; a human whose agent has ended waits for nothing.
        link.close(patience=3.0 if console is None or relay.stopping else 0.0)
    finally:
        agent.release()
    relay.front.tell_exit(status)
    if report is not None:
        report({"ended": status, "output": link.recent().decode("utf-8", "replace")})
    return status


def _instructions(profile: Profile, settings: Settings, agent: Claim, args: Sequence[str]) -> list[str]:
    """The arguments that tell the agent about the others, unless the user has given that one himself."""
    argument = profile.instructions.argument
    if not settings.initial_instructions or not argument:
        return []
    if any(word == argument or word.startswith(f"{argument}=") for word in args):
        return []
    return instruction_arguments(profile, build_instructions(agent.entry, agent.others))


def _spawn(
    profile: Profile,
    command: list[str],
    own: list[str],
    args: list[str],
    agent: Claim,
    console: Console | None,
) -> Pty:
    env = environment(profile, agent.entry)
    argv = [*command, *channel_arguments(profile.channel, args, env), *own, *args]
    try:
        if console is not None:
            return Pty.spawn(argv, env, console.winsize(), console.saved)
        return Pty.spawn(argv, background_environment(env), make_winsize(*profile.size))
    except OSError as error:
        raise SynapseError(
            f"cannot start {argv[0]} ({error.strerror}): see `synapse doctor {profile.name}`."
        ) from error


def _make_relay(
    profile: Profile,
    agent: Claim,
    pty: Pty,
    console: Console | None,
    settings: Settings,
    token: str | None,
    started_at: float,
    report: Report | None,
    log: Logger,
    packed: dict[str, object],
) -> tuple[Relay, HostLink]:
    from synapse.relay.link import HostLink
    from synapse.relay.loop import Relay

    def hello() -> dict[str, object]:
        cols, rows = split_winsize(pty.winsize)
        # What this host is not given: the first one gets everything.
        unseen = link.written - len(link.recent()) if link.generation > 1 else 0
        return {
            "entry": agent.entry,
            "profile": packed,
            "settings": settings.values,
            "token": token,
            "child": pty.pid,
            "started_at": started_at,
            "cols": cols,
            "rows": rows,
            "console": relay.front.console.describe() if relay.front.console else None,
            "generation": link.generation,
            "keys": relay.keyboard.keys,
            "draft": relay.keyboard.draft,
            "written": unseen,
            "whole": relay.front.one_size and not unseen,
            "placed": not relay.front.started_here,
            "injected": relay.injector.known(),
        }

    def clear(line: str) -> list[tuple[float, bytes]]:
        return clear_steps(profile, line)

    def on_ready() -> None:
        if report is not None:
            report({"ready": agent.entry})

    inherited = [sock.fileno() for sock in (agent.tcp, agent.control, agent.events)]
    command = [*paths.our_python(), "-m", HOST]
    link = HostLink(command, inherited, hello, log, log.path)
    keys = (settings.detach_keys, settings.overlay_keys)
    relay = Relay(pty, link, agent.attach, console, *keys, clear, on_ready, log)
    return relay, link


def _check_writable() -> None:
    try:
        paths.private_dir(paths.logs_dir())
        if not os.access(paths.logs_dir(), os.W_OK):
            raise PermissionError(errno.EACCES, "it is not writable")
    except OSError as error:
        raise SynapseError(
            f"cannot write to {paths.logs_dir()} ({error.strerror}): "
            "make it writable, or set SYNAPSE_HOME to a directory that is."
        ) from error


def terminal_or_error(profile_name: str) -> Console:
    for fd, what in ((0, "input"), (1, "output")):
        if not os.isatty(fd):
            raise UsageError(
                f"standard {what} is not a terminal: `synapse {profile_name}` needs one; "
                f"`synapse start {profile_name}` runs it in the background."
            )
    return Console.of_this_process()
