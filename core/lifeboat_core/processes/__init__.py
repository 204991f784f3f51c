"""Programs that Lifeboat starts, its own process, and progress."""
