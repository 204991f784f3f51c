"""`lifeboat endpoint audit`: list, check and export the audit log of an endpoint."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_cli.endpoint.endpoint_session import EndpointSession, endpoint_command
from lifeboat_cli.terminal.command_session import is_json_wanted
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.option_types import COUNT
from lifeboat_cli.terminal.output import CommandOutput
from lifeboat_cli.terminal.pager import pager_option
from lifeboat_cli.terminal.text_table import TableFit
from lifeboat_core.texts.human_text import count_text, time_text
from lifeboat_core.texts.safe_text import json_text

if TYPE_CHECKING:
    from lifeboat_endpoint.endpoint import Endpoint
    from lifeboat_endpoint.tenancy.audit_export import AuditExportEnd, AuditExportReport
    from lifeboat_vault.rows.sequence_rows import AuditRow

_PIPE = "-"
_JSON = "lifeboat.json"


class AuditStart(click.ParamType[int | datetime]):
    """A row number or a time (RFC 3339, or a day, which begins in UTC)."""

    name = "number or time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | datetime:
        if isinstance(value, int | datetime):
            return value
        if value.isdecimal():
            return int(value)
        try:
            found = datetime.fromisoformat(value)
        except ValueError:
            self.fail(
                f"{value!r} is neither the number of an audit row nor a time like 2026-11-20T18:00:00Z", param, ctx
            )
        return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _check_file(context: click.Context, _: click.Parameter, path: Path | None) -> None:
    """Check the file during option parsing, because no endpoint is needed for it."""
    if path is None or context.resilient_parsing:
        return
    context.exit(_file_checked(CommandOutput(as_json=is_json_wanted() or context.meta[_JSON]), path))


class _AuditCommand(click.Command):
    """A command that knows whether JSON is wanted before its options are parsed."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_JSON] = "--json" in args
        return super().parse_args(ctx, args)


@click.command(
    cls=_AuditCommand,
    short_help="List, check or export the audit log of the endpoint.",
    epilog=format_examples(
        "lifeboat endpoint audit --limit 50 --data /srv/lifeboat",
        "lifeboat endpoint audit --check --data /srv/lifeboat",
        "lifeboat endpoint audit --export /var/log/lifeboat-audit.jsonl --data /srv/lifeboat",
        "lifeboat endpoint audit --export - --since 2026-11-20 --data /srv/lifeboat",
        "lifeboat endpoint audit --check-file /var/log/lifeboat-audit.jsonl",
    ),
)
@click.option("--tenant", help="Show only rows of this tenant.")
@click.option("-n", "--limit", type=COUNT, default=100, show_default=True, help="Show the newest N rows.")
@click.option(
    "--check",
    is_flag=True,
    help="Only check the chain of hashes in the audit log. Exit status 1 if the chain is broken.",
)
@click.option(
    "--export",
    metavar="FILE",
    help="Write all rows to FILE (- for standard output). If FILE is an earlier export, append only the new rows.",
)
@click.option(
    "--since", type=AuditStart(), metavar="N|TIME", help="With --export: only rows after row N, or from TIME on."
)
@click.option(
    "--format", "form", type=click.Choice(("jsonl",)), default="jsonl", help="Format of --export.  [default: jsonl]"
)
@click.option(
    "--check-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    is_eager=True,
    expose_value=False,
    callback=_check_file,
    help="Check the exported file FILE. This needs no endpoint. Exit status 1 if FILE is damaged.",
)
@pager_option
@endpoint_command
def audit(
    session: EndpointSession,
    tenant: str | None,
    limit: int,
    check: bool,
    export: str | None,
    since: int | datetime | None,
    form: str,
) -> int:
    """List the actions on this endpoint, oldest first, with the token that requested each action.

    Rows contain ids and counts, never content. Each row contains the hash of the previous row. --check finds rows
    that were changed, removed or inserted, and prints the hash of the newest row. Store that hash in another place:
    it proves later that no earlier row was changed. --export writes one line of JSON per row and a final line, and
    continues an existing export. --check-file runs the checks of --check on an export.
    """
    if export is not None and check:
        raise click.UsageError("Use either --export or --check.")
    if export is not None:
        return _exported(session, export, since, tenant)
    if since is not None:
        raise click.UsageError("--since needs --export.")
    return _checked(session) if check else _listed(session, tenant, limit)


def _checked(session: EndpointSession) -> int:
    with session.open() as endpoint:
        broken = endpoint.control.check_audit()
        ends = endpoint.control.audit_ends()
    document = {"ok": not broken, "broken": broken, "first": ends[0], "last": ends[1], "hash": ends[2]}

    def text() -> None:
        if broken:
            rows = ", ".join(map(str, broken[:10]))
            session.output.line(
                f"The audit log is damaged: {count_text(len(broken), 'row')} ({rows}) with a wrong hash."
            )
            return
        session.output.line(f"The audit log is intact: rows {ends[0]} to {ends[1]}.")
        session.output.verbatim(f"  {ends[2]}")

    session.output.document(document, text)
    return 1 if broken else 0


