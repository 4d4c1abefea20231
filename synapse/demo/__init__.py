"""A minute of Synapse with the reference agent: played, watched and checked."""
