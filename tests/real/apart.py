"""Puts CLIs that have pins of their own (`pins/NAME/`) into the cache, each in a folder of its own.

Each is installed when a test first asks for it: with npm, or with uv or pip into a virtual environment. With
SYNAPSE_REAL_CLI=latest it is the newest, as installed on that day. `python -m tests.real.apart NAME` does it
by hand and prints where it is.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import cache as once
from pathlib import Path

from tests.real.install import NotInstalled, _alone, _run, _which, cache

PINS = Path(__file__).parent / "pins"
NAMES = tuple(sorted(folder.name for folder in PINS.iterdir() if folder.is_dir()))
PACKAGE, LOCK, WANTED, PINNED = "package.json", "package-lock.json", "requirements.in", "requirements.txt"
PYTHONS = {"aider": ("3.12", "3.11", "3.10"), "vibe": ("3.13", "3.12")}


@once
def folder_of(name: str, say: Callable[[str], None] = print) -> Path:
    """The folder with its program. NotInstalled when it cannot be had."""
    pins = {path.name: path.read_bytes() for path in sorted((PINS / name).iterdir())}
    latest = os.environ.get("SYNAPSE_REAL_CLI") == "latest"
    key = hashlib.sha256(b"".join(pins.values())).hexdigest()[:16]
    if latest:
        key = f"latest-{datetime.date.today():%Y%m%d}"
    path = cache() / f"{name}-{key}-{sys.platform}-{platform.machine()}"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _alone(path.with_suffix(".lock"), say):
            if not path.exists():
                say(f"installing {name} into {path} (once, up to a minute) ...")
                _fill(name, path, pins, latest)
    except OSError as error:
        raise NotInstalled(f"cannot write the cache: {error}") from error
    return _programs(path)


def version_of(name: str) -> str:
    """As it is pinned; of a newest one it is not asked for here."""
    if os.environ.get("SYNAPSE_REAL_CLI") == "latest":
        return "latest"
    if (PINS / name / PACKAGE).exists():
        wanted = json.loads((PINS / name / PACKAGE).read_bytes())["dependencies"]
        return str(next(iter(wanted.values())))
    return (PINS / name / WANTED).read_text().strip().partition("==")[2]


def _programs(path: Path) -> Path:
    npm = path / "node_modules" / ".bin"
    return npm if npm.exists() else path / "venv" / "bin"


def _fill(name: str, path: Path, pins: dict[str, bytes], latest: bool) -> None:
    """A virtual environment knows its own path, so it is made in place, and its last file says that it is
    whole."""
    if PACKAGE in pins:
        _fill_npm(path, pins, latest)
        return
    staging = path.with_name(f"{path.name}.installing")
    shutil.rmtree(staging, ignore_errors=True)
    try:
        python, uv = _python(name), shutil.which("uv")
        _run([python, "-m", "venv", *(["--without-pip"] if uv else []), "--copies", staging / "venv"], PINS)
        own = staging / "venv" / "bin" / "python"
        pip: list[Path | str] = (
            [uv, "pip", "install", "--python", own] if uv else [own, "-m", "pip", "install"]
        )
        wanted = pins[WANTED].decode().strip()
        what = [wanted.partition("==")[0]] if latest else ["--require-hashes", "-r", PINS / name / PINNED]
        _run([*pip, "--quiet", *what], PINS)
        staging.rename(path)
        for script in (path / "venv" / "bin").iterdir():  # they name the folder in which they were installed
            if not script.is_symlink() and script.read_bytes()[:2] == b"#!":
                script.write_bytes(script.read_bytes().replace(bytes(staging), bytes(path), 1))
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _fill_npm(path: Path, pins: dict[str, bytes], latest: bool) -> None:
    staging = Path(tempfile.mkdtemp(prefix="installing-", dir=path.parent))
    try:
        package = json.loads(pins[PACKAGE])
        if latest:
            package["dependencies"] = dict.fromkeys(package["dependencies"], "latest")
        (staging / PACKAGE).write_text(json.dumps(package))
        if not latest:
            (staging / LOCK).write_bytes(pins[LOCK])
        command = "install" if latest else "ci"
        _run([_which("npm"), command, "--ignore-scripts", "--no-audit", "--no-fund"], staging)
        _use_own_node(staging / "node_modules" / ".bin", path / "node_modules" / ".bin")
        staging.chmod(0o755)
        staging.rename(path)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _use_own_node(made: Path, final: Path) -> None:
    """A CLI that needs a newer Node.js than the others has one among its pins, which only it uses."""
    if not (made / "node").exists():
        return
    node = os.path.normpath(final / os.readlink(made / "node"))
    (made / "node").unlink()
    for program in made.iterdir():
        script = program.resolve()
        head, _, rest = script.read_bytes().partition(b"\n")
        if head == b"#!/usr/bin/env node":
            script.write_bytes(f"#!{node}\n".encode() + rest)


def _python(name: str) -> Path:
    """A Python that the package supports, from the PATH or from pyenv."""
    for version in PYTHONS[name]:
        for found in (shutil.which(f"python{version}"), *_of_pyenv(version)):
            if found is not None and not str(found).endswith(f"shims/python{version}"):
                return Path(found)
    raise NotInstalled(f"{name} needs Python {' or '.join(PYTHONS[name])}, and there is none")


def _of_pyenv(version: str) -> list[str]:
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    return [str(found) for found in sorted(root.glob(f"versions/{version}.*/bin/python"))]


if __name__ == "__main__":
    try:
        print(folder_of(sys.argv[1]))
    except NotInstalled as error:
        sys.exit(f"DID NOT RUN: {error}")
