"""Cutting what looks like a secret out of the files and rows that the user names, from the next capture on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lifeboat_alf.metas import is_file
from lifeboat_daemon.agent import Agent
from lifeboat_daemon.capture import lookalikes
from lifeboat_daemon.capture.lookalikes import Place, Places
from lifeboat_daemon.capture.report import CaptureReport
from lifeboat_daemon.capture.run import capture
from lifeboat_daemon.capture.secrets import EXPOSED
from lifeboat_daemon.context import Context
from lifeboat_daemon.errors import UnknownPath
from lifeboat_daemon.safe_text import name_text
from lifeboat_daemon.state_db import StateDb
from lifeboat_daemon.words import file_name


@dataclass(frozen=True, slots=True)
class CutLooks:
    """What was `cut`, and what is `left` in clear, by name; `exposed` is the last kept sequence that has one of these
    in clear, None where there is none."""

    report: CaptureReport
    cut: Places
    left: Places
    exposed: int | None


def cut_looks(context: Context, agent: Agent, names: Iterable[str]) -> CutLooks:
    """Cut what looks like a secret in these files and rows, as `doctor` names them, and capture at once. Raises
    UnknownPath and what a capture raises."""
    known = _read(context, agent)
    with context.vault(agent.id) as vault:
        entries = [entry.path for entry in vault.state().entries() if is_file(entry.meta)] if vault.head() else []
        chosen = [_chosen(name, [*known, *entries]) for name in names]
        vault.change(lookalikes.DECISION, lambda before: sorted({*(before or ()), *chosen}), kind="secrets")
    report = capture(context, agent, full=True)
    left = {path: places for path, places in _read(context, agent).items() if path in chosen}
    with context.vault(agent.id) as vault:
        exposed = vault.get(EXPOSED) or {}
        kept = [row.number for row in vault.sequences()]
    lasts = [exposed[path] for path in chosen if path in exposed and any(number <= exposed[path] for number in kept)]
    cut: Places = {path: places for path, places in known.items() if path in chosen and path not in left}
    return CutLooks(report, cut, left, max(lasts, default=None))


def _read(context: Context, agent: Agent) -> dict[str, list[Place]]:
    path = context.home.state_file(agent.id)
    with context.vault(agent.id) as vault:
        if not path.exists():
            return {}
        with StateDb.open(path, vault.id) as db:
            return lookalikes.read(db)


def _chosen(name: str, known: Iterable[str]) -> str:
    """The archive path of a name that a person gives. Raises UnknownPath."""
    found = [path for path in known if name in (path, file_name(path))]
    if not found:
        raise UnknownPath(f"{name_text(name)} is no file of the agent, and no row that the doctor names")
    return found[0]
