"""Packages that add a CLI to Synapse, as pip leaves them behind."""

from __future__ import annotations

import shutil
from pathlib import Path

ROOT = Path(__file__).parents[2]


def install(site: Path, name: str) -> Path:
    """Put `tests/support/<name>` into `site` as the package `<name>_synapse`; returns its metadata folder."""
    source = ROOT / "tests" / "support" / name
    shutil.copytree(source, site / f"{name}_synapse", ignore=shutil.ignore_patterns("__pycache__"))
    about = site / f"{name}_synapse-1.0.dist-info"
    about.mkdir()
    about.joinpath("METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-synapse\nVersion: 1.0\n")
    about.joinpath("entry_points.txt").write_text(f"[synapse.agents]\n{name} = {name}_synapse\n")
    return about
