"""The daemon: it watches, schedules, answers its socket and starts workers."""
