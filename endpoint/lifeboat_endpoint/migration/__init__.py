"""Migration of an endpoint from a data folder to a database and an object store (`endpoint_migration`).

Rows and bodies are copied as they are sealed. An interrupted migration continues when the command is repeated.
"""
