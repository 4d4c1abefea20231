"""Programs beside the command."""
