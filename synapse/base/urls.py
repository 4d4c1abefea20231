"""Checks URLs that come from other programs before Synapse calls them.

The name is resolved and the addresses are checked here. The caller connects to one of these addresses
(`Pinned`), so a later change of the name has no effect. Check a URL when it is set and again when it is used,
and check the target of every redirect.
"""

import asyncio
import ipaddress
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

LONGEST = 2048
RESOLVE_SECONDS = 5.0
DEFAULT_PORTS = {"http": 80, "https": 443}

_HOST = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_.])?")
_ODD = re.compile(r"[^!-~]|\\")  # control characters, spaces, not ASCII; clients disagree about a backslash
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_COMPATIBLE = ipaddress.IPv6Network("::/96")
_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
_THIS_NETWORK = ipaddress.IPv4Network("0.0.0.0/8")
# Where clouds keep credentials, apart from the link-local 169.254.169.254.
_METADATA = frozenset(
    map(ipaddress.ip_address, ("fd00:ec2::254", "100.100.100.200", "168.63.129.16", "192.0.0.192"))
)

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolver = Callable[[str, int], list[str]]


class UrlRefused(ValueError):
    """The message says why."""


class UrlUnresolved(UrlRefused):
    """The name has no address at the moment; it may have one later."""


@dataclass(frozen=True)
class Pinned:
    """A URL with the addresses that were checked."""

    url: str
    scheme: str
    host: str  # for the Host header's name and for TLS
    port: int
    addresses: tuple[str, ...]

    @property
    def host_header(self) -> str:
        return urlsplit(self.url).netloc

    def direct(self, address: str) -> str:
        """The URL with this address for the name; it is sent with `host_header`, and with `host` in TLS."""
        assert address in self.addresses
        place = f"[{address}]" if ":" in address else address
        return urlsplit(self.url)._replace(netloc=f"{place}:{self.port}", fragment="").geturl()


def resolve(host: str, port: int) -> list[str]:
    """All addresses that a client would find: `2130706433` and `0177.1` are 127.0.0.1 here too."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UrlUnresolved(f"the host {host!r} has no address: check the name.") from error
    return list(dict.fromkeys(str(place[0]) for *_, place in found))


def pin_url(
    url: str, allow_private: bool = False, allow_loopback: bool = False, resolver: Resolver = resolve
) -> Pinned:
    """The addresses to connect to. Raises UrlRefused for a URL that must not be called."""
    parts, host, port = _split(url)
    addresses = resolver(host, port)
    if not addresses:
        raise UrlUnresolved(f"the host {host!r} has no address: check the name.")
    for text in addresses:
        why = _objection(_inner(ipaddress.ip_address(text.split("%")[0])), allow_private, allow_loopback)
        if why:
            shown = host if host == text else f"{host} ({text})"
            raise UrlRefused(f"{shown} is {why}")
    return Pinned(url, parts.scheme, host, port, tuple(addresses))


async def pin_url_async(url: str, allow_private: bool = False, allow_loopback: bool = False) -> Pinned:
    """Resolves in a thread, for at most `RESOLVE_SECONDS`."""
    try:
        async with asyncio.timeout(RESOLVE_SECONDS):
            return await asyncio.to_thread(pin_url, url, allow_private, allow_loopback)
    except TimeoutError as error:
        raise UrlUnresolved(
            f"the host of {url!r} could not be found within {RESOLVE_SECONDS:g} s."
        ) from error


def _split(url: str) -> tuple[SplitResult, str, int]:
    """Refuses a URL about whose host two parsers could disagree."""
    if len(url) > LONGEST:
        raise UrlRefused(f"the URL is longer than {LONGEST} characters.")
    if _ODD.search(url):
        raise UrlRefused("the URL has a space, a backslash or a character that is not ASCII: encode it.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UrlRefused(f"the URL cannot be read: {error}.") from error
    if parts.scheme not in DEFAULT_PORTS:
        raise UrlRefused("the URL must begin with http:// or https://.")
    if "@" in parts.netloc:
        raise UrlRefused("the URL must not contain a user name or a password.")
    host = parts.hostname or ""
    if port == 0 or not (_is_ipv6(host) if "[" in parts.netloc else _HOST.fullmatch(host)):
        raise UrlRefused("the URL must name a host, as http://host.example/path does.")
    return parts, host, DEFAULT_PORTS[parts.scheme] if port is None else port


def _is_ipv6(host: str) -> bool:
    try:
        return ipaddress.IPv6Address(host).scope_id is None
    except ValueError:
        return False


def _inner(ip: IPAddress) -> IPAddress:
    if isinstance(ip, ipaddress.IPv4Address):
        return ip
    if ip in _NAT64 or (ip in _COMPATIBLE and int(ip) > 1):
        return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None) or ip


def _objection(ip: IPAddress, allow_private: bool, allow_loopback: bool) -> str | None:
    if ip in _METADATA or ip.is_link_local:
        return "link-local or a cloud's metadata service, which is never called."
    if ip.is_loopback:
        return None if allow_loopback else "this machine, which is not called."
    if ip.is_unspecified or ip.is_multicast or ip.is_reserved or ip in _THIS_NETWORK:
        return "no address of one machine."
    outside = isinstance(ip, ipaddress.IPv6Address) and ip not in _GLOBAL_UNICAST
    if (outside or not ip.is_global) and not allow_private:
        return "in a private network, which is called only if push.allow_private is on."
    return None
