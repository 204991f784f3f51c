"""The tables of purges in `tenant.db`: which wait, what the endpoint said of those that do not, which agents are gone.

The redactions of an agent lie in its vault; `purge_waiting` only says where one
waits, or is being applied, and how many of the leaves that it names held old bytes then. `receipt` and `document` are
sealed under the tenant's key, since an erased agent's own key is destroyed.
"""

from __future__ import annotations

TABLES = (
    """create table purge_waiting(
        agent_id text not null, redaction_id text not null, applies_at text not null,
        leaves integer not null, primary key (agent_id, redaction_id))""",
    """create table purge_receipt(
        agent_id text not null, redaction_id text not null, document blob not null,
        primary key (agent_id, redaction_id))""",
    # `receipt` is null until nothing of the agent is left. `trial`: it was made up to try the endpoint out.
    """create table erased(
        agent_id text primary key, redaction_id text not null, time text not null, trial integer not null,
        document blob not null, receipt blob)""",
)
