"""Remotes: which exist, what they store, and how agents are pushed to them and fetched from them."""
