"""Memories of an agent from ZeroClaw's rows and notes, and rows from memories."""
