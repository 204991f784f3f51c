"""Rows of a vault: columns, reading and writing."""
