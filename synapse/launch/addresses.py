"""The address that an agent listens on."""

import _socket

from synapse.base.record import Record
from synapse.errors import UsageError

WILDCARDS = ("0.0.0.0", "::")


class Address(Record):
    """`name` is what the user gave, `ip` its address, `scope` the interface of a link-local address."""

    name: str
    family: int
    ip: str
    scope: tuple[int, ...]

    @property
    def is_loopback(self) -> bool:
        return self.ip == "::1" or self.ip.removeprefix("::ffff:").startswith("127.")

    def bindable(self, port: int) -> tuple[str | int, ...]:
        return (self.ip, port, *self.scope)

    def endpoint(self, port: int) -> str:
        """For other programs on this machine. A wildcard address includes localhost."""
        if self.ip in (*WILDCARDS, "127.0.0.1") or self.name == "localhost":
            return f"http://localhost:{port}"
        return f"http://[{self.name}]:{port}" if ":" in self.name else f"http://{self.name}:{port}"


LOOPBACK = Address(name="127.0.0.1", family=_socket.AF_INET, ip="127.0.0.1", scope=())


def resolve(name: str | None) -> Address:
    """An address of this machine, or a name that has one; by default loopback."""
    if name is None or name == "localhost":
        return LOOPBACK
    name = name.removeprefix("[").removesuffix("]")
    try:
        if not name:
            raise OSError  # getaddrinfo takes the empty name for every address
        found = _socket.getaddrinfo(name, 0, 0, _socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UsageError(
            f"--host {name!r} is not an address of this machine: use 127.0.0.1, ::1 or 0.0.0.0."
        ) from error
    family, *_, place = found[0]
    return Address(name=name, family=int(family), ip=str(place[0]).split("%")[0], scope=tuple(place[2:]))


def safe_address(name: str | None, token: str | None) -> Address:
    """The same, but refuses an address that other machines reach if there is no token."""
    address = resolve(name)
    if token is None and not address.is_loopback:
        raise UsageError(
            f"--host {name} lets other machines connect to this agent, which needs a token: "
            "add --token-file FILE or set SYNAPSE_TOKEN, or leave --host out."
        )
    return address
