"""The tables of purges in tenant.db: waiting redactions, receipts, and agents that were purged completely.

The redactions of an agent are in its vault. `purge_waiting` only says where one waits or is being applied, and how many
of its leaves had old bytes then. `receipt` and `document` are sealed under the tenant's key, since the own key of a
purged agent is destroyed.
"""

from __future__ import annotations

TABLES = (
    """create table purge_waiting(
        agent_id text not null, redaction_id text not null, applies_at text not null,
        leaves integer not null, primary key (agent_id, redaction_id))""",
    """create table purge_receipt(
        agent_id text not null, redaction_id text not null, document blob not null,
        primary key (agent_id, redaction_id))""",
    # `receipt` is null until nothing of the agent is left. `trial`: the agent was made to test the endpoint.
    """create table erased(
        agent_id text primary key, redaction_id text not null, time text not null, trial integer not null,
        document blob not null, receipt blob)""",
)
