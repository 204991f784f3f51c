"""Send again what a remote has lost of an agent: the bytes of files, and the rows of sequences."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.states.agent_state import BodyAbsent
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import remote_verification, vault_bundles
from lifeboat_core.remotes.contract import Compactable
from lifeboat_core.texts.human_text import sequences_text
from lifeboat_vault.errors import RemoteDamaged, RemoteRefused, RemoteTooLarge, StaleBase, UnknownAtRemote, VaultDamaged
from lifeboat_vault.remote.remote_contract import FileKey, Remote, RemoteBundle, file_key_of
from lifeboat_vault.vault import Vault

_NOT_TAKEN = (RemoteRefused, StaleBase, RemoteTooLarge, RemoteDamaged, UnknownAtRemote)
"""Refusals of one bundle or file: it does not fit, or its base cannot be read or is not kept there any more. Others may
be accepted, and so may new states."""


class LostDataResender:
    """Sends again what one remote lost of one agent, in one contact. `sent` counts bytes."""

    def __init__(self, context: Context, agent_id: str, vault: Vault, remote: Remote, machine: str) -> None:
        self._context = context
        self._agent_id = agent_id
        self._vault = vault
        self._remote = remote
        self._machine = machine
        self.sent = 0

    def run(self, keys: JsonObject) -> str:
        """Send the bytes of every file that the remote has lost, of all kept states, and the sequences of which it has
        lost rows.

        The remote reads everything it keeps and says what it lacks. A log of bundles gets new files in the place of
        damaged ones. Return what stays lost, "" for nothing.
        """
        wanted = self._bodies()
        lacks = self._send_bodies(wanted, list(wanted))
        if self._send_states():  # the sequences may name large files that the remote did not know
            lacks = self._send_bodies(wanted, list(wanted))
        if isinstance(self._remote, Compactable):
            self._remote.compact(self._agent_id, vault_bundles.VaultBundleSource(self._vault, keys), mended=True)
        if lacks and (left := self._remote.missing(self._agent_id, lacks, read=True)):
            number, path = wanted[left[0]]
            return (
                f"the remote lost the file {path} of sequence {number}, and this machine does not have that file either"
            )
        return self._left()

    # Files ------------------------------------------------------------------------------------------------------

    def _bodies(self) -> dict[FileKey, tuple[int, str]]:
        """Return where the bytes of each file of the kept states can be read here: (sequence, path)."""
        found: dict[FileKey, tuple[int, str]] = {}
        for row in self._vault.sequences():
            for entry in self._vault.state(row.number).entries():
                if (key := file_key_of(entry)) is not None:
                    found[key] = (row.number, entry.path)
        return found

    def _send_bodies(self, wanted: dict[FileKey, tuple[int, str]], asked: list[FileKey]) -> list[FileKey]:
        lacks = self._remote.missing(self._agent_id, asked, read=True)
        for key in lacks:
            number, path = wanted[key]
            # If more than the bytes was changed there, the remote refuses them, and they follow with their sequence.
            with contextlib.suppress(*_NOT_TAKEN, BodyAbsent, VaultDamaged):
                body = self._vault.state(number).body(path)
                self._remote.put_object(self._agent_id, key, body)
                self.sent += len(body)
        return lacks

    # Sequences --------------------------------------------------------------------------------------------------

    def _send_states(self) -> int:
        """Send damaged sequences, the oldest first, until the remote lacks none that this machine can give; return how
        many.

        One sequence can repair others.
        """
        tried: set[int] = set()
        damaged = self._remote.damaged_states(self._agent_id, read=True)
        if damaged:
            kept_there = {row.number: row.digest for row in self._remote.sequences(self._agent_id)}
            common = {number for number, digest in kept_there.items() if self._digest_of(number) == digest}
            while left := sorted(common.intersection(damaged) - tried):
                tried.add(left[0])
                self._send_state(left[0], sorted(common.difference(damaged)))
                damaged = self._remote.damaged_states(self._agent_id)
        return len(tried)

    def _digest_of(self, number: int) -> bytes | None:
        row = self._vault.find(number)
        return None if row is None else row.digest

    def _send_state(self, number: int, whole: list[int]) -> None:
        """Send the delta to a sequence from an earlier one that the remote has whole, or a snapshot.

        What this machine cannot read, or the remote refuses, stays lost there and is reported.
        """
        before = [each for each in whole if each < number]
        if not (
            before and self._is_taken(lambda: vault_bundles.make_delta(self._context, self._vault, before[-1], number))
        ):
            self._is_taken(lambda: vault_bundles.make_snapshot(self._context, self._vault, number, None))

    def _is_taken(self, make: Callable[[], contextlib.AbstractContextManager[RemoteBundle]]) -> bool:
        try:
            with make() as bundle:
                self._remote.push(self._agent_id, bundle, machine=self._machine)
                self.sent += bundle.size
        except (*_NOT_TAKEN, VaultDamaged, BodyAbsent):
            return False
        return True

    # What is left -----------------------------------------------------------------------------------------------

    def _left(self) -> str:
        there = self._remote.agent(self._agent_id)
        if not there.damaged and not there.damaged_states:
            return ""
        numbers = self._remote.damaged_states(self._agent_id)
        missing = [number for number in numbers if self._vault.find(number) is None]
        if missing:
            lost_sequences = f"{sequences_text(missing)}, which this machine no longer has"
            return f"{remote_verification.describe_reported_damage(there)}; this includes {lost_sequences}"
        return (
            f"{remote_verification.describe_reported_damage(there)}, and this machine does not have the data to "
            "repair it"
        )
