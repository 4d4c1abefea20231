"""The card of an external agent: what it offers, and whether its address is acceptable."""

import ipaddress
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from synapse.base.text import for_cells
from synapse.base.urls import DEFAULT_PORTS
from synapse.errors import SynapseError
from synapse.peers.external.agents import ExternalAgent
from synapse.peers.external.credentials import wanted
from synapse.peers.task import objects
from synapse.tasks.expiry import EXTENSION

CARD_PATHS = ("/.well-known/agent-card.json", "/.well-known/agent.json")
BINDINGS = ("JSONRPC", "HTTP+JSON")
OLD = "old"
EXTENSIONS = ("x-synapse-context", EXTENSION)  # that we may be required to use
LONGEST_TEXT = 4000
MOST_SKILLS = 100
_WORDS: dict[type, str] = {dict: "an object", list: "a list", str: "text"}
_SHOWN = ("name", "description", "version", "endpoint", "protocol", "binding", "capabilities", "skills")


class CardRefused(SynapseError):
    """The message says what is wrong with the card."""


class _Interface(NamedTuple):
    url: str
    binding: str
    protocol: str


def read_card(card: object, url: str, where: str) -> ExternalAgent:
    """The agent that is described by a card: `url` was asked for, and the card found at `where`."""
    if not isinstance(card, dict):
        raise CardRefused(f"the card at {where} is no JSON object: is this the address of an agent?")
    name = _text(card, "name", where)
    if not name.strip():
        raise CardRefused(f"the card at {where} has no name: is this the address of an agent?")
    capabilities = _typed(card, "capabilities", dict, where) or {}
    skills = _typed(card, "skills", list, where) or []
    if not all(isinstance(skill, dict) for skill in skills):
        raise CardRefused(f"the card at {where} cannot be used: skills is not a list of objects.")
    chosen = _choose(list(_interfaces(card, where)), where)
    return ExternalAgent(
        name=_clean(name),
        url=url,
        description=_clean(_text(card, "description", where)),
        version=_clean(_text(card, "version", where)),
        capabilities={key: value for key, value in capabilities.items() if isinstance(value, bool)},
        skills=[_skill(skill) for skill in skills[:MOST_SKILLS]],
        wants=wanted(card),
        requires=_requires(capabilities, where),
        endpoint=_own(chosen.url, where),
        protocol=chosen.protocol,
        binding=chosen.binding,
    )


def _requires(capabilities: Mapping[str, Any], where: str) -> list[str]:
    """The extensions that the agent requires of its clients. One that we do not know is refused."""
    found = [
        item.get("uri") for item in objects(capabilities.get("extensions")) if item.get("required") is True
    ]
    unknown = [str(uri) for uri in found if uri not in EXTENSIONS]
    if unknown:
        names = ", ".join(_clean(uri) for uri in unknown)
        raise CardRefused(
            f"the card at {where} requires an extension that is not spoken here: {names[:300]}."
        )
    return [str(uri) for uri in found]


def changes(before: ExternalAgent, after: ExternalAgent) -> list[str]:
    return [name for name in _SHOWN if getattr(before, name) != getattr(after, name)]


def _interfaces(card: Mapping[str, Any], where: str) -> Iterator[_Interface]:
    offered = _typed(card, "supportedInterfaces", list, where)
    for item in objects(offered):
        version = str(item.get("protocolVersion") or "1.0")
        yield _Interface(_text(item, "url", where), str(item.get("protocolBinding")), version[:3])
    if offered:
        return
    url = _text(card, "url", where)
    if "protocolVersion" in card or "preferredTransport" in card:  # A2A 0.3, and just before it
        yield _Interface(url, str(card.get("preferredTransport") or "JSONRPC"), "0.3")
        for item in objects(_typed(card, "additionalInterfaces", list, where)):
            yield _Interface(_text(item, "url", where), str(item.get("transport")), "0.3")
    elif url:
        yield _Interface(url, "HTTP+JSON", OLD)


def _choose(offered: list[_Interface], where: str) -> _Interface:
    for protocols in (("1.",), ("0.3", "0.2"), (OLD,)):
        for item in offered:
            if item.binding in BINDINGS and item.protocol.startswith(protocols):
                protocol = {"1": "1.0", "0": "0.3"}.get(item.protocol[0], OLD)
                return item._replace(protocol=protocol)
    if offered:
        names = ", ".join(sorted({f"{item.binding} {item.protocol}" for item in offered}))
        raise CardRefused(
            f"the card at {where} offers {names[:200]}: "
            "JSONRPC and HTTP+JSON of A2A 1.0 and 0.3 are spoken here."
        )
    raise CardRefused(f"the card at {where} does not say where the agent is: it has no url.")


def _own(url: str, where: str) -> str:
    """The address to call. It must be on the card's own host: a card cannot speak for another."""
    try:
        said, own = urlsplit(urljoin(where, url)), urlsplit(where)
        said_port, own_port = said.port, own.port
    except ValueError as error:
        raise CardRefused(f"the card at {where} has a url that cannot be read: {url[:200]!r}.") from error
    if said.scheme not in DEFAULT_PORTS or "@" in said.netloc:
        raise CardRefused(f"the card at {where} has a url that is not called from here: {url[:200]!r}.")
    if own.scheme == "https" and said.scheme == "http":
        raise CardRefused(
            f"the card at {where} wants to be called without encryption, which is refused: {url[:200]!r}."
        )
    host, own_host = said.hostname or "", own.hostname or ""
    listens_on_all = host in ("0.0.0.0", "::")  # the server wrote what it listens on
    if not listens_on_all and host != own_host and not (_is_loopback(host) and _is_loopback(own_host)):
        raise CardRefused(
            f"the card at {where} says that the agent is on another host, {host}: "
            "add that address itself, if you trust it."
        )
    port = said_port or DEFAULT_PORTS[said.scheme]
    if not said_port and said.scheme == own.scheme and own_port:
        port = own_port
    place = f"[{own_host}]" if ":" in own_host else own_host
    return said._replace(netloc=f"{place}:{port}", fragment="").geturl()


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _text(card: Mapping[str, Any], key: str, where: str) -> str:
    return str(_typed(card, key, str, where) or "")


def _typed(card: Mapping[str, Any], key: str, kind: type, where: str) -> Any:
    value = card.get(key)
    if value is not None and not isinstance(value, kind):
        raise CardRefused(f"the card at {where} cannot be used: {key} is not {_WORDS[kind]}.")
    return value


def _skill(skill: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        key: _clean(value)
        for key in ("id", "name", "description")
        if isinstance(value := skill.get(key), str)
    }
    tags = skill.get("tags")
    return found | {"tags": [_clean(str(tag)) for tag in tags[:50]]} if isinstance(tags, list) else found


def _clean(text: str) -> str:
    return for_cells(text)[:LONGEST_TEXT]
