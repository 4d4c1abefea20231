"""The real Claude Code, Codex and Gemini CLI, offline, with a model server of our own: `make test-real`."""
