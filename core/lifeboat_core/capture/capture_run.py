"""Run one capture, from the lock to the caches: what is new in an agent's workspace becomes one signed sequence."""

from __future__ import annotations

import contextlib
import gc
import shutil
import sqlite3
from collections.abc import Iterable, Iterator

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.refusal_texts import describe_refusal
from lifeboat_alf.memory import record_lifecycle
from lifeboat_alf.memory.effective_view import visible_records
from lifeboat_alf.memory.mass_removal import MassRemovalLimits
from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_alf.states import entry_metas
from lifeboat_core.agents import withheld_items
from lifeboat_core.agents.agent import Agent
from lifeboat_core.agents.locks import agent_lock
from lifeboat_core.capture import (
    capability_links,
    mass_loss_guard,
    not_captured,
    rewrite_guard,
    runtime_tables,
    secret_lookalikes,
)
from lifeboat_core.capture.capture_report import (
    CAPTURE,
    CAPTURED,
    FAILED,
    FIX,
    KINDS,
    LAST_CAPTURE,
    NAMED,
    NOT_READ,
    OVER_LIMIT,
    PENDING,
    ROOT_MISSING,
    UNCHANGED,
    CaptureReport,
)
from lifeboat_core.capture.capture_session import CaptureSession
from lifeboat_core.capture.capture_work import SHARING, CaptureWork, locate_staging
from lifeboat_core.capture.known_installation import is_workspace_accepted, remember_installation
from lifeboat_core.capture.secret_cutter import DECISION as SECRETS
from lifeboat_core.capture.secret_cutter import EXPOSED
from lifeboat_core.capture.sequence_commit import SEEN_AT, commit_sequence, refuse_conflicts
from lifeboat_core.capture.workspace_survey import IGNORE, MOUNTS, ROOT, RULES, WorkspaceSurvey, survey_workspace
from lifeboat_core.errors import Busy, DiskFull, UnexpectedError
from lifeboat_core.home.context import Context
from lifeboat_core.machine import clock_trust
from lifeboat_core.memories import memory_search
from lifeboat_core.state.state_db import StateDb, delete_cache, is_write_refusal
from lifeboat_core.system_refusals import convert_error, convert_system_error, convert_system_errors
from lifeboat_core.texts.human_text import quote_argument
from lifeboat_vault.errors import RedactedMeanwhile, VaultFull, VaultUnusable
from lifeboat_vault.vault import SequenceRow, Vault

_CACHE_LOST = "the next capture reads every file again"


def capture_agent(
    context: Context, agent: Agent, *, kind: str = CAPTURE, full: bool = False, paced: bool = False
) -> CaptureReport:
    """Capture what changed in an agent's workspace; nothing in the workspace is written.

    `kind` is the kind of the sequence (capture, restore, adopt). `full` reads every file regardless of its stat.
    `paced` postpones large files that were captured a short time ago (`artifacts.interval`). Raises Busy,
    SystemRefused, DiskFull, and what the vault, the keys and the adapter raise. Files that cannot be read are in the
    report.
    """
    with convert_system_errors(), agent_lock(context, agent.id, "capture"), context.vault(agent.id) as vault:
        try:
            _complete_keys(context)
            return _with_any_caches(context, agent, vault, kind, full=full, paced=paced)
        except Exception as error:
            _note_failure(context, agent, vault, error)
            raise


def _note_failure(context: Context, agent: Agent, vault: Vault, error: Exception) -> None:
    """Store the failure for `status`. If the same cause prevents that, only the command reports it."""
    known = convert_error(error)
    why = f"{known.title}: {known.message}" if isinstance(known, UnexpectedError) else known.message
    with contextlib.suppress(OSError, sqlite3.Error), StateDb.open(context.home.state_file(agent.id), vault.id) as db:
        db.put(LAST_CAPTURE, {**(db.get(LAST_CAPTURE) or {}), FAILED: why})


