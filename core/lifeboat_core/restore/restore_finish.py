"""Finish a restore: adopt, capture, write the receipt, clean up. Recovery runs this too for an unfinished journal."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.refusal_texts import describe_refusal
from lifeboat_alf.seams import crash_points
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_alf.seams.file_operations import read_all
from lifeboat_core.agents import agent as agents
from lifeboat_core.agents import withheld_items
from lifeboat_core.agents.agent import Agent
from lifeboat_core.errors import UnknownAgent
from lifeboat_core.home.context import Context
from lifeboat_core.home.lifeboat_home import Home
from lifeboat_core.restore import journal_moves
from lifeboat_core.restore import restore_journal as journals
from lifeboat_core.restore.restore_captures import capture_restored
from lifeboat_core.restore.restore_journal import (
    DONE,
    STAGING,
    AgentResidence,
    RestoreJournal,
    SeenPath,
    stat_path,
    text_to_path,
)
from lifeboat_core.restore.restore_report import RestoreReport
from lifeboat_core.restore.target_installation import locate_installation
from lifeboat_core.state.state_db import delete_cache
from lifeboat_core.texts.human_text import count_text
from lifeboat_core.texts.readable_json import make_printable
from lifeboat_vault.errors import VaultFull, VaultUnusable

LAST_RESTORE = "last_restore"
CREDENTIALS = "credentials"
"""Pin of the sequence that an agent was adopted from without its credentials."""


def finish_restore(
    context: Context, journal: RestoreJournal, put: Mapping[str, int] = MappingProxyType({}), *, recovered: bool = False
) -> RestoreReport:
    """Do everything after the last move. This can be repeated until the journal is gone. `put` is the result of
    `roll_forward`."""
    report = replace(RestoreReport.from_json(journal.report), recovered=recovered)
    report = _note_moved_away(context, journal, report, put)
    report = _keep_undo(context, journal, report)
    report = _adopt(context, journal, report)
    note_withheld(context, report)
    report = capture_after(context, report)
    _forget_replaced(context, journal)
    report = _note(context, journal, report)
    clean_up_journal(context, journal)
    return report


def _note(context: Context, journal: RestoreJournal, report: RestoreReport) -> RestoreReport:
    """Store what the home keeps about a restore. A copy in another folder is complete without it: then the report
    warns."""
    try:
        _remember_origin(context, journal, report)
        _write_receipt(context, report)
        _audit(context, report)
    except (OSError, VaultFull, VaultUnusable) as error:
        if not journal.needs_no_journal or report.adopted:
            raise
        return replace(
            report,
            warnings=[*report.warnings, f"the receipt of this restore could not be saved: {describe_refusal(error)}"],
        )
    return report


def _keep_undo(context: Context, journal: RestoreJournal, report: RestoreReport) -> RestoreReport:
    """Store what was moved, so that it can be moved back."""
    if journal.whole is not None or not (journal.moves or journal.make or journal.times or journal.modes):
        return report
    left = journal_moves.list_installed(context.files, journal)
    report = replace(report, undo=True)
    done = replace(journal, phase=DONE, installed=left, report=report.to_json())
    journals.write_document(context.files, journals.locate_undo_journal(context.home, journal.id), done)
    return report


def _note_moved_away(
    context: Context, journal: RestoreJournal, report: RestoreReport, put: Mapping[str, int]
) -> RestoreReport:
    """Report restored files that another program moved or replaced since."""
    files = journal_moves.open_without_links(context.files, journal)
    whole = () if journal.whole is None else (journal.whole[1],)
    targets = (*whole, *(move.target for move in journal.moves if move.staged is not None))
    away = [
        text_to_path(target)
        for target in targets
        if not _stands(journal_moves.find_standing(files, text_to_path(target)), put.get(target))
    ]
    named = [make_printable(str(path)) for path in away]
    return replace(report, moved_away=named, warnings=[*report.warnings, *_moved_away(named)])


def _stands(found: SeenPath | None, inode: int | None) -> bool:
    """Return whether a file is in its place. After an interruption only the name can be compared."""
    return found is not None and inode in (None, found.inode)


def _moved_away(named: list[str]) -> Iterator[str]:
    if named:
        files = count_text(len(named), "restored file")
        yield f"{files} moved, replaced or removed by another program during the restore, for example {named[0]}"


@contextlib.contextmanager
def include_runtime_changes(context: Context, journal_id: str) -> Iterator[None]:
    """Record what the runtime's commands change during a restore, so that undo takes it back too."""
    path = journals.locate_undo_journal(context.home, journal_id)
    done = journals.read_journal(context.files, path) if path.is_file() else None
    before = journal_moves.list_installed(context.files, done) if done is not None else ()
    try:
        yield
    finally:
        if done is not None:
            each = zip(done.installed, before, journal_moves.list_installed(context.files, done), strict=True)
            left = tuple(now if was == known else known for known, was, now in each)
            journals.write_document(context.files, path, replace(done, installed=left))


