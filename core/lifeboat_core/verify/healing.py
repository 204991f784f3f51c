"""Read again what a vault has lost from where it still is: bytes from the workspace, bytes and rows from a remote.

Bytes are verified against the leaf of the damaged body, the rows of a sequence against its signed digest, so the source
need not be trusted.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TypeVar

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common.refusal_texts import refusal_reason
from lifeboat_alf.errors import AlfError, LifeboatError
from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_alf.states.agent_state import BodyAbsent, State
from lifeboat_core.agents.agent import Agent
from lifeboat_core.agents.locks import agent_lock
from lifeboat_core.errors import Busy
from lifeboat_core.home.context import Context
from lifeboat_core.processes.progress import Tell
from lifeboat_core.remotes import pulling, remote_registry
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.remotes.redactions import purge_exchange
from lifeboat_core.remotes.remote_kinds import check_identity, open_remote
from lifeboat_core.remotes.state_with_large_files import StateWithLargeFiles
from lifeboat_core.restore import disk_names
from lifeboat_core.restore.folder_tree import DiskTree
from lifeboat_core.restore.scratch_folders import make_scratch_folder
from lifeboat_core.restore.target_installation import locate_installation
from lifeboat_core.restore.wanted_contents import FILE
from lifeboat_core.state.state_db import delete_cache
from lifeboat_core.texts.human_text import count_text, join_names, path_text, sequences_text
from lifeboat_vault.errors import (
    DraftInvalid,
    RemoteDamaged,
    UnknownAtRemote,
    VaultBusy,
    VaultDamaged,
    VaultFull,
    VaultUnusable,
)
from lifeboat_vault.remote.remote_contract import Remote
from lifeboat_vault.vault import HistoryItem, Vault, Verification

T = TypeVar("T")

Stays = dict[int, list[HistoryItem]]
"""The position of each damaged object in the history, by its number."""
_SMALL = 1 << 26
"""Bytes."""
_NOT_AS_SIGNED = (AlfError, DraftInvalid, RemoteDamaged, UnknownAtRemote, VaultDamaged, BodyAbsent)
"""Errors about one state of a remote: its other states may be right."""


class _BytesLacking(Exception):
    """A remote gave a sequence without the bytes of some files."""


class Healing:
    """One try to mend what a verification found, from the workspace and from each remote.

    `healed` says what was restored, `missed` why remotes could not give more, `lost` what is still damaged, all as
    sentences. They are filled during the work, so that they are also valid if it ends with an error.
    """

    def __init__(self, context: Context, agent: Agent, tell: Tell) -> None:
        self._context = context
        self._agent = agent
        self._tell = tell
        self.healed: list[str] = []
        self.missed: list[str] = []
        self.lost: list[str] = []
        self._has_gaps = False
        self._takes_gaps = False

    def run(self, found: Verification) -> None:
        """Mend what was found. The caller does not hold the agent's lock: remotes are asked without it, so captures and
        restores continue.

        Raises Busy, VaultFull, VaultBusy, VaultUnusable, VaultDamaged.
        """
        with self._context.vault(self._agent.id) as vault:
            self._locked(lambda: self._look(vault, found))
            is_complete = self._ask_all(vault)
            # A row without its bytes is the last resort: no remote is asked for its bytes afterwards.
            if is_complete and self._has_gaps:
                self._takes_gaps = True
                self.missed.clear()
                self._ask_all(vault)
            self._locked(lambda: self._settle(vault))

    def _ask_all(self, vault: Vault) -> bool:
        """Ask one remote after the other until nothing is damaged; return whether every one could be asked."""
        is_complete = True
        for config in remote_registry.list_usable_remotes(self._context):
            if not vault.damaged_states():
                break
            self._tell(f"Fetching damaged data from {config.name}", 0, None)
            try:
                self._ask(vault, config)
            except (Busy, VaultFull, VaultBusy, VaultUnusable):
                raise
            except (LifeboatError, OSError) as error:
                is_complete = False
                reason = refusal_reason(error)
                self.missed.append(f"damaged data could not be requested from {config.name}: {reason}")
        return is_complete

    def _locked(self, work: Callable[[], T]) -> T:
        """Do short work under the agent's lock: a capture compares the workspace with rows, which must not change until
        it has committed."""

        def alone() -> T:
            with agent_lock(self._context, self._agent.id, "verify", only_reads=True):
                return work()

        return purge_exchange.retry_while_busy(alone)

    def _look(self, vault: Vault, found: Verification) -> None:
        """Note all damage, and mend what this machine can mend alone."""
        with contextlib.suppress(VaultDamaged):
            self.healed += heal_from_workspace(self._context, self._agent, vault, found.damaged)
        vault.check_rows(found.damaged)
        derived = sorted({*found.broken}.difference(vault.broken_states()))
        if derived:
            self.healed.append(f"{sequences_text(derived)}: derived data was computed again from the rows")

    def _settle(self, vault: Vault) -> None:
        """Report what is lost. If the newest sequence is affected, the next capture reads the whole workspace and rests
        on the rows that exist."""
        vault.check_rows()
        left, head = vault.damaged_states(), vault.head()
        if not left:
            self.missed.clear()
            return
        problem = "rows or bytes were lost or changed, and no reachable remote has the originals"
        self.lost.append(f"{sequences_text(left)}: {problem}")
        if head is not None and head.number in vault.broken_states():
            # First: after a crash between the two a capture would count files as captured that no row names any more.
            delete_cache(self._context.home.state_file(self._agent.id))
            reach_crash_point(CrashPoint.MEND_GIVEN_UP)
            vault.follow_rows()

    # One remote -------------------------------------------------------------------------------------------------

    def _ask(self, vault: Vault, config: RemoteConfig) -> None:
        """Mend from one remote. Purges are exchanged first: nothing that was purged comes back. Raises
        LifeboatError."""
        with contextlib.closing(open_remote(self._context, config)) as remote:
            check_identity(self._context, config, remote)
            purge_exchange.exchange_purges(self._context, self._agent, config, vault, remote)
            with contextlib.suppress(VaultDamaged):  # rows that cannot be read are restored first
                self._bodies_from(vault, config, remote)
            self._states_from(vault, config, remote)
            self._bodies_from(vault, config, remote)

    def _bodies_from(self, vault: Vault, config: RemoteConfig, remote: Remote) -> None:
        if left := _damaged_still(vault, vault.damage()):
            self.healed += _bodies_from(self._agent, vault, config, remote, left)
            vault.check_damage()

    def _states_from(self, vault: Vault, config: RemoteConfig, remote: Remote) -> None:
        """Restore each damaged sequence that the remote keeps under the same digest, the newest first: one can repair
        others."""
        damaged = vault.damaged_states()
        there = {row.number: row.digest for row in remote.sequences(self._agent.id)} if damaged else {}
        common = {number for number in damaged if there.get(number) == vault.sequence(number).digest}
        while left := sorted(common.intersection(vault.damaged_states())):
            common.discard(left[-1])
            try:
                self._put_back(vault, config, remote, left[-1])
            except _BytesLacking as error:
                self._has_gaps = True
                self.missed.append(f"the copy of sequence {left[-1]} on {config.name} is incomplete: {error}")
            except _NOT_AS_SIGNED as error:
                self.missed.append(f"on {config.name}, sequence {left[-1]} does not match its signature: {error}")

    def _put_back(self, vault: Vault, config: RemoteConfig, remote: Remote, number: int) -> None:
        """Raises what is in `_NOT_AS_SIGNED`, _BytesLacking, RemoteError, VaultError."""
        with (
            pulling.open_remote_state(remote, self._agent.id, number) as state,
            make_scratch_folder(self._context, "mend") as folder,
        ):
            whole = StateWithLargeFiles(self._context.files, state, vault, folder)
            whole.fetch()
            done = self._locked(
                lambda: vault.put_back(number, lambda: whole, has_room=lambda _: self._check_gaps(whole))
            )
        sequences = sequences_text(done.numbers)
        repaired_items = f"{count_text(done.rows, 'row')} and the bytes of {count_text(len(done.healed), 'object')}"
        self.healed.append(f"{sequences}: repaired {repaired_items} from {config.name}")
        if whole.absent:
            paths = join_names([path_text(path) for path in sorted(whole.absent)])
            self.lost.append(f"{sequences}: no reachable remote has the bytes of {paths}")

    def _check_gaps(self, whole: StateWithLargeFiles) -> None:
        """Raises _BytesLacking while other remotes may have what this one lacks."""
        if whole.absent and not self._takes_gaps:
            raise _BytesLacking(
                "the remote does not have the bytes of "
                f"{join_names([path_text(path) for path in sorted(whole.absent)])}"
            )


def heal_from_workspace(context: Context, agent: Agent, vault: Vault, damaged: Collection[int]) -> list[str]:
    """Heal objects that are unchanged files of the workspace, or of the runtime's own folder. Return a sentence for
    each. Raises VaultFull, VaultBusy."""
    if not damaged:
        return []
    folders = _folders(context, agent)
    healed = []
    for number, stays in _damaged_still(vault, damaged).items():
        bodies = ((stay, _live(context, stay, folders)) for stay in stays)
        if place := next((stay for stay, body in bodies if body is not None and vault.heal(number, body)), None):
            healed.append(f"the damaged content of {_name(place)} was repaired from the workspace")
    return healed


def _damaged_still(vault: Vault, damaged: Collection[int]) -> Stays:
    """Return the stays of objects that are still damaged: an object can rest on the bytes of a healed one."""
    found: Stays = {}
    for item in vault.history():
        if item.object in damaged:
            found.setdefault(item.object, []).append(item)
    return {number: found[number] for number in vault.are_damaged(found)}


def _folders(context: Context, agent: Agent) -> dict[str, Path]:
    """Return the folders in which entries lie as files, by the prefix of their paths."""
    found = locate_installation(context, context.adapter(agent.runtime), agent.workspace)
    home = (
        {} if found is None or found.state_dir is None else {archive_layout.home_prefix(agent.runtime): found.state_dir}
    )
    raw = archive_layout.raw_prefix(agent.runtime)
    outside = {} if found is None else {raw + part: folder for part, folder in found.outside}
    return {
        **outside,  # before the workspace, whose prefix they share
        raw: agent.workspace,
        archive_layout.ARTIFACTS: agent.workspace,
        **home,
    }


def _live(context: Context, stay: HistoryItem, folders: Mapping[str, Path]) -> bytes | None:
    """Return the bytes of the file with an entry's name; None if there is none, or a large one of another size. The
    size of a small one is not compared: the kept size may be what was damaged."""
    path = stay.path or ""
    prefix = next((each for each in folders if path.startswith(each)), None)
    if prefix is None:
        return None
    tree, name = DiskTree(context.files, folders[prefix]), disk_names.name_on_disk(path, stay.meta, prefix)
    found = tree.find(name)
    if found is None or found.kind != FILE or (found.size > _SMALL and found.size != stay.size):
        return None
    return tree.read(name)


def _bodies_from(agent: Agent, vault: Vault, config: RemoteConfig, remote: Remote, left: Stays) -> list[str]:
    """Heal objects from the states that a remote keeps, the newest first. Raises LifeboatError."""
    healed = []
    for number in sorted((row.number for row in remote.sequences(agent.id)), reverse=True):
        here = {each: [one for one in stays if _holds(one, number)] for each, stays in left.items()}
        here = {each: stays for each, stays in here.items() if stays}
        if not here:
            continue
        with pulling.open_remote_state(remote, agent.id, number) as state:
            for each, stays in here.items():
                del left[each]  # in another state that has it the bytes are the same
                body = _body(state, stays[0])
                if body is not None and vault.heal(each, body):
                    healed.append(f"the damaged content of {_name(stays[0])} was repaired from {config.name}")
    return healed


def _holds(stay: HistoryItem, number: int) -> bool:
    return stay.first <= number and (stay.last is None or number < stay.last)


def _body(state: State, stay: HistoryItem) -> bytes | None:
    """Return the bytes that a state has in the place of a damaged object."""
    if stay.record_id is not None:
        record = state.record(stay.record_id)
        return None if record is None else record.line
    try:
        return state.body(stay.path or "")
    except (KeyError, BodyAbsent):
        return None


def _name(stay: HistoryItem) -> str:
    return path_text(stay.path) if stay.path is not None else f"memory {stay.record_id}"
