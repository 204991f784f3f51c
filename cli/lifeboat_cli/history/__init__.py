"""Commands that show what is kept: timeline, diff, search, records, log."""
