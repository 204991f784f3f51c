"""Sources of the key that wraps data keys, one module per kind. The key is never in the folder of the data."""
