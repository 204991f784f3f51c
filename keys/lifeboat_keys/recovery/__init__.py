"""The 24 recovery words and the recovery kit."""
