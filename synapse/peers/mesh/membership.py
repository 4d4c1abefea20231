"""The mesh that this machine has joined: one file, which only its user can read."""

from __future__ import annotations

import json
import os
import uuid
from dataclasses import asdict, dataclass, field, fields

from synapse.base import files, paths
from synapse.errors import SynapseError
from synapse.peers.mesh.names import Names
from synapse.peers.task import Json

KIND = "mesh"  # of the addresses of its agents


def folder() -> str:
    return os.path.dirname(paths.mesh_file())


@dataclass(frozen=True)
class Membership:
    """`owner` is the user whose machine it is, as the administrator wrote it. Secrets are in `seed`,
    `password` and `token`, or in the file `creds`, which its issuer may replace."""

    team: str
    machine: str
    urls: list[str]
    owner: str = ""
    ca: str = ""  # PEM; empty: the system's certificates
    seed: str = field(default="", repr=False)
    creds: str = ""
    user: str = ""
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    instance: str = field(default_factory=lambda: uuid.uuid4().hex)  # tells two machines of one name apart

    @property
    def names(self) -> Names:
        return Names(self.team)

    @classmethod
    def of(cls, told: Json) -> Membership:
        known = {item.name for item in fields(cls)}
        try:
            return cls(**{key: value for key, value in told.items() if key in known})
        except TypeError as error:
            raise ValueError(str(error)) from error

    def save(self) -> None:
        paths.private_dir(folder())
        files.replace(paths.mesh_file(), json.dumps(asdict(self), indent=2).encode())


def load_membership() -> Membership | None:
    told = files.read_object(paths.mesh_file())
    if not told:
        return None
    try:
        return Membership.of(told)
    except ValueError as error:
        raise SynapseError(
            f"{paths.mesh_file()} is damaged ({error}): join again with `synapse mesh join`."
        ) from error


def membership() -> Membership:
    found = load_membership()
    if found is None:
        raise SynapseError("this machine has not joined a mesh: `synapse mesh join` does that.")
    return found


def forget() -> None:
    for name in ("joined.json", "agents.json"):
        try:
            os.unlink(os.path.join(folder(), name))
        except FileNotFoundError:
            pass
