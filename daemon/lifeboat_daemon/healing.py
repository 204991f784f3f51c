"""Damaged bytes of a vault, read again from where they still are: the workspace, or a remote.

Whatever is read is held against the leaf of the damaged body, so a source need not be trusted.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
from pathlib import Path

from lifeboat_alf import layout
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.state import BodyAbsent, State
from lifeboat_alf.system_texts import refusal_reason
from lifeboat_daemon.agent import Agent
from lifeboat_daemon.context import Context
from lifeboat_daemon.progress import Tell
from lifeboat_daemon.remotes import pulling, registry
from lifeboat_daemon.remotes.contract import RemoteConfig
from lifeboat_daemon.remotes.opening import open_remote
from lifeboat_daemon.restore import names
from lifeboat_daemon.restore.contents import FILE
from lifeboat_daemon.restore.surroundings import locate
from lifeboat_daemon.restore.tree import DiskTree
from lifeboat_daemon.words import path_text
from lifeboat_endpoint.errors import VaultDamaged, VaultUnusable
from lifeboat_endpoint.vault import HistoryItem, Vault

Stays = dict[int, list[HistoryItem]]
"""Where each damaged object stands in the history, by its number."""


def heal(
    context: Context, agent: Agent, vault: Vault, damaged: Collection[int], tell: Tell
) -> tuple[list[str], list[str]]:
    """Heal objects from the workspace, then from each remote. Return what was healed, and why a remote could not be
    asked, as sentences. Raises VaultFull, VaultBusy."""
    healed, missed = from_workspace(context, agent, vault, damaged), list[str]()
    for config in registry.usable(context) if damaged else ():
        left = _damaged_still(vault, damaged)
        if not left:
            break
        tell(f"Reading damaged bytes from {config.name}", 0, None)
        try:
            healed += _from_remote(context, agent, vault, config, left)
        except (LifeboatError, OSError) as error:
            missed.append(f"{config.name} could not be asked for the damaged bytes: {refusal_reason(error)}")
    return healed, missed


def from_workspace(context: Context, agent: Agent, vault: Vault, damaged: Collection[int]) -> list[str]:
    """Heal objects that are files of the workspace, or of the runtime's own folder, as they stand there now. Return a
    sentence for each. Raises VaultFull, VaultBusy."""
    if not damaged:
        return []
    folders = _folders(context, agent)
    healed = []
    for number, stays in _damaged_still(vault, damaged).items():
        bodies = ((stay, _live(context, stay, folders)) for stay in stays)
        if place := next((stay for stay, body in bodies if body is not None and vault.heal(number, body)), None):
            healed.append(f"{_name(place)}: its damaged bytes were read again from the workspace")
    return healed


def _damaged_still(vault: Vault, damaged: Collection[int]) -> Stays:
    """Return the stays of those that are damaged: an object can rest on the bytes of one that was healed."""
    found: Stays = {}
    for item in vault.history():
        if item.object in damaged:
            found.setdefault(item.object, []).append(item)
    return {number: stays for number, stays in sorted(found.items()) if not _is_whole(vault, stays[0])}


def _is_whole(vault: Vault, item: HistoryItem) -> bool:
    try:
        body = vault.read_object(item.object)
    except (VaultDamaged, VaultUnusable, BodyAbsent):
        return False
    return vault.redactions.hold(item.leaf, body)


def _folders(context: Context, agent: Agent) -> dict[str, Path]:
    """Return the folders in which entries lie as files, by the prefix of their paths."""
    found = locate(context, context.adapter(agent.runtime), agent.workspace)
    home = {} if found is None or found.state_dir is None else {layout.home_prefix(agent.runtime): found.state_dir}
    return {layout.raw_prefix(agent.runtime): agent.workspace, layout.ARTIFACTS: agent.workspace, **home}


def _live(context: Context, stay: HistoryItem, folders: Mapping[str, Path]) -> bytes | None:
    """Return the bytes of a file of an entry's name, None where there is none or it has another size."""
    path = stay.path or ""
    prefix = next((each for each in folders if path.startswith(each)), None)
    if prefix is None:
        return None
    tree, name = DiskTree(context.files, folders[prefix]), names.name_of(path, stay.meta, prefix)
    found = tree.find(name)
    return tree.read(name) if found is not None and (found.kind, found.size) == (FILE, stay.size) else None


def _from_remote(context: Context, agent: Agent, vault: Vault, config: RemoteConfig, left: Stays) -> list[str]:
    """Heal objects from the states that a remote keeps, the newest first. Raises LifeboatError."""
    healed = []
    with contextlib.closing(open_remote(context, config)) as remote:
        for number in sorted((row.number for row in remote.sequences(agent.id)), reverse=True):
            here = {each: [one for one in stays if _holds(one, number)] for each, stays in left.items()}
            here = {each: stays for each, stays in here.items() if stays}
            if not here:
                continue
            with pulling.state(remote, agent.id, number) as state:
                for each, stays in here.items():
                    del left[each]  # where it stands in another state the bytes are the same
                    body = _body(state, stays[0])
                    if body is not None and vault.heal(each, body):
                        healed.append(f"{_name(stays[0])}: its damaged bytes were read again from {config.name}")
    return healed


def _holds(stay: HistoryItem, number: int) -> bool:
    return stay.first <= number and (stay.last is None or number < stay.last)


def _body(state: State, stay: HistoryItem) -> bytes | None:
    """Return the bytes that a state has where a damaged object stands here."""
    if stay.record_id is not None:
        record = state.record(stay.record_id)
        return None if record is None else record.line
    try:
        return state.body(stay.path or "")
    except (KeyError, BodyAbsent):
        return None


def _name(stay: HistoryItem) -> str:
    return path_text(stay.path) if stay.path is not None else f"record {stay.record_id}"
