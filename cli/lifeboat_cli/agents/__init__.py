"""`lifeboat agents`."""
