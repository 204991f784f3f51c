"""Histories that gave way when an agent was adopted: kept for 90 days, read only, restorable."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from lifeboat_alf import ids, times
from lifeboat_daemon.context import Context
from lifeboat_endpoint.vault import Vault

NAME = "aside"
"""The word for such a history where a remote would be named: `restore --from aside`."""
PREFIX = ".aside-"
NOTE = "removed-"
"""The beginning of the note's name, whose last line says since when; that of removed agents."""
KEPT_FOR = timedelta(days=90)


@dataclass(frozen=True, slots=True)
class Aside:
    """One such history. `since` is a timestamp."""

    folder: Path
    since: str

    @property
    def until(self) -> str:
        return times.to_text(times.parse(self.since) + KEPT_FOR)


def set_aside(context: Context, agent_id: str) -> Path:
    """Move an agent's vault out of the way."""
    return keep(context, agent_id, context.home.vault_folder(agent_id))


def keep(context: Context, agent_id: str, folder: Path) -> Path:
    """Keep a vault that gives way, wherever in the home it lies."""
    now = context.now()
    kept = context.home.vaults_folder / f"{PREFIX}{agent_id}-{ids.new(now)}"
    context.files.write_new(folder / f"{NOTE}{ids.new(now)}", f"{agent_id}\n{now}\n".encode(), mode=0o600)
    context.files.replace(folder, kept)
    return kept


def histories(context: Context, agent_id: str) -> list[Aside]:
    """Those of one agent, the newest first."""
    found = []
    for folder in context.home.vaults_folder.glob(f"{PREFIX}{agent_id}-*"):
        stamps = [note.read_text().splitlines()[-1] for note in folder.glob(f"{NOTE}*")]
        if stamps:
            found.append(Aside(folder, max(stamps)))
    return sorted(found, key=lambda one: one.since, reverse=True)


@contextmanager
def newest(context: Context, agent_id: str) -> Iterator[Vault | None]:
    """The history that was set aside last, open; None when there is none."""
    found = histories(context, agent_id)
    if not found:
        yield None
        return
    with Vault.open(found[0].folder, files=context.files, clock=context.clock) as vault:
        yield vault
