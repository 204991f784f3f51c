"""Redactions on their way to remotes and back."""
