"""The restore wizard."""
