"""Files that an agent deleted in another runtime: on its way home they do not come back from what this one had."""

from __future__ import annotations

from lifeboat_adapters.contract import Adapter
from lifeboat_alf import layout
from lifeboat_alf.state import State
from lifeboat_daemon.agent import Agent
from lifeboat_daemon.context import Context
from lifeboat_daemon.restore import names
from lifeboat_daemon.restore.contents import captured_by, is_shared, source_runtime


def deleted_since(context: Context, agent: Agent | None, state: State, adapter: Adapter) -> set[str]:
    """Names of files that this runtime had, that the other one got, and that are gone there. Skills and artifacts:
    what each runtime has in its own way is none of them. Where the sequences that tell are gone, nothing is said."""
    last, own = source_runtime(state), captured_by(state).get(adapter.runtime)
    if agent is None or last == adapter.runtime or own is None:
        return set()
    with context.vault(agent.id) as vault:
        kept = sorted(row.number for row in vault.sequences())
        arrived = next((number for number in kept if own < number <= state.sequence.number), None)
        if arrived is None or own not in kept:
            return set()
        had = _files(vault.state(own), adapter.runtime, adapter)
        return (had & _files(vault.state(arrived), last, adapter)) - _files(state, last, adapter)


def _files(state: State, runtime: str, adapter: Adapter) -> set[str]:
    """Names of what a runtime captured that means the same to every other."""
    prefix = layout.raw_prefix(runtime)
    raw = {
        names.name_of(entry.path, entry.meta, prefix)
        for entry in state.entries(prefix)
        if is_shared(entry, prefix, adapter)
    }
    artifacts = {names.name_of(entry.path, entry.meta, layout.ARTIFACTS) for entry in state.entries(layout.ARTIFACTS)}
    return raw | artifacts
