"""Puts the pinned CLIs of package.json into a cache outside the tree, once for each lock file.

With SYNAPSE_REAL_CLI=latest it is the newest of each, once for each set of versions.
`python -m tests.real.install` does it by hand and prints where they are.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
PROGRAMS = ("claude", "codex", "gemini", "opencode", "qwen")
PATIENCE = 900.0  # seconds for npm, whose packages come to 900 MB


class NotInstalled(Exception):
    """The real CLIs cannot be had here: whoever asked DID NOT RUN, and has to say so."""


@dataclass(frozen=True)
class Installed:
    """Where the programs are, and what they run with."""

    path: Path
    node: Path

    @property
    def bin(self) -> Path:
        return self.path / "node_modules" / ".bin"

    @property
    def versions(self) -> dict[str, str]:
        """The version of each package, as it was asked for."""
        wanted = json.loads((self.path / "package.json").read_bytes())["dependencies"]
        return {str(name): str(version) for name, version in wanted.items()}

    def version(self, program: str) -> str:
        """What `program --version` prints."""
        with tempfile.TemporaryDirectory() as home:
            done = subprocess.run(
                [self.bin / program, "--version"],
                env={"HOME": home, "PATH": f"{self.node.parent}:/usr/bin:/bin"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=60,
            )
        if done.returncode != 0:
            raise NotInstalled(f"{program} --version failed: {_tail(done.stdout + done.stderr)}")
        return done.stdout.strip().splitlines()[-1]


def cache() -> Path:
    return Path(os.environ.get("SYNAPSE_REAL_CACHE") or Path.home() / ".cache" / "synapse-a2a" / "real-clis")


def install(say: Callable[[str], None] = print) -> Installed:
    """The CLIs, from the cache or from npm. NotInstalled when they cannot be had."""
    node, npm = _which("node"), _which("npm")
    files = {name: (HERE / name).read_bytes() for name in ("package.json", "package-lock.json")}
    key = hashlib.sha256(files["package-lock.json"]).hexdigest()[:16]
    if os.environ.get("SYNAPSE_REAL_CLI") == "latest":
        versions = _newest(npm, json.loads(files["package.json"]))
        files = {"package.json": json.dumps({"private": True, "dependencies": versions}).encode()}
        key = f"latest-{hashlib.sha256(files['package.json']).hexdigest()[:16]}"
    path = cache() / f"{key}-{sys.platform}-{platform.machine()}"
    found = Installed(path, node)
    if path.exists():
        return found
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _alone(path.with_name(f"{path.name}.lock"), say):
            if not path.exists():  # else another run has just made it
                _fill(found, npm, files, say)
    except OSError as error:
        raise NotInstalled(f"cannot write the cache: {error}") from error
    return found


def _newest(npm: Path, package: dict[str, dict[str, str]]) -> dict[str, str]:
    """The newest version of each CLI that package.json pins."""
    versions = {}
    for name in package["dependencies"]:
        *_, version = ["", *_run([npm, "view", name, "version"], HERE).split()]  # its warnings come first
        if not version[:1].isdigit():
            raise NotInstalled(f"npm does not say which version of {name} is the newest")
        versions[name] = version
    return versions


def _fill(wanted: Installed, npm: Path, files: dict[str, bytes], say: Callable[[str], None]) -> None:
    """Install beside the final place and rename, so that a path that exists is a path that works."""
    began = time.monotonic()
    staging = Path(tempfile.mkdtemp(prefix="installing-", dir=wanted.path.parent))
    try:
        for name, content in files.items():
            (staging / name).write_bytes(content)
        command = "ci" if "package-lock.json" in files else "install"
        say(f"installing {', '.join(PROGRAMS)} with npm into {wanted.path} (once, about a minute) ...")
        # Without scripts: all but these two would compile add-ons that nothing here uses.
        _run([npm, command, "--ignore-scripts", "--no-audit", "--no-fund"], staging)
        for script in ("@anthropic-ai/claude-code/install.cjs", "opencode-ai/postinstall.mjs"):
            _run([wanted.node, f"node_modules/{script}"], staging)
        # npm passes over an optional dependency that fails to arrive, and the programs are just that.
        for program in PROGRAMS:
            say(f"  {program}: {Installed(staging, wanted.node).version(program)}")
        staging.chmod(0o755)
        staging.rename(wanted.path)
    except subprocess.TimeoutExpired as error:
        raise NotInstalled(f"it took more than {error.timeout:.0f} s: {error.cmd}") from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    say(f"installed in {time.monotonic() - began:.0f} s")


def _run(argv: list[Path | str], cwd: Path) -> str:
    """What the command prints."""
    done = subprocess.run(
        [str(word) for word in argv],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
    )
    if done.returncode != 0:
        raise NotInstalled(f"{Path(argv[0]).name} {argv[1]} failed: {_tail(done.stdout)}")
    return done.stdout


def _tail(output: str) -> str:
    return "\n".join(output.strip().splitlines()[-15:]) or "(it printed nothing)"


def _which(program: str) -> Path:
    found = shutil.which(program)
    if found is None:
        raise NotInstalled(f"there is no {program} on the PATH: install Node.js 20 or newer")
    return Path(found)


@contextmanager
def _alone(lock: Path, say: Callable[[str], None]) -> Iterator[None]:
    """One installation at a time; the lock falls with the process that holds it."""
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another run is installing the CLIs; waiting for it ...")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    try:
        print(install().bin)
    except NotInstalled as error:
        sys.exit(f"DID NOT RUN: {error}")
