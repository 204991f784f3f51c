"""Bringing a ZeroClaw agent back: its home, its configuration, its databases."""
