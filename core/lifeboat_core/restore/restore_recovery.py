"""Finish interrupted restores when a command or the daemon starts, and remove expired undo folders."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import msgspec

from lifeboat_adapters.errors import AdapterError
from lifeboat_alf.common import times
from lifeboat_alf.common.refusal_texts import describe_refusal
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.agents.locks import agent_lock
from lifeboat_core.errors import Busy, RestoreError
from lifeboat_core.home.context import Context
from lifeboat_core.machine import clock_trust
from lifeboat_core.processes.defer_interrupt import defer_interrupt
from lifeboat_core.restore import delivery_run, journal_moves
from lifeboat_core.restore import restore_journal as journals
from lifeboat_core.restore.restore_captures import KEPT_DAYS
from lifeboat_core.restore.restore_finish import clean_up_journal, finish_restore
from lifeboat_core.restore.restore_journal import MOVING, RestoreJournal, text_to_path


def recover_restores(context: Context) -> list[str]:
    """Roll every interrupted restore forward, or drop it when nothing had been moved. Return a sentence for each. A
    restore that another process runs is skipped. Costs one listing of a folder when there is nothing to do."""
    said = [sentence for path in _journal_files(context) for sentence in _recover_one(context, path)]
    return [*said, *delivery_run.sweep_deliveries(context), *sweep_undo_folders(context)]


def _journal_files(context: Context) -> list[Path]:
    folder = context.home.restore_folder
    if not folder.is_dir():
        return []
    return sorted(
        Path(entry.path)
        for entry in context.files.scan(folder)
        if entry.name.endswith(".json") and not entry.name.startswith(".")
    )


def _recover_one(context: Context, path: Path) -> Iterator[str]:
    try:
        agent_id = journals.read_journal(context.files, path).agent_id
        with agent_lock(context, agent_id, "restore"):
            yield settle_journal(context, journals.read_journal(context.files, path))
    except (Busy, FileNotFoundError):
        return
    except (msgspec.DecodeError, msgspec.ValidationError):
        yield f"The journal {path.name} of a restore is damaged and was ignored."
    except (OSError, LifeboatError) as error:
        yield f"An interrupted restore could not be completed yet: {describe_refusal(error)}"


def list_unfinished_journals(context: Context, agent_id: str) -> Iterator[RestoreJournal]:
    """Yield the journals of an agent's interrupted restores, without damaged ones."""
    for path in _journal_files(context):
        with contextlib.suppress(FileNotFoundError, msgspec.DecodeError, msgspec.ValidationError):
            journal = journals.read_journal(context.files, path)
            if journal.agent_id == agent_id:
                yield journal


def settle_earlier_restores(context: Context, agent_id: str) -> None:
    """Finish earlier restores of an agent first: a later restore or undo would take files that they have moved for
    files that were never there. The caller holds the agent's lock. Raises RestoreError.RESTORE_FAILED."""
    for journal in list(list_unfinished_journals(context, agent_id)):
        try:
            settle_journal(context, journal)
        except (OSError, LifeboatError) as error:
            folder = text_to_path(journal.workspace)
            message = f"an earlier restore into {folder} cannot be completed yet: {describe_refusal(error)}"
            raise RestoreError.RESTORE_FAILED(message, fix=journal_moves.suggest_way_out(error)) from error


def settle_journal(context: Context, journal: RestoreJournal) -> str:
    """Finish or drop one interrupted restore; return what was done as a sentence. The caller holds the agent's lock.
    Raises OSError and LifeboatError when that is not possible yet."""
    folder = text_to_path(journal.workspace)
    if journal.phase != MOVING:
        clean_up_journal(context, journal)
        return f"A restore into {folder} was interrupted before it changed anything; it was discarded."
    from lifeboat_core.restore.restore_report import RestoreReport
    from lifeboat_core.restore.running_check import check_before_recovery
    from lifeboat_core.restore.runtime_file_locks import find_lock, hold_runtime_locks

    check_before_recovery(context, journal)
    files = journal_moves.open_without_links(context.files)
    with defer_interrupt(), contextlib.ExitStack() as held:
        # Without an adapter nothing is known of locks, and a half-moved workspace has to be completed.
        with contextlib.suppress(AdapterError):
            adapter = context.adapter(RestoreReport.from_json(journal.report).runtime)
            locks = (find_lock(adapter, folder, text_to_path(move.target)) for move in journal.moves)
            held.enter_context(hold_runtime_locks(files, adapter, filter(None, locks)))
        journal_moves.roll_forward(context.files, journal)
        finish_restore(context, journal, recovered=True)
    return f"A restore of sequence {journal.sequence} into {folder} was interrupted; it is complete now."


def sweep_undo_folders(context: Context) -> list[str]:
    """Remove undo folders of restores older than seven days, if the clock is trusted: one that jumps ahead must not
    destroy what was moved aside. Return a sentence for each failure."""
    folder = context.home.restore_folder / "undo"
    if not folder.is_dir():
        return []
    limit = f"{context.clock.now() - timedelta(days=KEPT_DAYS):%Y%m%dT%H%M%S}"
    old = [entry for entry in context.files.scan(folder) if entry.name < limit and entry.name.endswith(".json")]
    if not old or not clock_trust.is_clock_trusted(context):
        return []
    return [sentence for entry in old for sentence in _forget(context, Path(entry.path))]


def _forget(context: Context, path: Path) -> Iterator[str]:
    try:
        journal = journals.read_journal(context.files, path)
        with agent_lock(context, journal.agent_id, "restore"):
            for folder in journal.undo:
                journal_moves.remove_tree(context.files, text_to_path(folder))
            context.files.remove(path)
    except (Busy, FileNotFoundError):
        return
    except (msgspec.DecodeError, msgspec.ValidationError, OSError, LifeboatError) as error:
        yield f"The files that the restore {path.stem} moved aside could not be deleted: {describe_refusal(error)}"


def can_be_undone(context: Context, journal: RestoreJournal) -> bool:
    """Return whether a finished restore can still be undone."""
    return times.parse_time(journal.time) > context.clock.now() - timedelta(days=KEPT_DAYS)
