"""`synapse review`: the script `synapse/runs/review.py`, as a run."""

import argparse

from synapse.cli import run


def parser() -> argparse.ArgumentParser:
    return run.script_parser("review")


def main(argv: list[str]) -> int:
    return run.script_main("review", argv)
