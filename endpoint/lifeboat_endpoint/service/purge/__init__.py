"""Purges of one tenant: redactions, crypto-shredding, and what is left of purged agents."""
