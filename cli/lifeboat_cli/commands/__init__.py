"""Commands of one module each."""
