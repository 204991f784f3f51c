"""Remove what restores moved aside or staged when content is purged."""

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
    """Return the existing folders with what a restore moved aside or staged."""
    folders = [
        text_to_path(folder)
        for journal in (*list_unfinished_journals(context, agent.id), *_finished(context, agent))
        for folder in (*journal.work, *journal.undo)
    ]
    found = [
        folder for folder in dict.fromkeys(folders) if journal_moves.find_standing(context.files, folder) is not None
    ]
    staged = _staged(context, agent)
    return found if stat_path(context.files, staged) is None else [*found, staged]


def empty_undo_folders(context: Context, agent: Agent) -> int:
    """Remove these folders, and what journals say about files; return the number of folders. Interrupted restores are
    finished first. A journal stays as long as its restore could have been undone, to explain why it cannot be any more.

    The caller holds the agent's lock. Raises OSError, and what prevents an interrupted restore from being finished.
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
    """Return what stays of a journal: that there was a restore, and when."""
    made = replace(
        journal, phase=PURGED, moves=(), make=(), drop=(), fresh=(), times=(), modes=(), whole=None, installed=()
    )
    return replace(made, work=(), undo=(), report={})


def _finished(context: Context, agent: Agent) -> Iterator[RestoreJournal]:
    return (one for one in journals.list_finished_journals(context.home, context.files) if one.agent_id == agent.id)


def _staged(context: Context, agent: Agent) -> Path:
    """Return the folder where cut copies of large files wait for a commit. A killed capture leaves them behind."""
    return context.home.state_folder / f"{agent.id}.staged"
