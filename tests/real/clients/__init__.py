"""A2A clients that others wrote, put into the cache beside the real CLIs."""

from __future__ import annotations

import hashlib
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.real.install import NotInstalled, _alone, _run, _which, cache

HERE = Path(__file__).parent
PINS = ("package.json", "package-lock.json", "requirements.txt")


@dataclass(frozen=True)
class Clients:
    path: Path
    node: Path

    def newest(self, url: str, binding: str) -> list[str]:
        """npm's @a2a-js/sdk, which speaks 1.0."""
        return [str(self.node), str(HERE / "client.mjs"), url, binding, str(self.path / "node_modules")]

    def old(self, url: str, binding: str) -> list[str]:
        """a2a-sdk 0.3, in an environment of its own."""
        return [str(self.path / "venv" / "bin" / "python"), str(HERE / "client_03.py"), url, binding]


def install_clients(say: Callable[[str], None] = print) -> Clients:
    """From the cache, or from npm and PyPI. NotInstalled when they cannot be had."""
    node, npm = _which("node"), _which("npm")
    key = hashlib.sha256(b"".join((HERE / name).read_bytes() for name in PINS)).hexdigest()[:16]
    path = cache() / f"clients-{key}-{sys.platform}-{platform.machine()}-py{sys.version_info[1]}"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _alone(path.with_suffix(".lock"), say):
            if not path.exists():
                _fill(path, npm, say)
    except OSError as error:
        raise NotInstalled(f"cannot write the cache: {error}") from error
    return Clients(path, node)


def _fill(path: Path, npm: Path, say: Callable[[str], None]) -> None:
    say(f"installing A2A clients into {path} (once) ...")
    staging = Path(tempfile.mkdtemp(prefix="installing-", dir=path.parent))
    try:
        for name in PINS:
            shutil.copy(HERE / name, staging)
        _run([npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"], staging)
        _run([sys.executable, "-m", "venv", "venv"], staging)
        python = staging / "venv" / "bin" / "python"
        _run([python, "-m", "pip", "install", "--quiet", "--require-hashes", "-r", PINS[-1]], staging)
        staging.rename(path)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
