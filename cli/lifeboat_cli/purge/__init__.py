"""`lifeboat purge` and `lifeboat receipts`."""
