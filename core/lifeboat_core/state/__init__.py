"""Caches and documents under `state/` of the home."""
