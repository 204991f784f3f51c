"""One file a screen. `base.LifeboatScreen` says what all have in common."""
