"""Derive the structured layers of a ZeroClaw agent: identity, model hints, manifest (ALF §3.2, §4.2)."""
