"""Restore an agent into an installation of OpenClaw."""
