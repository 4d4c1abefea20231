"""Turns this process into the relay of one agent: claim, bind, register, spawn, run.

Until the agent is spawned every import counts: `socket` alone costs 4 ms (hence `_socket`), `json` or `re` 9.
The relay's own modules are imported while the agent starts.
"""

from __future__ import annotations

import _socket
import errno
import os
import time

from synapse.agent_context import build_instructions
from synapse.agents.flags import channel_arguments
from synapse.base import jsontext, paths
from synapse.config import Settings, load_settings
from synapse.errors import SynapseError, UsageError
from synapse.launch.addresses import Address, safe_address
from synapse.profiles.loader import Profile, clear_steps, instruction_arguments, pack_profile
from synapse.registry import AgentRegistry, Entry, current_dir
from synapse.relay.console import Console
from synapse.relay.pty import Pty, make_winsize, split_winsize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from synapse.relay.link import HostLink
    from synapse.relay.loop import Relay

    Report = Callable[[dict[str, object]], None]

FIRST_COMMON_PORT = 8200  # for a profile without a range, and for every range that is full
LAST_PORT = 65535
HOST = "synapse.host"  # the module that the host process runs

# What says which terminal we were started in; in the background the terminal is ours.
_TERMINAL_VARIABLES = (
    *("TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TERM_SESSION_ID", "LC_TERMINAL", "LC_TERMINAL_VERSION"),
    *("TMUX", "TMUX_PANE", "STY", "WINDOWID", "COLUMNS", "LINES", "VTE_VERSION", "WT_SESSION"),
    *("KITTY_WINDOW_ID", "KITTY_PID", "WEZTERM_PANE", "ITERM_SESSION_ID", "GHOSTTY_RESOURCES_DIR"),
)


class Claim:
    """A name, a port and the sockets, ours from here on."""

    def __init__(
        self, registry: AgentRegistry, entry: Entry, others: list[Entry], sockets: list[_socket.socket]
    ) -> None:
        self.registry = registry
        self.entry = entry
        self.others = others
        self.agent_id = str(entry["agent_id"])
        self.name = str(entry["name"])
        self.tcp, self.control, self.events, self.attach = sockets

    def release(self) -> None:
        with self.registry.mutex():
            paths.remove_sockets(self.agent_id)
            self.registry.unregister(self.agent_id)


def claim(
    profile: Profile, settings: Settings, name: str | None, port: int | None, address: Address
) -> Claim:
    registry = AgentRegistry()
    working_dir = current_dir()
    with registry.mutex():
        live = registry.list_agents_unlocked()
        agent_id, chosen = registry.choose(profile.name, working_dir, name, live)
        taken = {entry["port"] for entry in live.values()}  # on another address it would be free
        ports = (n for n in _candidate_ports(profile, settings, chosen, port) if n == port or n not in taken)
        tcp = _bind_tcp(ports, port, address)
        number = tcp.getsockname()[1]
        try:
            control = _bind_unix(paths.control_socket(agent_id))
            events = _bind_unix(paths.events_socket(agent_id))
            attach = _bind_unix(paths.attach_socket(agent_id))
        except OSError as error:
            raise SynapseError(
                f"cannot create the socket {error.filename} ({error.strerror}): see `synapse doctor`."
            ) from error
        entry = registry.register(
            agent_id,
            profile.name,
            number,
            name=chosen,
            working_dir=working_dir,
            endpoint=address.endpoint(number),
            socket=control.getsockname(),
        )
    return Claim(registry, entry, list(live.values()), [tcp, control, events, attach])


def _candidate_ports(profile: Profile, settings: Settings, name: str, port: int | None) -> Iterable[int]:
    if port is not None:
        yield port
        return
    for key in (name, profile.name):
        configured = settings.agents.get(key)
        if configured is not None and configured.port is not None:
            yield configured.port
    if profile.ports is not None:
        yield from range(profile.ports[0], profile.ports[1] + 1)
    yield from range(FIRST_COMMON_PORT, LAST_PORT + 1)


