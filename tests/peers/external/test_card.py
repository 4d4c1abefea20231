"""What a card offers, and the cards that are not believed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synapse.peers.external.agents import ExternalAgent
from synapse.peers.external.card import CardRefused, changes, read_card

HERE = "https://agents.example/.well-known/agent-card.json"


def card(*interfaces: tuple[str, str, str], **more: Any) -> dict[str, Any]:
    offered = [{"url": u, "protocolBinding": b, "protocolVersion": v} for u, b, v in interfaces]
    return {"name": "Weather", "supportedInterfaces": offered, **more}


def read(document: object, where: str = HERE) -> ExternalAgent:
    return read_card(document, "https://agents.example", where)


def test_the_newest_that_is_spoken_here_is_chosen() -> None:
    offered = [
        ("https://agents.example/g", "GRPC", "1.0"),
        ("https://agents.example/old", "JSONRPC", "0.3"),
        ("https://agents.example/rest", "HTTP+JSON", "1.0"),
        ("https://agents.example/rpc", "JSONRPC", "1.0"),
    ]
    found = read(card(*offered))
    assert (found.protocol, found.binding) == ("1.0", "HTTP+JSON")
    assert found.endpoint == "https://agents.example:443/rest"


def test_cards_of_0_3_and_before() -> None:
    newer = {"name": "A", "url": "https://agents.example/a", "protocolVersion": "0.3.0"}
    assert (read(newer).protocol, read(newer).binding) == ("0.3", "JSONRPC")
    rest = {**newer, "preferredTransport": "GRPC", "additionalInterfaces": [
        {"url": "https://agents.example/r", "transport": "HTTP+JSON"}]}  # fmt: skip
    assert (read(rest).binding, read(rest).endpoint) == ("HTTP+JSON", "https://agents.example:443/r")
    old = read({"name": "A", "url": "https://agents.example"})
    assert old.protocol == "old" and not old.streams


@pytest.mark.parametrize(
    ("document", "word"),
    [
        ([], "no JSON object"),
        ({}, "no name"),
        ({"name": 7}, "name is not text"),
        ({"name": "A"}, "no url"),
        ({"name": "A", "url": 7}, "url is not text"),
        (card(("https://agents.example", "GRPC", "1.0")), "GRPC 1.0"),
        (card(("https://agents.example", "JSONRPC", "2.0")), "JSONRPC 2.0"),
        (card(("https://evil.example/", "JSONRPC", "1.0")), "another host, evil.example"),
        (card(("http://localhost:22/", "JSONRPC", "1.0")), "without encryption"),
        (card(("https://localhost/", "JSONRPC", "1.0")), "another host, localhost"),
        (card(("https://u:p@agents.example/", "JSONRPC", "1.0")), "not called"),
        (card(("file:///etc/passwd", "JSONRPC", "1.0")), "not called"),
        (card(("https://[::1", "JSONRPC", "1.0")), "cannot be read"),
        (card(("https://agents.example", "JSONRPC", "1.0"), skills={}), "skills is not a list"),
        (card(("https://agents.example", "JSONRPC", "1.0"), skills=[1]), "skills is not a list"),
        (
            card(("https://agents.example", "JSONRPC", "1.0"), capabilities=[]),
            "capabilities is not an object",
        ),
    ],
)
def test_a_card_that_lies_is_refused_in_a_sentence(document: object, word: str) -> None:
    with pytest.raises(CardRefused, match=word):
        read(document)


def test_what_servers_say_of_themselves_by_mistake_is_put_right() -> None:
    where = "http://127.0.0.1:9000/.well-known/agent-card.json"
    for said in ("http://0.0.0.0:9000/", "http://localhost:9000/", "/"):
        assert read(card((said, "JSONRPC", "1.0")), where).endpoint == "http://127.0.0.1:9000/"


def test_nothing_in_it_drives_a_terminal() -> None:
    found = read(card(("https://agents.example", "JSONRPC", "1.0"), description="a\x1b[2Jb" + "x" * 9999))
    assert "\x1b" not in found.description and len(found.description) == 4000


def test_changes() -> None:
    one = read(card(("https://agents.example", "JSONRPC", "1.0"), version="1"))
    two = read(card(("https://agents.example", "JSONRPC", "1.0"), version="2", skills=[{"id": "rain"}]))
    assert changes(one, one) == [] and changes(one, two) == ["version", "skills"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(
    [
        "name",
        "url",
        "supportedInterfaces",
        "capabilities",
        "skills",
        "protocolVersion",
        "additionalInterfaces",
    ]
)


@given(st.dictionaries(KEYS, JSON))
def test_any_card_is_read_or_refused(document: dict[str, Any]) -> None:
    try:
        assert read({"name": "A", "url": "https://agents.example/", **document}).endpoint
    except CardRefused:
        pass
