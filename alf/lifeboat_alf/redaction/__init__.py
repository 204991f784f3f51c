"""Redactions: what they say, how several are joined, and the states they leave."""
