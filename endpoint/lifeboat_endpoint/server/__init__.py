"""The endpoint over HTTP."""
