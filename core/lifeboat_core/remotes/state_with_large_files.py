"""A state of a remote with its large files on this machine, so that reading it does not contact the remote."""

from __future__ import annotations

from pathlib import Path

from lifeboat_alf.archive import artifact_index
from lifeboat_alf.seams.file_operations import FileOperations, read_all
from lifeboat_alf.states.agent_state import ABSENT_LEAF, BodyAbsent, Entry, State, StateView
from lifeboat_vault.errors import VaultDamaged
from lifeboat_vault.vault import Vault


class StateWithLargeFiles(StateView):
    """A `State` whose large files are read from a vault that has them, or from a folder into which `fetch` put them.

    A file that neither has is absent. `absent` are the paths whose bytes were asked for and are missing although they
    were captured and no purge took them.
    """

    def __init__(self, files: FileOperations, state: State, vault: Vault, folder: Path) -> None:
        super().__init__(state)
        self._files = files
        self._vault = vault
        self._folder = folder
        self._fetched: dict[str, Path] = {}
        self.absent: set[str] = set()

    def fetch(self) -> None:
        """Fetch each large file whose bytes the vault lacks, as far as the remote has them. Raises RemoteError."""
        for entry in self._state.entries():
            if not artifact_index.is_referenced(entry.meta) or self._vault.body_of_leaf(entry.leaf) is not None:
                continue
            try:
                body = self._state.body(entry.path)
            except (BodyAbsent, VaultDamaged):
                continue
            target = self._folder / str(len(self._fetched))
            self._files.write_new(target, body, mode=0o600, sync=False)
            self._fetched[entry.path] = target

    def body(self, path: str) -> bytes:
        """Raises KeyError, BodyAbsent."""
        entry = self._state.entry(path)
        try:
            return self._body(path, entry)
        except BodyAbsent:
            if entry is not None and self._was_captured(entry):
                self.absent.add(path)
            raise

    def _was_captured(self, entry: Entry) -> bool:
        leaf = entry.leaf.digest
        return leaf != ABSENT_LEAF and not self._vault.redactions.all_naming(leaf)

    def _body(self, path: str, entry: Entry | None) -> bytes:
        if entry is None or not artifact_index.is_referenced(entry.meta):
            return self._state.body(path)
        if path in self._fetched:
            return read_all(self._files, self._fetched[path])
        return self._kept_here(entry)

    def _kept_here(self, entry: Entry) -> bytes:
        body = self._vault.body_of_leaf(entry.leaf)
        if body is None:
            raise BodyAbsent(entry.path)
        return body
