"""Check every vault: it opens, its newest sequence matches its signature, its audit chain is complete."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_core.agents.agent import Agent, list_agents
from lifeboat_core.home.context import Context
from lifeboat_core.restore.restore_plan import load_trusted_keys
from lifeboat_core.texts.human_text import quote_argument

TITLE = "Vaults"


def check(context: Context) -> Iterator[DoctorFinding]:
    for agent in list_agents(context):
        yield from _vault(context, agent)


def _vault(context: Context, agent: Agent) -> Iterator[DoctorFinding]:
    name = quote_argument(agent.name)
    with context.vault(agent.id) as vault:
        if vault.head() is None:
            yield DoctorFinding(DoctorLevel.ERROR, agent.name, "no sequence was captured yet", f"lifeboat sync {name}")
            return
        found = vault.verify(trusted=load_trusted_keys(context), whole=False)
    for finding in found.findings:
        fix = (
            f"lifeboat restore {name} --at SEQ (choose a sequence SEQ without damage: lifeboat verify {name} --at SEQ)"
        )
        yield DoctorFinding(DoctorLevel.ERROR, agent.name, f"{finding.subject}: {finding.message}", fix)
    for number in found.unsigned:
        result = f"sequence {number} is not signed, but this home signs every sequence"
        yield DoctorFinding(DoctorLevel.ERROR, agent.name, result)
    if not (found.findings or found.unsigned):
        yield DoctorFinding(
            DoctorLevel.OK, agent.name, "the signature of the newest sequence is valid, and the audit log is complete"
        )
