"""Markdown as a tree that the page turns into elements: text is always text, and never HTML."""

from collections.abc import Sequence
from typing import Any

from synapse.terminal.commonmark import Node, parse

LONGEST = 200_000  # characters that are parsed; a longer reply is shown as it is
LINKS = ("http://", "https://", "mailto:")
_TAGS = {
    "paragraph": "p", "blockquote": "blockquote", "bullet_list": "ul", "list_item": "li",
    "table": "table", "thead": "thead", "tbody": "tbody", "tr": "tr", "th": "th", "td": "td", "hr": "hr",
    "strong": "strong", "em": "em", "s": "s",
}  # fmt: skip

# A text, or {"tag", "children", and for some "href", "start", "language"}.
Element = str | dict[str, Any]


def elements(text: str) -> list[Element]:
    if len(text) > LONGEST:
        return [{"tag": "pre", "children": [text]}]
    return _all(parse(text).children)


def _all(nodes: Sequence[Node]) -> list[Element]:
    return [element for node in nodes for element in _element(node)]


def _element(node: Node) -> list[Element]:
    kind = node.type
    if kind in ("text", "inline"):
        return _all(node.children) if kind == "inline" else [node.content] if node.content else []
    if kind == "softbreak":
        return ["\n"]
    if kind == "hardbreak":
        return [{"tag": "br", "children": []}]
    if kind == "code_inline":
        return [{"tag": "code", "children": [node.content]}]
    if kind in ("fence", "code_block"):
        code: dict[str, Any] = {"tag": "pre", "children": [node.content.rstrip("\n")]}
        return [code | ({"language": node.info.strip()} if kind == "fence" and node.info.strip() else {})]
    if kind == "heading":
        return [{"tag": f"h{min(int(node.tag[1]) + 2, 6)}", "children": _all(node.children)}]
    if kind in ("link", "image"):
        return [_link(node)]
    if kind == "ordered_list":
        return [{"tag": "ol", "start": int(node.attrs.get("start", 1)), "children": _all(node.children)}]
    if kind in _TAGS:
        return [{"tag": _TAGS[kind], "children": _all(node.children)}]
    return _all(node.children) if node.children else [node.content]


def _link(node: Node) -> Element:
    """A link that a browser may follow; others are shown with their address."""
    is_image = node.type == "image"
    address = str(node.attrs.get("src" if is_image else "href", ""))
    children: list[Element] = [node.content or address] if is_image else _all(node.children)
    if address.lower().startswith(LINKS):
        return {"tag": "a", "href": address, "children": children}
    return {"tag": "span", "children": [*children, f" ({address})"]}
