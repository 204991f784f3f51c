"""Verify an agent's vault.

    {"sample": true}                     the newest sequence and a sample of its bodies
    {"whole": false}                     a restore drill of the newest sequence
    {"whole": true, "unasked": false}    a drill, and every other kept sequence

The result is that of `verify --json`, with `how` (`sample`, `drill`, `whole`), `ok`, `deferred` and `facts`. With
`unasked`, a whole verification waits while the battery is to be saved, at most two weeks: then `how` is None and
`deferred` says why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.agents.agent import Agent
from lifeboat_core.health import due_checks, status_gathering
from lifeboat_core.home.context import Context
from lifeboat_core.machine import power_and_network
from lifeboat_core.verify import samples_and_drills

if TYPE_CHECKING:
    from lifeboat_daemon.work.worker_loop import RunningJob

SAVING = "the machine is saving battery power, so verification of every sequence waits for mains power"


def run(work: RunningJob) -> JsonObject:
    """Run the operation; see the module. Raises BadRequest, NothingToRestore, Busy."""
    agent = work.needed_agent()
    why = _deferred(work, agent) if work.parameters.get("unasked") and work.parameters.get("whole") else None
    work.check()
    answer: JsonObject = {"how": None, "ok": True} if why else _verified(work, agent)
    facts = status_gathering.gather_facts(work.context, agent)
    return {"agent": agent.id, **answer, "deferred": why, "facts": facts.to_json()}


def _verified(work: RunningJob, agent: Agent) -> JsonObject:
    if work.parameters.get("sample"):
        work.tell(f"Verifying a sample of {agent.name}")
        sampled = samples_and_drills.sample_vault(work.context, agent)
        known = status_gathering.gather_facts(work.context, agent).damaged
        if not (sampled.ok and sampled.healed and known):
            return {**sampled.to_json(), "how": due_checks.SAMPLE, "ok": sampled.ok}
        # Damage that was found before may be repaired: a drill of the same extent can clear it.
        return _drilled(work, agent, whole=bool(known.get("whole")))
    return _drilled(work, agent, whole=bool(work.parameters.get("whole")))


def _drilled(work: RunningJob, agent: Agent, *, whole: bool) -> JsonObject:
    work.tell(f"Verifying {agent.name}")
    drilled = samples_and_drills.drill_vault(work.context, agent, whole=whole, tell=work.tell)
    return {**drilled.to_json(), "how": due_checks.WHOLE if whole else "drill", "ok": drilled.ok}


def _deferred(work: RunningJob, agent: Agent) -> str | None:
    context = work.context
    last_whole_at = status_gathering.gather_facts(context, agent).last_whole_at
    every = float(context.setting("verify.whole_every", agent))
    may = due_checks.can_defer_whole(last_whole_at, agent.added_at or None, every, context.clock.now())
    return SAVING if may and _saves_battery(context) else None


def _saves_battery(context: Context) -> bool:
    found = power_and_network.read_conditions(context)
    return bool(found.saver or found.on_battery)
