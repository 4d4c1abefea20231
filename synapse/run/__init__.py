"""Runs: scripts whose steps are tasks. `synapse run FILE.py` executes one; docs/runs.md describes it.

    from synapse.run import ask, gather

    plan = ask("claude", "Plan the change")
    reviews = gather(lambda: ask("codex", f"Review: {plan}"), lambda: ask("gemini", f"Review: {plan}"))

The names are imported when they are first used: `synapse run` starts through this module.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from synapse.errors import OverBudget, StepFailed
    from synapse.run.calls import ask, gather, log, once
    from synapse.run.workers import Worker, worker

    args: list[str]  # the arguments of the script

__all__ = ["OverBudget", "StepFailed", "Worker", "args", "ask", "gather", "log", "once", "worker"]

_MODULES = {
    "synapse.errors": ("OverBudget", "StepFailed"),
    "synapse.run.workers": ("Worker", "worker"),
    "synapse.run.calls": ("ask", "gather", "log", "once"),
}


if not TYPE_CHECKING:  # a type checker would accept every name

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name == "args":
            return list(import_module("synapse.run.session").current().args)
        for module, names in _MODULES.items():
            if name in names:
                return getattr(import_module(module), name)
        raise AttributeError(f"module 'synapse.run' has no attribute {name!r}")
