"""The specification's import path for the standard's operations; the code is in `synapse.server.standard`."""

from synapse.server.standard.handler import A2AHandler, protocol_version, standard_errors

__all__ = ["A2AHandler", "protocol_version", "standard_errors"]
