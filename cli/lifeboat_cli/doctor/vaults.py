"""Every vault: it opens, its newest state is what was signed, its audit chain is whole."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_cli.doctor import Finding, Level
from lifeboat_core.agents.agent import Agent, everyone
from lifeboat_core.home.context import Context
from lifeboat_core.restore.plan import trusted

TITLE = "The vaults"


def check(context: Context) -> Iterator[Finding]:
    for agent in everyone(context):
        yield from _vault(context, agent)


def _vault(context: Context, agent: Agent) -> Iterator[Finding]:
    with context.vault(agent.id) as vault:
        if vault.head() is None:
            yield Finding(Level.ERROR, agent.name, "nothing was captured yet", f"lifeboat sync {agent.name}")
            return
        found = vault.verify(trusted=trusted(context), whole=False)
    for finding in found.findings:
        fix = f"lifeboat restore {agent.name} --at SEQ, a sequence that lifeboat verify {agent.name} --at SEQ accepts"
        yield Finding(Level.ERROR, agent.name, f"{finding.subject}: {finding.message}", fix)
    for number in found.unsigned:
        result = f"sequence {number}: nobody signed it, and this home signs what it keeps"
        yield Finding(Level.ERROR, agent.name, result)
    if not (found.findings or found.unsigned):
        yield Finding(Level.OK, agent.name, "the newest state is what was signed, and the audit chain is whole")
