"""The server of a mesh, as its administrator has it: a file with the machines, and the files made from it."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field, fields, replace

from synapse.base import files, paths
from synapse.errors import SynapseError, UsageError
from synapse.mesh.server.streams import permissions
from synapse.peers.mesh import membership
from synapse.peers.mesh.link import missing
from synapse.peers.mesh.membership import Membership
from synapse.peers.mesh.names import Names
from synapse.peers.task import Json

LOOPBACK = "127.0.0.1"
PORT = 4222
STORAGE = 10 * 1024  # MB for the streams
LARGEST_PAYLOAD = 1024 * 1024
ADMIN = "admin"  # no machine can have this name


def folder() -> str:
    return os.path.join(membership.folder(), "server")


def path_of(name: str) -> str:
    return os.path.join(folder(), name)


@dataclass(frozen=True)
class Machine:
    key: str  # public
    owner: str = ""


@dataclass(frozen=True)
class ServerState:
    """`address` is where it listens, `names` how machines call it; with an address that is not loopback it
    speaks TLS only. `storage` is in MB."""

    team: str
    seed: str = field(repr=False)  # of the administrator
    key: str
    address: str = LOOPBACK
    port: int = PORT
    names: list[str] = field(default_factory=list)
    storage: int = STORAGE
    machines: dict[str, Machine] = field(default_factory=dict)

    @property
    def has_tls(self) -> bool:
        return self.address not in (LOOPBACK, "localhost", "::1")

    @property
    def urls(self) -> list[str]:
        scheme = "tls" if self.has_tls else "nats"
        hosts = self.names or [self.address]
        return [f"{scheme}://{f'[{host}]' if ':' in host else host}:{self.port}" for host in hosts]

    @property
    def owners(self) -> dict[str, str]:
        return {name: machine.owner for name, machine in self.machines.items()}

    def admin(self) -> Membership:
        scheme = "tls" if self.has_tls else "nats"
        host = LOOPBACK if self.address in ("0.0.0.0", "::") else self.address
        url = f"{scheme}://{f'[{host}]' if ':' in host else host}:{self.port}"
        return Membership(self.team, ADMIN, [url], ca=self.ca(), seed=self.seed, instance="admin")

    def ca(self) -> str:
        if not self.has_tls:
            return ""
        with open(path_of("ca.pem")) as file:
            return file.read()

    def with_machine(self, name: str, machine: Machine) -> ServerState:
        if name in self.machines or name == ADMIN:
            raise UsageError(
                f"there is a machine {name!r} already: choose another name, or remove it with "
                f"`synapse mesh revoke {name}` first."
            )
        return replace(self, machines={**self.machines, name: machine})

    def without_machine(self, name: str) -> ServerState:
        if name not in self.machines:
            known = ", ".join(self.machines) or "none"
            raise UsageError(f"there is no machine {name!r}: the mesh has {known}.")
        return replace(self, machines={n: m for n, m in self.machines.items() if n != name})

    def save(self) -> None:
        """The state, and the server's configuration made from it."""
        paths.private_dir(folder())
        files.replace(path_of("state.json"), json.dumps(asdict(self), indent=2).encode())
        files.replace(path_of("nats.conf"), json.dumps(self.configuration(), indent=2).encode())

    def configuration(self) -> Json:
        """The server reads JSON too. It holds public keys only."""
        found: Json = {
            "server_name": f"synapse-{self.team}",
            "host": self.address,
            "port": self.port,
            "max_payload": LARGEST_PAYLOAD,
            "pid_file": path_of("nats.pid"),
            "log_file": path_of("nats.log"),
            "logfile_size_limit": 1_000_000,
            "logfile_max_num": 3,
            "jetstream": {
                "store_dir": path_of("jetstream"),
                "max_file_store": self.storage * 1024 * 1024,
                "max_memory_store": 256 * 1024 * 1024,
            },
            "authorization": {"users": self.users()},
        }
        if self.has_tls:
            found["tls"] = {"cert_file": path_of("server.pem"), "key_file": path_of("server.key")}
        return found

    def users(self) -> list[Json]:
        everything = {"publish": {"allow": [">"]}, "subscribe": {"allow": [">"]}}
        names, machines = Names(self.team), list(self.machines)
        return [
            {"nkey": self.key, "permissions": everything},
            *(
                {"nkey": machine.key, "permissions": permissions(names, name, machines)}
                for name, machine in self.machines.items()
            ),
        ]


def load_state() -> ServerState | None:
    told = files.read_object(path_of("state.json"))
    if not told:
        return None
    known = {item.name for item in fields(ServerState)}
    told = {key: value for key, value in told.items() if key in known}
    told["machines"] = {name: Machine(**held) for name, held in told.get("machines", {}).items()}
    return ServerState(**told)


def server_state() -> ServerState:
    found = load_state()
    if found is None:
        raise SynapseError("this machine serves no mesh: `synapse mesh serve` starts one.")
    return found


def new_keys() -> tuple[str, str]:
    """The seed, which is secret, and the public key of a new user."""
    try:
        import nkeys
    except ModuleNotFoundError as error:
        raise missing(error) from error
    seed = nkeys.encode_seed(os.urandom(32), nkeys.PREFIX_BYTE_USER)
    return seed.decode(), public_key(seed.decode())


def public_key(seed: str) -> str:
    import nkeys

    key: bytes = nkeys.from_seed(bytearray(seed.encode())).public_key
    return key.decode()
