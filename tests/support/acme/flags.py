"""Acme keeps a journal if it is told to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def arguments(args: Sequence[str], env: Mapping[str, str]) -> list[str]:
    return [] if "--quiet" in args else [f"--journal={env['HOME']}/acme.jsonl"]