def _bind_tcp(candidates: Iterable[int], wanted: int | None, address: Address) -> _socket.socket:
    for port in candidates:
        sock = _socket.socket(address.family, _socket.SOCK_STREAM)
        sock.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
        try:
            sock.bind(address.bindable(port))
            sock.listen(128)  # two that may bind the same port may not both listen on it
            return sock
        except OSError as error:
            sock.close()
            if error.errno == errno.EADDRNOTAVAIL:
                raise UsageError(
                    f"--host {address.name} is no address of this machine: use 127.0.0.1, ::1 or 0.0.0.0."
                ) from error
            if wanted is not None:
                reason = "is in use by another program" if error.errno == errno.EADDRINUSE else error.strerror
                raise UsageError(
                    f"port {port} cannot be used ({reason}): choose another --port, or leave it out."
                ) from error
    raise SynapseError(
        f"no port is free from {FIRST_COMMON_PORT} on: stop an agent, or name one with --port."
    )


def _bind_unix(path: str) -> _socket.socket:
    try:
        os.unlink(path)  # left by a dead agent: the id is ours, its lock was free
    except FileNotFoundError:
        pass
    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        sock.bind(path)
    except OSError as error:
        error.filename = path
        raise
    os.chmod(path, 0o600)
    sock.listen(128)
    return sock


def find_command(profile: Profile) -> list[str]:
    """The command with its program as a path that can be started."""
    program, *rest = profile.command
    if os.sep in program:
        found = program if os.access(program, os.X_OK) and not os.path.isdir(program) else None
    else:
        places = (os.path.join(d or ".", program) for d in os.get_exec_path())
        found = next((p for p in places if os.access(p, os.X_OK) and os.path.isfile(p)), None)
    if found is None:
        how = f"install it with `{profile.install}`" if profile.install else "install it"
        raise SynapseError(
            f"{profile.name} needs the program {program!r}, which is not installed: "
            f"{how}, or name another command in the profile."
        )
    return [found, *rest]


def run_bare(profile: Profile, args: Sequence[str]) -> None:
    """Become the CLI itself, for what is not an interactive session."""
    command = find_command(profile)
    os.execve(command[0], [*command, *args], _environment(profile, None))


def _environment(profile: Profile, entry: Entry | None) -> dict[str, str]:
    env = dict(os.environ)
    for key, value in profile.env.items():
        if value is None:
            env.pop(key, None)
        else:
            env[key] = value
    if entry is not None:
        env["SYNAPSE_AGENT_ID"] = str(entry["agent_id"])
        env["SYNAPSE_AGENT_NAME"] = str(entry["name"])
        env["SYNAPSE_ENDPOINT"] = str(entry["endpoint"])
        env["SYNAPSE_EVENTS"] = paths.events_socket(str(entry["agent_id"]))
    return env


def _background_environment(env: dict[str, str]) -> dict[str, str]:
    """The terminal of a background agent is our emulator."""
    for key in _TERMINAL_VARIABLES:
        env.pop(key, None)
    return {**env, "TERM": "xterm-256color", "COLORTERM": "truecolor"}


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
) -> int:
    """Run one agent to its end and return its exit status. Without a console it runs in the background."""
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
        relay, link = _make_relay(profile, agent, pty, console, settings, token, started_at, report, log)
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
    relay.front.say_goodbye(status)
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
    env = _environment(profile, agent.entry)
    argv = [*command, *channel_arguments(profile.channel, args, env), *own, *args]
    try:
        if console is not None:
            return Pty.spawn(argv, env, console.winsize(), console.saved)
        return Pty.spawn(argv, _background_environment(env), make_winsize(*profile.size))
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
) -> tuple[Relay, HostLink]:
    from synapse.relay.link import HostLink
    from synapse.relay.loop import Relay

    packed = pack_profile(profile.name)

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
