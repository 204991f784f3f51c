"""Remotes that can read nothing: immutable encrypted files and one signed head, in a folder or at an endpoint. Plain
folders, which anyone can read, have the same layout."""
