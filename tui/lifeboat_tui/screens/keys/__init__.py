"""The screen of the user's key and its recovery words."""
