"""Take the last restore back: a restore itself, from the undo folder, with a journal and an undo folder of its own."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from lifeboat_adapters.receipts import Fate, Outcome
from lifeboat_alf.seams import steps
from lifeboat_alf.seams.files import FileOperations
from lifeboat_alf.seams.steps import Step
from lifeboat_core.agents import agent as agents
from lifeboat_core.agents.agent import Agent
from lifeboat_core.agents.locks import agent_lock
from lifeboat_core.capture.names import OURS
from lifeboat_core.errors import NothingToUndo, TargetChanged
from lifeboat_core.home.context import Context
from lifeboat_core.processes.held_back import held_back
from lifeboat_core.processes.progress import Tell, quietly
from lifeboat_core.restore import journal as journals
from lifeboat_core.restore import moves
from lifeboat_core.restore.at_work import check_before_undo
from lifeboat_core.restore.capturing import capture_for_safety
from lifeboat_core.restore.finish import finish
from lifeboat_core.restore.journal import (
    MOVING,
    PURGED,
    Folder,
    Journal,
    Mode,
    Move,
    Seen,
    Time,
    to_path,
    to_text,
)
from lifeboat_core.restore.receipt import Receipt
from lifeboat_core.restore.recovery import is_recent, settle_earlier
from lifeboat_core.restore.report import RestoreReport
from lifeboat_core.restore.run import TOO_LATE, carry_out
from lifeboat_core.system_refusals import system_errors
from lifeboat_core.texts.readable_json import printable


def undo(context: Context, agent: Agent | None = None, *, force: bool = False, tell: Tell = quietly) -> RestoreReport:
    """Take back the last restore of an agent, within seven days. None: the last one of any agent.

    Raises NothingToUndo, RuntimeRunning, RestoreFailed; TargetChanged when a restored file was changed since (`force`
    moves the changed ones aside, where they are kept for seven days more).
    """
    agent = agent or _last_restored(context)
    with system_errors(), agent_lock(context, agent.id, "undo"):
        settle_earlier(context, agent.id)
        last = last_restore(context, agent)
        if not force:
            check_untouched(context.files, last)
        check_before_undo(context, last)
        steps.reached(Step.RESTORE_PLANNED)
        tell("Keeping what is there now", 0, None)
        safety = capture_for_safety(context, agent)
        steps.reached(Step.RESTORE_SAFETY_CAPTURED)
        journal = _reversed(context, last, safety)
        with held_back() as pressed:
            steps.reached(Step.RESTORE_JOURNAL_WRITTEN)
            journals.write(context.files, journals.path_of(context.home, journal.id), journal)
            put = carry_out(context, journal, tell)
            tell("Keeping what was restored", 0, None)
            done = finish(context, journal, put)
            return replace(done, warnings=[*done.warnings, TOO_LATE]) if pressed.take() else done


def _last_restored(context: Context) -> Agent:
    for journal in journals.finished(context.home, context.files):
        if is_recent(context, journal):
            return agents.read(context, journal.agent_id)
    raise NothingToUndo("no restore of the last seven days replaced anything")


def last_restore(context: Context, agent: Agent) -> Journal:
    """The newest restore that can be taken back. Raises NothingToUndo."""
    for journal in journals.finished(context.home, context.files):
        if journal.agent_id == agent.id and is_recent(context, journal):
            if journal.phase == PURGED:
                raise NothingToUndo(f"a purge of {agent.name} destroyed what its last restore had moved aside")
            return journal
    raise NothingToUndo(f"no restore of {agent.name} in the last seven days replaced anything")


def check_untouched(files: FileOperations, journal: Journal) -> None:
    """Raise TargetChanged when something is not as the restore left it."""
    for move, left in zip(journal.moves, journal.installed, strict=True):
        if moves.standing(files, to_path(move.target)) != left:
            raise TargetChanged(
                f"{to_path(move.target)} was changed since the restore", fix="lifeboat undo AGENT --force"
            )
    log = moves.new_log(files, journal.moves)
    if log is not None:
        raise TargetChanged(f"{log} was written since the restore", fix="lifeboat undo AGENT --force")


def _reversed(context: Context, done: Journal, safety: int | None) -> Journal:
    """The journal that takes another one back. What the restore made goes first, then what it moved aside returns."""
    files, now = moves.following_no_link(context.files, done), context.now()
    undo_id = f"{context.clock.now():%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"
    folders = [to_path(folder) for folder in done.undo]
    back = [_move_back(files, move, _new_aside(move, folders, undo_id)) for move in reversed(done.moves)]
    report = RestoreReport.from_json(done.report)
    return Journal(
        id=undo_id,
        agent_id=done.agent_id,
        kind="undo",
        phase=MOVING,
        sequence=report.safety if report.safety is not None else done.sequence,
        workspace=done.workspace,
        time=now,
        moves=tuple(sorted(back, key=lambda move: move.staged is not None)),
        make=done.drop,
        drop=tuple(_drop(done)),
        fresh=tuple(folder.path for folder in done.drop),
        times=tuple(Time(time.path, time.old_ns, time.new_ns) for time in done.times),
        modes=tuple(Mode(mode.path, mode.old, mode.new) for mode in done.modes),
        replaces=done.id,
        former=done.former,
        undo=tuple(map(to_text, _undo_folders(files, done, folders, undo_id))),
        report=replace(_report(report, undo_id, now, back), safety=safety).to_json(),
    )


def _drop(done: Journal) -> Iterator[Folder]:
    made = {folder.path for folder in done.make}
    yield from (Folder(path) for path in done.fresh)
    yield from (Folder(to_text(path)) for path in sorted(map(to_path, made - set(done.fresh)), reverse=True))


def _undo_folders(files: FileOperations, done: Journal, folders: list[Path], undo_id: str) -> list[Path]:
    """One new folder for each place, and those of earlier undos that still hold something."""
    new = (_new_undo(folder, undo_id) for folder in folders)
    left = (folder for folder in folders if done.id in folder.name or moves.standing(files, folder) is not None)
    return list(dict.fromkeys((*new, *left)))


def _new_undo(folder: Path, undo_id: str) -> Path:
    """The undo folder beside an earlier one: the same name with the new id."""
    mark = f"{OURS}undo-"
    return folder.with_name(folder.name[: folder.name.rindex(mark) + len(mark)] + undo_id)


def _new_aside(move: Move, folders: list[Path], undo_id: str) -> str:
    aside = to_path(move.aside)
    folder = next(folder for folder in folders if moves.is_inside(aside, folder))
    return to_text(_new_undo(folder, undo_id) / os.path.relpath(aside, folder))


def _move_back(files: FileOperations, move: Move, aside: str) -> Move:
    held: Seen | None = moves.standing(files, to_path(move.aside))
    staged = move.aside if held is not None else None
    return Move(move.target, staged, aside, moves.standing(files, to_path(move.target)), move.loose, move.is_database)


def _report(report: RestoreReport, undo_id: str, now: str, back: list[Move]) -> RestoreReport:
    files = {"created": 0, "overwritten": 0, "same": report.files.get("same", 0), "removed": 0, "skipped": 0}
    for move in back:
        files[_word(move)] += 1
    sequence = report.safety if report.safety is not None else report.sequence
    return replace(
        report,
        kind="undo",
        receipt=undo_id,
        time=now,
        files=files,
        sequence=sequence,
        warnings=[],
        skipped=[],
        absent=[],
        steps=[],
        next=[],
        safety=None,
        captured=None,
        not_captured={},
        moved_away=[],
        recovered=False,
        **_receipt(back).to_json(),
    )


def _receipt(back: list[Move]) -> Receipt:
    """What stood there before is what an undo reads: each of it comes back as it was."""
    names = (printable(str(to_path(move.target))) for move in back if move.staged is not None)
    return Receipt(tuple(Fate("file", name, Outcome.ACCEPTED) for name in names))


def _word(move: Move) -> str:
    if move.staged is None:
        return "removed"
    return "created" if move.seen is None else "overwritten"
