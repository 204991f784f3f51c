"""What a remote still keeps of an agent and this machine has thinned: for finding a text over all history."""

from __future__ import annotations

import contextlib
from bisect import bisect_left
from collections.abc import Iterator
from functools import partial

from lifeboat_alf.purging.purge_items import PurgeItem
from lifeboat_core.agents.agent import Agent
from lifeboat_core.home.context import Context
from lifeboat_core.processes.progress import tell_nobody
from lifeboat_core.remotes import pulling
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.remotes.remote_kinds import check_identity, open_remote
from lifeboat_core.restore.scratch_folders import make_scratch_folder
from lifeboat_vault.errors import UnknownAtRemote
from lifeboat_vault.remote.remote_contract import Remote
from lifeboat_vault.rows.kept_history import HistoryItem
from lifeboat_vault.vault import Vault


def list_remote_only_items(context: Context, agent: Agent, config: RemoteConfig, vault: Vault) -> Iterator[PurgeItem]:
    """Yield every object of the states that the remote keeps and the vault does not, each once.

    The states are fetched into a folder and verified, so that the remote cannot make a purge name other bytes. The
    folder is removed when the iterator ends or is closed; until then a body can be read at any time.

    Raises OtherVault, SignatureError, RestoreError.UNSIGNED_STATE, RemoteError. A remote that has nothing of the agent
    yields nothing.
    """
    with contextlib.closing(open_remote(context, config)) as remote:
        check_identity(context, config, remote)
        missing = list_remote_only_numbers(remote, agent.id, vault)
        if not missing:
            return
        with make_scratch_folder(context, "search") as scratch:
            staged = scratch / "vault"
            pulling.fetch_history(context, remote, agent.id, staged, accept_unsigned=False, tell=tell_nobody)
            with Vault.open(staged, files=context.files, clock=context.clock) as there:
                for found in there.history():
                    if found.held and _is_in(missing, found):
                        body = partial(there.read_object, found.object)
                        yield PurgeItem(found.leaf, body, found.path, found.meta, found.record_id, found.partition)


def list_remote_only_numbers(remote: Remote, agent_id: str, vault: Vault) -> list[int]:
    """Return the numbers of the states that a remote keeps and a vault lacks or has with another digest, in order."""
    try:
        rows = list(remote.sequences(agent_id))
    except UnknownAtRemote:
        return []
    here = {row.number: row.digest for row in vault.sequences()}
    return sorted(row.number for row in rows if here.get(row.number) != row.digest)


def _is_in(numbers: list[int], found: HistoryItem) -> bool:
    """Return whether any of the states has the object."""
    at = bisect_left(numbers, found.first)
    return at < len(numbers) and (found.last is None or numbers[at] < found.last)
