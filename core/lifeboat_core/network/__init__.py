"""Requests over HTTP to addresses that the user named."""
