"""Bodies: how contents are encoded, stored and found in a vault."""
