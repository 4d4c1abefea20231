"""`synapse council`: the script `synapse/runs/council.py`, as a run."""

import argparse

from synapse.cli import run


def parser() -> argparse.ArgumentParser:
    return run.script_parser("council")


def main(argv: list[str]) -> int:
    return run.script_main("council", argv)
