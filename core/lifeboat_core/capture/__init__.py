"""Capture: from a workspace to one new sequence of the agent's vault, at a cost that follows what changed."""
