"""`lifeboat endpoint tenant`: the tenants whose agents an endpoint keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.size_texts import size_text
from lifeboat_cli.endpoint.endpoint_join_line import make_join_line, print_join_line
from lifeboat_cli.endpoint.endpoint_session import EndpointSession, confirm_name, endpoint_command
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.option_types import SIZE
from lifeboat_cli.terminal.pager import pager_option
from lifeboat_cli.terminal.text_table import TableFit
from lifeboat_core.texts.human_text import quote_argument, time_text

if TYPE_CHECKING:
    from lifeboat_endpoint.endpoint import Endpoint
    from lifeboat_endpoint.tenancy.tenant_rows import Tenant

FIRST_TOKEN = "first"
KEY_SOURCE = click.option(
    "--key-source",
    metavar="SOURCE",
    help="Source of the key that protects the data: file:/path (outside DIR), keyring:NAME, env:VARIABLE, "
    "aws-kms:KEY or transit:https://...",
)


_AT_HAND = ("file:", "keyring:", "env:")
"""Sources whose key can be copied."""


def describe_key_backup(source: str) -> str:
    """Describe what to do so that the key of a source is not lost."""
    if source.startswith(_AT_HAND):
        return "keep a copy of that key in another place"
    return "if that key is deleted, the data is lost"


@click.group()
def tenant() -> None:
    """Manage tenants: users or groups whose agents are stored on this endpoint. A tenant cannot access the data of
    other tenants.
    """


@tenant.command(
    short_help="Add a tenant and create a token for it.",
    epilog=format_examples(
        "lifeboat endpoint tenant add home --data /srv/lifeboat",
        "lifeboat endpoint tenant add office --quota 20GB --key-source keyring:office --data /srv/lifeboat",
    ),
)
@click.argument("name")
@KEY_SOURCE
@click.option(
    "--key-scope",
    type=click.Choice(("tenant", "agent")),
    help="For a new endpoint: create one data key per tenant or one per agent. [default: tenant]",
)
@click.option(
    "--quota",
    type=SIZE,
    metavar="SIZE",
    help="Storage limit of the tenant, for example 50MB, 20GB or 2TB. [default: none]",
)
@endpoint_command
def add(session: EndpointSession, name: str, key_source: str | None, key_scope: str | None, quota: int | None) -> None:
    """Add a tenant and create a token for it.

    The token permits pushes and pulls, and is printed only once. If DIR contains no endpoint, the command creates
    one. In that case --key-source applies to the whole endpoint, otherwise only to the new tenant. The default key
    source of a new endpoint is a file in your configuration folder. If the key is lost, the data is lost.
    """
    from lifeboat_endpoint.tenancy.callers import DEVICE_SCOPES, SCOPES

    with _OpenedEndpoint(session, key_source, key_scope) as (endpoint, is_new):
        own_source = None if is_new else key_source
        made = endpoint.add_tenant(name, key_source=own_source, quota=quota)
        token, secret = endpoint.control.add_token(made.id, FIRST_TOKEN, DEVICE_SCOPES)
        source = own_source or endpoint.key_source
        joined = make_join_line(endpoint, secret)
    document = {
        "tenant": made.name,
        "id": made.id,
        "token": secret,
        "token_id": token.id,
        "join": joined,
        "scopes": [scope for scope in SCOPES if scope in token.scopes],
        "quota": quota,
        "key_source": source,
        "made_endpoint": is_new,
    }

    def text() -> None:
        if is_new:
            session.output.line(f"Created an endpoint in {session.data}.")
        if is_new or own_source:
            session.output.line(
                f"The data of the endpoint is protected by the key in {source}: {describe_key_backup(source)}."
            )
        session.output.line(f"The token of tenant {made.name}, which is not printed again:")
        session.output.verbatim(f"  {secret}")
        if joined is None:
            session.output.verbatim(f"To start the server: {session.command('serve')}")
        print_join_line(session, joined)

    session.output.document(document, text)


class _OpenedEndpoint:
    """Opens the endpoint of the session, creating it if necessary, and knows whether it did."""

    def __init__(self, session: EndpointSession, key_source: str | None, key_scope: str | None) -> None:
        self._session, self._key_source, self._key_scope = session, key_source, key_scope

    def __enter__(self) -> tuple[Endpoint, bool]:
        from lifeboat_endpoint.endpoint import Endpoint
        from lifeboat_vault.errors import NoEndpoint

        try:
            self._endpoint = Endpoint.open(self._session.data)
        except NoEndpoint:
            scope = self._key_scope or "tenant"
            self._endpoint = Endpoint.create(self._session.data, key_source=self._key_source, key_scope=scope)
            return self._endpoint, True
        if self._key_scope not in (None, self._endpoint.settings.key_scope):
            self._endpoint.close()
            raise click.UsageError("--key-scope can only be given when the endpoint is created.")
        return self._endpoint, False

    def __exit__(self, *_: object) -> None:
        self._endpoint.close()


@tenant.command(name="list", epilog=format_examples("lifeboat endpoint tenant list --data /srv/lifeboat"))
@pager_option
@endpoint_command
def list_command(session: EndpointSession) -> None:
    """List the tenants with the number and size of their agents."""
    with session.open() as endpoint:
        documents = [_document(endpoint, one) for one in endpoint.control.tenants()]

    def text() -> None:
        if not documents:
            session.output.verbatim(f"The endpoint has no tenant yet. To add one: {session.command('tenant add NAME')}")
            return
        with session.output.pager():
            session.output.table(
                ("tenant", "agents", "size", "quota", "tokens", "key", "since"),
                map(_row, documents),
                TableFit(shorten=("key",)),
            )

    session.output.document({"tenants": documents}, text)


def _document(endpoint: Endpoint, one: Tenant) -> JsonObject:

    taken = endpoint.engine.figures(one.id)
    return {
        "tenant": one.name,
        "id": one.id,
        "state": one.state,
        "agents": taken.agents,
        "bytes": taken.bytes,
        "quota": one.quota,
        "key_source": one.key_source or endpoint.key_source,
        "tokens": sum(1 for token in endpoint.control.tokens(one.id) if token.revoked_at is None),
        "created_at": one.created_at,
    }


def _row(document: JsonObject) -> tuple[object, ...]:
    name = document["tenant"] if document["state"] == "active" else f"{document['tenant']} (being removed)"
    quota = "none" if document["quota"] is None else size_text(document["quota"])
    size = size_text(document["bytes"])
    since = time_text(document["created_at"])
    return name, document["agents"], size, quota, document["tokens"], document["key_source"], since


class _QuotaOption(click.ParamType[int | None]):
    """A size, or `none`."""

    name = "SIZE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | None:
        return None if value == "none" else SIZE.convert(value, param, ctx)


@tenant.command(
    short_help="Change the quota of a tenant.",
    epilog=format_examples(
        "lifeboat endpoint tenant quota office 50GB --data /srv/lifeboat",
        "lifeboat endpoint tenant quota office none --data /srv/lifeboat",
    ),
)
@click.argument("name")
@click.argument("size", type=_QuotaOption())
@endpoint_command
def quota(session: EndpointSession, name: str, size: int | None) -> None:
    """Change the quota of a tenant to SIZE, for example 50MB, 20GB, 2TB (1 GB is 1024 MB) or none.

    Running servers apply the new quota within ten seconds. If the stored data exceeds the quota, the data stays,
    but new data is refused. A machine whose push was refused tries again within an hour, or immediately with
    `lifeboat sync`.
    """
    with session.open() as endpoint:
        found = endpoint.control.tenant(name)
        endpoint.control.set_quota(found.id, size)
    said = "no quota" if size is None else f"a quota of {size_text(size)}"
    document = {"tenant": found.name, "id": found.id, "quota": size}
    session.output.document(document, lambda: session.output.line(f"Tenant {found.name} now has {said}."))


@tenant.command(
    short_help="Remove a tenant and all of its data.",
    epilog=format_examples("lifeboat endpoint tenant remove office --data /srv/lifeboat"),
)
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@endpoint_command
def remove(session: EndpointSession, name: str, yes: bool) -> None:
    """Remove a tenant and all of its data.

    The keys of the tenant are destroyed first, so the data cannot be restored. The rows of the tenant in the audit
    log stay. If the command is interrupted, run it again to continue.
    """
    from lifeboat_endpoint.maintenance.tenant_removal import remove_tenant

    with session.open() as endpoint:
        found = endpoint.control.tenant(name)
        if not yes:
            question = f"This permanently destroys all data that the machines of tenant {found.name} stored."
            confirm_name(session, found.name, question, otherwise=f"all data of tenant {found.name} would be destroyed")
        freed = remove_tenant(endpoint, found.id)
    said = f"Removed tenant {quote_argument(found.name)} and its keys: {size_text(freed)} freed."
    document = {"tenant": found.name, "id": found.id, "bytes_freed": freed}
    session.output.document(document, lambda: session.output.line(said))
