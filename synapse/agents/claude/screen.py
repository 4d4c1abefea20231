"""Claude Code on the screen. Its errors and replies have the same mark; only its hook distinguishes them."""

from synapse.agents.look import ErrorLine, Look, Marks

_ERROR = (
    r"(?:API Error|Prompt is too long|Invalid API key|Please run /login|Not logged in|Claude usage limit"
    r"|You've (?:hit|reached)|Credit balance|Context limit|Request timed out|OAuth token|Unable to connect)\b"
)

# "Searched for 2 patterns, read 1 file", from 2.1.325 on without a mark.
_CALLS = r"(?:ran|read|searched for|listed|called|fetched|recalled) \d+ [a-z]+(?: [a-z]+)?"

_STOPPED = (r"\s+⎿\s+Interrupted\b",)

LOOK = Look(
    pointer="❯",
    line_marks="●✻✢✳✶✽❯",
    dialog_ends=("Syntax theme: ",),  # at the first start
    fields=("Paste code here if prompted >",),  # the login
    errors=(ErrorLine(rf"●\s({_ERROR}.*)"), ErrorLine(r"(?i)[✻✢✳✶✽·*]\s(API error · Retrying.*)")),
    errors_below_echo=(ErrorLine(rf"\s+⎿\s+({_ERROR}.*)"),),
    errors_at_start=(ErrorLine(r" ?(Unable to connect to Anthropic services)"),),
    after_error=(r"✻\s\w+ for ",),
    stopped=_STOPPED,
    reply=Marks(
        echo="❯",
        answer="●⏺",
        elbow="⎿",
        status=(r"[✢✳✶✻✽∴] .*(?:…| for <?\d)|[·*] \S+… \(",),
        notice=(r"⎿ ",),
        tool=(r"[A-Z][\w .:-]*\w\(|.*\(MCP\)\(",),
        outcome=(r" {1,3}⎿ ",),
        stopped=_STOPPED,
        summary=(rf" {{2}}(?i:{_CALLS}(?:, {_CALLS})*|no result recorded for \d+ calls?)$",),
        lone_tool=(r".*\(ctrl\+o to expand\)$",),
    ),
)
