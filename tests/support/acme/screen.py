"""How Acme looks, beyond what its profile says."""

from synapse.agents.look import ErrorLine, Look, Marks

LOOK = Look(line_marks="◊¤§", errors=(ErrorLine(r"¤ (.+)", own=True),), reply=Marks(echo="§", answer="◊"))
