"""The reference agent: an interactive CLI with no model behind it, for tests and the demo."""
