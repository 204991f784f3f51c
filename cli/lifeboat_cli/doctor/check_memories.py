"""Check whether memories that runtimes keep as database rows can be read, or are not captured. No server is
contacted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lifeboat_adapters.errors import AdapterError, DatabaseAbsent, RuntimeDatabaseError
from lifeboat_adapters.memory_stores import MemoryStore
from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_core.agents.agent import Agent, list_agents
from lifeboat_core.home.context import Context

TITLE = "Memories in databases"


def check(context: Context) -> Iterator[DoctorFinding]:
    for agent in list_agents(context):
        if agent.workspace.is_dir():
            yield from _finding(context, agent)


def _finding(context: Context, agent: Agent) -> Iterator[DoctorFinding]:
    try:
        store = _store(context, agent)
    except DatabaseAbsent as error:
        yield DoctorFinding(DoctorLevel.OK, agent.name, f"{error.message}, so the captured memories are kept unchanged")
    except RuntimeDatabaseError as error:
        yield DoctorFinding(DoctorLevel.WARNING, agent.name, error.message, error.fix)
    except AdapterError:
        return  # The check of the runtimes reports it.
    else:
        where = "in files" if store is None else f"in rows of the database {store.name}"
        yield DoctorFinding(DoctorLevel.OK, agent.name, f"the runtime stores the memories of the agent {where}")


def _store(context: Context, agent: Agent) -> MemoryStore | None:
    may_ask, server = bool(context.setting("remote_memory", agent)), str(context.setting("memory_server", agent))
    installation = replace(context.installation(agent), remote=may_ask, server=server)
    databases = context.adapter(agent.runtime).databases
    return databases.memory_store(installation) if databases is not None else None
