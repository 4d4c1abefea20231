"""Mistral Vibe on the screen. Its channel reports its errors."""

from synapse.agents.look import Look, Marks

LOOK = Look(
    questions=(r"Permission for the \S+ tool(?: \([^)]*\))?",),
    permissions=(r"Permission for the \S+ tool",),
    options=(("Allow once", "Allow for remainder of this session", "Always allow", "Deny"),),
    below_dialogs=(r".* \[PID \d+\]|.* \S+/\S+ tokens \(\d+%\)$",),
    stopped=(r"  ⎣ Interrupted · What should Vibe do instead\?",),
    reply=Marks(
        status=(r"[⠀-⣿]{1,2} +\S.*… \(\d+\S* Esc/Ctrl\+C to interrupt\)",),
        notice=(r"  [⎢⎣] ",),
        tool=(r"[⏵■□✓✗] \S",),
    ),
)
