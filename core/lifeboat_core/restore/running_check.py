"""Check whether a runtime uses files that are about to be moved: it would overwrite what replaces its open files."""

from __future__ import annotations

from lifeboat_adapters.contract import Adapter
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.errors import RestoreError
from lifeboat_core.home.context import Context
from lifeboat_core.restore import journal_moves, restore_target
from lifeboat_core.restore.restore_journal import RestoreJournal, text_to_path
from lifeboat_core.restore.restore_report import RestoreReport
from lifeboat_core.restore.target_installation import locate_installation


def make_running_error(running_program: str, adapter: Adapter, activity: str = "is using these files") -> LifeboatError:
    """Return the error that names the running program, and the runtime's own command that stops it, if there is one."""
    stop = adapter.placement.stop_command if adapter.placement is not None else ""
    fix = stop or "quit the program, then run the same command again"
    return RestoreError.RUNTIME_RUNNING(f"{running_program} {activity}; nothing was changed", fix=fix)


def check_before_undo(context: Context, journal: RestoreJournal) -> None:
    """Raise RestoreError.RUNTIME_RUNNING if a database of the runtime, or a file of its state directory, would be moved
    back."""
    runtime, workspace = RestoreReport.from_json(journal.report).runtime, text_to_path(journal.workspace)
    adapter = context.adapter(runtime)
    installation = locate_installation(context, adapter, workspace)
    if installation is None:
        return
    files = adapter.databases.files(installation) if adapter.databases is not None else ()
    stores = {restore_target.resolve_target(path) for path in files}
    targets = [text_to_path(move.target) for move in journal.moves]
    if any(path in stores or not journal_moves.is_inside(path, workspace) for path in targets):
        _check(context, journal, runtime)


def check_before_recovery(context: Context, journal: RestoreJournal) -> None:
    """Raise RestoreError.RUNTIME_RUNNING if a database still has to be moved in and its runtime was started
    meanwhile."""
    waiting = (move.staged for move in journal.moves if move.is_database and move.staged is not None)
    if any(journal_moves.find_standing(context.files, text_to_path(staged)) is not None for staged in waiting):
        _check(context, journal, RestoreReport.from_json(journal.report).runtime)


def _check(context: Context, journal: RestoreJournal, runtime: str) -> None:
    adapter = context.adapter(runtime)
    installation, placement = locate_installation(context, adapter, text_to_path(journal.workspace)), adapter.placement
    said = placement.running(installation) if installation is not None and placement is not None else ""
    if said:
        raise make_running_error(said, adapter)
