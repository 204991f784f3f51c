"""Find secrets that became known after they were captured: cut from the newest sequence, in plain text in older
ones."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_core.agents.agent import Agent, list_agents
from lifeboat_core.capture.secret_cutter import EXPOSED
from lifeboat_core.home.context import Context
from lifeboat_core.texts.human_text import quote_argument

TITLE = "Secrets in older sequences"


def write_purge_command(agent: str) -> str:
    """Return the command that purges a secret from older sequences. It reads the secret from its input."""
    return f"lifeboat purge {quote_argument(agent)} --text-stdin"


def check(context: Context) -> Iterator[DoctorFinding]:
    for agent in list_agents(context):
        yield from _exposed(context, agent)


def _exposed(context: Context, agent: Agent) -> Iterator[DoctorFinding]:
    with context.vault(agent.id) as vault:
        found: dict[str, int] = vault.get(EXPOSED) or {}
        kept = {row.number for row in vault.sequences()}
    concerned = {path: last for path, last in found.items() if any(number <= last for number in kept)}
    for path, last in sorted(concerned.items()):
        result = (
            f"{path} contains a secret in plain text in all sequences up to {last}, because Lifeboat did not "
            "recognise the secret then. Replace the secret at the service that issued it, then purge the old value"
        )
        yield DoctorFinding(DoctorLevel.WARNING, agent.name, result, write_purge_command(agent.name))
    if not concerned:
        yield DoctorFinding(DoctorLevel.OK, agent.name, "no stored sequence contains a known secret in plain text")
