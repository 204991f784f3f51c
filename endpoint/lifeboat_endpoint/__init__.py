"""The vault, and everything that keeps states of agents: stores, history, thinning, verification."""
