"""OpenClaw, as of February 2026 and as of September 2026."""
