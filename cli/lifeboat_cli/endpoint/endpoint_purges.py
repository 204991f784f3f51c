"""`lifeboat endpoint purges`: purges that machines requested here, and the decision of the endpoint's owner."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_cli.endpoint.endpoint_session import EndpointSession, confirm_name, endpoint_command, select_tenants
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.pager import pager_option
from lifeboat_cli.terminal.text_table import TableFit
from lifeboat_core.texts.human_text import count_text, time_text

if TYPE_CHECKING:
    from lifeboat_endpoint.maintenance.tenant_purges import WaitingPurge

_ID = click.argument("redaction_id", metavar="ID")
_TENANT = click.option("--tenant", help="Show only purges of this tenant.")
WHOLE = "full_agent"


@click.group()
def purges() -> None:
    """Manage purges that machines requested.

    The endpoint applies a purge when its waiting time ends. You can apply it earlier with `confirm`, or prevent it
    with `refuse`.
    """


@purges.command(
    name="list",
    short_help="List waiting purges and when each is applied.",
    epilog=format_examples("lifeboat endpoint purges list --data /srv/lifeboat"),
)
@_TENANT
@pager_option
@endpoint_command
def list_command(session: EndpointSession, tenant: str | None) -> None:
    """List waiting purges and the time at which each is applied. The list contains ids and counts, never content."""
    from lifeboat_endpoint.maintenance.tenant_purges import list_waiting_purges

    with session.open() as endpoint:
        documents = [_document(found) for found in list_waiting_purges(endpoint, select_tenants(endpoint, tenant))]

    def text() -> None:
        if not documents:
            session.output.line("No purge is waiting.")
            return
        fit = TableFit(shorten=("agent", "tenant", "what", "why"), drop=("agent",), least={"id": 36, "applies": 16})
        with session.output.pager():
            session.output.table(("id", "tenant", "agent", "what", "why", "applies"), map(_row, documents), fit)

    session.output.document({"purges": documents}, text)


@purges.command(
    short_help="Apply a waiting purge now.",
    epilog=format_examples(
        "lifeboat endpoint purges confirm 0198c0de-0000-7000-8000-000000000001 --data /srv/lifeboat"
    ),
)
@_ID
@_TENANT
@click.option("--yes", is_flag=True, help="Do not ask for confirmation, even if the purge destroys a whole agent.")
@endpoint_command
def confirm(session: EndpointSession, redaction_id: str, tenant: str | None, yes: bool) -> None:
    """Apply a waiting purge now. The destroyed data cannot be restored."""
    from lifeboat_endpoint.maintenance import tenant_purges as work

    with session.open() as endpoint:
        tenants = select_tenants(endpoint, tenant)
        whole = [found for found in work.list_waiting_purges(endpoint, tenants) if _is_whole(found, redaction_id)]
        if whole and not yes:
            name = whole[0].purge.agent_name
            question = f"This permanently destroys all data of {name} on this endpoint, including the keys."
            confirm_name(session, name, question, otherwise=f"all data of {name} would be destroyed")
        state = work.confirm_purge(endpoint, tenants, redaction_id)
    receipt = state.receipt
    document = {"id": redaction_id, "applied": receipt is not None, "receipt": receipt}

    def text() -> None:
        if receipt is None:
            session.output.line(
                "The purge is applied. Its receipt is created when all requests that still read the old data "
                "have ended."
            )
            return
        objects = count_text(receipt["objects"], "object")
        session.output.line(
            f"The purge {redaction_id} is applied: {objects} destroyed, {receipt['remaining']} remaining."
        )

    session.output.document(document, text)


@purges.command(
    short_help="Refuse a purge.",
    epilog=format_examples("lifeboat endpoint purges refuse 0198c0de-0000-7000-8000-000000000001 --data /srv/lifeboat"),
)
@_ID
@_TENANT
@endpoint_command
def refuse(session: EndpointSession, redaction_id: str, tenant: str | None) -> None:
    """Refuse a purge.

    The endpoint then does not apply the purge, even if a machine requests it again. Only a token with the scope
    `purge` can still apply it.
    """
    from lifeboat_endpoint.maintenance import tenant_purges as work

    with session.open() as endpoint:
        found = work.refuse_purge(endpoint, select_tenants(endpoint, tenant), redaction_id)
    said = f"The purge {redaction_id} of {found.purge.agent_name} is refused, and the data stays on the endpoint."
    session.output.document({"id": redaction_id, "refused": True}, lambda: session.output.line(said))


def _is_whole(found: WaitingPurge, redaction_id: str) -> bool:
    return found.purge.redaction.id == redaction_id and found.purge.redaction.scope == WHOLE


def _document(found: WaitingPurge) -> JsonObject:
    redaction = found.purge.redaction
    return {
        "id": redaction.id,
        "tenant": found.tenant.name,
        "agent": found.purge.agent_id,
        "name": found.purge.agent_name,
        "scope": redaction.scope,
        "records": len(redaction.record_ids),
        "leaves": len(redaction.leaves),
        "reason": redaction.reason,
        "requested_at": redaction.requested_at,
        "applies_at": found.purge.applies_at,
    }


def _row(document: JsonObject) -> tuple[object, ...]:
    memories = count_text(document["records"], "memory") if document["records"] else "text in files"
    what = "the whole agent" if document["scope"] == WHOLE else memories
    when = time_text(document["applies_at"])
    return document["id"], document["tenant"], document["name"], what, document["reason"], when
