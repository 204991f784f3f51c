"""Screens of the dashboard, in one file or folder each. `lifeboat_screen.LifeboatScreen` holds their common parts."""