def _with_any_caches(
    context: Context, agent: Agent, vault: Vault, kind: str, *, full: bool, paced: bool
) -> CaptureReport:
    """Capture with the present caches, and again with new ones if they are damaged or a redaction came meanwhile."""
    try:
        with contextlib.suppress(RedactedMeanwhile):
            return _with_caches(context, agent, vault, kind, full=full, paced=paced)
        return _with_caches(context, agent, vault, kind, full=True, paced=paced)
    except sqlite3.DatabaseError as error:
        if isinstance(convert_system_error(error), Busy | DiskFull):
            raise
        delete_cache(context.home.state_file(agent.id))
        return _with_caches(context, agent, vault, kind, full=full, paced=paced)


def _complete_keys(context: Context) -> None:
    """Create missing keys that this machine can make by itself. Raises NoKey when the user's key was lost."""
    keys = context.keys()
    if keys.is_complete:
        _ = keys.device
    else:
        _ = keys.public
        keys.ensure()


def _with_caches(context: Context, agent: Agent, vault: Vault, kind: str, *, full: bool, paced: bool) -> CaptureReport:
    """Capture with the caches of `state.db`. Raises sqlite3.DatabaseError when they are damaged; the vault and the
    workspace have all that they hold."""
    with StateDb.open(context.home.state_file(agent.id), vault.id) as db, _without_collector():
        report = _run(CaptureSession.begin(context, agent, vault, db, kind, paced=paced), full=full)
        if not db.is_lasting:
            report.warnings.append(f"{db.path} cannot be written, so {_CACHE_LOST}")
        row = vault.head() if report.outcome == CAPTURED else None
        with _said_once_committed(report, row):
            memory_search.update_index(db, vault)
        return report


