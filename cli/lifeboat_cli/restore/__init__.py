"""`lifeboat restore`, `lifeboat undo` and `lifeboat verify`."""
