"""opencode on the screen."""

from synapse.agents.look import Look, Marks

LOOK = Look(
    permissions=(r"Permission required|Always allow",),
    options=(("Allow once", "Allow always", "Reject"), ("Confirm", "Cancel")),
    stopped=(r" *▣ .* · interrupted\s*$",),
    reply=Marks(inner_echo="┃", status=(r" *▣ ",)),
)
