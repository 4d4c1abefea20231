"""The agent's screen as a terminal would show it."""
