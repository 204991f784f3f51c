"""What finished restores moved aside, and what unfinished ones staged: a purge leaves nothing of it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from lifeboat_core.agents.agent import Agent
from lifeboat_core.home.context import Context
from lifeboat_core.restore import journal_moves
from lifeboat_core.restore import restore_journal as journals
from lifeboat_core.restore.restore_journal import PURGED, RestoreJournal, stat_path, text_to_path
from lifeboat_core.restore.restore_recovery import list_unfinished_journals, settle_journal


def list_undo_folders(context: Context, agent: Agent) -> list[Path]:
    """Folders that hold what a restore moved aside or staged, and that are there."""
    folders = [
        text_to_path(folder) for journal in _journals(context, agent) for folder in (*journal.work, *journal.undo)
    ]
    found = [
        folder for folder in dict.fromkeys(folders) if journal_moves.find_standing(context.files, folder) is not None
    ]
    staged = _staged(context, agent)
    return found if stat_path(context.files, staged) is None else [*found, staged]


def empty_undo_folders(context: Context, agent: Agent) -> int:
    """Remove them, and what the journals say of files; how many folders. Restores that were cut off are brought to
    their end first. A journal stays as long as its restore could have been taken back, and says why it cannot any more.

    The caller holds the agent's lock. Raises OSError, and what keeps an interrupted restore from being finished.
    """
    for journal in list(list_unfinished_journals(context, agent.id)):
        settle_journal(context, journal)
    count = len(list_undo_folders(context, agent))
    for journal in list(_finished(context, agent)):
        for folder in (*journal.work, *journal.undo):
            journal_moves.remove_tree(context.files, text_to_path(folder))
        if journal.phase != PURGED:
            journals.write_document(
                context.files, journals.locate_undo_journal(context.home, journal.id), _emptied(journal)
            )
    shutil.rmtree(_staged(context, agent), ignore_errors=True)
    return count


def _emptied(journal: RestoreJournal) -> RestoreJournal:
    """What is left of a journal: that there was a restore, and when."""
    made = replace(
        journal, phase=PURGED, moves=(), make=(), drop=(), fresh=(), times=(), modes=(), whole=None, installed=()
    )
    return replace(made, work=(), undo=(), report={})


def _journals(context: Context, agent: Agent) -> Iterator[RestoreJournal]:
    yield from list_unfinished_journals(context, agent.id)
    yield from _finished(context, agent)


def _finished(context: Context, agent: Agent) -> Iterator[RestoreJournal]:
    return (one for one in journals.list_finished_journals(context.home, context.files) if one.agent_id == agent.id)


def _staged(context: Context, agent: Agent) -> Path:
    """Where cut copies of large files wait for the commit of a capture; one that was ended leaves them."""
    return context.home.state_folder / f"{agent.id}.staged"
