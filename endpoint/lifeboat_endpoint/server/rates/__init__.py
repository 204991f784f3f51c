"""Limits on requests, per process and shared."""
