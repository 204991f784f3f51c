"""Restore a ZeroClaw agent: its home, its configuration, its databases."""
