"""`lifeboat keys`."""
