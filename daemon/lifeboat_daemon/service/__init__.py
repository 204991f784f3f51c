"""The daemon: one resident process that watches, schedules, answers its socket, and lets workers do the work."""
