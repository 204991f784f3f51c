"""Undo the last restore with a restore from the undo folder, which has its own journal and undo folder."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from lifeboat_adapters.item_fates import ItemFate, ItemOutcome
from lifeboat_alf.seams import crash_points
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_alf.seams.file_operations import FileOperations
from lifeboat_core.agents import agent as agents
from lifeboat_core.agents.agent import Agent
from lifeboat_core.agents.locks import agent_lock
from lifeboat_core.capture.scan_cache import OURS
from lifeboat_core.errors import RestoreError
from lifeboat_core.home.context import Context
from lifeboat_core.processes.defer_interrupt import defer_interrupt
from lifeboat_core.processes.progress import Tell, tell_nobody
from lifeboat_core.restore import journal_moves
from lifeboat_core.restore import restore_journal as journals
from lifeboat_core.restore.full_receipt import RestoreReceipt
from lifeboat_core.restore.restore_captures import capture_for_safety
from lifeboat_core.restore.restore_finish import finish_restore
from lifeboat_core.restore.restore_journal import (
    MOVING,
    PURGED,
    JournalFolder,
    JournalMove,
    ModeChange,
    RestoreJournal,
    SeenPath,
    TimeChange,
    path_to_text,
    text_to_path,
)
from lifeboat_core.restore.restore_recovery import can_be_undone, settle_earlier_restores
from lifeboat_core.restore.restore_report import RestoreReport
from lifeboat_core.restore.restore_run import TOO_LATE, carry_out_journal
from lifeboat_core.restore.running_check import check_before_undo
from lifeboat_core.system_refusals import convert_system_errors
from lifeboat_core.texts.readable_json import make_printable


def undo_restore(
    context: Context, agent: Agent | None = None, *, force: bool = False, tell: Tell = tell_nobody
) -> RestoreReport:
    """Undo the last restore of an agent (None: of any agent), within seven days.

    Raises RestoreError.NOTHING_TO_UNDO, RestoreError.RUNTIME_RUNNING, RestoreError.RESTORE_FAILED;
    RestoreError.TARGET_CHANGED when a restored file was changed since (`force` moves changed files aside, where they
    are kept for another seven days).
    """
    agent = agent or _last_restored(context)
    with convert_system_errors(), agent_lock(context, agent.id, "undo"):
        settle_earlier_restores(context, agent.id)
        last = find_last_restore(context, agent)
        if not force:
            check_untouched(context.files, last)
        check_before_undo(context, last)
        crash_points.reach_crash_point(CrashPoint.RESTORE_PLANNED)
        tell("Capturing the workspace first", 0, None)
        safety = capture_for_safety(context, agent)
        crash_points.reach_crash_point(CrashPoint.RESTORE_SAFETY_CAPTURED)
        journal = _reversed(context, last, safety)
        with defer_interrupt() as pressed:
            crash_points.reach_crash_point(CrashPoint.RESTORE_JOURNAL_WRITTEN)
            journals.write_document(context.files, journals.locate_journal(context.home, journal.id), journal)
            put = carry_out_journal(context, journal, tell)
            tell("Capturing the restored workspace", 0, None)
            done = finish_restore(context, journal, put)
            return replace(done, warnings=[*done.warnings, TOO_LATE]) if pressed.take() else done


def _last_restored(context: Context) -> Agent:
    for journal in journals.list_finished_journals(context.home, context.files):
        if can_be_undone(context, journal):
            return agents.load_agent(context, journal.agent_id)
    raise RestoreError.NOTHING_TO_UNDO("no restore in the last seven days replaced any files")


def find_last_restore(context: Context, agent: Agent) -> RestoreJournal:
    """Return the newest restore that can be undone. Raises RestoreError.NOTHING_TO_UNDO."""
    for journal in journals.list_finished_journals(context.home, context.files):
        if journal.agent_id == agent.id and can_be_undone(context, journal):
            if journal.phase == PURGED:
                raise RestoreError.NOTHING_TO_UNDO(
                    f"a purge of {agent.name} destroyed the files that its last restore had moved aside"
                )
            return journal
    raise RestoreError.NOTHING_TO_UNDO(f"no restore of {agent.name} in the last seven days replaced any files")


def check_untouched(files: FileOperations, journal: RestoreJournal) -> None:
    """Raise RestoreError.TARGET_CHANGED when something is not as the restore left it."""
    for move, left in zip(journal.moves, journal.installed, strict=True):
        if journal_moves.find_standing(files, text_to_path(move.target)) != left:
            raise RestoreError.TARGET_CHANGED(
                f"{text_to_path(move.target)} was changed after the restore", fix="lifeboat undo AGENT --force"
            )
    log = journal_moves.find_new_log(files, journal.moves)
    if log is not None:
        raise RestoreError.TARGET_CHANGED(
            f"the database log {log} was written after the restore", fix="lifeboat undo AGENT --force"
        )


def _reversed(context: Context, done: RestoreJournal, safety: int | None) -> RestoreJournal:
    """Return the journal that undoes another one. What the restore created is removed first, then what it moved aside
    returns."""
    files, now = journal_moves.open_without_links(context.files, done), context.now()
    undo_id = f"{context.clock.now():%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"
    folders = [text_to_path(folder) for folder in done.undo]
    back = [_move_back(files, move, _new_aside(move, folders, undo_id)) for move in reversed(done.moves)]
    report = RestoreReport.from_json(done.report)
    return RestoreJournal(
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
        times=tuple(TimeChange(time.path, time.old_ns, time.new_ns) for time in done.times),
        modes=tuple(ModeChange(mode.path, mode.old, mode.new) for mode in done.modes),
        replaces=done.id,
        former=done.former,
        undo=tuple(map(path_to_text, _undo_folders(files, done, folders, undo_id))),
        report=replace(_report(report, undo_id, now, back), safety=safety).to_json(),
    )


def _drop(done: RestoreJournal) -> Iterator[JournalFolder]:
    made = {folder.path for folder in done.make}
    yield from (JournalFolder(path) for path in done.fresh)
    yield from (
        JournalFolder(path_to_text(path)) for path in sorted(map(text_to_path, made - set(done.fresh)), reverse=True)
    )


def _undo_folders(files: FileOperations, done: RestoreJournal, folders: list[Path], undo_id: str) -> list[Path]:
    """Return one new folder for each place, and those of earlier undos that still have something."""
    new = (_new_undo(folder, undo_id) for folder in folders)
    left = (
        folder for folder in folders if done.id in folder.name or journal_moves.find_standing(files, folder) is not None
    )
    return list(dict.fromkeys((*new, *left)))


def _new_undo(folder: Path, undo_id: str) -> Path:
    """Return the undo folder beside an earlier one: the same name with the new id."""
    mark = f"{OURS}undo-"
    return folder.with_name(folder.name[: folder.name.rindex(mark) + len(mark)] + undo_id)


def _new_aside(move: JournalMove, folders: list[Path], undo_id: str) -> str:
    aside = text_to_path(move.aside)
    folder = next(folder for folder in folders if journal_moves.is_inside(aside, folder))
    return path_to_text(_new_undo(folder, undo_id) / os.path.relpath(aside, folder))


def _move_back(files: FileOperations, move: JournalMove, aside: str) -> JournalMove:
    held: SeenPath | None = journal_moves.find_standing(files, text_to_path(move.aside))
    staged = move.aside if held is not None else None
    return JournalMove(
        move.target,
        staged,
        aside,
        journal_moves.find_standing(files, text_to_path(move.target)),
        move.loose,
        move.is_database,
    )


def _report(report: RestoreReport, undo_id: str, now: str, back: list[JournalMove]) -> RestoreReport:
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


def _receipt(back: list[JournalMove]) -> RestoreReceipt:
    """Return the receipt of an undo: everything that was there before comes back unchanged."""
    names = (make_printable(str(text_to_path(move.target))) for move in back if move.staged is not None)
    return RestoreReceipt(tuple(ItemFate("file", name, ItemOutcome.ACCEPTED) for name in names))


def _word(move: JournalMove) -> str:
    if move.staged is None:
        return "removed"
    return "created" if move.seen is None else "overwritten"
