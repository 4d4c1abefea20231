"""A server that a team already has: the machines join with a token, with user and password over TLS and the
permissions that `mesh config` prints, or with a credentials file. The server is the real one."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nkeys
import pytest

from synapse.mesh.server.certificates import make_certificates
from synapse.mesh.server.process import find_binary
from synapse.mesh.server.state import folder
from tests.support.home import Home, new_home, wait
from tests.support.mesh import accepts
from tests.support.ports import free_port

MACHINES = ("alpha", "beta")


@contextmanager
def server(home: Home, config: dict[str, Any], name: str = "nats") -> Iterator[int]:
    """Returns its port."""
    port = free_port()
    path = home.path / f"{name}.conf"
    store = {"jetstream": {"store_dir": str(home.path / "jetstream")}}
    path.write_text(json.dumps({"host": "127.0.0.1", "port": port, **store, **config}))
    log = home.path / "nats.log"
    process = subprocess.Popen([find_binary(), "-c", str(path), "-l", str(log)])
    try:
        wait(lambda: accepts(port), "the server")
        yield port
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture
def machines() -> Iterator[dict[str, Home]]:
    with new_home() as alpha, new_home() as beta:
        yield {"alpha": alpha, "beta": beta}
        for home in (alpha, beta):
            for name in home.agents():
                home.run("stop", name)


def secret(home: Home, name: str, text: str) -> str:
    path = home.path / name
    path.write_text(text)
    path.chmod(0o600)
    return str(path)


def talk(machines: dict[str, Home]) -> None:
    """An agent of beta answers a command of alpha."""
    machines["beta"].run("start", "dummy", "--name", "b")
    alpha = machines["alpha"]
    wait(lambda: "b@beta" in alpha.run("mesh", "status").stdout, "the agent in the mesh")
    assert alpha.run("send", "b@beta", "--return", "say joined").stdout == "joined\n"


def test_with_a_token(machines: dict[str, Home]) -> None:
    alpha = machines["alpha"]
    with server(alpha, {"authorization": {"token": "the-token"}}) as port:
        url = f"nats://127.0.0.1:{port}"
        token = secret(alpha, "token", "the-token\n")
        alpha.run("mesh", "config", "alpha", "beta", "--apply", url, "--token-file", token)
        for name, home in machines.items():
            home.run("mesh", "join", url, "--token-file", token, "--machine", name)
        talk(machines)
        wrong = secret(alpha, "wrong", "another")
        alpha.run("mesh", "leave")
        refused = alpha.run("mesh", "join", url, "--token-file", wrong, "--machine", "alpha", check=False)
        assert refused.returncode == 1 and "does not accept alpha" in refused.stderr, refused


def test_with_user_and_password_over_tls_and_the_printed_permissions(machines: dict[str, Home]) -> None:
    alpha = machines["alpha"]
    told = json.loads(alpha.run("mesh", "config", *MACHINES).stdout)
    users = [
        {"user": name, "password": f"secret-{name}", "permissions": told["users"][name]["permissions"]}
        for name in MACHINES
    ]
    users.append({"user": "admin", "password": "secret-admin"})
    with alpha.ours():
        os.makedirs(folder(), exist_ok=True)
        make_certificates(["127.0.0.1"])
        files = Path(folder())
    tls = {"cert_file": str(files / "server.pem"), "key_file": str(files / "server.key")}
    authority = ("--ca", str(files / "ca.pem"))
    with server(alpha, {"authorization": {"users": users}, "tls": tls}) as port:
        url = f"tls://127.0.0.1:{port}"

        def login(name: str) -> tuple[str, ...]:
            path = secret(alpha, f"password-{name}", f"secret-{name}\n")
            return ("--user", name, "--password-file", path)

        alpha.run("mesh", "config", *MACHINES, "--apply", url, *authority, *login("admin"))
        for name, home in machines.items():
            home.run("mesh", "join", url, *authority, *login(name), "--machine", name)
        talk(machines)
        alpha.run("mesh", "leave")
        unknown = alpha.run("mesh", "join", url, *login("alpha"), "--machine", "alpha", check=False)
        assert unknown.returncode == 1 and "does not accept alpha" in unknown.stderr, unknown
        path = secret(alpha, "wrong", "wrong")
        wrong = ("--user", "alpha", "--password-file", path)
        refused = alpha.run("mesh", "join", url, *authority, *wrong, "--machine", "alpha", check=False)
        assert refused.returncode == 1 and "does not accept alpha" in refused.stderr, refused


class Issuer:
    """An operator with one account, which makes credentials files as `nsc` does."""

    def __init__(self) -> None:
        self._operator = _keys(nkeys.PREFIX_BYTE_OPERATOR)
        self._account = _keys(nkeys.PREFIX_BYTE_ACCOUNT)
        system = _public(_keys(nkeys.PREFIX_BYTE_ACCOUNT))
        unlimited = dict.fromkeys(
            ("subs", "data", "payload", "imports", "exports", "conn", "leaf", "mem_storage", "disk_storage",
             "streams", "consumer"), -1,
        )  # fmt: skip
        plain = {
            name: -1 for name in unlimited if "storage" not in name and name not in ("streams", "consumer")
        }
        operator = _token(self._operator, _public(self._operator), {"type": "operator"})
        limits = {"type": "account", "limits": {**unlimited, "wildcards": True}}
        account = _public(self._account)
        self.config = {
            "operator": operator,
            "resolver": "MEMORY",
            "system_account": system,
            "resolver_preload": {
                account: _token(self._operator, account, limits),
                system: _token(self._operator, system, {"type": "account", "limits": plain}),
            },
        }

    def credentials(self, expires: float = 0.0) -> str:
        user = _keys(nkeys.PREFIX_BYTE_USER)
        claims = {"type": "user", "subs": -1, "data": -1, "payload": -1, "pub": {}, "sub": {}}
        token = _token(self._account, _public(user), claims, expires)
        return (
            f"-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n"
            f"-----BEGIN USER NKEY SEED-----\n{user.seed.decode()}\n------END USER NKEY SEED------\n"
        )


def _keys(kind: int) -> Any:
    return nkeys.from_seed(bytearray(nkeys.encode_seed(os.urandom(32), kind)))


def _public(keys: Any) -> str:
    return str(keys.public_key.decode())


def _token(issuer: Any, subject: str, claims: dict[str, Any], expires: float = 0.0) -> str:
    body = {
        "jti": os.urandom(16).hex(),
        "iat": int(time.time()),
        "iss": _public(issuer),
        "name": "test",
        "sub": subject,
        "nats": {**claims, "version": 2},
    }
    if expires:
        body["exp"] = int(expires)
    head = {"typ": "JWT", "alg": "ed25519-nkey"}
    signed = ".".join(_encoded(json.dumps(part).encode()) for part in (head, body))
    return f"{signed}.{_encoded(issuer.sign(signed.encode()))}"


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def test_with_a_credentials_file_that_expires(machines: dict[str, Home]) -> None:
    alpha, issuer = machines["alpha"], Issuer()
    with server(alpha, issuer.config) as port:
        url = f"nats://127.0.0.1:{port}"
        creds = secret(alpha, "user.creds", issuer.credentials())
        alpha.run("mesh", "config", *MACHINES, "--apply", url, "--creds", creds)
        for name, home in machines.items():
            home.run("mesh", "join", url, "--creds", creds, "--machine", name)
        talk(machines)
        # The file stays where it is: its issuer may replace it, here by one that has expired.
        secret(alpha, "user.creds", issuer.credentials(expires=time.time() - 60))
        status = json.loads(alpha.run("mesh", "status", "--json", check=False).stdout)
        assert "does not accept alpha" in status["problem"] and "expired" in status["problem"], status
        sent = alpha.run("send", "b@beta", "--return", "say late", check=False)
        assert sent.returncode != 0 and "does not accept alpha" in sent.stderr, sent
        secret(alpha, "user.creds", issuer.credentials(expires=time.time() + 3600))
        assert alpha.run("send", "b@beta", "--return", "say renewed").stdout == "renewed\n"
