"""The Markdown parser: CommonMark with tables and strikethrough, and what replies of agents need.

A block never depends on text that follows it, so that it can be shown while a reply is still coming: there
are no link references and no headings by underlining. HTML and entities are text. Import it only where
something is parsed: markdown-it takes about 60 ms and 2 MB.
"""

from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.tree import SyntaxTreeNode

from synapse.base.fences import fence_at

Node = SyntaxTreeNode

_BLOCKS = ["table", "code", "fence", "blockquote", "hr", "list", "heading"]
_INLINE = ["newline", "escape", "backticks", "strikethrough", "emphasis", "link", "image", "autolink"]
_PAIRS = ["balance_pairs", "strikethrough", "emphasis", "fragments_join"]
_LISTS = ("bullet_list", "ordered_list")
_ENDED_BY_BLANK_LINE = ("paragraph", "table", "blockquote")


class _Parser(MarkdownIt):
    def __init__(self) -> None:
        super().__init__("zero")
        self.enable([*_BLOCKS, *_INLINE])
        self.inline.ruler2.enable(_PAIRS)
        self.block.ruler.at("fence", _fence, {"alt": ["paragraph", "blockquote", "list"]})
        self.inline.ruler.at("newline", _newline)

    def normalizeLink(self, url: str) -> str:
        return url  # it is shown, not followed

    def validateLink(self, url: str) -> bool:
        return True


def parse(text: str) -> Node:
    return SyntaxTreeNode(_whole.parse(text))


def finished(text: str) -> Iterator[str]:
    """The blocks at the beginning that more text cannot change, with their line ends.

    A list is several blocks, one for each item. Each blank line between blocks is a block.
    """
    lines = text.split("\n")[:-1]  # the last one is not complete
    root = SyntaxTreeNode(_structure.parse("\n".join([*lines, ""])))
    blocks = [
        node for block in root.children for node in (block.children if block.type in _LISTS else [block])
    ]
    if blocks and not _has_ended(blocks[-1], lines):
        del lines[_range(blocks.pop())[0] :]
    at = 0
    for node in blocks:
        start, end = _range(node)[0], end_of(node)
        yield from (f"{line}\n" for line in lines[at:start])
        yield "\n".join(lines[start:end]) + "\n"
        at = end
    yield from (f"{line}\n" for line in lines[at:])


def end_of(node: Node) -> int:
    """The number of the line after the last one of a block, without the blank lines that a list may count."""
    start, end = _range(node)
    if node.type == "table":  # its parts do not count the line below the header
        return end
    if node.type == "list_item" and not node.children:
        return start + 1
    return end_of(node.children[-1]) if node.children and node.children[-1].map else end


def _has_ended(node: Node, lines: list[str]) -> bool:
    if node.type == "fence":
        return bool(node.meta["closed"])
    if node.type in _ENDED_BY_BLANK_LINE:
        return end_of(node) < len(lines)
    return node.type in ("heading", "hr")


def _range(node: Node) -> tuple[int, int]:
    assert node.map, node.type
    return node.map


def _fence(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Fenced code in a list item lasts until its fence is closed: agents often forget to indent it."""
    fence = fence_at(_body(state, start), 0, column=state.sCount[start], base=state.blkIndent)
    if fence is None:
        return False
    if silent:
        return True
    last = start + 1
    while last < end and not fence.is_closed_by(" " * state.sCount[last] + _body(state, last)):
        last += 1
    state.line = min(last + 1, end)
    token = state.push("fence", "code", 0)
    token.info = fence.language
    token.content = state.getLines(start + 1, last, fence.indent, True)
    token.map = [start, state.line]
    token.meta = {"closed": last < end}
    return True


def _body(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


def _newline(state: StateInline, silent: bool) -> bool:
    """Keeps the indentation of the next line, which the library removes: plain text may be aligned by it."""
    if state.src[state.pos] != "\n":
        return False
    if not silent:
        state.pending = state.pending.rstrip(" ")
        state.push("softbreak", "br", 0)
    state.pos += 1
    return True


_whole = _Parser()
_structure = _Parser().disable("inline")
