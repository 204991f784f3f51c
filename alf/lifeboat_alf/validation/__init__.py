"""Validate archives: one module per kind of thing that is checked."""
