"""The library psycopg, which comes with the extra `scale`."""

from __future__ import annotations

import logging

from lifeboat_keys.installers import extra_command
from lifeboat_vault import errors

try:
    import psycopg
    import psycopg_pool
    from psycopg import adapt
    from psycopg import errors as sql_errors
    from psycopg.types import numeric
except ImportError:
    raise errors.ServerMissing(
        "PostgreSQL needs the packages psycopg and psycopg_pool, which are not installed",
        fix=extra_command("scale"),
    ) from None

# The pool logs each failed connection. The caller gets the reason as an error, so the log is not needed.
logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())

__all__ = ["adapt", "numeric", "psycopg", "psycopg_pool", "sql_errors"]
