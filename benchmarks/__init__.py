"""Figures against peers in the same run: `make bench`. Nothing here passes or fails."""
