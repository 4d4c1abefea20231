"""Turns this process into the relay of one agent: claim, bind, register, spawn, run.

Until the agent is spawned every import counts: `json` or `re` alone costs 9 ms. The relay's own modules are
imported while the agent starts.
"""

from __future__ import annotations

import errno
import os
import time

from synapse.agent_context import build_instructions
from synapse.agents.flags import channel_arguments, channel_environment, mcp_arguments
from synapse.base import checkpoints, files, jsontext, paths
from synapse.base.processes import close_inherited, shell_status
from synapse.config import Settings, load_settings
from synapse.errors import SynapseError, UsageError
from synapse.launch.addresses import safe_address
from synapse.launch.claim import Claim, claim
from synapse.launch.ending import end, end_in_background
from synapse.launch.program import background_environment, environment, find_command
from synapse.launch.starts import remember_start
from synapse.profiles.loader import (
    Profile,
    clear_steps,
    instruction_arguments,
    instruction_method,
    instruction_variables,
    pack_profile,
)
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
    """Writes the relay's lines to the agent's log; opens it for each line, because the host rotates it."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __call__(self, message: str) -> None:
        stamp = time.strftime("%Y-%m-%d %H:%M:%S")
        try:
            fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            os.write(fd, f"{stamp} relay[{os.getpid()}] {message}\n".encode())
            os.close(fd)
        except OSError:
            pass  # the session goes on without a log


def run_agent(
    profile: Profile,
    args: Sequence[str],
    name: str | None = None,
    port: int | None = None,
    console: Console | None = None,
    report: Report | None = None,
    host: str | None = None,
    token: str | None = None,
    token_file: str | None = None,
    packed: dict[str, object] | None = None,
) -> int:
    """Run one agent to its end and return its exit status; negative, the signal that killed it. Without a
    console it runs in the background.

    `token_file` is where `token` was read; `packed` is the profile for the host, if it is in no file."""
    settings = load_settings()
    address = safe_address(host, token)
    command = find_command(profile)
    _check(settings, token)
    agent = claim(profile, settings, name, port, address)
    log = Logger(paths.log_file(agent.name))
    try:
        remember_start(
            agent.entry,
            args,
            profile="" if packed else profile.name,
            host=host,
            token_file=token_file,
            token=token is not None,
            foreground=console is not None,
        )
        started_at = time.time()
        told = _instructions(profile, settings, agent, args)
        pty = _spawn(profile, agent, console, command=command, told=told, args=[*profile.args, *args])
        close_inherited()  # they are the agent's: a lock or a pipe must not outlive it in the host
        log(f"started {agent.name}: {jsontext.dumps(list(args))} as {pty.pid}, port {agent.entry['port']}")
        hello: dict[str, object] = {
            "entry": agent.entry,
            "profile": packed or pack_profile(profile.name),
            "settings": settings.values,
            "token": token,
            "started_at": started_at,
        }
        relay, link = _make_relay(
            profile, settings, agent, pty=pty, console=console, hello=hello, report=report, log=log
        )
        status = _run_relay(relay, pty, agent.name, log)
        log(f"ended with status {shell_status(status)}")
    except BaseException:
        agent.release()
        raise
    agent.withdraw()
    checkpoints.reached("entry withdrawn")
    os.close(pty.master)
    relay.front.tell_exit(shell_status(status))
    if report is not None:
        report({"ended": shell_status(status), "output": link.recent.output().decode("utf-8", "replace")})
    (end if console is None else end_in_background)(link, agent)
    return status


def _instructions(profile: Profile, settings: Settings, agent: Claim, args: Sequence[str]) -> str:
    """What tells the agent about the others; empty if the user gives the same argument."""
    argument = profile.instructions.argument
    if instruction_method(profile, settings.initial_instructions) in ("typed", "off"):
        return ""
    if any(word == argument or word.startswith(f"{argument}=") for word in args):
        return ""
    return build_instructions(agent.entry, agent.others)


def _spawn(
    profile: Profile, agent: Claim, console: Console | None, *, command: list[str], told: str, args: list[str]
) -> Pty:
    env = environment(profile, agent.entry)
    for other in agent.others:  # one may have started this agent: its tools' id is not this agent's
        env.pop(str(files.read_object(paths.session_file(str(other["agent_id"]))).get("variable")), None)
    env |= channel_environment(profile.channel, args, env)
    own = instruction_arguments(profile, told) if told else []
    env |= instruction_variables(profile, told) if told else {}
    added = channel_arguments(profile.channel, args, env, command[0] if profile.embedded else "")
    if profile.mcp:
        added += mcp_arguments(profile.channel, command[0], [*added, *args], env)
    argv = [*command, *added, *own, *args]
    try:
        if console is not None:
            stderr = None if os.isatty(2) else 2
            return Pty.spawn(argv, env, console.winsize(), console.saved, stderr, console.describe())
        return Pty.spawn(argv, background_environment(env), make_winsize(*profile.size))
    except OSError as error:
        raise SynapseError(
            f"cannot start {argv[0]} ({error.strerror}): see `synapse doctor {profile.name}`."
        ) from error


def _make_relay(
    profile: Profile,
    settings: Settings,
    agent: Claim,
    *,
    pty: Pty,
    console: Console | None,
    hello: dict[str, object],
    report: Report | None,
    log: Logger,
) -> tuple[Relay, HostLink]:
    """The relay and its link to the host. Each new host receives `hello` and the state of the relay."""
    from synapse.relay.link import HostLink
    from synapse.relay.loop import Relay

    inherited = [*(sock.fileno() for sock in (agent.tcp, agent.control, agent.events)), agent.requests]
    inherited += checkpoints.descriptors()
    host = [*paths.our_python(), "-m", HOST]
    link = HostLink(host, inherited, lambda: {**hello, **_state(relay, link, pty)}, log, log.path)
    relay = Relay(
        pty,
        link,
        agent.attach,
        console,
        detach_keys=settings.detach_keys,
        overlay_keys=settings.overlay_keys,
        clear=lambda line, behind, normal_mode: clear_steps(profile, line, behind, normal_mode),
        on_ready=lambda: report({"ready": agent.entry}) if report is not None else None,
        on_heartbeat=agent.keep,
        log=log,
    )
    return relay, link


def _state(relay: Relay, link: HostLink, pty: Pty) -> dict[str, object]:
    cols, rows = split_winsize(pty.winsize)
    # Bytes that this host does not receive; the first host receives all of them.
    unseen = link.written - len(link.recent.output()) if link.generation > 1 else 0
    before = link.recent.reports() + relay.front.read_modes().redo() if unseen else b""
    return {
        "child": pty.pid,
        "cols": cols,
        "rows": rows,
        "console": relay.front.console.describe() if relay.front.console else None,
        "generation": link.generation,
        "keys": relay.keyboard.keys,
        "draft": relay.keyboard.draft,
        "written": unseen,
        "before": before.decode("latin-1"),
        "whole": relay.front.one_size and not unseen,
        "placed": not relay.front.started_here,
        "resumes": relay.front.overlay_layer.resumes,
        "injected": relay.injector.known(),
    }


def _run_relay(relay: Relay, pty: Pty, name: str, log: Logger) -> int:
    try:
        return relay.run()
    except Exception as error:  # any fault of ours; the terminal is restored already
        import traceback

        log(f"the relay failed:\n{traceback.format_exc()}")
        pty.reap(end=True)
        raise SynapseError(f"the relay failed and had to end {name} ({error!r}): see {log.path}.") from error


def _check(settings: Settings, token: str | None) -> None:
    if settings.grpc_port and token is None:
        raise UsageError(
            "grpc_port lets every user of this machine connect to the agent, which needs a token: "
            "add --token-file FILE or set SYNAPSE_TOKEN, or leave grpc_port out."
        )
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
    if missing := missing_terminal():
        raise no_terminal(profile_name, missing)
    return Console.of_this_process()


def missing_terminal() -> str:
    """Which of "input" and "output" is not a terminal."""
    return next((what for fd, what in ((0, "input"), (1, "output")) if not os.isatty(fd)), "")


def no_terminal(profile_name: str, missing: str) -> UsageError:
    return UsageError(
        f"standard {missing} is not a terminal, which `synapse {profile_name}` needs: "
        f"`synapse start {profile_name}` runs it in the background."
    )
