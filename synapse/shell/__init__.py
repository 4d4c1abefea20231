"""`synapse-shell`: the user's own shell, in which `@agent` lines go to agents."""
