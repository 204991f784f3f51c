"""Whether a runtime is at work on what is about to be moved: what it has open it writes again, over whatever took its
place."""

from __future__ import annotations

from lifeboat_core.errors import RuntimeRunning
from lifeboat_core.home.context import Context
from lifeboat_core.restore import moves, target
from lifeboat_core.restore.journal import Journal, to_path
from lifeboat_core.restore.report import RestoreReport
from lifeboat_core.restore.surroundings import locate


def still_running(what: str, runtime: str) -> RuntimeRunning:
    return RuntimeRunning(f"{what} is at work on it; nothing was changed", fix=f"stop it, e.g. {runtime} service stop")


def check_before_undo(context: Context, journal: Journal) -> None:
    """Raise RuntimeRunning when a database of the runtime, or a file of its own folder, would be moved back."""
    runtime, workspace = RestoreReport.from_json(journal.report).runtime, to_path(journal.workspace)
    adapter = context.adapter(runtime)
    installation = locate(context, adapter, workspace)
    if installation is None:
        return
    stores = {target.resolve(path) for path in adapter.databases(installation)}
    targets = [to_path(move.target) for move in journal.moves]
    if any(path in stores or not moves.is_inside(path, workspace) for path in targets):
        _check(context, journal, runtime)


def check_before_recovery(context: Context, journal: Journal) -> None:
    """Raise RuntimeRunning when a database still has to take its place and its runtime was started meanwhile."""
    waiting = (move.staged for move in journal.moves if move.is_database and move.staged is not None)
    if any(moves.standing(context.files, to_path(staged)) is not None for staged in waiting):
        _check(context, journal, RestoreReport.from_json(journal.report).runtime)


def _check(context: Context, journal: Journal, runtime: str) -> None:
    adapter = context.adapter(runtime)
    installation = locate(context, adapter, to_path(journal.workspace))
    said = adapter.running(installation) if installation is not None else ""
    if said:
        raise still_running(said, runtime)
