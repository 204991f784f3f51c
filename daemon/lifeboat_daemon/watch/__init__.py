"""Watching: file events are hints that start a scan. The scan alone decides what is captured."""
