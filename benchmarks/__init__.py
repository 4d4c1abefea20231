"""`make bench`: figures of Synapse and of its peers, measured in the same run. Nothing passes or fails."""
