"""Redactions on their way to and from remotes."""
