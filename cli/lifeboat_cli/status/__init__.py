"""`lifeboat status`."""
