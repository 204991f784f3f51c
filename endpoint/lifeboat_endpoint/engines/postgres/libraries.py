"""psycopg, which comes with the extra `scale`."""

from __future__ import annotations

import logging

from lifeboat_vault import errors

try:
    import psycopg
    import psycopg_pool
    from psycopg import adapt
    from psycopg import errors as sql_errors
    from psycopg.types import numeric
except ImportError:
    raise errors.ServerMissing(
        "psycopg and its pool, which speak to PostgreSQL, are not installed",
        fix='pipx inject agent-lifeboat "psycopg[binary,pool]" obstore',
    ) from None

# The pool writes a line for each connection that it could not make. Whoever asked for it is told why.
logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())

__all__ = ["adapt", "numeric", "psycopg", "psycopg_pool", "sql_errors"]
