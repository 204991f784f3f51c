"""`lifeboat endpoint prepare`: create or upgrade an endpoint that processes of several machines share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lifeboat_cli.endpoint.endpoint_session import EndpointSession, endpoint_command
from lifeboat_cli.endpoint.endpoint_tenants import describe_key_backup
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_core.texts.human_text import count_text

if TYPE_CHECKING:
    from lifeboat_endpoint.endpoint_config import SharedStore

_DATABASE = "postgresql:///lifeboat?host=/run/postgresql"


@click.command(
    short_help="Create or upgrade an endpoint on PostgreSQL and an object store.",
    epilog=format_examples(
        f"lifeboat endpoint prepare --database '{_DATABASE}' --print-roles --data /etc/lifeboat-endpoint",
        f"lifeboat endpoint prepare --database '{_DATABASE}' --objects s3://bucket.example.com/lifeboat "
        "--key-source env:LIFEBOAT_ENDPOINT_KEY --data /etc/lifeboat-endpoint",
        "lifeboat endpoint prepare --data /etc/lifeboat-endpoint",
    ),
)
@click.option("--database", metavar="ADDRESS", help="PostgreSQL connection string (libpq) without a password.")
@click.option("--objects", metavar="URL", help="URL of the object store for large files: s3://, gs:// or az://.")
@click.option(
    "--object-option",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    help="Option for the object store, in the form NAME=VALUE (repeatable).",
)
@click.option(
    "--key-source",
    metavar="SOURCE",
    help="Source of the key that protects the data. Use the same source on all machines.",
)
@click.option(
    "--key-scope",
    type=click.Choice(("tenant", "agent")),
    help="Create a data key per tenant or per agent.  [default: tenant]",
)
@click.option("--print-roles", is_flag=True, help="Only print the SQL statements that create the three database roles.")
@endpoint_command
def prepare(
    session: EndpointSession,
    database: str | None,
    objects: str | None,
    options: tuple[str, ...],
    key_source: str | None,
    key_scope: str | None,
    print_roles: bool,
) -> None:
    """Create the tables of a shared endpoint, or upgrade them to this release, and write endpoint.json into DIR. Each
    server and worker needs such a folder; it contains no data. If DIR has an endpoint.json, no option is needed.

    The command connects as the owner of the tables, lifeboat_owner. Servers and workers connect as lifeboat_api and
    lifeboat_worker. Passwords are read from libpq's password file, keys of the object store from the environment.
    """
    if print_roles and database is not None and objects is None:
        objects, key_source = "", ""
    store, source, scope = _wanted(session, database, objects, options, key_source, key_scope)
    if print_roles:
        _print_roles(session, store)
        return
    from lifeboat_endpoint.engines.endpoint_preparation import prepare_endpoint as begin

    done = begin(session.data, store, key_source=source, key_scope=scope)
    document = {"id": done.id, "migrations": done.migrations, "made": done.made, "joined": done.joined}

    def text() -> None:
        if done.made:
            session.output.line("Created an endpoint in the database.")
        if done.joined:
            session.output.line(f"{session.data} belongs to the endpoint {done.id}.")
            session.output.line(
                f"The data of the endpoint is protected by the key in {source}: {describe_key_backup(source)}."
            )
        ran = count_text(len(done.migrations), "step")
        session.output.line(f"Upgraded the tables of the database: {ran}." if done.migrations else _UP_TO_DATE)
        session.output.verbatim(f"Next, add a tenant: {session.command('tenant add NAME')}")

    session.output.document(document, text)


_UP_TO_DATE = "The tables of the database are up to date."


def _print_roles(session: EndpointSession, store: SharedStore) -> None:
    from lifeboat_endpoint.engines.postgres.connection_pools import find_database_name
    from lifeboat_endpoint.engines.postgres.postgres_schema import roles_sql

    name = find_database_name(store.database) or "lifeboat"
    sql = roles_sql(store.owner_role, store.api_role, store.worker_role, name)
    session.output.document({"sql": sql}, lambda: session.output.block(sql))


def _wanted(
    session: EndpointSession,
    database: str | None,
    objects: str | None,
    options: tuple[str, ...],
    key_source: str | None,
    key_scope: str | None,
) -> tuple[SharedStore, str, str]:
    """Return store, key source and scope: those of endpoint.json if it exists, otherwise the given ones."""
    found = _known(session)
    given: dict[str, Any] = {"database": database, "objects": objects, "key_source": key_source, "key_scope": key_scope}
    if found is not None:
        said = [f"--{name.replace('_', '-')}" for name, value in given.items() if value is not None]
        if said or options:
            raise click.UsageError(
                f"the file endpoint.json in {session.data} contains these settings already: leave out "
                f"{', '.join(said) or '--object-option'}"
            )
        return found
    from lifeboat_endpoint.endpoint_config import SharedStore

    if database is None or objects is None or key_source is None:
        raise click.UsageError("DIR contains no endpoint.json: give --database, --objects and --key-source")
    return SharedStore(database, objects, dict(map(_pair, options))), key_source, key_scope or "tenant"


def _known(session: EndpointSession) -> tuple[SharedStore, str, str] | None:
    from lifeboat_endpoint import endpoint_config
    from lifeboat_vault.errors import EndpointSettings

    file = session.data / endpoint_config.FILE
    if not file.exists():
        return None
    found = endpoint_config.decode_config(file.read_bytes())
    if found.store is None:
        raise EndpointSettings(
            f"{session.data} contains an endpoint that stores its data as files, which this command cannot prepare",
            fix="prepare another folder NEW, then run: lifeboat endpoint migrate --data DIR --to NEW",
        )
    return found.store, found.key_source, found.key_scope


def _pair(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise click.UsageError(f"the option must have the form NAME=VALUE, but is {text!r}")
    return name, value