def _listed(session: EndpointSession, tenant: str | None, limit: int) -> int:
    from lifeboat_endpoint.tenancy.audit_export import is_row_of_tenant

    with session.open() as endpoint:
        tenant_id = None if tenant is None else endpoint.control.tenant(tenant).id
        names = {one.id: one.name for one in endpoint.control.tenants()}
        rows = deque(
            (row for row in endpoint.control.audit_rows() if tenant_id is None or is_row_of_tenant(row, tenant_id)),
            limit,
        )
    documents = [_document(row) for row in rows]

    def text() -> None:
        columns = ("number", "time", "what", "subject", "tenant", "token", "details")
        fit = TableFit(shorten=("token", "subject", "tenant", "details"), drop=("token",), least={"time": 16})
        with session.output.pager():
            session.output.table(columns, (_row(one, names) for one in documents), fit)

    session.output.document({"rows": documents}, text)
    return 0


def _document(row: AuditRow) -> JsonObject:
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


def _row(document: JsonObject, names: dict[str, str]) -> tuple[object, ...]:
    tenant = document["tenant"] or ""
    details = " ".join(f"{name}={value}" for name, value in document["details"].items() if value is not None)
    when = time_text(document["time"])
    who = names.get(tenant, tenant)
    return document["number"], when, document["kind"], document["subject"], who, document["token"] or "", details


# Exports --------------------------------------------------------------------------------------------------------------


def _exported(session: EndpointSession, target: str, since: int | datetime | None, tenant: str | None) -> int:
    from lifeboat_endpoint.tenancy import audit_export

    with session.open() as endpoint:
        tenant_id = None if tenant is None else endpoint.control.tenant(tenant).id
        endpoint.control.flush()
        if target == _PIPE:
            audit_export.export_audit(endpoint.control, _written_out, after=_after(endpoint, since), tenant=tenant_id)
            return 0
        end = _to_file(session, endpoint, Path(target), since, tenant_id)
    document = {"file": target, "rows": end.rows, "end": end.number, "hash": end.hash, "tenant": end.tenant}
    said = f"Exported {count_text(end.rows, 'row')} of the audit log, up to row {end.number}."
    session.output.document(document, lambda: session.output.line(said))
    return 0


def _to_file(
    session: EndpointSession, endpoint: Endpoint, path: Path, since: int | datetime | None, tenant_id: str | None
) -> AuditExportEnd:
    from lifeboat_endpoint.tenancy import audit_export, audit_file

    with audit_file.open_audit_file(path, tenant_id) as place:
        after = _after(endpoint, since) if place.last is None else place.last.number
        if place.last is not None:
            if since is not None:
                raise click.UsageError(
                    f"{path} is an earlier export, which --export continues from its last row: leave out --since, or "
                    "write to a new file"
                )
            gone = audit_file.check_follows(place.last, endpoint.control)
            if gone:
                rows = f"{after + 1} to {after + gone}"
                session.output.warn(
                    f"audit rows {rows} expired or were removed before they could be exported to {path}"
                )
        return audit_export.export_audit(endpoint.control, place.file.write, after=after, tenant=tenant_id)


def _after(endpoint: Endpoint, since: int | datetime | None) -> int:
    """Return the number of the row after which lines begin."""
    if isinstance(since, datetime):
        return endpoint.control.audit_since(since)
    if since is not None and since > (last := endpoint.control.audit_ends()[1]):
        raise click.UsageError(
            f"the last row of the audit log is {last}, which is before the row given with --since, {since}"
        )
    return since or 0


def _written_out(data: bytes) -> None:
    """Write lines to standard output unchanged; on a terminal, control characters become JSON escapes."""
    if sys.stdout.isatty():
        data = json_text(data.decode()).encode()
    buffer = getattr(sys.stdout, "buffer", None)
    write: Callable[[Any], object] = sys.stdout.write if buffer is None else buffer.write
    write(data.decode() if buffer is None else data)


def _file_checked(output: CommandOutput, path: Path) -> int:
    from lifeboat_endpoint.tenancy.audit_file import check_audit_file

    found = check_audit_file(path)
    output.document({"file": str(path), **found.to_json()}, lambda: _say_checked(output, path, found))
    return 0 if found.is_whole else 1


def _say_checked(output: CommandOutput, path: Path, found: AuditExportReport) -> None:
    if not found.is_whole or found.end is None:
        output.line(f"The export {path} is damaged: {count_text(found.wrong, 'problem')} found.")
        for problem in found.problems:
            output.line(f"  {problem}")
        return
    whose = "" if found.end.tenant is None else f" of tenant {found.end.tenant}"
    output.line(f"The export {path} is intact: {count_text(found.rows, 'row')}{whose}, up to row {found.end.number}.")
    output.verbatim(f"  {found.end.hash}")
