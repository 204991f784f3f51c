"""Programs that Lifeboat starts, and its own process."""
