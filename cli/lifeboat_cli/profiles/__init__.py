"""`lifeboat profiles`: runtimes that a file describes."""
