"""Derive the structured layers of an agent from its files: identity, principals, capabilities, hints (ALF
§3.2, §3.3)."""
