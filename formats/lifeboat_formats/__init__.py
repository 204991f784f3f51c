"""Formats of other memory systems: AIMEM Bundle, AICF, Aionforge Memory."""
