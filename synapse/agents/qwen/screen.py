"""Qwen Code on the screen. Its errors have a mark of their own."""

from synapse.agents.look import ErrorLine, Look, Marks

# The last is a tool that was not run, or was stopped.
_STOPPED = (r" *●\S* Request cancelled\.", r"  - \S")

LOOK = Look(
    line_marks="◆✕",
    dialog_ends=(r"[⠀-⣿] ?Waiting for user confirmation",),
    errors=(ErrorLine(r" *✕\s(.+)", own=True),),
    stopped=_STOPPED,
    reply=Marks(
        inner_echo=">",
        answer="◆✕",
        numbering="◆",
        status=(r" *[⠀-⣿] ?.*",),
        notice=(r"● Request cancelled\.", r"✓ [A-Z]\w* "),  # the latter is a tool, with its result below
        stopped=_STOPPED,
    ),
)
