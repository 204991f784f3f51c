"""`lifeboat endpoint audit`: what was done at an endpoint, by whom, and that nobody changed the record of it."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import click

from lifeboat_daemon.cli.endpoint_session import EndpointSession, endpoint_command
from lifeboat_daemon.cli.examples import examples
from lifeboat_daemon.cli.naming import COUNT
from lifeboat_daemon.words import count_text, time_text

if TYPE_CHECKING:
    from lifeboat_endpoint.vault.rows import AuditRow


@click.command(
    short_help="What was done, by which token.",
    epilog=examples(
        "lifeboat endpoint audit --limit 50 --data /srv/lifeboat",
        "lifeboat endpoint audit --check --data /srv/lifeboat",
    ),
)
@click.option("--tenant", help="Only what concerns this tenant.")
@click.option("--limit", type=COUNT, default=100, show_default=True, help="The newest so many.")
@click.option("--check", is_flag=True, help="Only whether the chain is whole; exit status 1 when it is not.")
@endpoint_command
def audit(session: EndpointSession, tenant: str | None, limit: int, check: bool) -> int:
    """What was done, by which token, oldest first: ids and counts, never content.

    Each row covers the one before it. --check finds rows that were changed, removed or put in, and gives the hash of
    the newest row: kept elsewhere, it proves later that nothing up to there was rewritten.
    """
    return _checked(session) if check else _listed(session, tenant, limit)


def _checked(session: EndpointSession) -> int:
    with session.open() as endpoint:
        broken = endpoint.control.check_audit()
        ends = endpoint.control.audit_ends()
    document = {"ok": not broken, "broken": broken, "first": ends[0], "last": ends[1], "hash": ends[2]}

    def text() -> None:
        if broken:
            rows = ", ".join(map(str, broken[:10]))
            session.output.line(f"The audit is broken: {count_text(len(broken), 'row')} ({rows}) do not follow.")
            return
        session.output.line(f"The audit is whole: rows {ends[0]} to {ends[1]}.")
        session.output.verbatim(f"  {ends[2]}")

    session.output.document(document, text)
    return 1 if broken else 0


def _listed(session: EndpointSession, tenant: str | None, limit: int) -> int:
    with session.open() as endpoint:
        tenant_id = None if tenant is None else endpoint.control.tenant(tenant).id
        names = {one.id: one.name for one in endpoint.control.tenants()}
        rows = deque(
            (row for row in endpoint.control.audit_rows() if tenant_id is None or _concerns(row, tenant_id)), limit
        )
    documents = [_document(row) for row in rows]

    def text() -> None:
        columns = ("number", "time", "what", "subject", "tenant", "token", "details")
        session.output.table(columns, (_row(one, names) for one in documents))

    session.output.document({"rows": documents}, text)
    return 0


def _concerns(row: AuditRow, tenant_id: str) -> bool:
    return tenant_id in (row.subject, row.details.get("tenant"))


def _document(row: AuditRow) -> dict[str, Any]:
    details = {name: value for name, value in row.details.items() if name not in ("tenant", "token")}
    return {
        "number": row.number,
        "time": row.time,
        "kind": row.kind,
        "subject": row.subject,
        "tenant": row.details.get("tenant"),
        "token": row.details.get("token"),
        "details": details,
        "hash": row.hash.hex(),
    }


def _row(document: dict[str, Any], names: dict[str, str]) -> tuple[object, ...]:
    tenant = document["tenant"] or ""
    details = " ".join(f"{name}={value}" for name, value in document["details"].items() if value is not None)
    when = time_text(document["time"])
    who = names.get(tenant, tenant)
    return document["number"], when, document["kind"], document["subject"], who, document["token"] or "", details
