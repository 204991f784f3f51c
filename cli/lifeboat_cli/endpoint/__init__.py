"""`lifeboat endpoint`: keep the agents of others, or your own, on a machine of yours."""

from __future__ import annotations

import click

from lifeboat_daemon.cli.lazy import LazyGroup

_HERE = "lifeboat_daemon.cli"
COMMANDS = {
    "prepare": f"{_HERE}.endpoint_prepare:prepare",
    "migrate": f"{_HERE}.endpoint_migrate:migrate",
    "serve": f"{_HERE}.endpoint_serve:serve",
    "tenant": f"{_HERE}.endpoint_tenants:tenant",
    "token": f"{_HERE}.endpoint_tokens:token",
    "compact": f"{_HERE}.endpoint_care:compact",
    "verify": f"{_HERE}.endpoint_care:verify",
    "doctor": f"{_HERE}.endpoint_doctor:doctor",
    "accept": f"{_HERE}.endpoint_care:accept",
    "purges": f"{_HERE}.endpoint_purges:purges",
    "work": f"{_HERE}.endpoint_work:work",
    "jobs": f"{_HERE}.endpoint_work:jobs",
    "rotate-key": f"{_HERE}.endpoint_keys:rotate_key",
    "audit": f"{_HERE}.endpoint_audit:audit",
}


@click.group(cls=LazyGroup, lazy=COMMANDS)
def endpoint() -> None:
    """A sync endpoint: the place that keeps second copies of agents, run on a machine of yours."""
