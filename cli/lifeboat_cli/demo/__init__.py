"""The demonstration on a temporary workspace, checked by an independent reader of the files."""
