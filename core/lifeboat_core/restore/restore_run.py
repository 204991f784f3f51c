"""Carry out a plan: safety capture, staging, journal, moves, and the end of the restore."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import NoReturn

from lifeboat_alf.common.refusal_texts import describe_refusal
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.seams import crash_points
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_core.agents.locks import agent_lock
from lifeboat_core.errors import RestoreError
from lifeboat_core.home.context import Context
from lifeboat_core.processes.defer_interrupt import defer_interrupt
from lifeboat_core.processes.progress import Tell, count_units, tell_nobody
from lifeboat_core.restore import carried_profiles, journal_moves, restore_report, runtime_steps
from lifeboat_core.restore import restore_journal as journals
from lifeboat_core.restore.journal_assembly import AssembledJournal, assemble_journal
from lifeboat_core.restore.restore_captures import capture_for_safety, find_newest_sequence, keep_for_safety
from lifeboat_core.restore.restore_finish import clean_up_journal, finish_restore
from lifeboat_core.restore.restore_journal import MOVING, STAGING, RestoreJournal, text_to_path
from lifeboat_core.restore.restore_plan import RestorePlan, find_running_runtime
from lifeboat_core.restore.restore_recovery import settle_earlier_restores
from lifeboat_core.restore.restore_report import RestoreReport
from lifeboat_core.restore.restore_staging import FileStager
from lifeboat_core.restore.running_check import make_running_error
from lifeboat_core.restore.runtime_file_locks import find_lock, hold_runtime_locks
from lifeboat_core.restore.scratch_folders import make_scratch_folder
from lifeboat_core.state.state_documents import find_workspace_mode
from lifeboat_core.system_refusals import convert_system_errors
from lifeboat_core.texts.human_text import count_text
from lifeboat_keys.signed.sequence_signatures import SignatureVerdict

_MOST_HAZARDS = 10
TOO_LATE = "the restore was already complete and could not be stopped"


def carry_out_plan(context: Context, plan: RestorePlan, tell: Tell = tell_nobody) -> RestoreReport:
    """Carry out a plan completely or not at all.

    Raises RestoreError.UNSIGNED_STATE, RestoreError.CONSENT_NEEDED, RestoreError.NAMES_DO_NOT_FIT,
    RestoreError.RUNTIME_RUNNING (exit 3, nothing written), SignatureError, RestoreError.TARGET_CHANGED,
    RestoreError.RESTORE_FAILED, Busy; SystemRefused or DiskFull when the system stopped it before the first move, or
    after the last one (then the next command finishes it).
    """
    check_guards(plan)
    if plan.options.dry_run:
        return restore_report.draft_report(plan, context.now())
    goes_elsewhere = not (plan.in_place or plan.options.adopt)
    with convert_system_errors(), agent_lock(context, plan.agent_id, "restore", only_reads=goes_elsewhere):
        settle_earlier_restores(context, plan.agent_id)
        if plan.new_profile is not None:
            carried_profiles.write_new_profile(context, plan.adapter, plan.new_profile)
        crash_points.reach_crash_point(CrashPoint.RESTORE_PLANNED)
        drafted = restore_report.draft_report(
            plan, context.now(), adopted=plan.options.adopt and plan.agent is not None
        )
        tell("Capturing the workspace first", 0, None)
        drafted = _with_safety(context, plan, drafted)
        crash_points.reach_crash_point(CrashPoint.RESTORE_SAFETY_CAPTURED)
        assembled = assemble_journal(context.files, plan, drafted.time, drafted.to_json())
        journal = _stage(context, plan, _with_newest(context, assembled), tell)
        with defer_interrupt() as pressed:
            journal = _begin_to_move(context, journal)
            put = carry_out_journal(context, journal, tell)
            tell("Capturing the restored workspace", 0, None)
            done = finish_restore(context, journal, put)
            plan, done = runtime_steps.put_memories(context, plan, done)
            done = runtime_steps.give_credentials(context, plan, done)
            if pressed.take():
                return _stopped_late(context, plan, done)
        return _with_steps(context, plan, done, tell)


def _with_steps(context: Context, plan: RestorePlan, done: RestoreReport, tell: Tell) -> RestoreReport:
    """Run the runtime's own steps. They may take long; an interruption leaves a complete restore."""
    try:
        return runtime_steps.run_next_steps(context, plan, done, tell)
    except KeyboardInterrupt:
        return _stopped_late(context, plan, done)


