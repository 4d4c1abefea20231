"""Synapse A2A: CLI coding agents in a PTY, each of them an Agent2Agent peer."""

__version__ = "0.1.0"