def capture_into(context: Context, agent: Agent, vault: Vault, db: StateDb) -> CaptureReport:
    """Read a workspace completely into a given vault: a copy for an export or a comparison. The caller holds the
    agent's lock. Raises what `capture_agent` raises."""
    with _without_collector():
        return _run(CaptureSession.begin(context, agent, vault, db, CAPTURE), full=True)


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    """Disable garbage collection: a capture makes many small objects and no cycles, and collecting took a third of a
    large agent's first capture."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _run(session: CaptureSession, *, full: bool) -> CaptureReport:
    seen = survey_workspace(session, full=full)
    if seen is None:
        _note(session, None)
        return session.report
    reach_crash_point(CrashPoint.CAPTURE_SCANNED)
    work = CaptureWork(session, seen)
    _clear_staging(session)  # left by a killed capture
    try:
        work.read()
        reach_crash_point(CrashPoint.CAPTURE_READ)
        lines: Iterable[record_lifecycle.RecordStep] = work.derive()
        if session.head is not None:
            lines = list(lines)  # they are few, and the guard judges all of them together
        reach_crash_point(CrashPoint.CAPTURE_DERIVED)
        row = _commit(session, work, lines)
    finally:
        _clear_staging(session)
    reach_crash_point(CrashPoint.CAPTURE_COMMITTED)
    with _said_once_committed(session.report, row):
        _cache(session, seen, work, row)
    reach_crash_point(CrashPoint.CAPTURE_CACHED)
    return session.report


@contextlib.contextmanager
def _said_once_committed(report: CaptureReport, row: SequenceRow | None) -> Iterator[None]:
    """Turn an error after the commit into a warning: the sequence exists, only the caches are incomplete. Errors before
    the commit, and damaged caches, are raised."""
    try:
        yield
    except (OSError, sqlite3.Error, VaultFull, VaultUnusable) as error:
        is_damage = isinstance(error, sqlite3.Error) and not is_write_refusal(error)
        if row is None or is_damage:
            raise
        report.warnings.append(f"the agent was captured, but {_CACHE_LOST}: {describe_refusal(error)}")


def _clear_staging(session: CaptureSession) -> None:
    shutil.rmtree(locate_staging(session), ignore_errors=True)


def _commit(
    session: CaptureSession, work: CaptureWork, lines: Iterable[record_lifecycle.RecordStep]
) -> SequenceRow | None:
    work.guard()
    if session.head is not None:
        work.rows.decide()
    report, overlay = session.report, session.overlay
    if not overlay.puts and not lines:
        return None
    if work.cutter.exposed and session.head is not None:
        former = session.vault.get(EXPOSED) or {}
        found = dict.fromkeys(sorted(work.cutter.exposed), session.head.number)
        session.vault.set(EXPOSED, former | found, kind="secrets")
        memory_search.erase_index(session.db)
    refuse_conflicts(overlay, session.agent.runtime)
    row = commit_sequence(
        session.context,
        session.vault,
        overlay,
        lines,
        kind=session.kind,
        time=session.now,
        counts=work.counts,
        purges=session.purges,
    )
    if row is not None:
        report.outcome, report.sequence, report.delta_bytes = CAPTURED, row.number, row.bytes
    return row


def _cache(session: CaptureSession, seen: WorkspaceSurvey, work: CaptureWork, row: SequenceRow | None) -> None:
    """Store what makes the next capture quick. This runs after the commit: if it is interrupted, the next capture is
    only slower."""
    memory = work.cutter.changed_memory()
    if memory is not None:
        session.vault.set(SECRETS, memory, kind="secrets")
    if work.links is not None:
        session.vault.set(capability_links.DECISION, work.links, kind="links")
    remember_installation(session.vault, seen.installed, session.agent)
    _note_kept_out(session, work)
    work.rows.decide()
    withheld_items.note_gaps(session.vault, work.cutter.gaps)
    if work.tree.withheld or work.rows.arrived:
        stored = work.stored.tables.keys() | work.stored.kept.arrived if work.stored is not None else set()
        files = {one.path for one in seen.scan.found.values()}
        withheld_items.forget_items_that_exist(session.vault, files | stored | work.rows.arrived)
    if row is not None and seen.is_empty and is_workspace_accepted(session):
        session.vault.set(mass_loss_guard.ACCEPTED, {"sequence": row.number, "time": session.now}, kind="accepted")
    if row is not None:
        _end_hold(session, row)
        clock_trust.note_clock(session.context, row)
    head = row or session.head
    facts: JsonObject = {
        SEEN_AT: None if head is None else head.number,
        RULES: seen.rules,
        ROOT: seen.scan.files.identity_of(seen.workspace),
        IGNORE: seen.ignore,
        SHARING: seen.installation.sharing or None,
        MOUNTS: sorted({*seen.scan.mounts, *(session.db.get(MOUNTS) or ())}) or None,
        secret_lookalikes.FACT: secret_lookalikes.places_to_json(work.tree.lookalikes),
        secret_lookalikes.UNREAD: work.tree.unread or None,
        not_captured.FILES: session.report.stale_files() or None,
        **({} if work.stored is None else {runtime_tables.FACT: work.stored.stats}),
    }
    _write(session, seen, work, {key: value for key, value in facts.items() if session.db.get(key) != value})
    _note(session, row)


def _note_kept_out(session: CaptureSession, work: CaptureWork) -> None:
    """Store where purged text is in live files, for `status`, and end the filter when there is none any more."""
    if not session.keep_out:
        return

    def present(path: str) -> bool:
        return path == work.rows.name or session.overlay.meta(path) is not None

    report = session.report
    report.kept_out, report.purged_again = session.keep_out.remember(
        session.vault, session.now, everything=work.tree.reads_everything and report.complete, present=present
    )


def _end_hold(session: CaptureSession, row: SequenceRow) -> None:
    """End a hold once a restore, or the user, brought back the memories or files that were removed."""
    held, report = session.report.held, session.report
    if held is None:
        return
    if held.get("what") == rewrite_guard.REWRITE:
        _end_hold_of_rewrite(session, row, held)
        return
    of_files = held.get("what") == mass_loss_guard.FILES
    if session.kind == CAPTURE and not (report.raw["put"] if of_files else report.records["created"]):
        return
    vault, previous = session.vault, int(held["previous"])
    if session.kind == CAPTURE and row.number == previous + 1:
        return  # this capture is the loss itself, so new files in it are not the lost ones
    limits = MassRemovalLimits(session.setting("held.share"), session.setting("held.minimum"))
    names = _file_paths if of_files else _memory_ids
    if of_files:
        before = _file_paths(session, previous)
    else:
        before = {each.record["id"] for each in visible_records(vault.state(previous))}
    # Earlier losses may have added up to this one: the last loss alone can be below the minimum.
    is_kept = any(each.number == previous + 1 for each in vault.sequences())
    lost = len(before - names(session, previous + 1)) if is_kept else limits.minimum
    if mass_loss_guard.is_loss_over(before, names(session, row.number), lost, limits):
        _release(session, previous)


def _end_hold_of_rewrite(session: CaptureSession, row: SequenceRow, held: JsonObject) -> None:
    """End a hold once most of the former text is in its file again."""
    previous, path = int(held["previous"]), str(held["path"])
    bodies = [_body_at(session, number, path) for number in (previous, row.number)]
    if rewrite_guard.measure_rewrite(*bodies) <= rewrite_guard.REWRITTEN_SHARE:
        _release(session, previous)


def _body_at(session: CaptureSession, number: int, path: str) -> bytes:
    try:
        return session.vault.state(number).body(path)
    except KeyError:  # also BodyAbsent
        return b""


def _release(session: CaptureSession, previous: int) -> None:
    session.vault.unpin(previous, mass_loss_guard.PIN)
    session.vault.set(mass_loss_guard.DECISION, None, kind="restored")
    session.report.held = None


def _memory_ids(session: CaptureSession, number: int) -> set[str]:
    """Return the ids of every version of every memory of a sequence. A memory that is restored with another file time
    is a new version with a new id."""
    return {one for each in visible_records(session.vault.state(number)) for one in each.chain_ids}


def _file_paths(session: CaptureSession, number: int) -> set[str]:
    state = session.vault.state(number)
    entries = (entry for prefix in (archive_layout.RAW, archive_layout.ARTIFACTS) for entry in state.entries(prefix))
    return {entry.path for entry in entries if entry_metas.is_file(entry.meta)}


def _note(session: CaptureSession, row: SequenceRow | None) -> None:
    """Store what `status` shows of the last capture, if it changed."""
    report = session.report
    known = session.db.get(LAST_CAPTURE) or {}
    said: JsonObject = {
        **_not_captured(report, known, session.agent.name),
        "warnings": report.warnings,
        "absent": report.absent,
        "outcome": report.outcome,
        "no_room": report.no_room,
        "kept_out": report.kept_out,
        FAILED: None,
    }
    if report.outcome == CAPTURED:
        said["outcome"] = UNCHANGED
    if row is not None or said != {name: known.get(name) for name in said}:
        session.db.put(LAST_CAPTURE, {**said, "time": session.context.now()})


def _not_captured(report: CaptureReport, known: JsonObject, name: str) -> JsonObject:
    """Return what `parse_not_captured` reads. While the workspace is missing, the last known result stays: it says what
    no restore brings back."""
    if report.outcome == ROOT_MISSING:
        return {name: known[name] for name in (PENDING, NAMED, OVER_LIMIT, FIX, NOT_READ, KINDS) if name in known}
    return {
        PENDING: report.pending,
        NAMED: report.not_captured(f"lifeboat agents show {quote_argument(name)} --left-out"),
        OVER_LIMIT: len(report.over_limit),
        FIX: report.limit_fix,
        NOT_READ: len(report.unread),
        KINDS: report.pending_kinds(),
    }


def _write(session: CaptureSession, seen: WorkspaceSurvey, work: CaptureWork, facts: JsonObject) -> None:
    db, tree = session.db, work.tree
    changed = {name: one for name, one in tree.seen.items() if seen.known.get(name) != one}
    if not (facts or changed or tree.unseen or work.rows.has_news):
        return
    with db.transaction():
        if not seen.trusted:
            db.forget_seen()
            changed = {**seen.known, **tree.seen}
        db.put_seen(changed, tree.unseen)
        for path, large in tree.large.new.items():
            db.put_large(path, large.size, large.captured_at)
        for path in tree.changed:
            if not entry_metas.is_file(session.overlay.meta(path) or {"type": None}):
                db.drop_large(path)
        if work.rows.has_news:
            work.rows.remember()
        for key, value in facts.items():
            db.put(key, value)
