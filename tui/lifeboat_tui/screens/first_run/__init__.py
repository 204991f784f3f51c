"""The wizard of an empty home."""
