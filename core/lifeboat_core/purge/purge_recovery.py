"""Finish interrupted purges when a command or the daemon starts."""

from __future__ import annotations

from lifeboat_alf.errors import LifeboatError, RedactionInvalid
from lifeboat_alf.redaction.redactions import WHOLE_AGENT
from lifeboat_core.agents import agent as agents
from lifeboat_core.agents.agent import Agent
from lifeboat_core.agents.locks import agent_lock
from lifeboat_core.errors import Busy
from lifeboat_core.home.context import Context
from lifeboat_core.purge import agent_purge, local_redaction, purge_orders
from lifeboat_core.purge.purge_orders import PurgeOrder
from lifeboat_core.system_refusals import convert_system_errors


def complete_purges(context: Context) -> list[str]:
    """Complete every purge that was begun here; return a sentence for each. One that another process runs is skipped;
    one that cannot be completed is reported and tried again later. A damaged order blocks nothing else."""
    damaged = [
        f"A purge cannot be finished: {each.message}. Repeat the purge, then run: {each.fix}"
        for each in purge_orders.list_damaged_orders(context)
    ]
    finished = (_finished(context, order) for order in purge_orders.list_pending_orders(context))
    return [*damaged, *(sentence for sentence in finished if sentence is not None)]


def _finished(context: Context, order: PurgeOrder) -> str | None:
    agent_id = order.redaction.agent_id
    try:
        with convert_system_errors(), agent_lock(context, agent_id, "purge"):
            if not purge_orders.is_order_pending(context, order):
                return None
            if order.redaction.scope == WHOLE_AGENT:
                agent_purge.finish_agent_purge(context, order)
                return f"The purge of the agent {agent_id} was interrupted; it is finished now."
            agent = agents.load_agent(context, agent_id)
            return _carried_out(context, agent, order)
    except Busy:
        return None
    except LifeboatError as error:
        return f"An interrupted purge could not be finished yet: {error.message}"


def _carried_out(context: Context, agent: Agent, order: PurgeOrder) -> str:
    try:
        if local_redaction.carry_out_order(context, agent, order).remains:
            return f"A purge of {agent.name} is not finished, because another program is reading the history."
    except RedactionInvalid as error:
        purge_orders.remove_order(context, order)
        return f"A purge of {agent.name} is not possible, and nothing was purged: {error.message}"
    return (
        f"A purge of {agent.name} was interrupted; it is finished now. To check the result, search for the text again."
    )
