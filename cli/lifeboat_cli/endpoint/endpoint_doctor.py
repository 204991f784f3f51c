"""`lifeboat endpoint doctor`: check the infrastructure of an endpoint."""

from __future__ import annotations

from dataclasses import replace

import click

from lifeboat_cli.commands.findings_text import print_findings
from lifeboat_cli.endpoint.endpoint_session import (
    EndpointSession,
    adapt_error_for_operators,
    endpoint_command,
    insert_data_folder,
)
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.pager import pager_option


@click.command(
    short_help="Check the infrastructure of the endpoint.",
    epilog=format_examples("lifeboat endpoint doctor --data /srv/lifeboat"),
)
@pager_option
@endpoint_command
def doctor(session: EndpointSession) -> int:
    """Check the infrastructure of the endpoint: database and object store or disk, keys, clock, certificate and
    workers.

    Exit status 1 if a check finds an error. To check the stored data, run `lifeboat endpoint verify`.
    """
    from lifeboat_endpoint.doctor import examine_endpoint

    with session.open() as endpoint, session.output.progress("examining"):
        found = list(examine_endpoint(endpoint, adapt_error_for_operators))
    fixes = [insert_data_folder(one.finding.fix, session.data) for one in found]
    found = [replace(one, finding=replace(one.finding, fix=fix)) for one, fix in zip(found, fixes, strict=True)]
    return print_findings(session.output, found)
