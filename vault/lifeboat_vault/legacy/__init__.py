"""Clients that know less: what they send, as they mean it, and what they get, as they can use it."""