def _adopt(context: Context, journal: RestoreJournal, report: RestoreReport) -> RestoreReport:
    """Make the restored folder the workspace of the agent, and forget what was known about the old one."""
    from lifeboat_core.capture import known_installation
    from lifeboat_core.restore.memory_rollback import take_memories_back

    if not report.adopted:
        return report
    agent = agents.load_agent(context, journal.agent_id)
    lives = _lives_now(context, journal, report, agent)
    if (agent.workspace, agent.runtime) == (text_to_path(lives.workspace), lives.runtime):
        return report
    if lives.sequence is not None:
        take_memories_back(context, agent, lives.sequence)
    delete_cache(context.home.state_file(agent.id))
    with context.vault(agent.id) as vault:
        known_installation.forget_installation(vault)
    moved = replace(agent, workspace=text_to_path(lives.workspace), runtime=lives.runtime, native_id=lives.native_id)
    agents.save_agent(context, moved)
    return report


def _lives_now(context: Context, journal: RestoreJournal, report: RestoreReport, agent: Agent) -> AgentResidence:
    """Return where an adopted agent lives from now on: where it was restored, or its former place if that is undone."""
    if journal.replaces is not None and journal.former is not None:
        return journal.former
    found = locate_installation(context, context.adapter(report.runtime), text_to_path(journal.workspace))
    native_id = agent.native_id if found is None else found.native_id
    return AgentResidence(journal.workspace, report.runtime, native_id)


def note_withheld(context: Context, report: RestoreReport) -> None:
    """Note what this restore did not write, so that its absence is not captured as a deletion. If files were written
    without their credentials, pin the sequence that has them."""
    left_out = report.credentials.get("skipped", 0) > 0 and not report.credential_details
    if report.in_place or report.adopted:
        with context.vault(report.agent) as vault:
            withheld_items.note_withheld(vault, report.withheld)
            withheld_items.note_gaps(vault, withheld_items.load_gap_paths(vault) | {*report.gaps})
            if report.adopted and left_out:
                vault.pin(report.sequence, CREDENTIALS)


def capture_after(context: Context, report: RestoreReport) -> RestoreReport:
    """Capture what was restored as the newest sequence."""
    if not (report.in_place or report.adopted):
        return report
    return capture_restored(context, report)


def _remember_origin(context: Context, journal: RestoreJournal, report: RestoreReport) -> None:
    """Note the source of a copy in another folder, so that `agents add` can ask whether it goes on as this agent."""
    if report.in_place or report.adopted:
        return
    hint = {
        "workspace": journal.workspace,
        "agent": report.agent,
        "name": report.name,
        "runtime": report.runtime,
        "sequence": report.sequence,
        "time": report.time,
    }
    journals.write_document(context.files, _origin_path(context.home, text_to_path(journal.workspace)), hint)


def _forget_replaced(context: Context, journal: RestoreJournal) -> None:
    """Remove the undo document of a restore that an undo took back. Files that the undo did not move stay in the old
    folder until it expires."""
    if journal.replaces is None:
        return
    path = journals.locate_undo_journal(context.home, journal.replaces)
    if stat_path(context.files, path) is not None:
        context.files.remove(path)
    for folder in map(text_to_path, journal.undo):
        if folder.name.endswith(journal.replaces):
            journal_moves.remove_empty_tree(context.files, folder)


def read_restore_origin(context: Context, workspace: Path) -> JsonObject | None:
    """Return which agent a folder was restored from: {workspace, agent, name, runtime, sequence, time}; None for other
    folders."""
    path = _origin_path(context.home, Path(os.path.realpath(workspace)))
    try:
        found: Any = json_codec.decode_json(read_all(context.files, path))
    except FileNotFoundError:
        return None
    return found if isinstance(found, dict) else None


def _origin_path(home: Home, workspace: Path) -> Path:
    name = hashlib.sha256(os.fsencode(workspace)).hexdigest()[:32]
    return home.restore_folder / "origins" / f"{name}.json"


def write_restore_receipt(context: Context, report: RestoreReport) -> None:
    """Store the report of a restore. A copy in another folder is complete without it, and `_note` has warned once.

    Raises OSError.
    """
    try:
        _write_receipt(context, report)
    except OSError:
        if report.in_place or report.adopted:
            raise


def _write_receipt(context: Context, report: RestoreReport) -> None:
    journals.write_document(
        context.files, journals.locate_restore_receipt(context.home, report.receipt), report.to_json()
    )


def _audit(context: Context, report: RestoreReport) -> None:
    """Add an audit row to the vault of a registered agent."""
    try:
        agents.load_agent(context, report.agent)
    except UnknownAgent:
        return
    with context.vault(report.agent) as vault:
        value = {
            "receipt": report.receipt,
            "sequence": report.sequence,
            "time": report.time,
            "in_place": report.in_place,
        }
        vault.set(LAST_RESTORE, value, kind=report.kind)


def clean_up_journal(context: Context, journal: RestoreJournal) -> None:
    """Remove the staging folders, then the journal. If nothing was moved, remove new empty folders too."""
    for folder in journal.work:
        journal_moves.remove_tree(context.files, text_to_path(folder))
    for folder in journal.fresh if journal.phase == STAGING else ():
        journal_moves.remove_empty_tree(context.files, text_to_path(folder))
    crash_points.reach_crash_point(CrashPoint.RESTORE_JOURNAL_REMOVED)
    journals.remove_journal(context.home, context.files, journal)
