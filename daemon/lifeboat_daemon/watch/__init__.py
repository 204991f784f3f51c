"""Watching: file events as hints that wake a scan. What is captured is decided by the scan alone."""
