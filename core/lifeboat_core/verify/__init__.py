"""Read back and check stored sequences."""
