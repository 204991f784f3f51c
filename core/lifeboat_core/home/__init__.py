"""The home of a user, and what a command opens from it."""
