"""Remotes in a folder of a WebDAV server, such as Nextcloud or ownCloud."""
