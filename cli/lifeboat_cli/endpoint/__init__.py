"""`lifeboat endpoint`: run a server that keeps remotes."""

from __future__ import annotations

import click

from lifeboat_cli.terminal.lazy_group import LazyGroup

COMMANDS = {
    "prepare": "lifeboat_cli.endpoint.endpoint_prepare:prepare",
    "migrate": "lifeboat_cli.endpoint.endpoint_migrate:migrate",
    "serve": "lifeboat_cli.endpoint.endpoint_serve:serve",
    "tenant": "lifeboat_cli.endpoint.endpoint_tenants:tenant",
    "token": "lifeboat_cli.endpoint.endpoint_tokens:token",
    "compact": "lifeboat_cli.endpoint.endpoint_maintenance:compact",
    "verify": "lifeboat_cli.endpoint.endpoint_maintenance:verify",
    "doctor": "lifeboat_cli.endpoint.endpoint_doctor:doctor",
    "accept": "lifeboat_cli.endpoint.endpoint_maintenance:accept",
    "purges": "lifeboat_cli.endpoint.endpoint_purges:purges",
    "work": "lifeboat_cli.endpoint.endpoint_work:work",
    "jobs": "lifeboat_cli.endpoint.endpoint_work:jobs",
    "rotate-key": "lifeboat_cli.endpoint.endpoint_keys:rotate_key",
    "audit": "lifeboat_cli.endpoint.endpoint_audit:audit",
}


@click.group(cls=LazyGroup, lazy=COMMANDS)
def endpoint() -> None:
    """Run an endpoint: a server that stores backups of agents for one or more tenants."""
