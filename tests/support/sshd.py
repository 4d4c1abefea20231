"""A real `sshd` on loopback, whose sessions have another home: for Synapse, another machine."""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.support.home import Home, new_home, wait
from tests.support.ports import free_port

PROGRAM = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/usr/bin:/sbin")


class Sshd:
    """`here` is the machine of the user, `there` the one with the server; `box` is its name in the
    configuration of ssh, and the variables of `here` make Synapse use that configuration."""

    def __init__(self, here: Home, there: Home) -> None:
        self.here, self.there = here, there
        self.folder = here.path / "ssh"
        self.folder.mkdir(mode=0o700)
        self.port = free_port()
        self._server: subprocess.Popen[bytes] | None = None
        for name in ("host", "user", "other"):
            words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / name)]
            subprocess.run(words, check=True)
        shutil.copy(self.folder / "user.pub", self.folder / "authorized")
        self.set_known(self.port)
        self.configure_client()
        self.configure()
        here.env["SYNAPSE_MACHINES__SSH"] = f"ssh -F {self.folder / 'config'}"

    @property
    def url(self) -> str:
        return f"ssh://127.0.0.1:{self.port}"

    def set_known(self, port: int) -> None:
        key = (self.folder / "host.pub").read_text()
        (self.folder / "known").write_text(f"[127.0.0.1]:{port} {key}")

    def configure_client(self, **more: str) -> None:
        options = {
            "IdentityFile": str(self.folder / "user"),
            "IdentitiesOnly": "yes",
            "UserKnownHostsFile": str(self.folder / "known"),
            "GlobalKnownHostsFile": "/dev/null",
            "StrictHostKeyChecking": "yes",
            "User": getpass.getuser(),
        } | more
        lines = ["Host box", "  HostName 127.0.0.1", f"  Port {self.port}", "Host *"]
        lines += [f"  {name} {value}" for name, value in options.items()]
        (self.folder / "config").write_text("\n".join(lines) + "\n")

    def configure(self, path: str = "", **more: str) -> None:
        """`path` is the PATH of the sessions."""
        kept = ("HOME", "SYNAPSE_HOME", "A2A_HOME", "SYNAPSE_TEST", "SYNAPSE_INITIAL_INSTRUCTIONS", "LANG")
        variables = {name: self.there.env[name] for name in kept} | {"PATH": path or self.there.env["PATH"]}
        options = {
            "Port": str(self.port),
            "ListenAddress": "127.0.0.1",
            "HostKey": str(self.folder / "host"),
            "PidFile": str(self.folder / "pid"),
            "AuthorizedKeysFile": str(self.folder / "authorized"),
            "StrictModes": "no",
            "UsePAM": "no",
            "PasswordAuthentication": "no",
            "KbdInteractiveAuthentication": "no",
            "PermitRootLogin": "yes",
            "PrintMotd": "no",
            "SetEnv": " ".join(f"{name}={value}" for name, value in variables.items()),
        } | more
        text = "".join(f"{name} {value}\n" for name, value in options.items())
        (self.folder / "sshd_config").write_text(text)

    def start(self) -> None:
        assert PROGRAM is not None and self._server is None
        if os.getuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # for the separation of privileges
        words = [PROGRAM, "-D", "-E", str(self.folder / "log"), "-f", str(self.folder / "sshd_config")]
        env = {name: self.there.env[name] for name in ("PATH", "SYNAPSE_TEST")}
        self._server = subprocess.Popen(words, env=env, stdin=subprocess.DEVNULL)
        wait(self._listens, "sshd to listen")

    def _listens(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1.0):
            return True
        return False

    def stop(self) -> None:
        """Pull it down, and every connection with it."""
        if self._server is not None:
            for pid in self._tree():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self._server.wait()
            self._server = None

    def freeze(self) -> None:
        """Stop answering, with every connection open."""
        for pid in self._tree():
            os.kill(pid, signal.SIGSTOP)

    def thaw(self) -> None:
        for pid in self._tree():
            os.kill(pid, signal.SIGCONT)

    def _tree(self) -> list[int]:
        """The server and the processes of its connections, without the programs that they run."""
        assert self._server is not None
        found = [self._server.pid]
        for name in os.listdir("/proc"):
            with suppress(OSError):
                stat = Path(f"/proc/{name}/stat").read_text() if name.isdigit() else ""
                if stat and "(sshd" in stat and self._is_below(int(name)):
                    found.append(int(name))
        return found

    def _is_below(self, pid: int) -> bool:
        assert self._server is not None
        while pid > 1:
            with suppress(OSError, IndexError):
                pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
                if pid == self._server.pid:
                    return True
                continue
            return False
        return False

    def log(self) -> str:
        path = self.folder / "log"
        return path.read_text() if path.exists() else ""


@contextmanager
def two_machines() -> Iterator[Sshd]:
    """Two homes, and a server that leads from the first to the second."""
    with new_home() as there, new_home() as here:
        sshd = Sshd(here, there)
        sshd.start()
        try:
            yield sshd
            for machine in (here.path / "synapse" / "machines").glob("*.json"):
                here.run("machine", "remove", machine.stem, check=False)
        finally:
            sshd.stop()
