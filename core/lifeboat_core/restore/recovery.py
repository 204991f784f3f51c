"""What an interrupted restore left behind, finished by whoever starts next; and the end of undo folders."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import msgspec

from lifeboat_alf import times
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.system_texts import describe_refusal
from lifeboat_core.agents.locks import agent_lock
from lifeboat_core.errors import Busy, RestoreFailed
from lifeboat_core.home.context import Context
from lifeboat_core.machine import clock_trust
from lifeboat_core.processes.held_back import held_back
from lifeboat_core.restore import delivering, moves
from lifeboat_core.restore import journal as journals
from lifeboat_core.restore.capturing import KEPT_DAYS
from lifeboat_core.restore.finish import finish, put_away
from lifeboat_core.restore.journal import MOVING, Journal, to_path


def recover(context: Context) -> list[str]:
    """Roll every interrupted restore forward, or drop it when nothing had been moved. Says what was done, a sentence
    each; a restore that another process is at is left alone. Costs one listing of a folder when there is nothing."""
    said = [sentence for path in _journal_files(context) for sentence in _recover_one(context, path)]
    return [*said, *delivering.sweep(context), *sweep(context)]


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
        agent_id = journals.read(context.files, path).agent_id
        with agent_lock(context, agent_id, "restore"):
            yield settle(context, journals.read(context.files, path))
    except (Busy, FileNotFoundError):
        return
    except (msgspec.DecodeError, msgspec.ValidationError):
        yield f"The journal {path.name} of a restore is damaged; nothing was done about it."
    except (OSError, LifeboatError) as error:
        yield f"An interrupted restore could not be finished yet: {describe_refusal(error)}"


def unfinished(context: Context, agent_id: str) -> Iterator[Journal]:
    """Journals of an agent's restores that were cut off. One that is damaged is left out."""
    for path in _journal_files(context):
        with contextlib.suppress(FileNotFoundError, msgspec.DecodeError, msgspec.ValidationError):
            journal = journals.read(context.files, path)
            if journal.agent_id == agent_id:
                yield journal


def settle_earlier(context: Context, agent_id: str) -> None:
    """Finish earlier restores of an agent first: a later one, or an undo, would take files that they have moved already
    for files that were never there. The caller holds the agent's lock. Raises RestoreFailed."""
    for journal in list(unfinished(context, agent_id)):
        try:
            settle(context, journal)
        except (OSError, LifeboatError) as error:
            folder = to_path(journal.workspace)
            message = f"an earlier one into {folder} cannot be finished yet: {describe_refusal(error)}"
            raise RestoreFailed(message, fix=moves.way_out(error)) from error


def settle(context: Context, journal: Journal) -> str:
    """Finish one restore that was cut off, or drop it; what was done, in a sentence. The caller holds the agent's lock.
    Raises OSError and LifeboatError when that cannot be done yet."""
    folder = to_path(journal.workspace)
    if journal.phase != MOVING:
        put_away(context, journal)
        return f"A restore into {folder} was interrupted before it changed anything; it was dropped."
    from lifeboat_core.restore.at_work import check_before_recovery

    check_before_recovery(context, journal)
    with held_back():
        moves.roll_forward(context.files, journal)
        finish(context, journal, recovered=True)
    return f"A restore of sequence {journal.sequence} into {folder} was interrupted; it is finished now."


def sweep(context: Context) -> list[str]:
    """Remove undo folders of restores older than seven days, on a time that is trusted: a clock that leaps ahead must
    not cost what was moved aside. One that another process is at waits. Says what could not be done."""
    folder = context.home.restore_folder / "undo"
    if not folder.is_dir():
        return []
    limit = f"{context.clock.now() - timedelta(days=KEPT_DAYS):%Y%m%dT%H%M%S}"
    old = [entry for entry in context.files.scan(folder) if entry.name < limit and entry.name.endswith(".json")]
    if not old or not clock_trust.is_trusted(context):
        return []
    return [sentence for entry in old for sentence in _forget(context, Path(entry.path))]


def _forget(context: Context, path: Path) -> Iterator[str]:
    try:
        journal = journals.read(context.files, path)
        with agent_lock(context, journal.agent_id, "restore"):
            for folder in journal.undo:
                moves.remove_tree(context.files, to_path(folder))
            context.files.remove(path)
    except (Busy, FileNotFoundError):
        return
    except (msgspec.DecodeError, msgspec.ValidationError, OSError, LifeboatError) as error:
        yield f"What the restore {path.stem} moved aside could not be let go: {describe_refusal(error)}"


def is_recent(context: Context, journal: Journal) -> bool:
    """Whether a finished restore can still be taken back."""
    return times.parse(journal.time) > context.clock.now() - timedelta(days=KEPT_DAYS)
