"""Turn a scan into a draft: read what changed, derive documents and memories from it, and check for losses."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from lifeboat_adapters.contract import DerivationContext, Installation
from lifeboat_adapters.stable_reads.file_reading import has_usual_rights
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.archive.archive_names import to_archive_name
from lifeboat_alf.common import json_codec, times
from lifeboat_alf.common.json_shapes import as_object
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import partitions
from lifeboat_alf.memory.mass_removal import MassRemovalLimits as LossLimits
from lifeboat_alf.memory.mass_removal import is_workspace_file
from lifeboat_alf.memory.partitions import PartitionLedger
from lifeboat_alf.memory.record_lifecycle import RecordContext, RecordStep
from lifeboat_alf.states import entry_metas
from lifeboat_alf.states.agent_state import Entry
from lifeboat_core.agents import withheld_items
from lifeboat_core.capture import (
    artifact_references,
    capability_links,
    mass_loss_guard,
    multi_file_stores,
    rewrite_guard,
    secret_lookalikes,
    sequence_commit,
)
from lifeboat_core.capture.capture_report import CAPTURE
from lifeboat_core.capture.capture_session import CaptureSession
from lifeboat_core.capture.derived_documents import IDENTITY, DerivedDocuments
from lifeboat_core.capture.file_capture import FileCapture
from lifeboat_core.capture.known_installation import is_workspace_accepted
from lifeboat_core.capture.large_artifacts import ArtifactLimits, LargeArtifacts
from lifeboat_core.capture.memory_capture import MemoryCapture, MemoryLookup, MemoryOrigin, MemoryOutcome
from lifeboat_core.capture.rewrite_guard import FileRewrite
from lifeboat_core.capture.row_capture import RowCapture
from lifeboat_core.capture.row_cuts import FILE as ROWS
from lifeboat_core.capture.runtime_tables import CapturedTables, RuntimeTables
from lifeboat_core.capture.secret_cutter import CutDecisions, SecretCutter
from lifeboat_core.capture.workspace_survey import WorkspaceSurvey
from lifeboat_core.history import vault_quota
from lifeboat_core.machine import clock_trust
from lifeboat_core.state.state_documents import ALL, HOME_MODE, PROFILES, RIGHTS, WORKSPACE_MODE
from lifeboat_core.texts.human_text import path_text, quote_argument
from lifeboat_vault.vault import SequenceRow

Measures = tuple[list[SequenceRow], int, datetime, LossLimits]
"""The inputs by which the guard measures a loss."""

FORGOTTEN = "forgotten"
"""The vault's decision that lists memories the user dropped although a file holds them."""

SHARING = "sharing"
"""The fact of `state.db` that says which part of the files that agents share was this agent's."""


