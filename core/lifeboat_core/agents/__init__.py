"""Agents of this machine: their description, their locks, and what a user does with them."""
