"""Find the files that a restore removes, and those that it does not bring back: captured since, or deleted in another
runtime."""

from __future__ import annotations

from lifeboat_adapters.contract import Adapter
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.states.agent_state import State
from lifeboat_core.agents.agent import Agent
from lifeboat_core.home.context import Context
from lifeboat_core.restore import disk_names
from lifeboat_core.restore.wanted_contents import (
    WantedContents,
    find_captured_sequences,
    find_source_runtime,
    is_shared,
)


def find_captured_since(context: Context, agent: Agent | None, adapter: Adapter, contents: WantedContents) -> set[str]:
    """Return names that the newest state captured and the wanted one does not know (not even as a description)."""
    if agent is None:
        return set()
    with context.vault(agent.id) as vault:
        if vault.head() is None:
            return set()
        captured = _captured_names(vault.state(), adapter)
    known = {absent.filename for absent in contents.absent} | {each.wanted.name for each in contents.left_out}
    return captured - contents.workspace.keys() - known


def _captured_names(state: State, adapter: Adapter) -> set[str]:
    """Return every name in the workspace that a state captured."""
    prefixes = archive_layout.raw_prefix(adapter.runtime), archive_layout.ARTIFACTS
    return {
        disk_names.name_on_disk(entry.path, entry.meta, prefix)
        for prefix in prefixes
        for entry in state.entries(prefix)
    }


def find_deleted_since(context: Context, agent: Agent | None, state: State, adapter: Adapter) -> set[str]:
    """Return names of files that this runtime had, that the other runtime received, and that were deleted there. Only
    files that every runtime has in the same form count. If the sequences that show this are gone, return nothing."""
    last, own = find_source_runtime(state), find_captured_sequences(state).get(adapter.runtime)
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
    """Return the names of what a runtime captured that means the same to every other."""
    prefix = archive_layout.raw_prefix(runtime)
    raw = {
        disk_names.name_on_disk(entry.path, entry.meta, prefix)
        for entry in state.entries(prefix)
        if is_shared(entry, prefix, adapter)
    }
    artifacts = {
        disk_names.name_on_disk(entry.path, entry.meta, archive_layout.ARTIFACTS)
        for entry in state.entries(archive_layout.ARTIFACTS)
    }
    return raw | artifacts
