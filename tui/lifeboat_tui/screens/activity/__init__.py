"""The screen of jobs and log lines."""
