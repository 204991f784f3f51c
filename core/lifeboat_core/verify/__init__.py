"""Read back and check what is kept."""
