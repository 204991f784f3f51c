"""Errors of PostgreSQL as errors of a vault. No message contains values of rows, which PostgreSQL often quotes."""

from __future__ import annotations

from lifeboat_endpoint.engines.postgres.libraries import psycopg
from lifeboat_vault import errors
from lifeboat_vault.store.timed_operations import code_of

_BY_STATE: dict[str, type[errors.VaultError]] = {
    "0A000": errors.VaultBusy,  # a cached plan of tables that were migrated meanwhile; see `translate_error`
    "25006": errors.VaultBusy,  # the server became a standby
    "25P03": errors.VaultBusy,
    "25P04": errors.VaultBusy,
    "26000": errors.VaultBusy,
    "40001": errors.VaultBusy,
    "40P01": errors.VaultBusy,
    "53100": errors.VaultFull,
    "54000": errors.DraftInvalid,
    "55P03": errors.VaultBusy,
    "57014": errors.VaultBusy,
    "57P01": errors.VaultBusy,
    "57P02": errors.VaultBusy,
    "57P03": errors.VaultBusy,
    "57P05": errors.VaultBusy,
    "58P01": errors.VaultDamaged,
    "XX001": errors.VaultDamaged,
    "XX002": errors.VaultDamaged,
}
_BY_CLASS: dict[str, type[errors.VaultError]] = {
    "08": errors.VaultBusy,
    "22": errors.DraftInvalid,
    "23": errors.DraftInvalid,
    "53": errors.VaultBusy,
}
NO_RIGHT = "42501"
_TOO_LONG = "54000"
_NOT_LET_IN = (
    *("authentication failed", "no password supplied", "no pg_hba.conf entry", "not permitted to log in"),
    *("certificate", "does not support SSL", "SSL error", "does not exist"),
)
"""Texts of failed connections that succeed only after an administrator changed something."""
_ALL_TAKEN = ("too many clients", "too many connections", "remaining connection slots")
"""Texts for a full server. The client library has no SQLSTATE (53300) if the connection was not established."""
_TAKEN_FIX = (
    "to see which role uses the connections, run as a superuser: psql -c 'select usename, count(*) from "
    "pg_stat_activity group by 1'. Then lower `connections` in endpoint.json, or set a `connection limit` for that role"
)
_OF_POOLER = "unsupported startup parameter"
_ADDRESS_FIX = "check the connection string (`store` in endpoint.json), pg_hba.conf, and the passwords or certificates"
_FIXES: dict[type[errors.VaultError], str] = {
    errors.VaultBusy: "try again in a moment",
    errors.VaultFull: "give the database more disk space",
    errors.VaultUnusable: errors.PREPARE,
    errors.VaultDamaged: "restore the database from a backup",
}


def translate_error(error: psycopg.Error) -> errors.VaultError:
    """Return the error to raise instead. Raise it `from None`, because the original quotes values."""
    state = error.sqlstate or ""
    if not state:
        return _without_state(error)
    make = _BY_STATE.get(state) or _BY_CLASS.get(state[:2], errors.VaultUnusable)
    if state == "0A000" and "cached plan" not in (error.diag.message_primary or ""):
        make = errors.VaultUnusable
    return make(_words(error, state), fix=_FIXES.get(make))


def find_error_code(error: BaseException) -> str:
    """Return the code of an error for metrics."""
    return translate_error(error).code if isinstance(error, psycopg.Error) else code_of(error)


def is_lost(error: psycopg.Error) -> bool:
    """Whether the connection is gone, and not only the statement failed."""
    state = error.sqlstate or ""
    return (
        state in ("57P01", "57P02", "57P03", "57P05", "25P03")
        or state.startswith("08")
        or (not state and isinstance(error, psycopg.OperationalError))
    )


def is_of_pooler(error: psycopg.Error) -> bool:
    """Whether the error comes from a pooler: PostgreSQL itself accepts every setting in the startup packet."""
    return _OF_POOLER in str(error)


def make_pooler_error() -> errors.EndpointSettings:
    return errors.EndpointSettings(
        "the connection string of the database leads to a connection pooler, which does not keep the "
        "locks and settings of a connection",
        fix="give the address of PostgreSQL itself in `store` in endpoint.json, and with --database",
    )


def _without_state(error: psycopg.Error) -> errors.VaultError:
    """Return the error for a failure of the client: it has no connection, or got a value that it cannot send."""
    if isinstance(error, psycopg.OperationalError):
        if "connection failed" in str(error) and any(words in str(error) for words in _NOT_LET_IN):
            return errors.VaultUnusable(f"the database denied access: {_first_line(error)}", fix=_ADDRESS_FIX)
        if any(words in str(error) for words in _ALL_TAKEN):
            told = f"all connections to the database are in use: {_first_line(error)}"
            return errors.VaultBusy(told, fix=_TAKEN_FIX)
        return errors.VaultBusy(f"the database does not respond: {_first_line(error)}", fix=_FIXES[errors.VaultBusy])
    if isinstance(error, psycopg.DataError):
        return errors.DraftInvalid("the database did not accept a value")
    return errors.VaultUnusable(f"the database cannot be used: {type(error).__name__}")


def _first_line(error: psycopg.Error) -> str:
    return (str(error).strip().splitlines() or ["the database gave no reason"])[0]


def _words(error: psycopg.Error, state: str) -> str:
    """Describe which rule was broken where. The server's text about values (class 22) is left out."""
    diag = error.diag
    where = ".".join(part for part in (diag.schema_name, diag.table_name, diag.constraint_name) if part)
    problem = diag.message_primary or type(error).__name__
    if state.startswith("22"):
        problem = "a value is out of range"
    elif state == _TOO_LONG:
        problem = "a name is too long for an index"
    return f"the database reports: {problem}{f' ({where})' if where else ''} [{state}]"
