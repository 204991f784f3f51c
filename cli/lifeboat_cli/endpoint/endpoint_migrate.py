"""`lifeboat endpoint migrate`: move an endpoint from a folder into a database and an object store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.size_texts import size_text
from lifeboat_cli.endpoint.endpoint_session import EndpointSession, endpoint_command
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_core.texts.human_text import count_text, quote_argument

if TYPE_CHECKING:
    from lifeboat_endpoint.migration.endpoint_migration import MigrationResult

_OLD, _NEW = "/srv/lifeboat", "/etc/lifeboat-endpoint"


@click.command(
    short_help="Move an endpoint from a folder to PostgreSQL and an object store.",
    epilog=format_examples(
        f"lifeboat endpoint migrate --data {_OLD} --to {_NEW}",
        f"lifeboat endpoint migrate --data {_OLD} --to {_NEW} --verify",
        f"lifeboat endpoint migrate --data {_OLD} --abort",
    ),
)
@click.option(
    "--to",
    "target",
    type=click.Path(path_type=Path),
    metavar="NEW",
    help="Folder of the new endpoint, which `endpoint prepare` created.",
)
@click.option("--verify", is_flag=True, help="Verify all data after the move, like `endpoint verify`.")
@click.option("--abort", is_flag=True, help="Stop the move: the endpoint in DIR accepts pushes again.")
@endpoint_command
def migrate(session: EndpointSession, target: Path | None, verify: bool, abort: bool) -> int:
    """Move the endpoint in DIR to the shared endpoint in NEW, which `lifeboat endpoint prepare` created.

    During the move the endpoint in DIR is read-only; machines push their new sequences after the move. A running
    server need not be stopped. Data is copied in encrypted form and compared. After the move the endpoint in DIR
    refuses all requests, and you can serve the endpoint in NEW under the same host name. If the command is
    interrupted, run it again to continue.
    """
    if abort:
        return _abort(session, target)
    if target is None:
        raise click.UsageError("Missing option '--to': give the folder that `lifeboat endpoint prepare` created.")
    from lifeboat_endpoint.migration.endpoint_migration import migrate_endpoint

    with session.output.progress("moving") as tell:
        done = migrate_endpoint(session.data, target, tell=tell)
    findings = _findings(target) if verify and not done.problems else []
    document = _document(done, findings if verify else None)
    session.output.document(document, lambda: _say(session, done, target, findings, verify))
    return 1 if done.problems or findings else 0


def _abort(session: EndpointSession, target: Path | None) -> int:
    from lifeboat_endpoint.migration.endpoint_migration import abort_migration

    was_moving = abort_migration(session.data, target)
    said = (
        "The move was stopped. The endpoint accepts pushes again."
        if was_moving
        else "No move of this endpoint was in progress."
    )
    session.output.document({"was_moving": was_moving}, lambda: session.output.line(said))
    return 0


def _findings(folder: Path) -> list[str]:
    from lifeboat_endpoint.endpoint import Endpoint
    from lifeboat_endpoint.maintenance.endpoint_verification import verify_endpoint

    with Endpoint.open(folder) as endpoint:
        found = verify_endpoint(endpoint, endpoint.control.tenants()).findings
    return [" ".join(part for part in (one.tenant, one.agent, one.subject, one.message) if part) for one in found]


def _document(done: MigrationResult, findings: list[str] | None) -> JsonObject:
    return {
        "finished": not done.problems,
        "was_done": done.was_done,
        "tenants": done.tenants,
        "agents": done.agents,
        "rows": done.carried.rows,
        "objects": done.carried.bodies,
        "bytes_of_objects": done.carried.bytes,
        "problems": done.problems,
        "findings": findings,
    }


def _say(session: EndpointSession, done: MigrationResult, target: Path, findings: list[str], verify: bool) -> None:
    output = session.output
    if done.problems:
        output.line(f"The move is not complete because of {count_text(len(done.problems), 'problem')}:")
        for problem in done.problems:
            output.warn(problem)
        output.verbatim(
            f"To use this endpoint again, for example to repair the data: {session.command('migrate --abort')}"
        )
        return
    if done.was_done:
        output.line("The endpoint was already moved earlier.")
    else:
        what = f"{count_text(done.agents, 'agent')} of {count_text(done.tenants, 'tenant')}"
        sizes = f"{count_text(done.carried.rows, 'row')}, {count_text(done.carried.bodies, 'object')}"
        verb = "was" if done.agents == 1 else "were"
        output.line(f"{what} {verb} moved and compared: {sizes}, {size_text(done.carried.bytes)} in total.")
    for finding in findings:
        output.warn(finding)
    if verify and not findings:
        output.line("All data in the new endpoint was verified.")
    output.verbatim(f"Next, start the new server: lifeboat endpoint serve --data {quote_argument(str(target))}")
    output.line(
        "Then change the host name of the endpoint to the new server. When all agents push to the new endpoint, "
        "delete the old folder."
    )
