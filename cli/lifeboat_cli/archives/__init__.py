"""`lifeboat alf`: archives and other formats in and out."""
