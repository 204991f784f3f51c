"""Histories that were displaced when an agent was adopted: kept for 90 days, read-only, restorable."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from lifeboat_alf.common import ids, times
from lifeboat_core.home.context import Context
from lifeboat_core.home.folder_names import folders_in, paths_in
from lifeboat_vault.vault import Vault

NAME = "aside"
"""The word for the newest such history in place of a remote: `restore --from aside`. The one before it is `aside-2`,
and so on."""
_NAMES = re.compile(rf"{NAME}(?:-([1-9][0-9]{{0,3}}))?")
PREFIX = ".aside-"
NOTE = "removed-"
"""The beginning of the name of the note, whose last line says since when. Removed agents have the same note."""
KEPT_FOR = timedelta(days=90)


@dataclass(frozen=True, slots=True)
class DisplacedHistory:
    """One displaced history. `since` is a timestamp."""

    folder: Path
    since: str

    @property
    def until(self) -> str:
        return times.to_text(times.parse_time(self.since) + KEPT_FOR)


def set_vault_aside(context: Context, agent_id: str) -> Path:
    """Move an agent's vault out of the way."""
    return keep_displaced(context, agent_id, context.home.vault_folder(agent_id))


def keep_displaced(context: Context, agent_id: str, folder: Path) -> Path:
    """Keep a displaced vault, wherever in the home it lies."""
    now = context.now()
    kept = context.home.vaults_folder / f"{PREFIX}{agent_id}-{ids.make_id(now)}"
    context.files.write_new(folder / f"{NOTE}{ids.make_id(now)}", f"{agent_id}\n{now}\n".encode(), mode=0o600)
    context.files.replace(folder, kept)
    return kept


def list_displaced(context: Context, agent_id: str) -> list[DisplacedHistory]:
    """Return the displaced histories of one agent, the newest first."""
    found = []
    for folder in folders_in(context.files, context.home.vaults_folder):
        if not folder.name.startswith(f"{PREFIX}{agent_id}-"):
            continue
        notes = [path for path in paths_in(context.files, folder) if path.name.startswith(NOTE)]
        stamps = [note.read_text().splitlines()[-1] for note in notes]
        if stamps:
            found.append(DisplacedHistory(folder, max(stamps)))
    return sorted(found, key=lambda one: one.since, reverse=True)


def is_displaced_name(text: str) -> bool:
    """Return whether a text in place of a remote's name means a displaced history."""
    return _NAMES.fullmatch(text) is not None


def name_displaced(context: Context, agent_id: str) -> dict[str, DisplacedHistory]:
    """Return the displaced histories of one agent by the names that `restore --from` takes, the newest first."""
    found = list_displaced(context, agent_id)
    return {NAME if at == 1 else f"{NAME}-{at}": one for at, one in enumerate(found, start=1)}


@contextmanager
def open_displaced(context: Context, agent_id: str, name: str) -> Iterator[Vault | None]:
    """Open the displaced history with a name; yield None when there is none."""
    found = name_displaced(context, agent_id).get(name)
    if found is None:
        yield None
        return
    with Vault.open(found.folder, files=context.files, clock=context.clock) as vault:
        yield vault
