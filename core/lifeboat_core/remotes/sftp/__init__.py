"""Remotes on servers that speak SFTP, reached through the user's own `ssh` program."""
