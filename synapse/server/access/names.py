"""The host names that a server accepts in `Host` and `Origin`.

A page of another site can make a browser send requests here, even by a name of its own (DNS rebinding), but
it cannot change their Host and Origin.
"""

import ipaddress
import os
from collections.abc import Iterable, Sequence

from synapse.server.access.peers import is_loopback

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


class Names:
    """The names of loopback and `more`; with `any_address` every IP address too, which no page can rebind."""

    def __init__(self, more: Iterable[str] = (), any_address: bool = False) -> None:
        self._names = {*LOOPBACK, *(name.lower() for name in more)}
        self._any_address = any_address

    def __str__(self) -> str:
        words = ["localhost", *sorted(self._names.difference(LOOPBACK))]
        return " or ".join([*words, "an address"] if self._any_address else words)

    def allow(self, hosts: Sequence[bytes], origins: Sequence[bytes]) -> bool:
        """Whether there is one host, which is accepted, and no origin but the same."""
        if len(hosts) != 1 or len(origins) > 1:
            return False
        host = hosts[0].decode("latin-1").lower()
        name = _without_port(host)
        if name not in self._names and not (self._any_address and _is_address(name)):
            return False
        return not origins or origins[0].decode("latin-1").lower() in (f"http://{host}", f"https://{host}")


def names_for(ip: str, endpoint: str, more: Iterable[str]) -> Names:
    """The names of a server that listens on `ip` and announces `endpoint`."""
    announced = _without_port(endpoint.partition("://")[2])
    if is_loopback(ip):
        return Names([announced, *more])
    return Names([announced, os.uname().nodename, *more], any_address=True)


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isascii() and port.isdigit() else host


def _is_address(name: str) -> bool:
    try:
        if name.startswith("["):
            ipaddress.IPv6Address(name[1:].removesuffix("]"))
        else:
            ipaddress.IPv4Address(name)
    except ValueError:
        return False
    return True
