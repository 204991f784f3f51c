"""`lifeboat endpoint token`: the tokens that authorize machines for a tenant."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import click

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_cli.endpoint.endpoint_join_line import make_join_line, print_join_line
from lifeboat_cli.endpoint.endpoint_session import EndpointSession, endpoint_command, select_tenants
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.option_types import DURATION
from lifeboat_cli.terminal.pager import pager_option
from lifeboat_cli.terminal.text_table import TableFit
from lifeboat_core.texts.human_text import count_text, time_text

if TYPE_CHECKING:
    from lifeboat_endpoint.tenancy.tenant_rows import TokenRow

SCOPES = ("push", "pull", "purge", "admin")


@click.group()
def token() -> None:
    """Manage access tokens of machines.

    The endpoint stores only a digest of each token. If a token is lost, revoke it and create a new one.
    """


@token.command(
    short_help="Create a token for a tenant.",
    epilog=format_examples(
        "lifeboat endpoint token add home --name laptop --data /srv/lifeboat",
        "lifeboat endpoint token add home --name reader --scope pull --expires 90d --data /srv/lifeboat",
    ),
)
@click.argument("tenant")
@click.option("--name", default="device", help="Name of the token, shown in lists and in the audit log.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(SCOPES),
    help="Permit this kind of access (repeatable). [default: push and pull]",
)
@click.option(
    "--expires",
    "seconds",
    type=DURATION,
    metavar="TIME",
    help="Let the token expire after this time, for example 12h or 90d. [default: never]",
)
@endpoint_command
def add(session: EndpointSession, tenant: str, name: str, scopes: tuple[str, ...], seconds: int | None) -> None:
    """Create a token for a tenant and print it once. A machine that pushes its agents needs push and pull only."""
    from lifeboat_endpoint.tenancy.callers import DEVICE_SCOPES

    with session.open() as endpoint:
        found = endpoint.control.tenant(tenant)
        ends = None if seconds is None else endpoint.clock.now() + timedelta(seconds=seconds)
        made, secret = endpoint.control.add_token(found.id, name, scopes or DEVICE_SCOPES, ends)
        joined = make_join_line(endpoint, secret) if made.scopes & {"push", "pull"} else None
    document = {**_document(made, found.name, "active"), "token": secret, "join": joined}

    def text() -> None:
        session.output.line(f"The token {made.name} of tenant {found.name}, which is not printed again:")
        session.output.verbatim(f"  {secret}")
        print_join_line(session, joined)
        if joined is None and "purge" in made.scopes:
            session.output.line(
                "Do not store this token on a machine with agents. On such a machine, type it only "
                "when this command asks for it:"
            )
            session.output.verbatim("  lifeboat receipts confirm ID --remote NAME")

    session.output.document(document, text)


def _document(made: TokenRow, tenant: str, state: str) -> JsonObject:
    return {
        "id": made.id,
        "name": made.name,
        "tenant": tenant,
        "scopes": [scope for scope in SCOPES if scope in made.scopes],
        "state": state,
        "created_at": made.created_at,
        "expires_at": made.expires_at,
        "revoked_at": made.revoked_at,
        "last_used_at": made.last_used_at,
    }


@token.command(
    name="list",
    short_help="List the tokens of one tenant or of all tenants.",
    epilog=format_examples("lifeboat endpoint token list home --data /srv/lifeboat"),
)
@click.argument("tenant", required=False)
@pager_option
@endpoint_command
def list_command(session: EndpointSession, tenant: str | None) -> None:
    """List the tokens of one tenant or of all tenants by id. The tokens themselves are not stored on the endpoint."""
    from lifeboat_alf.common import times

    with session.open() as endpoint:
        now = times.to_text(endpoint.clock.now())
        documents = [
            _document(one, found.name, _state(one, now))
            for found in select_tenants(endpoint, tenant)
            for one in endpoint.control.tokens(found.id)
        ]

    def text() -> None:
        if not documents:
            session.output.verbatim(
                f"The endpoint has no token yet. To create one: {session.command('token add TENANT')}"
            )
            return
        fit = TableFit(shorten=("tenant", "name", "scopes"), drop=("last used", "tenant"))
        with session.output.pager():
            session.output.table(("id", "name", "tenant", "scopes", "state", "last used"), map(_row, documents), fit)

    session.output.document({"tokens": documents}, text)


def _state(one: TokenRow, now: str) -> str:
    if one.revoked_at is not None:
        return "revoked"
    return "active" if one.counts_at(now) else "expired"


def _row(document: JsonObject) -> tuple[object, ...]:
    state = document["state"]
    if state == "active" and document["expires_at"]:
        state = f"until {time_text(document['expires_at'])}"
    used = time_text(document["last_used_at"]) if document["last_used_at"] else "never"
    return document["id"], document["name"], document["tenant"], ", ".join(document["scopes"]), state, used


@token.command(
    short_help="Revoke a token immediately.",
    epilog=format_examples("lifeboat endpoint token revoke k7m2p9qa --data /srv/lifeboat"),
)
@click.argument("token_id", metavar="ID")
@endpoint_command
def revoke(session: EndpointSession, token_id: str) -> None:
    """Revoke a token immediately.

    Running servers refuse the token from now on. Tokens that can only restore, which are part of recovery kits,
    stay valid and are listed. A machine can create such tokens, so if the revoked token was stolen, also revoke
    each listed token that is not on one of your recovery kits.
    """
    from lifeboat_alf.common import times
    from lifeboat_endpoint.tenancy.callers import RESTORE_SCOPES

    with session.open() as endpoint:
        revoked = endpoint.control.revoke_token(token_id)
        found = endpoint.control.tenant(revoked.tenant_id)
        now = times.to_text(endpoint.clock.now())
        left = [one for one in endpoint.control.tokens(found.id) if one.scopes == RESTORE_SCOPES and one.counts_at(now)]

    def text() -> None:
        session.output.line(f"Revoked the token {revoked.id} ({revoked.name}) of tenant {found.name}.")
        if left:
            session.output.line(
                f"{count_text(len(left), 'restore-only token')} of tenant {found.name} can still read its data:"
            )
        for one in left:
            session.output.line(f"  {one.id} ({one.name}), created {time_text(one.created_at)}. To revoke it:")
            session.output.verbatim(f"    {session.command(f'token revoke {one.id}')}")

    document = {**_document(revoked, found.name, "revoked"), "restore_tokens": [one.id for one in left]}
    session.output.document(document, text)