def _stopped_late(context: Context, plan: RestorePlan, done: RestoreReport) -> RestoreReport:
    """Report an interruption that came after the restore was done, and leave the runtime's own steps to the user."""
    return runtime_steps.list_next_steps(context, plan, replace(done, warnings=[*done.warnings, TOO_LATE]))


def check_guards(plan: RestorePlan) -> None:
    """Check before the first write what the user has to agree to, and what makes the restore impossible."""
    if plan.unholdable:
        listed_names = ", ".join(f"{each.name!r} ({each.reason})" for each in plan.unholdable[:10])
        names = count_text(len(plan.unholdable), "name")
        raise RestoreError.NAMES_DO_NOT_FIT(f"the file system of {plan.target} cannot store {names}: {listed_names}")
    if plan.verdict is not SignatureVerdict.SIGNED and not plan.options.accept_unsigned:
        raise make_unsigned_error(plan)
    if plan.verdict is not SignatureVerdict.SIGNED and plan.options.with_credentials:
        raise RestoreError.UNSIGNED_STATE(
            "Lifeboat restores credentials only with a signed state, because an attacker who "
            "changed an unsigned state could send them anywhere",
            fix="the same command without --with-credentials",
        )
    if plan.running and not plan.options.dry_run:
        raise make_running_error(plan.running, plan.adapter)
    if not plan.is_fresh and not plan.options.yes and not plan.options.dry_run:
        raise RestoreError.CONSENT_NEEDED(
            f"{plan.target} is not empty; --dry-run shows what would change, --yes confirms the restore"
        )


def _check_running(plan: RestorePlan) -> None:
    """Raise RestoreError.RUNTIME_RUNNING when the runtime uses what is about to be replaced."""
    said = find_running_runtime(plan.adapter, plan.installation, plan.items, plan.target, plan.databases)
    if said:
        raise make_running_error(said, plan.adapter)


def make_unsigned_error(plan: RestorePlan) -> LifeboatError:
    """Return the error that refuses an unsigned state, with what in it could run."""
    return RestoreError.UNSIGNED_STATE(_unsigned(plan))


def _unsigned(plan: RestorePlan) -> str:
    problem = (
        "the state is not signed"
        if plan.verdict is SignatureVerdict.UNSIGNED
        else "the state is signed, but this machine lacks your key to check the signature"
    )
    if not plan.executable:
        return f"{problem}; to restore it anyway, use --accept-unsigned"
    more = len(plan.executable) - _MOST_HAZARDS
    named = "; ".join(plan.executable[:_MOST_HAZARDS]) + (f"; and {more} more" if more > 0 else "")
    return (
        f"{problem}, and it contains {count_text(len(plan.executable), 'file')} that could run on this machine: {named}"
    )


def _with_safety(context: Context, plan: RestorePlan, drafted: RestoreReport) -> RestoreReport:
    """Capture the workspace before anything is moved, and pin the sequence for seven days.

    A capture that fails does not stop the restore, which is needed most when something is broken: what is replaced is
    kept in the undo folder anyway.
    """
    if plan.agent is None or not plan.in_place or plan.is_fresh:
        return drafted
    try:
        number = capture_for_safety(context, plan.agent)
    except LifeboatError as error:
        return replace(
            drafted,
            warnings=[*drafted.warnings, f"the workspace could not be captured before the restore: {error.message}"],
        )
    return replace(drafted, safety=number)


def _with_newest(context: Context, assembled: AssembledJournal) -> AssembledJournal:
    """Pin the newest sequence of an agent that moves, because undo goes back to it."""
    former = assembled.journal.former
    number = None if former is None else find_newest_sequence(context, assembled.journal.agent_id)
    if former is None or number is None:
        return assembled
    keep_for_safety(context, assembled.journal.agent_id, number)
    return replace(assembled, journal=replace(assembled.journal, former=replace(former, sequence=number)))


def _stage(context: Context, plan: RestorePlan, assembled: AssembledJournal, tell: Tell) -> RestoreJournal:
    """Stage everything and make it durable. Return the journal, still in phase `staging`."""
    journal = assembled.journal
    journals.begin_journal(context.home, context.files, journal)
    try:
        crash_points.reach_crash_point(CrashPoint.RESTORE_STAGED)
        _write_stage(context, plan, assembled, tell)
        journal_moves.check_unchanged(context.files, journal.moves)
        _check_running(plan)
    except OSError as error:
        clean_up_journal(context, journal)
        raise RestoreError.RESTORE_FAILED(f"{describe_refusal(error)}; nothing was changed") from error
    except (LifeboatError, KeyboardInterrupt):
        with defer_interrupt():
            clean_up_journal(context, journal)
        raise
    return journal


