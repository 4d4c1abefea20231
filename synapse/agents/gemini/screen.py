"""Gemini CLI on the screen. Its errors have a mark of their own."""

from synapse.agents.look import ErrorLine, Look, Marks

LOOK = Look(
    line_marks="●✦✕",
    hidden=(r"\?\s+\S.* MCP Server\) .*…$",),  # the arguments of an MCP tool, cut
    errors=(ErrorLine(r"✕\s(.+)", own=True),),
    reply=Marks(answer="✦✕", numbering="✦"),
)
