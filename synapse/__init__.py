"""Synapse A2A: CLI coding agents in a PTY, each of them an Agent2Agent peer.

The public names are imported when they are first used: every command starts through this module.
"""

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from synapse.a2a_client import A2AClient, A2AMessage, A2ATask, AsyncA2AClient, StillWorking
    from synapse.api import aio
    from synapse.api.calls import answer, ask, cancel, follow, get_task, list_agents, send
    from synapse.api.reply import NoData, Reply, Usage
    from synapse.controller import TerminalController
    from synapse.errors import AgentAsks, NoSuchAgent, Refused, SynapseError, TaskFailed
    from synapse.registry import AgentRegistry

_MODULES = {
    "a2a_client": ("A2AClient", "A2AMessage", "A2ATask", "AsyncA2AClient", "StillWorking"),
    "api.calls": ("answer", "ask", "cancel", "follow", "get_task", "list_agents", "send"),
    "api.reply": ("NoData", "Reply", "Usage"),
    "controller": ("TerminalController",),
    "errors": ("AgentAsks", "NoSuchAgent", "Refused", "SynapseError", "TaskFailed"),
    "registry": ("AgentRegistry",),
}

__all__ = [
    "A2AClient",
    "A2AMessage",
    "A2ATask",
    "AgentAsks",
    "AgentRegistry",
    "AsyncA2AClient",
    "NoData",
    "NoSuchAgent",
    "Refused",
    "Reply",
    "StillWorking",
    "SynapseError",
    "TaskFailed",
    "TerminalController",
    "Usage",
    "aio",
    "answer",
    "ask",
    "cancel",
    "follow",
    "get_task",
    "list_agents",
    "send",
]


if not TYPE_CHECKING:  # a type checker would accept every name

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module 'synapse' has no attribute {name!r}")
        from importlib import import_module

        if name == "aio":
            return import_module("synapse.api.aio")
        module = next(module for module, names in _MODULES.items() if name in names)
        return getattr(import_module(f"synapse.{module}"), name)
