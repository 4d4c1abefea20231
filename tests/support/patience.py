"""How long a test waits for what must happen, on a machine that has other things to do."""

PATIENCE = 60.0  # seconds
