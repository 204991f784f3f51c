"""`lifeboat agents adopt --replace`: two machines wrote to two second copies without contact, and their histories
diverged.

A number means one state everywhere, so neither history continues the other: one of them is displaced.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from lifeboat_core.agents.agent import Agent
from lifeboat_core.agents.locks import agent_lock
from lifeboat_core.home.context import Context
from lifeboat_core.processes.progress import Tell
from lifeboat_core.remotes import acknowledged_states, displaced_histories, pulling, writer_epochs
from lifeboat_core.remotes.contract import AgentRemoving, RemoteConfig
from lifeboat_core.remotes.remote_kinds import open_remote
from lifeboat_core.restore.scratch_folders import make_scratch_folder
from lifeboat_vault.errors import RemoteDenied, UnknownAtRemote

KIND = "replace"


def replace_history(
    context: Context, agent: Agent, config: RemoteConfig, *, accept_unsigned: bool, tell: Tell
) -> Path | None:
    """Replace the history of an agent at a remote by the one here; return the folder of the old one.

    The old history is fetched, verified and kept for 90 days, then removed at the remote; the next replication sends
    everything. Return None, and change nothing, if the remote has no other history.

    Raises Busy, SignatureError, RestoreError.UNSIGNED_STATE, RemoteError; RemoteDenied where only the operator of the
    remote may remove an agent.
    """
    with (
        contextlib.closing(open_remote(context, config)) as remote,
        make_scratch_folder(context, KIND) as scratch,
        agent_lock(context, agent.id, KIND),
        context.vault(agent.id) as vault,
    ):
        try:
            head = remote.agent(agent.id).head
        except UnknownAtRemote:
            return None
        if head is None or writer_epochs.has_remote_state(vault, head):
            return None
        if not isinstance(remote, AgentRemoving):
            raise RemoteDenied(f"only whoever looks after {config.name} can remove what it has of {agent.name}")
        staged = scratch / "vault"
        known = [row.redaction for row in vault.redaction_rows()]
        unsigned = accept_unsigned
        pulling.fetch_history(context, remote, agent.id, staged, accept_unsigned=unsigned, tell=tell, known=known)
        kept = displaced_histories.keep_displaced(context, agent.id, staged)
        try:
            remote.remove_agent(agent.id)
        except RemoteDenied:  # nothing is displaced, so nothing is kept
            context.files.replace(kept, staged)
            raise
        acknowledged_states.forget_remote(vault, config.id)
    return kept
