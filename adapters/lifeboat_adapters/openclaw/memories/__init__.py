"""Memories of an agent from OpenClaw's notes, and notes from memories."""
