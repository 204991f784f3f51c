"""Commands that show the history: timeline, diff, search, records, log."""
