"""Sealed remotes in a store of which it is found by trying what it does: buckets and WebDAV servers."""
