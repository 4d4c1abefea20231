"""Packages that are not installed with Synapse itself."""

from __future__ import annotations

INSTALL_MCP = "pip install 'a2a-synapse[mcp]'"
NO_MCP = f"`synapse mcp` needs a package that is not installed: install it with `{INSTALL_MCP}`."
_MCP = ("mcp", "mcp_types")  # older releases of the first have no second


def missing_mcp() -> str:
    """The sentence to say if `synapse mcp` cannot run; empty if it can. Nothing is imported."""
    from importlib.util import find_spec

    return "" if all(find_spec(name) for name in _MCP) else NO_MCP
