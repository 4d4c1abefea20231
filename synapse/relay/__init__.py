"""The relay process: the PTY and the human's terminal, and nothing that thinks. Standard library only."""
