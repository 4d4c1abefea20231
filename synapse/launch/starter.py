"""Finds agents that `config.yaml` names, and starts them where the file allows it.

Senders call `find_or_start(target)`. It blocks until the agent has started, so a process with an event loop
calls it in a thread. An agent is started by a command of its own: a process with threads must not fork.
"""

from __future__ import annotations

from synapse.base import paths
from synapse.config import load_settings
from synapse.errors import NoSuchAgent, SynapseError
from synapse.registry import ALL, ALL_HERE, AgentRegistry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from synapse.config import AgentSettings, Settings
    from synapse.registry import Entry

PATIENCE = 60.0  # seconds; `synapse start` gives up after 30


def find_or_start(
    target: str, tell: Callable[[str], object] = lambda _: None, settings: Settings | None = None
) -> Entry:
    """The running agent that `target` means. One with `auto_start` is started; `tell` is called before that.

    Raises NoSuchAgent with the nearest names, TargetError if several agents match, and SynapseError with
    the reason if the agent does not start.
    """
    registry = AgentRegistry()
    try:
        return registry.resolve(target)
    except NoSuchAgent as missing:
        settings = settings or load_settings()
        name = configured_name(target, settings)
        if name is None or not settings.agents[name].auto_start:
            raise NoSuchAgent(_not_running(target, name, settings)) from missing
        tell(f"starting {name} ({settings.agents[name].profile})")
        try:
            start(name, settings.agents[name])
        except SynapseError as error:
            try:
                return registry.resolve(target)  # another process started it first
            except NoSuchAgent:
                raise error from None
        return registry.resolve(name)


class Starter:
    """Starts agents for one that is running: in its directory, with the `umask` of its user."""

    def __init__(self, agents: Mapping[str, AgentSettings], working_dir: str, umask: int) -> None:
        self._agents = {name: agent for name, agent in agents.items() if agent.auto_start}
        self.names = frozenset(self._agents)
        self._working_dir = working_dir
        self._umask = umask

    async def start(self, name: str) -> None:
        """Returns when the agent answers; SynapseError has the reason if it does not."""
        import asyncio

        await asyncio.to_thread(start, name, self._agents[name], self._working_dir, self._umask)


def start(name: str, agent: AgentSettings, working_dir: str | None = None, umask: int = -1) -> str:
    """Start an agent as it is configured; returns the output of `synapse start`, or raises its error."""
    import subprocess

    command = [*paths.our_python(), "-m", "synapse", "start", agent.profile, "--name", name]
    try:
        done = subprocess.run(
            command,
            cwd=working_dir,
            umask=umask,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            encoding="utf-8",
            errors="replace",
        )
    except OSError as error:
        raise SynapseError(f"{name} cannot be started ({error.strerror}): see `synapse doctor`.") from error
    except subprocess.TimeoutExpired:
        raise SynapseError(
            f"{name} did not start within {PATIENCE:g} s: see `synapse logs {name}`."
        ) from None
    if done.returncode:
        reason = done.stderr.strip().removeprefix("synapse: ") or f"status {done.returncode}"
        raise SynapseError(f"{name} did not start: {reason}")
    return done.stdout.strip()


def start_all(settings: Settings) -> Iterable[tuple[str, str | SynapseError]]:
    """Start every configured agent that is not running, four at a time; yields each with its result."""
    from concurrent.futures import ThreadPoolExecutor, as_completed

    running = {str(entry["name"]).casefold() for entry in AgentRegistry().list_agents().values()}
    missing = {name: agent for name, agent in settings.agents.items() if name.casefold() not in running}
    with ThreadPoolExecutor(4) as pool:
        started = {pool.submit(start, name, agent): name for name, agent in missing.items()}
        for done in as_completed(started):
            error = done.exception()
            if error is not None and not isinstance(error, SynapseError):
                raise error
            yield started[done], error if isinstance(error, SynapseError) else done.result()


def configured_name(target: str, settings: Settings) -> str | None:
    """The name as the settings write it; `target` may be in another case."""
    return next((name for name in settings.agents if name.casefold() == target.casefold()), None)


def _not_running(target: str, name: str | None, settings: Settings) -> str:
    from synapse.profiles.files import profile_names

    profiles = profile_names()
    sentence = f"no agent named {target!r} is running"
    if name is not None:
        return f"{sentence}: start it with `synapse start {name}`, or set agents.{name}.auto_start."
    if target.casefold() in profiles:
        return f"{sentence}: start one with `synapse start {target.casefold()}`."
    import difflib

    from synapse.peers.directory import open_directory

    if target.casefold() in (ALL, ALL_HERE):
        return f"{target!r} is more than one agent: name one of them; `synapse list` shows them."
    reachable = [one.name for one in open_directory().listed()]
    running = [str(entry["name"]) for entry in AgentRegistry().list_agents().values()]
    known = {word.casefold(): word for word in [*profiles, *settings.agents, *reachable]}
    near = [known[word] for word in difflib.get_close_matches(target.casefold(), known, 3)]
    if near:
        return f"{sentence}; did you mean {' or '.join(near)}?"
    if running:
        return f"{sentence}; running: {', '.join(running)}."
    return f"{sentence}: `synapse list` shows who is."
