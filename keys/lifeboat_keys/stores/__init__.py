"""Stores for the user's key, one module each, all implementing `key_store.KeyStore`."""
