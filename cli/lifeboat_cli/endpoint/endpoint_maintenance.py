"""`lifeboat endpoint compact`, `verify` and `accept`: free space, verify all data, and accept held removals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.size_texts import size_text
from lifeboat_cli.endpoint.endpoint_session import EndpointSession, endpoint_command, select_tenants
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_core.texts.human_text import count_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lifeboat_endpoint.maintenance.endpoint_verification import EndpointFinding, EndpointVerification
    from lifeboat_endpoint.maintenance.tenant_care import TenantCare


@click.command(
    short_help="Delete old sequences, free disk space and apply new data keys.",
    epilog=format_examples(
        "lifeboat endpoint compact --data /srv/lifeboat", "lifeboat endpoint compact home --data /srv/lifeboat"
    ),
)
@click.argument("tenant", required=False)
@click.option(
    "--trust-clock",
    is_flag=True,
    help="Accept the computer's clock as correct, although its time jumped since the last run.",
)
@endpoint_command
def compact(session: EndpointSession, tenant: str | None, trust_clock: bool) -> int:
    """Delete old sequences according to the retention settings and size limits, and free their disk space.

    Then encrypt all data with the newest data key, and destroy the older data keys. A server may run at the same
    time. If a data key changes during a multipart upload, the machine starts that upload again.
    """
    from lifeboat_endpoint.maintenance import tenant_care, trusted_time

    with session.open() as endpoint:
        if trust_clock:
            trusted_time.trust_clock(endpoint)
        tenants = [one for one in select_tenants(endpoint, tenant) if one.state == "active"]
        with session.output.progress("compacting") as tell:
            done = []
            for number, one in enumerate(tenants):
                tell("", number, len(tenants))
                done.append(tenant_care.compact_tenant(endpoint, one))
    documents = [_care_document(one) for one in done]
    problems = sum(len(one.problems) for one in done)

    def text() -> None:
        for one in done:
            _say_care(session, one)

    session.output.document({"tenants": documents, "problems": problems}, text)
    return 1 if problems else 0


def _care_document(done: TenantCare) -> JsonObject:
    return {
        "tenant": done.tenant.name,
        "id": done.tenant.id,
        "bytes_freed": done.bytes_freed,
        "swept": done.swept,
        "keys_destroyed": done.destroyed,
        "clock_trusted": done.is_clock_trusted,
        "problems": done.problems,
        "agents": [
            {
                "id": agent_id,
                "sequences": care.sequences,
                "large_files": care.large_files,
                "bytes_freed": care.bytes_freed,
                "steps": care.steps,
            }
            for agent_id, care in done.agents.items()
        ],
    }


def _say_care(session: EndpointSession, done: TenantCare) -> None:
    name = done.tenant.name
    freed = f"{size_text(max(0, done.bytes_freed))} freed"
    session.output.line(f"{name}: {count_text(len(done.agents), 'agent')}, {freed}.")
    for agent_id, care in done.agents.items():
        for step in care.steps:
            session.output.line(f"  {agent_id}: {step}")
    if done.destroyed:
        session.output.line(
            f"  {count_text(len(done.destroyed), 'older data key was', 'older data keys were')} destroyed"
        )
    if not done.is_clock_trusted:
        session.output.warn(f"{name}: no data was deleted, because the time of the clock jumped")
    for problem in done.problems:
        session.output.warn(f"{name}: {problem}")


@click.command(
    short_help="Read and verify all stored data.",
    epilog=format_examples(
        "lifeboat endpoint verify --data /srv/lifeboat", "lifeboat endpoint verify home --data /srv/lifeboat"
    ),
)
@click.argument("tenant", required=False)
@endpoint_command
def verify(session: EndpointSession, tenant: str | None) -> int:
    """Read and verify all stored data of one tenant or of all tenants.

    Each file is checked against its digest, each sequence against its signature, and each sealed file against its
    digest at upload. The command also checks the audit log, and who can read the data and the key. Files whose
    content was never uploaded are listed: a machine uploads such a file at its next sync. Exit status 1 if an error
    is found; a file that was never uploaded is no error.
    """
    from lifeboat_endpoint.maintenance.endpoint_verification import verify_endpoint

    with session.open() as endpoint:
        proof = verify_endpoint(endpoint, select_tenants(endpoint, tenant))
    document = {
        "ok": proof.ok,
        "tenants": proof.tenants,
        "agents": proof.agents,
        "sealed_agents": proof.sealed_agents,
        "sequences": proof.sequences,
        "objects": proof.objects,
        "bytes": proof.bytes,
        "orphans": proof.orphans,
        "findings": [_finding_document(one) for one in proof.findings],
        "absent": [_finding_document(one) for one in proof.absent],
    }
    session.output.document(document, lambda: _say_proof(session, proof))
    return 0 if proof.ok else 1


def _finding_document(found: EndpointFinding) -> JsonObject:
    return {
        "kind": found.kind,
        "tenant": found.tenant or None,
        "agent": found.agent or None,
        "subject": found.subject or None,
        "message": found.message,
    }


def _say_proof(session: EndpointSession, proof: EndpointVerification) -> None:
    sealed = f" and {count_text(proof.sealed_agents, 'sealed one')}" if proof.sealed_agents else ""
    looked = f"{count_text(proof.agents, 'agent')}{sealed} of {count_text(proof.tenants, 'tenant')}"
    read = f"{count_text(proof.sequences, 'sequence')}, {size_text(proof.bytes)} read"
    if proof.ok:
        whole = "All uploaded data is intact" if proof.absent else "All data is intact"
        session.output.line(f"{whole}: {looked}, {read}.")
    else:
        session.output.line(f"{count_text(len(proof.findings), 'problem')} found: {looked}, {read}.")
        _say_findings(session, proof.findings)
    if proof.absent:
        absent = count_text(len(proof.absent), "file in a sequence", "files in sequences")
        session.output.line(
            f"The content of {absent} is not uploaded yet. A machine that has the content uploads it at its next sync:"
        )
        _say_findings(session, proof.absent)


def _say_findings(session: EndpointSession, findings: Sequence[EndpointFinding]) -> None:
    for found in findings:
        where = " ".join(part for part in (found.tenant, found.agent, found.subject) if part)
        session.output.line(f"  {where}: {found.message}" if where else f"  {found.message}")


@click.command(
    short_help="Accept a removal of many memories by an older client.",
    epilog=format_examples(
        "lifeboat endpoint accept home 0190f0a0-0000-7000-8000-0000000000a1 --data /srv/lifeboat",
    ),
)
@click.argument("tenant")
@click.argument("agent_id", metavar="AGENT")
@endpoint_command
def accept(session: EndpointSession, tenant: str, agent_id: str) -> None:
    """Accept a removal of many memories by an older client.

    The endpoint then no longer protects the earlier sequence from deletion. The agent is given by its id. If a
    machine with Lifeboat writes the agent, run `lifeboat agents accept` on that machine instead.
    """
    with session.open() as endpoint:
        found = endpoint.control.tenant(tenant)
        was_held = endpoint.space(found.id).accept_held(agent_id)
        if was_held:
            endpoint.control.note(None, "agent.accept", agent_id, {"tenant": found.id})
    said = (
        "The removal is accepted, and the agent is no longer held."
        if was_held
        else ("No removal of this agent was held.")
    )
    document = {"tenant": found.name, "id": agent_id, "was_held": was_held}
    session.output.document(document, lambda: session.output.line(said))
