"""opencode on the screen."""

from synapse.agents.look import Look, Marks

LOOK = Look(
    permissions=(r"Permission required|Always allow",),
    stopped=(r" *▣ .* · interrupted\s*$",),
    reply=Marks(inner_echo="┃", status=(r" *▣ ",)),
)
