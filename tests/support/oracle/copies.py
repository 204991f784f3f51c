"""Places that keep an agent's history in rounds of the oracle: the vault, an endpoint, and folders."""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import dataclass
from pathlib import Path

from pytest import MonkeyPatch

from lifeboat_core.processes.progress import tell_nobody
from lifeboat_core.remotes import pulling, remote_drill, remote_verification
from lifeboat_core.remotes.remote_kinds import open_remote
from lifeboat_core.restore import RestoreOptions, restore_agent
from lifeboat_core.restore.restore_report import RestoreReport
from lifeboat_vault.errors import UnknownAtRemote
from support.core.machines import Machine
from support.core.replication_life import HOME, STICK, Places

PLAIN = "plain"
REMOTES = (HOME, STICK, PLAIN)
"""An endpoint, a sealed folder and a plain folder."""


@dataclass
class Copies:
    """`laptop` captures the agent; `clean` has only the key and the addresses of the remotes."""

    folder: Path
    laptop: Machine
    clean: Machine
    places: Places
    _count: int = 0

    def install(self, patch: MonkeyPatch) -> None:
        """Let the address of the endpoint be opened in this process."""
        self.places.install(patch)

    def kept_here(self) -> list[int]:
        with self.laptop.context.vault(self.laptop.agent.id) as vault:
            return [row.number for row in vault.sequences()]

    def kept_at(self, remote: str) -> list[int]:
        machine = self.laptop
        with contextlib.closing(open_remote(machine.context, machine.remote(remote))) as opened:
            try:
                return [row.number for row in opened.sequences(machine.agent.id)]
            except UnknownAtRemote:
                return []

    def restored_here(self, number: int) -> tuple[Path, RestoreReport]:
        """Restore a sequence of the vault, and return the folder with the report."""
        target = self._target("ada")
        options = RestoreOptions(at=number, to=target, reindex=False, with_credentials=True)
        return target, restore_agent(self.laptop.context, self.laptop.known_agent, options)

    def restored_from(self, remote: str, number: int) -> tuple[Path, RestoreReport]:
        """Restore a sequence on the clean machine, and return the folder with the report."""
        target, options = self._target("ada"), {"at": number, "reindex": False, "with_credentials": True}
        return target, self.clean.restore_from(self.laptop.agent.id, target, remote, **options)

    def history_of(self, remote: str) -> None:
        """Fetch and check the whole history on the clean machine."""
        context, folder = self.clean.context, self._target("vault")
        with contextlib.closing(open_remote(context, self.clean.remote(remote))) as opened:
            pulling.fetch_history(
                context, opened, self.laptop.agent.id, folder, accept_unsigned=False, tell=tell_nobody
            )

    def is_verified(self, remote: str) -> bool:
        """Return whether a verification of the remote succeeds."""
        machine = self.laptop
        return bool(
            remote_verification.verify_remote(machine.context, machine.known_agent, machine.remote(remote))["ok"]
        )

    def drill_holds(self, remote: str) -> bool:
        """Return whether a restore drill of the remote succeeds."""
        machine = self.laptop
        return remote_drill.drill_remote(machine.context, machine.known_agent, machine.remote(remote)).ok

    def _target(self, name: str) -> Path:
        self._count += 1
        folder = self.folder / f"restored {self._count}"
        folder.mkdir()
        return folder / name


def make_copies(folder: Path) -> Copies:
    """Protect an OpenClaw agent `ada` with every remote. For `PreparedFolders.restore`."""
    laptop = Machine(folder / "laptop")
    places = Places(folder / "places", laptop.clock)
    clean = Machine(folder / "clean")
    clean.clock = laptop.clock
    shutil.rmtree(clean.workspace)
    made = Copies(folder, laptop, clean, places)
    with MonkeyPatch.context() as patch:
        places.make()
        (places.folder / PLAIN).mkdir()
        made.install(patch)
        laptop.add(name="ada")
        clean.learn_words_of(laptop)
        for machine in (laptop, clean):
            for name in REMOTES:
                machine.add_remote(name, (places.folder / name).as_uri(), sealed=name == STICK)
    return made
