"""The daemon: one resident process that watches, schedules, answers its socket, and starts workers for the work."""
