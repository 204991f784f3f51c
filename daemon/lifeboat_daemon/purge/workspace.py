"""`--workspace`: the purged lines leave the live files too, each file whole and only as it was shown."""

from __future__ import annotations

from dataclasses import dataclass

from lifeboat_daemon.agent import Agent
from lifeboat_daemon.context import Context
from lifeboat_endpoint.vault import Vault


@dataclass(frozen=True, slots=True)
class WorkspaceCut:
    """What goes from one live file: `path` as the archive names it, how many `spans`, and the difference as text for
    the user's own terminal. `command` is what removes it instead, where the file is the runtime's database."""

    path: str
    spans: int
    diff: str
    command: str | None = None


def plan(context: Context, agent: Agent, vault: Vault) -> list[WorkspaceCut]:
    """What lies in the live workspace and is kept out of captures. Reads every file; writes nothing."""
    raise NotImplementedError


def cut(context: Context, agent: Agent, vault: Vault, cuts: list[WorkspaceCut]) -> list[str]:
    """Remove it from the files of a plan, each atomically with its mode; the archive paths that were written. One that
    changed since stays as it is, and is not in the list."""
    raise NotImplementedError
