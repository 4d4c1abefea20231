"""InputRouter: finds `@agent` lines in what a human types and sends them, under the specifications' names.

For scripts. It wraps the `KeyRouter` that the relay uses; the relay does not import this module.

    router = InputRouter(registry=AgentRegistry())
    for output, is_command in router.process_input("@codex review this\\r"):
        ...                                       # `output` is for the agent's own terminal
    agent, message = router.get_a2a_command()     # ("codex", "review this")
    router.send_to_agent(agent, message)          # True if it was sent; the reply is in `last_response`
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from synapse.a2a_client import A2AClient
from synapse.errors import SynapseError, WaitTimeout
from synapse.keys.commands import PATTERN, Command
from synapse.keys.router import COMMAND, PASS, KeyRouter
from synapse.registry import AgentRegistry

if TYPE_CHECKING:
    from synapse.keys.router import Action


class InputRouter:
    """With a registry, only names of running agents and aliases of remote agents make a command; without one,
    every name does. A client is made when the first message is sent, if none is given."""

    def __init__(
        self, registry: AgentRegistry | Any = None, a2a_client: A2AClient | Any = None, pattern: str = PATTERN
    ) -> None:
        self.registry = registry
        self.is_external_agent = False  # whether the last message went to a remote agent
        self.last_response: str | None = None
        self._client = a2a_client
        self._keys = KeyRouter(pattern=pattern)

    @property
    def a2a_client(self) -> A2AClient | Any:
        if self._client is None:
            self._client = A2AClient()
        return self._client

    @property
    def line_buffer(self) -> str:
        """The line so far; empty if it is not known, for example after a history key."""
        return self._keys.line or ""

    @property
    def in_escape_sequence(self) -> bool:
        return self._keys.in_escape_sequence

    @property
    def pending_agent(self) -> str | None:
        return self.get_a2a_command()[0]

    @property
    def command(self) -> Command | None:
        return self._keys.last

    def process_char(self, char: str) -> tuple[str, bool]:
        """What goes to the agent's terminal, and whether the line is to be sent to another agent instead."""
        data = char.encode("utf-8", "surrogatepass")
        actions = self.feed(data) if char in ("\r", "\n") else self._keys.feed(data)
        passed = b"".join(action[1] for action in actions if action[0] == PASS)
        return passed.decode("utf-8", "surrogatepass"), any(action[0] == COMMAND for action in actions)

    def process_input(self, data: str) -> list[tuple[str, bool]]:
        return [self.process_char(char) for char in data]

    def feed(self, data: bytes) -> list[Action]:
        """The same for the bytes of one read, in which an Enter may be a whole escape sequence."""
        self._refresh_names()
        return self._keys.feed(data)

    def is_escape_sequence(self, data: str) -> bool:
        return data.startswith("\x1b")

    def is_a2a_command(self, line: str) -> bool:
        return self._parse(line) is not None

    def parse_a2a_command(self, line: str) -> tuple[str, str] | tuple[None, None]:
        """The agent's name as it was typed, and the message without flags."""
        found, split = self._parse(line), self._keys.parser.split(line)
        return (split[0], found.message) if found and split else (None, None)

    def get_a2a_command(self) -> tuple[str, str] | tuple[None, None]:
        last = self._keys.last
        return (last.name, last.message) if last is not None else (None, None)

    def reset(self) -> None:
        self._keys.reset()

    def send_to_agent(self, name: str, message: str, want_response: bool = True) -> bool:
        """Whether the message was sent: to a running agent of that name or type, else to a remote agent.

        With `want_response` this waits for the reply, which is then in `last_response`.
        """
        self.last_response = None
        try:
            task = self._send(name, message, want_response)
        except WaitTimeout as error:
            return hasattr(error, "task")  # the agent works on it; there is no reply yet
        except SynapseError:
            return False
        if task is not None and want_response:
            self.last_response = task.text
        return task is not None

    def get_feedback_message(self, agent: str, success: bool) -> str:
        if not success:
            return f"[✗ {agent}: not sent]"
        return f"[→ {agent} ({'external' if self.is_external_agent else 'local'})]"

    def _send(self, name: str, message: str, want_response: bool) -> Any:
        registry = AgentRegistry() if self.registry is None else self.registry
        entries = list(registry.list_agents().values())
        wanted = name.casefold()
        keys = ("name", "agent_type")  # a name is meant before a type
        found = (e for key in keys for e in entries if str(e.get(key, "")).casefold() == wanted)
        entry = next(found, None)
        self.is_external_agent = entry is None
        if entry is None:
            return self.a2a_client.send_message(self._alias(name), message, want_response)
        return self.a2a_client.send_to_local(entry["endpoint"], message, 1, want_response)

    def _alias(self, name: str) -> str:
        """The alias as it is written in the registry of remote agents, whatever its case."""
        wanted = name.casefold()
        return next((alias for alias in self._aliases() if alias.casefold() == wanted), name)

    def _aliases(self) -> list[str]:
        return [str(agent.alias) for agent in self.a2a_client.list_agents()]

    def _parse(self, line: str) -> Command | None:
        self._refresh_names()
        found = self._keys.parser.parse(line)
        return found if isinstance(found, Command) else None

    def _refresh_names(self) -> None:
        if self.registry is None:
            return
        entries = self.registry.list_agents().values()
        local = [str(entry[key]) for entry in entries for key in ("agent_type", "name") if entry.get(key)]
        self._keys.parser.set_names([*self._aliases(), *local])
