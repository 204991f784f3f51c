"""`lifeboat remote`."""
