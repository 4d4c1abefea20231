"""Which URLs of others we call."""

from __future__ import annotations

import asyncio
import ipaddress
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synapse.base import urls
from synapse.base.urls import Pinned, UrlRefused, UrlUnresolved, pin_url, pin_url_async


def pin(url: str, *addresses: str, private: bool = False, loopback: bool = False) -> Pinned:
    """With a name server that says what the test wants."""
    return pin_url(url, private, loopback, resolver=lambda host, port: list(addresses))


PUBLIC = "93.184.215.14"


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("http://example.com/hook", "example.com", 80),
        ("https://example.com", "example.com", 443),
        ("https://EXAMPLE.com:8443/a?b=c", "example.com", 8443),
        ("http://a_b.example.com./", "a_b.example.com.", 80),
        ("http://93.184.215.14/", "93.184.215.14", 80),
    ],
)
def test_an_ordinary_url_is_called_at_the_address_that_was_checked(url: str, host: str, port: int) -> None:
    pinned = pin(url, PUBLIC)
    assert (pinned.host, pinned.port, pinned.addresses) == (host, port, (PUBLIC,))
    assert f"//{PUBLIC}:{port}" in pinned.direct(PUBLIC)


def test_the_direct_url_keeps_path_and_query_and_the_header_keeps_the_name() -> None:
    pinned = pin("https://hooks.example:8443/a/b?token=x#part", "2606:4700::1", PUBLIC)
    assert pinned.direct("2606:4700::1") == "https://[2606:4700::1]:8443/a/b?token=x"
    assert pinned.host_header == "hooks.example:8443"


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("", "http:// or https://"),
        ("example.com", "http:// or https://"),
        ("ftp://example.com/", "http:// or https://"),
        ("file:///etc/passwd", "http:// or https://"),
        ("gopher://127.0.0.1:6379/_x", "http:// or https://"),
        ("javascript:alert(1)", "http:// or https://"),
        ("http://", "name a host"),
        ("http:///path", "name a host"),
        ("http://:80/", "name a host"),
        ("http://-x.example/", "name a host"),
        ("http://example.com:0/", "name a host"),
        ("http://ex%61mple.com/", "name a host"),
        ("http://[fe80::1%25eth0]/", "name a host"),
        ("http://[v1.x]/", "URL"),
        ("http://user@example.com/", "user name or a password"),
        ("http://user:pw@example.com/", "user name or a password"),
        ("http://example.com@127.0.0.1/", "user name or a password"),
        ("http://example.com\\@127.0.0.1/", "backslash"),
        ("http://example.com/a b", "encode it"),
        ("http://exa\nmple.com/", "encode it"),
        ("http://bücher.example/", "encode it"),
        ("http://example.com:99999/", "cannot be read"),
        ("http://example.com:http/", "cannot be read"),
        ("http://[::1/", "cannot be read"),
        ("http://example.com/" + "a" * 2048, "longer than"),
    ],
)
def test_what_is_no_plain_url_is_refused_with_a_sentence(url: str, says: str) -> None:
    with pytest.raises(UrlRefused, match=says):
        pin(url, PUBLIC)


@pytest.mark.parametrize(
    "address",
    [
        *("10.0.0.1", "172.16.5.4", "192.168.1.1", "100.64.0.1", "192.0.2.1", "198.18.0.1", "fd00::1"),
        *("fec0::1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:a00:1::", "2001:db8::1"),
    ],
)
def test_private_networks_only_if_they_are_allowed(address: str) -> None:
    with pytest.raises(UrlRefused, match=r"push\.allow_private"):
        pin("http://name.example/", address)
    assert pin("http://name.example/", address, private=True).addresses == (address,)
    with pytest.raises(UrlRefused):  # one bad address among good ones is enough
        pin("http://name.example/", PUBLIC, address)


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"]
)
def test_this_machine_only_if_it_is_allowed(address: str) -> None:
    with pytest.raises(UrlRefused, match="this machine"):
        pin("http://name.example/", address, private=True)
    assert pin("http://name.example/", address, loopback=True).addresses == (address,)


@pytest.mark.parametrize(
    "address",
    [
        *("169.254.169.254", "169.254.1.1", "fe80::1", "fe80::1%eth0", "::ffff:169.254.169.254"),
        *("64:ff9b::a9fe:a9fe", "100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254"),
        *(
            "0.0.0.0",
            "0.1.2.3",
            "::",
            "224.0.0.1",
            "ff02::1",
            "240.0.0.1",
            "255.255.255.255",
            "::0.0.0.9",
            "100::1",
        ),
    ],
)
def test_metadata_link_local_multicast_and_nonsense_never(address: str) -> None:
    with pytest.raises(UrlRefused):
        pin("http://name.example/", address, private=True, loopback=True)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "0x7f.1",
        "[::1]",
        "[::ffff:7f00:1]",
        "localhost",
    ],
)
def test_every_way_to_write_loopback_is_loopback(host: str) -> None:
    with pytest.raises(UrlRefused, match="this machine"):
        pin_url(f"http://{host}:8100/")
    pin_url(f"http://{host}:8100/", allow_loopback=True)


def test_a_name_without_an_address_may_have_one_later() -> None:
    with pytest.raises(UrlUnresolved, match="no address"):
        pin_url("http://nowhere.invalid/")
    with pytest.raises(UrlUnresolved):
        pin("http://nowhere.example/")


def test_resolving_does_not_hold_up_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*_: object, **__: object) -> list[object]:
        time.sleep(0.3)
        return []

    monkeypatch.setattr(urls, "RESOLVE_SECONDS", 0.05)
    monkeypatch.setattr(urls.socket, "getaddrinfo", slow)  # type: ignore[attr-defined]

    async def run() -> int:
        pinning = asyncio.ensure_future(pin_url_async("http://slow.example/"))
        turns = 0
        while not pinning.done():
            await asyncio.sleep(0.005)
            turns += 1
        with pytest.raises(UrlUnresolved, match="within"):
            await pinning
        return turns

    assert asyncio.run(run()) > 2


def test_async_says_the_same() -> None:
    assert asyncio.run(pin_url_async("http://127.0.0.1:1/", allow_loopback=True)).addresses == ("127.0.0.1",)
    with pytest.raises(UrlRefused):
        asyncio.run(urls.pin_url_async("http://127.0.0.1:1/"))


@given(st.text())
def test_any_text_is_refused_or_has_one_plain_host(text: str) -> None:
    try:
        pinned = pin(text, PUBLIC)
    except UrlRefused as error:
        assert str(error)
    else:
        assert pinned.scheme in ("http", "https") and pinned.host and "@" not in pinned.host_header


@given(st.ip_addresses())
def test_an_address_that_is_not_global_never_passes_by_default(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    try:
        pin("http://name.example/", str(address))
    except UrlRefused:
        return
    assert address.is_global or (isinstance(address, ipaddress.IPv6Address) and address.sixtofour)
    assert not (address.is_multicast or address.is_loopback or address.is_link_local)


@given(
    st.ip_addresses(v=4), st.sampled_from(["::ffff:{}", "64:ff9b::{}", "::{}"]), st.booleans(), st.booleans()
)
def test_ipv4_inside_ipv6_is_judged_as_ipv4(
    address: ipaddress.IPv4Address, form: str, private: bool, loopback: bool
) -> None:
    if int(address) < 2:
        return  # :: and ::1 mean themselves

    def refused(text: str) -> bool:
        try:
            pin("http://name.example/", text, private=private, loopback=loopback)
        except UrlRefused:
            return True
        return False

    assert refused(form.format(address)) == refused(str(address))
