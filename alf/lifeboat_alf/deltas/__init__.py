"""Deltas: how two states differ, written, read and applied."""
