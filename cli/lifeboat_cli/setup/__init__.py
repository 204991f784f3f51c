"""`lifeboat setup`."""
