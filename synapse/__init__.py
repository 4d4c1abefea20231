"""Synapse A2A: CLI coding agents in a PTY, each of them an Agent2Agent peer.

The public names are imported when they are first used: every command starts through this module.
"""

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from synapse.a2a_client import A2AClient, A2AMessage, A2ATask, AsyncA2AClient
    from synapse.controller import TerminalController
    from synapse.errors import SynapseError
    from synapse.registry import AgentRegistry

__all__ = [
    "A2AClient",
    "A2AMessage",
    "A2ATask",
    "AgentRegistry",
    "AsyncA2AClient",
    "SynapseError",
    "TerminalController",
]

_MODULES = {"AgentRegistry": "registry", "SynapseError": "errors", "TerminalController": "controller"}


if not TYPE_CHECKING:  # a type checker would accept every name

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module 'synapse' has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(f"synapse.{_MODULES.get(name, 'a2a_client')}"), name)