class CaptureWork:
    """The work of one capture. Its results are in the session's overlay and report; `counts` has them in numbers;
    `tree` and `stored` have what the caches must store, `links` what the vault must."""

    def __init__(self, session: CaptureSession, seen: WorkspaceSurvey) -> None:
        self._session, self._seen = session, seen
        self.outcome = MemoryOutcome()
        self.counts: JsonObject = {}
        self.stored: CapturedTables | None = None
        self.links: list[list[str]] | None = None
        self.cutter = SecretCutter(
            seen.adapter,
            seen.installation,
            session.context.keys(),
            session.agent.id,
            session.overlay,
            CutDecisions.of(session.vault),
            session.now,
            session.keep_out,
        )
        self._databases = RuntimeTables(session, seen, self.cutter)
        self.tree = FileCapture(
            files=seen.scan.files,
            overlay=session.overlay,
            cutter=self.cutter,
            report=session.report,
            attachment_id=lambda path: session.stable_id("attachment", path),
            large=self._large_files(),
            now=session.now,
            started_ns=seen.started_ns,
            staging=locate_staging(session),
            elsewhere=self._databases.secrets_elsewhere,
            share=lambda path, data: seen.adapter.share(seen.installation, path, data),
            matters=seen.adapter.matters,
            lookalikes=secret_lookalikes.read_lookalikes(session.db),
            unread=secret_lookalikes.read_opaque_files(session.db),
            paced=session.paced,
            withheld=withheld_items.list_withheld_paths(session.vault),
            keep_out=session.keep_out,
            let_in=f"lifeboat purge {quote_argument(session.agent.name)} --let-in",
            runtime=seen.adapter.runtime,
        )
        self.rows = RowCapture(session, seen, self.cutter, self.tree, self._databases)

    def _large_files(self) -> LargeArtifacts:
        session = self._session
        threshold, max_file, max_total, interval = (
            session.setting(f"artifacts.{name}") for name in ("threshold", "max_file", "max_total", "interval")
        )
        limits = ArtifactLimits(threshold, max_file, max_total, timedelta(seconds=interval))
        measure = partial(vault_quota.measure_quota_with, session.context, session.vault, session.setting)
        return LargeArtifacts(limits, session.db.large(), session.now, session.agent.name, measure)

    # Files ------------------------------------------------------------------------------------------------------

    def read(self) -> None:
        """Read what changed in the tree and in the runtime's databases."""
        found, report = self._seen.scan, self._session.report
        settled = multi_file_stores.hold_back_busy_stores(found, self._seen.started_ns)
        report.unread.update({to_archive_name(native)[0]: why for native, why in found.unread.items()})
        report.unstable.update({to_archive_name(native)[0]: why for native, why in found.held_back.items()})
        report.unread.update(found.missing_roots)
        report.skipped = found.skipped
        report.left_out.update(found.refused)
        everything = not self._seen.trusted or self.cutter.is_outdated
        # Secrets in stores of the runtime have to be known before the first file is cut.
        again = self.tree.withheld | self.cutter.holders_of_shut()
        waiting = any(path.startswith(self._databases.prefix) for path in again)
        stored = self._databases.read(everything=everything or waiting)
        everything = self._learned(stored) or everything
        rows_changed = self.rows.look()
        self.tree.take(
            found,
            self._seen.known,
            self._seen.roots,
            everything=everything,
            anew=self._shared_anew(),
            rows_follow=stored is not None or rows_changed,
        )
        self._take_back_changed(settled)
        prefix = self._databases.prefix
        if stored is None and self.tree.reads_everything and prefix not in report.unread:
            stored = self._databases.read(everything=True)
            self._learned(stored)
        if stored is not None:
            former = [entry.path for entry in self._session.state.entries(prefix)] if self._session.state else []
            self.tree.put_rows(stored.tables, [path for path in former if not path.endswith(ROWS)], stored.kept.files)
        self.stored = stored
        self.rows.read(changed=rows_changed, everything=self.tree.reads_everything)

    def _take_back_changed(self, settled: Iterable[multi_file_stores.MultiFileStore]) -> None:
        """Undo the capture of stores that were written while they were read, or of which a large file waits: they would
        mix several states."""
        report = self._session.report
        for store in settled:
            is_new = any(found.path in self.tree.changed for found in store.files)
            is_new = is_new or any(name.startswith(store.name) for name in self.tree.unseen)
            if any(found.path in report.late for found in store.files):
                report.late[store.name] = multi_file_stores.LATE
            elif is_new and not multi_file_stores.is_unchanged(self._seen.scan.files, store):
                report.unstable[store.name] = multi_file_stores.CHANGED
            else:
                continue
            for found in store.files:
                self.tree.take_back(found)
            self.tree.take_back_removals(store.name, self._seen.known)

    def _shared_anew(self) -> tuple[str, ...]:
        """Return the prefixes of files that agents share, if this agent's part of them changed, or while values in them
        could not be opened, because the key may be there now."""
        is_same = self._seen.installation.sharing == (self._session.db.get(SHARING) or "")
        if is_same and not self.cutter.holds_locked():
            return ()
        return tuple(root.prefix for root in self._seen.roots[1:])

    def _learned(self, stored: CapturedTables | None) -> bool:
        """Return whether a store holds a new secret, which may be in any file."""
        return stored is not None and self.cutter.learn(stored.secrets())

    # What follows from them -------------------------------------------------------------------------------------

    def derive(self) -> Iterator[RecordStep]:
        """Yield the record lines to write. Documents come first, because memories carry the identity's version and the
        principal's id. Overlay, report and counts are complete after the last line."""
        session, changed = self._session, self.tree.changed
        first = session.head is None
        head = self._taken_over(sequence_commit.read_head(session.overlay))
        ledger = self._ledger(head, first=first)
        if not first:
            self._seal(ledger)
        if changed or first or self.rows.differ:
            about = DerivationContext(self._named(), session.agent.id, session.stable_id)
            documents = DerivedDocuments(session.overlay, about, session.now, head)
            documents.derive(self._seen.adapter.derivations(), changed, everything=first)
            yield from self._remember(documents, ledger)
        if first:
            self._seal(ledger)
        self.cutter.finish()
        self._link(first=first)
        sequence_commit.write_head(session.overlay, self._described(head), ledger)
        self._count()

    def _named(self) -> Installation:
        """Return the installation with known secrets masked in its names, because the agent itself writes them."""
        found, cutter = self._seen.installation, self.cutter
        version = None if found.version is None else cutter.without_values(found.version)
        return replace(found, name=cutter.without_values(found.name), version=version)

    def _link(self, *, first: bool) -> None:
        """Link capabilities with credentials, if anything that this depends on has changed."""
        session, adapter = self._session, self._seen.adapter
        said = {archive_layout.IDENTITY, archive_layout.CREDENTIALS} & session.overlay.puts.keys()
        reads = [one.reads for one in adapter.derivations() if one.document == IDENTITY]
        if not (first or said or any(read(path) for read in reads for path in self.tree.changed)):
            return
        identity = session.overlay.read(archive_layout.IDENTITY)
        needs = (
            adapter.credentials.needs(session.overlay, json_codec.decode_json(identity))
            if identity and adapter.credentials is not None
            else []
        )
        self.links = capability_links.update_links(
            session.overlay, needs, self.cutter.places(), session.vault.get(capability_links.DECISION)
        )

    def _taken_over(self, head: JsonObject) -> JsonObject:
        """Update the head document of an agent that comes from another runtime. The files of that runtime stay, with
        the sequence of their last capture."""
        agent, runtime = head.get("agent", {}), self._seen.adapter.runtime
        former = agent.get("source_runtime", runtime)
        if former != runtime:
            kept = {name: value for name, value in agent.items() if name != "source_runtime_version"}
            head["agent"] = {**kept, "source_runtime": runtime}
            known = head.get("raw_state")
            states = {str(former): self._session.head.number} if self._session.head is not None else {}
            states = {**(known if isinstance(known, dict) else {}), **states}
            head["raw_state"] = {name: number for name, number in states.items() if name != runtime}
            self._keep_version(head, str(former))
        return head

    def _keep_version(self, head: JsonObject, former: str) -> None:
        """Note which identity version the files of the former runtime describe. While it is current, they need not be
        rendered again."""
        identity = self._session.overlay.read(archive_layout.IDENTITY)
        if identity is not None:
            known = head.get("raw_identity")
            version = json_codec.decode_json(identity).get("version")
            head["raw_identity"] = {**(known if isinstance(known, dict) else {}), former: version}

    def _ledger(self, head: JsonObject, *, first: bool) -> PartitionLedger:
        wanted = self._session.setting("memory.granularity")
        known = head.get("partition_granularity", wanted)
        now = times.parse_time(self._session.now)
        ledger = PartitionLedger(partitions.from_head(head), now, known, first_capture=first)
        if wanted != known:
            ledger.switch(wanted)
        return ledger

    def _seal(self, ledger: PartitionLedger) -> None:
        """Close past periods, but only when the clock is trusted, and by the clock itself: the time of a sequence may
        come from a clock that was ahead."""
        context = self._session.context
        if clock_trust.is_clock_trusted(context, self._session.head):
            now = times.parse_time(min(self._session.now, context.now()))
            self._session.report.sealed = [partition.file for partition in ledger.seal(now)]

    def _remember(self, documents: DerivedDocuments, ledger: PartitionLedger) -> Iterator[RecordStep]:
        session, changed = self._session, self.tree.changed
        mint = sequence_commit.RecordIdMinter(session.vault)
        scribe = RecordContext(session.agent.id, ledger, mint, documents.identity_version(), mint.claim)
        origin = MemoryOrigin(self._seen.adapter.runtime, self._named().version, documents.primary())
        forgotten = frozenset(session.vault.get(FORGOTTEN) or ())
        db = session.db
        prefix = archive_layout.raw_prefix(self._seen.adapter.runtime)
        lookup = MemoryLookup(
            session.state,
            (lambda text: []) if session.state is None else session.vault.records_with_content,
            db.winner,
            partial(db.is_listed, prefix=prefix),
            partial(db.unlisted_of, prefix=prefix),
            forgotten,
        )
        memories = MemoryCapture(session.overlay, self._seen.adapter, scribe, origin, lookup)
        self.outcome = memories.outcome
        yield from memories.take(path for path in changed if path.startswith(archive_layout.RAW))
        yield from self.rows.take(scribe, origin, lookup, memories)
        if self.outcome.counts or any(path.startswith(archive_layout.ARTIFACTS) for path in changed):
            artifact_references.update_references(
                session.overlay, session.db, self.outcome.written, self.outcome.dropped
            )

    def _described(self, head: JsonObject) -> JsonObject:
        """Return the head document with the fields that no derivation sets."""
        runtime, version = self._seen.adapter.runtime, self._named().version
        name = self.cutter.without_values(self._session.agent.name)
        about = {"id": self._session.agent.id, "name": name, "source_runtime": runtime}
        if version is not None:
            about["source_runtime_version"] = version
        head["agent"] = {**about, **head.get("agent", {}), "id": self._session.agent.id}
        self._describe_rights(head)
        self._describe_profile(head)
        head["artifact_size_threshold"] = self._session.setting("artifacts.threshold")
        head["raw_sources"] = list(dict.fromkeys([*head.get("raw_sources", []), runtime]))
        return head

    def _describe_profile(self, head: JsonObject) -> None:
        """Include the folder profile of a runtime that the user described: no other machine has it."""
        adapter = self._seen.adapter
        texts = {name: text for name, text in as_object(head.get(PROFILES)).items() if name != adapter.runtime}
        if adapter.profile_text:
            texts[adapter.runtime] = self.cutter.without_values(adapter.profile_text)
        if texts:
            head[PROFILES] = texts
        else:
            head.pop(PROFILES, None)

    def _describe_rights(self, head: JsonObject) -> None:
        """Set the rights of the root folders. Those of the state directory stay as they were while it is not there."""
        if self._session.head is None and os.name != "nt":
            head[RIGHTS] = ALL
        held = self._seen.scan.files
        mode = held.status_of(held.folder_of[self._seen.workspace.prefix]).st_mode
        _set(head, WORKSPACE_MODE, "" if has_usual_rights(mode) else f"{mode & 0o777:03o}")
        state_dir = self._seen.installation.state_dir
        if state_dir is not None and state_dir.is_dir() and os.name != "nt":
            mode = state_dir.stat().st_mode & 0o777
            _set(head, HOME_MODE, "" if mode == stat.S_IRWXU else f"{mode:03o}")

    def _count(self) -> None:
        report, overlay = self._session.report, self._session.overlay
        report.records.update(self.outcome.counts)
        files = dict.fromkeys(("put", "patched", "removed"), 0)
        for path, put in overlay.puts.items():
            if path.startswith((archive_layout.RAW, archive_layout.ARTIFACTS)) and (
                put is None or put.body is not None
            ):
                old = overlay.old(path)
                what, entry = ("removed", old) if put is None else ("put" if old is None else "patched", put)
                report.raw[what] += 1
                files[what] += entry is not None and self._is_file(path, entry.meta)
        self.counts["records"] = {name: report.records[name] for name in ("created", "updated", "deleted")}
        self.counts["raw"] = {name: report.raw[name] for name in ("put", "patched", "removed")}
        self.counts[mass_loss_guard.FILES] = {name: files[name] for name in ("put", "removed")}

    # The guard --------------------------------------------------------------------------------------------------

    def guard(self) -> None:
        """Mark the capture as held if its loss looks like an accident, and pin the sequence before it. The capture is
        committed anyway."""
        session = self._session
        session.report.held = session.vault.get(mass_loss_guard.DECISION)
        if session.head is None or session.kind != CAPTURE or session.report.held is not None:
            return
        if self._seen.is_empty and is_workspace_accepted(session):
            return
        what, reason = mass_loss_guard.MEMORIES, self._judge() if self.outcome.counts["deleted"] else None
        if reason is None and session.report.raw["removed"]:
            what, reason = mass_loss_guard.FILES, self._judge_files()
        decision: JsonObject = {"reason": reason, "what": what, "previous": session.head.number, "time": session.now}
        if reason is None and (rewrite := self._find_rewrite_to_hold()) is not None:
            reason = rewrite.reason
            decision |= {"reason": reason, "what": rewrite_guard.REWRITE, "path": rewrite.path}
        if reason is not None:
            session.vault.pin(session.head.number, mass_loss_guard.PIN)
            session.vault.set(mass_loss_guard.DECISION, decision, kind="held")
            session.report.held = decision

    def _find_rewrite_to_hold(self) -> FileRewrite | None:
        """Return the first rewritten file if the setting `review` holds it. With `inform`, report every one instead."""
        session = self._session
        policy = session.setting("review")
        if policy == rewrite_guard.OFF:
            return None
        found = list(self._rewrites())
        if policy == rewrite_guard.HOLD:
            return next(iter(found), None)
        see = f"lifeboat review {quote_argument(session.agent.name)}"
        session.report.warnings += [f"{one.reason}; to see the changes: {see}" for one in found]
        return None

    def _rewrites(self) -> Iterator[FileRewrite]:
        """Yield the files with memories that this capture rewrote. A file that was removed counts if several of its
        memories are lost; otherwise it was renamed."""
        overlay = self._session.overlay
        for path in sorted(overlay.puts):
            old = overlay.old(path)
            is_removed = overlay.meta(path) is None
            if old is None or not _memories_in(old.meta):
                continue
            if is_removed and self.outcome.lost[path] < rewrite_guard.LEAST_REMOVED:
                continue
            before, after = overlay.old_body(path) or b"", overlay.read(path) or b""
            if (found := rewrite_guard.judge_rewrite(path, path_text(path), before, after)) is not None:
                yield found

    def _judge(self) -> str | None:
        session, counts = self._session, self.outcome.counts
        before = session.db.connection.execute("select count(*) from memory").fetchone()[0]
        old = {path: session.overlay.old(path) for path in self.outcome.lost}
        held = {path: _memories_in(entry.meta if entry else None) for path, entry in old.items()}
        left = {path: _memories_in(session.overlay.meta(path)) for path in self.outcome.lost}
        if (sizes := self.rows.sizes()) is not None:
            held[sizes[0]], left[sizes[0]] = sizes[1:]
        change = mass_loss_guard.MemoryTurnover(
            before, counts["created"], counts["deleted"], self.outcome.lost, held, left
        )
        return mass_loss_guard.judge_memories(change, *self._measures())

    def _judge_files(self) -> str | None:
        entries = (
            entry for prefix in (archive_layout.RAW, archive_layout.ARTIFACTS) for entry in self._old_below(prefix)
        )
        before, changed = (
            sum(self._is_file(entry.path, entry.meta) for entry in entries),
            self.counts[mass_loss_guard.FILES],
        )
        return mass_loss_guard.judge_files(
            mass_loss_guard.FileTurnover(before, changed["put"], changed["removed"]), *self._measures()
        )

    def _is_file(self, path: str, meta: JsonObject) -> bool:
        return is_workspace_file(path, meta, self._seen.adapter.runtime)

    def _old_below(self, prefix: str) -> Iterator[Entry]:
        head = self._session.overlay.head
        return iter(()) if head is None else head.entries(prefix)

    def _measures(self) -> Measures:
        """Return earlier sequences, the one to count from, the time, and the limits."""
        session = self._session
        accepted = (session.vault.get(mass_loss_guard.ACCEPTED) or {}).get("sequence", -1)
        verified = session.vault.last_verified()
        limits = LossLimits(session.setting("held.share"), session.setting("held.minimum"))
        since = max(accepted, -1 if verified is None else verified)
        return list(session.vault.sequences()), since, times.parse_time(session.now), limits


def _set(head: JsonObject, name: str, value: str) -> None:
    """Set or remove a field of the head document. An existing field keeps its position, because another order would be
    a change."""
    if value:
        head[name] = value
    else:
        head.pop(name, None)


def _memories_in(meta: JsonObject | None) -> int:
    return len((meta or {}).get(entry_metas.RECORDS, []))


def locate_staging(session: CaptureSession) -> Path:
    """Return the folder where cut copies of large files wait for the commit."""
    return session.context.home.state_folder / f"{session.agent.id}.staged"