def _begin_to_move(context: Context, journal: RestoreJournal) -> RestoreJournal:
    """Return the journal in phase `moving`: from here on it is carried out to its end, by this process or the next."""
    moving = replace(journal, phase=MOVING)
    try:
        crash_points.reach_crash_point(CrashPoint.RESTORE_JOURNAL_WRITTEN)
        journals.begin_journal(context.home, context.files, moving)
    except OSError as error:
        clean_up_journal(context, journal)
        raise RestoreError.RESTORE_FAILED(f"{describe_refusal(error)}; nothing was changed") from error
    return moving


def _write_stage(context: Context, plan: RestorePlan, assembled: AssembledJournal, tell: Tell) -> None:
    journal = assembled.journal
    files = journal_moves.open_without_links(context.files, journal)
    planned = len(assembled.files) + (0 if assembled.tree is None else len(assembled.tree[1]))
    tell_of = count_units(tell, "Writing files", planned)
    stage = FileStager(files, plan.state, plan.filler, tell_of, lambda: make_scratch_folder(context, "database"))
    if plan.makes_home and plan.installation is not None and plan.installation.state_dir:
        files.make_folders(plan.installation.state_dir, 0o700)
    for folder in journal.work:
        files.make_folders(text_to_path(folder).parent)
        files.make_folders(text_to_path(folder), 0o700)
    if assembled.tree is not None:
        stage.write_tree(*assembled.tree)
        mode = plan.target.stat().st_mode & 0o7777 if plan.target.is_dir() else find_workspace_mode(plan.state)
        files.set_mode(assembled.tree[0], mode)
    for path, item in assembled.files:
        stage.write(path, item)
    for folder in journal.work:
        files.sync_file_system(text_to_path(folder))


def carry_out_journal(context: Context, journal: RestoreJournal, tell: Tell = tell_nobody) -> dict[str, int]:
    """Run a journal in phase `moving`, under the locks that the runtime takes for the files; return the result of
    `roll_forward`. If the file system refuses a step, put everything back."""
    with contextlib.ExitStack() as held:
        _lock_targets(context, journal, held)
        try:
            return journal_moves.roll_forward(
                context.files, journal, count_units(tell, "Moving the restored files into place", journal.renames)
            )
        except OSError as error:
            _take_back(context, journal, error)


def _lock_targets(context: Context, journal: RestoreJournal, held: contextlib.ExitStack) -> None:
    """Take the runtime's locks, and check that it wrote none of these files meanwhile. If not, drop the journal."""
    adapter = context.adapter(RestoreReport.from_json(journal.report).runtime)
    workspace, files = text_to_path(journal.workspace), journal_moves.open_without_links(context.files)
    named = [(move, find_lock(adapter, workspace, text_to_path(move.target))) for move in journal.moves]
    locks = [lock for _, lock in named if lock is not None]
    try:
        held.enter_context(hold_runtime_locks(files, adapter, locks))
        journal_moves.check_unchanged(context.files, [move for move, lock in named if lock is not None])
    except OSError as error:
        _drop_journal(context, journal)
        raise RestoreError.RESTORE_FAILED(f"{describe_refusal(error)}; nothing was changed") from error
    except LifeboatError:
        _drop_journal(context, journal)
        raise


def _drop_journal(context: Context, journal: RestoreJournal) -> None:
    staged = replace(journal, phase=STAGING)
    journals.write_document(context.files, journals.locate_journal(context.home, journal.id), staged)
    clean_up_journal(context, staged)


def _take_back(context: Context, journal: RestoreJournal, error: OSError) -> NoReturn:
    """Put everything back. Afterwards nothing is rolled forward, so the staged files can be removed one by one."""
    try:
        journal_moves.roll_back(context.files, journal)
        journals.write_document(
            context.files, journals.locate_journal(context.home, journal.id), replace(journal, phase=STAGING)
        )
    except OSError as second:
        raise RestoreError.RESTORE_FAILED(
            f"{describe_refusal(error)}; restoring the previous files failed too "
            f"({describe_refusal(second)}); the next Lifeboat command completes or discards the restore",
            fix=journal_moves.suggest_way_out(second),
        ) from error
    clean_up_journal(context, replace(journal, phase=STAGING))
    raise RestoreError.RESTORE_FAILED(
        f"{describe_refusal(error)}; the previous files were restored", fix=journal_moves.suggest_way_out(error)
    ) from error
