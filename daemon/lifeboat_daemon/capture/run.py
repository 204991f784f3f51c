"""One capture, from the lock to the caches: what is new in an agent's workspace becomes one signed sequence."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from lifeboat_adapters.contract import Adapter, DerivationContext, Installation, Root
from lifeboat_adapters.errors import AdapterError
from lifeboat_alf import codec, ids, layout, metas, partitions, times
from lifeboat_alf.lifecycle import Scribe
from lifeboat_alf.partitions import Ledger
from lifeboat_alf.seams.steps import Step, reached
from lifeboat_alf.state import State
from lifeboat_daemon import clock_trust, search
from lifeboat_daemon.agent import Agent
from lifeboat_daemon.capture import guard, names, references, scan
from lifeboat_daemon.capture.documents import Documents
from lifeboat_daemon.capture.ignore import FILE_NAME as IGNORE_FILE
from lifeboat_daemon.capture.ignore import parse as parse_ignore
from lifeboat_daemon.capture.overlay import Overlay
from lifeboat_daemon.capture.read import Unstable, read_file
from lifeboat_daemon.capture.records import Lookup, Memories, Origin, Outcome
from lifeboat_daemon.capture.report import CAPTURED, ROOT_MISSING, CaptureReport
from lifeboat_daemon.capture.scan import Known, Scan, StatKey
from lifeboat_daemon.capture.secrets import DECISION as SECRETS
from lifeboat_daemon.capture.secrets import Cutter
from lifeboat_daemon.capture.tree import Limits, Tree
from lifeboat_daemon.context import Context
from lifeboat_daemon.locks import agent_lock
from lifeboat_daemon.state_db import StateDb
from lifeboat_endpoint.vault import Draft, RecordPut, SequenceRow, Vault
from lifeboat_keys import signing

JsonObject = dict[str, Any]

CAPTURE = "capture"
FORGOTTEN = "forgotten"
_SEEN_AT, _RULES, _ROOT, _DATABASES, _IGNORE = "seen_at", "rules", "root", "databases", "ignore"
_NEVER_SEEN = StatKey(-1, -1, -1, -1, 0)


def capture(context: Context, agent: Agent, *, kind: str = CAPTURE, full: bool = False) -> CaptureReport:
    """Capture what changed in an agent's workspace; nothing in the workspace is written.

    `kind` is the kind of the sequence (capture, restore, adopt); `full` reads every file whatever its stat says.
    Raises Busy, and what the vault, the keys and the adapter raise; what cannot be read is in the report.
    """
    with (
        agent_lock(context, agent.id, "capture"),
        context.vault(agent.id) as vault,
        StateDb.open(context.home.state_file(agent.id), vault.id) as db,
    ):
        return Capture(context, agent, vault, db, kind).run(full=full)


@dataclass(slots=True)
class _Seen:
    """What is known of the tree before the scan. `trusted`: the cache is of the head, unchanged stats can be believed;
    `same_rules`: names are placed as they were."""

    known: dict[str, Known]
    trusted: bool
    same_rules: bool


@dataclass(slots=True)
class Capture:
    """One run. Everything that lasts is in the vault or, disposable, in `db`."""

    context: Context
    agent: Agent
    vault: Vault
    db: StateDb
    kind: str
    report: CaptureReport = field(init=False)
    head: SequenceRow | None = field(init=False)
    state: State | None = field(init=False)
    overlay: Overlay = field(init=False)
    now: str = field(init=False)

    def run(self, *, full: bool) -> CaptureReport:
        self._begin()
        started_ns = time.time_ns()
        adapter = self.context.adapter(self.agent.runtime)
        installation = self._installation(adapter)
        if installation is None:
            return self.report
        roots = list(adapter.roots(installation))
        text = self._ignore_text(roots[0])
        seen = self._seen(roots, self._rules(adapter, roots, text), full=full)
        found = scan.walk(
            self.context.files,
            roots,
            lambda path, is_folder: adapter.place(path, is_folder=is_folder),
            parse_ignore(text),
            seen.known if seen.trusted and seen.same_rules else {},
        )
        reached(Step.CAPTURE_SCANNED)
        if self._root_is_missing(found, seen, roots[0]):
            return self.report
        work = _Work(self, adapter, installation, roots, found, seen, started_ns, everything=full or not seen.trusted)
        work.read()
        reached(Step.CAPTURE_READ)
        work.derive()
        reached(Step.CAPTURE_DERIVED)
        row = work.commit()
        reached(Step.CAPTURE_COMMITTED)
        work.cache(row, text)
        reached(Step.CAPTURE_CACHED)
        return self.report

    def _begin(self) -> None:
        self.report = CaptureReport(self.agent.id)
        self.head = self.vault.head()
        self.state = self.vault.state() if self.head is not None else None
        self.overlay = Overlay(self.state)
        self.now = max(self.context.now(), self.head.time if self.head is not None else "")
        self.report.sequence = None if self.head is None else self.head.number
        search.catch_up(self.db, self.vault)

    # What is there ----------------------------------------------------------------------------------------------

    def _installation(self, adapter: Adapter) -> Installation | None:
        """The runtime around the workspace; None (and the outcome set) when the workspace is gone."""
        if not os.path.isdir(self.agent.workspace):
            self._missing(f"{self.agent.workspace} is not there")
            return None
        try:
            return adapter.locate(self.agent.workspace, self.context.environment, self.context.user_home)
        except AdapterError as error:
            if self.head is None:
                raise
            self._missing(error.message)
            return None

    def _missing(self, reason: str) -> None:
        self.report.outcome = ROOT_MISSING
        self.report.warnings.append(reason)

    def _ignore_text(self, workspace: Root) -> str:
        """The text of `.lifeboatignore`; the one last seen while it cannot be read."""
        try:
            data = read_file(self.context.files, workspace.folder / IGNORE_FILE).data
        except FileNotFoundError:
            return ""
        except (OSError, Unstable) as error:
            self.report.unread[IGNORE_FILE] = str(error)
            return str(self.db.get(_IGNORE) or "")
        return data.decode("utf-8", "replace")

    def _rules(self, adapter: Adapter, roots: list[Root], ignore: str) -> str:
        """Equal as long as every name would be placed as it was."""
        parts = [adapter.runtime, adapter.splitter_version, ignore]
        parts += [[root.prefix, str(root.folder), root.only] for root in roots]
        return hashlib.sha256(codec.encode(parts)).hexdigest()

    def _seen(self, roots: list[Root], rules: str, *, full: bool) -> _Seen:
        if self.head is not None and self.db.get(_SEEN_AT) == self.head.number and not full:
            return _Seen(self.db.seen(), True, self.db.get(_RULES) == rules)
        return _Seen(dict(self._from_head(roots)), False, False)

    def _from_head(self, roots: list[Root]) -> Any:
        """Names that the head says were there, without a stat: every one of them is read."""
        if self.state is None:
            return
        for number, root in enumerate(roots):
            prefixes = [root.prefix, layout.ARTIFACTS] if number == 0 else [root.prefix]
            for prefix in prefixes:
                for entry in self.state.entries(prefix):
                    if _is_table(entry.path, root.prefix):
                        continue
                    relative = entry.path[len(prefix) :]
                    hexed = entry.meta.get("name_hex")
                    yield root.prefix + names.native_name(relative, hexed), Known(entry.path, _NEVER_SEEN, False)

    def _root_is_missing(self, found: Scan, seen: _Seen, workspace: Root) -> bool:
        """Whether the workspace went, was emptied, or is another folder that holds little of what was there."""
        if workspace.prefix in found.missing_roots:
            self._missing(f"{workspace.folder} is not there")
            return True
        held = [name for name in seen.known if name.startswith(workspace.prefix)]
        if not held or self.kind != CAPTURE or workspace.prefix in found.unread:
            return False
        there = sum(1 for name in found.found if name.startswith(workspace.prefix))
        if there == 0 and not found.skipped and not found.unread:
            self._missing(f"{workspace.folder} is empty")
            return True
        return self._was_replaced(found, held, workspace)

    def _was_replaced(self, found: Scan, held: list[str], workspace: Root) -> bool:
        known = self.db.get(_ROOT)
        if known is None or known == scan.root_identity(workspace.folder):
            return False
        still = sum(1 for name in held if name in found.found)
        if still * 2 >= len(held):
            return False
        self._missing(f"{workspace.folder} is another folder than before, with {still} of {len(held)} files")
        return True


class _Work:
    """From a scan to a sequence."""

    def __init__(
        self,
        run: Capture,
        adapter: Adapter,
        installation: Installation,
        roots: list[Root],
        found: Scan,
        seen: _Seen,
        started_ns: int,
        *,
        everything: bool,
    ) -> None:
        self._run, self._adapter, self._installation = run, adapter, installation
        self._roots, self._found, self._seen, self._everything = roots, found, seen, everything
        self._context, self._vault, self._db = run.context, run.vault, run.db
        self._report, self._overlay, self._now = run.report, run.overlay, run.now
        self._keys = run.context.keys()
        self._config = run.context.config()
        self._born = times.to_text(times.from_nanoseconds(_milliseconds_in(run.agent.id) * 1_000_000))
        self._outcome = Outcome()
        self._databases: JsonObject | None = None
        self._cutter = Cutter(adapter, self._keys, run.agent.id, self._overlay, self._vault.get(SECRETS), self._now)
        self._tree = Tree(
            self._context.files,
            self._overlay,
            self._cutter,
            self._report,
            self._limits(),
            lambda path: self._stable_id("attachment", path),
            self._db.large(),
            self._now,
            started_ns,
        )

    def _setting(self, name: str) -> Any:
        return self._config.get(name, self._run.agent.settings).value

    def _limits(self) -> Limits:
        threshold, max_file, max_total, interval = (
            self._setting(f"artifacts.{name}") for name in ("threshold", "max_file", "max_total", "interval")
        )
        return Limits(threshold, max_file, max_total, timedelta(seconds=interval))

    def _stable_id(self, *parts: str) -> str:
        """An id that the same vault always makes for the same thing."""
        return ids.mint(self._vault.seed, self._born, *parts)

    # Files ------------------------------------------------------------------------------------------------------

    def read(self) -> None:
        self._note_scan()
        self._tree.take(self._found, self._seen.known, self._roots, everything=self._everything)
        self._read_databases()

    def _note_scan(self) -> None:
        self._report.unread.update({path: reason for path, reason in self._found.unread.items()})
        self._report.unread.update(self._found.missing_roots if self._seen.known else {})
        self._report.skipped = self._found.skipped
        odd = {path: why for path, why in self._found.skipped.items() if why == "not a regular file"}
        self._report.left_out.update(odd)

    def _read_databases(self) -> None:
        """The durable rows, when a database was written since they were read."""
        transcripts = bool(self._setting("transcripts"))
        stats: JsonObject = {"transcripts": transcripts}
        for path in self._adapter.databases(self._installation):
            stats[str(path)] = [self._stat_text(f"{path}{suffix}") for suffix in ("", "-wal")]
        if stats == self._db.get(_DATABASES) and not self._everything:
            return
        try:
            self._tree.put_rows(*self._tables(transcripts=transcripts))
        except (AdapterError, sqlite3.Error, OSError) as error:
            self._report.unread[f"{self._roots[-1].prefix}db/"] = str(error)
            return
        self._databases = stats

    def _stat_text(self, path: str) -> list[int] | None:
        try:
            found = self._context.files.lstat(path)
        except OSError:
            return None
        return [found.st_size, found.st_mtime_ns, found.st_ino]

    def _tables(self, *, transcripts: bool) -> tuple[dict[str, bytes], list[str]]:
        rows: dict[str, list[tuple[str, bytes]]] = {}
        for row in self._adapter.rows(self._installation, transcripts=transcripts):
            rows.setdefault(row.path, []).append((row.key, codec.encode(row.values)))
        tables = {path: b"".join(line + b"\n" for _, line in sorted(found)) for path, found in rows.items()}
        home = layout.home_prefix(self._adapter.runtime)
        former = [entry.path for entry in self._run.state.entries(f"{home}db/")] if self._run.state else []
        return tables, former

    # What follows from them -------------------------------------------------------------------------------------

    def derive(self) -> None:
        changed = self._tree.changed
        first = self._run.head is None
        head = self._head_document()
        ledger = self._ledger(head, first=first)
        if not first:
            self._seal(ledger)
        if changed or first:
            about = DerivationContext(self._installation, self._run.agent.id, self._stable_id)
            documents = Documents(self._overlay, about, self._now, head)
            documents.derive(self._adapter.derivations(), changed, everything=first)
            self._remember(documents, ledger, changed)
        if first:
            self._seal(ledger)
        self._cutter.finish()
        self._write_head(head, ledger)

    def _head_document(self) -> JsonObject:
        data = self._overlay.old_body(layout.MANIFEST)
        document: JsonObject = {} if data is None else codec.decode(data)
        return document

    def _ledger(self, head: JsonObject, *, first: bool) -> Ledger:
        wanted = self._setting("memory.granularity")
        known = head.get("partition_granularity", wanted)
        ledger = Ledger(partitions.from_head(head), times.parse(self._now), known, first_capture=first)
        if wanted != known:
            ledger.switch(wanted)
        return ledger

    def _seal(self, ledger: Ledger) -> None:
        """Past periods close, but only when the clock can be believed."""
        if clock_trust.is_trusted(self._context, self._run.head):
            self._report.sealed = [partition.file for partition in ledger.seal()]

    def _remember(self, documents: Documents, ledger: Ledger, changed: set[str]) -> None:
        agent = self._run.agent
        taken: set[str] = set()
        scribe = Scribe(agent.id, ledger, self._mint(taken), documents.identity_version())
        origin = Origin(self._adapter.runtime, self._installation.version, documents.primary())
        forgotten = frozenset(self._vault.get(FORGOTTEN) or ())
        lookup = Lookup(self._run.state, self._with_content(), self._db.winner, forgotten)
        memories = Memories(self._overlay, self._adapter, scribe, origin, lookup)
        self._outcome = memories.take(path for path in changed if path.startswith(layout.RAW))
        self._report.records.update(self._outcome.counts)
        if self._outcome.steps or any(path.startswith(layout.ARTIFACTS) for path in changed):
            references.update(self._overlay, self._db, self._outcome.written, self._outcome.dropped)

    def _with_content(self) -> Callable[[str], list[str]]:
        return (lambda text: []) if self._run.head is None else self._vault.records_with_content

    def _mint(self, taken: set[str]) -> Callable[..., str]:
        def mint(created_at: str, *parts: str) -> str:
            ordinal = 0
            while True:
                minted = ids.mint(self._vault.seed, created_at, *parts, ordinal=ordinal)
                if minted not in taken and not self._vault.has_record(minted):
                    taken.add(minted)
                    return minted
                ordinal += 1

        return mint

    def _write_head(self, head: JsonObject, ledger: Ledger) -> None:
        agent = self._run.agent
        fallback = {"id": agent.id, "name": agent.name, "source_runtime": self._adapter.runtime}
        if self._installation.version is not None:
            fallback["source_runtime_version"] = self._installation.version
        raw = [self._adapter.runtime]
        head["agent"] = {**fallback, **head.get("agent", {}), "id": agent.id}
        head["partitions"] = [partitions.to_item(partition) for partition in ledger.partitions]
        head["partition_granularity"] = ledger.granularity
        head["artifact_size_threshold"] = self._setting("artifacts.threshold")
        head["raw_sources"] = list(dict.fromkeys([*head.get("raw_sources", []), *raw]))
        self._overlay.put(layout.MANIFEST, self._overlay.meta(layout.MANIFEST) or {}, codec.encode(head))

    # Commit -----------------------------------------------------------------------------------------------------

    def commit(self) -> SequenceRow | None:
        self._count_files()
        if not self._overlay.puts and not self._outcome.steps:
            self._report.held = self._vault.get(guard.DECISION)
            return None
        self._guard()
        device = self._keys.device
        row = self._vault.commit(
            Draft(self._overlay.puts, [RecordPut(*step) for step in self._outcome.steps]),
            kind=self._run.kind,
            writer=device.public.hex()[:16],
            time=self._now,
            raw_time=self._context.now(),
            sign=lambda sequence: signing.sign(sequence, device),
            counts=self._counts(),
        )
        if row is not None:
            self._report.outcome, self._report.sequence = CAPTURED, row.number
            self._report.delta_bytes = row.bytes
        return row

    def _counts(self) -> JsonObject:
        records = {name: self._report.records[name] for name in ("created", "updated", "deleted")}
        raw = {name: self._report.raw[name] for name in ("put", "patched", "removed")}
        return {"records": records, "raw": raw}

    def _count_files(self) -> None:
        for path, put in self._overlay.puts.items():
            if path.startswith((layout.RAW, layout.ARTIFACTS)) and (put is None or put.body is not None):
                old = self._overlay.old(path)
                self._report.raw["removed" if put is None else "put" if old is None else "patched"] += 1

    def _guard(self) -> None:
        self._report.held = self._vault.get(guard.DECISION)
        head = self._run.head
        if head is None or self._run.kind != CAPTURE or self._report.held is not None:
            return
        reason = self._judge() if self._outcome.counts["deleted"] else None
        if reason is not None:
            decision = {"reason": reason, "previous": head.number, "time": self._now}
            self._vault.pin(head.number, guard.PIN)
            self._vault.set(guard.DECISION, decision, kind="held")
            self._report.held = decision

    def _judge(self) -> str | None:
        """Whether what goes with this capture looks like an accident."""
        before = self._db.connection.execute("select count(*) from memory").fetchone()[0]
        lost = self._outcome.lost
        held = {path: len(_records_of((self._overlay.old(path) or _NO_ENTRY).meta)) for path in lost}
        left = {path: len(_records_of(self._overlay.meta(path) or {})) for path in lost}
        counts = self._outcome.counts
        change = guard.Change(before, counts["created"], counts["deleted"], lost, held, left)
        accepted = (self._vault.get(guard.ACCEPTED) or {}).get("sequence", -1)
        verified = self._vault.last_verified()
        since = max(accepted, -1 if verified is None else verified)
        limits = guard.Limits(self._setting("held.share"), self._setting("held.minimum"))
        return guard.judge(change, self._vault.sequences(), since, times.parse(self._now), limits)

    # Caches -----------------------------------------------------------------------------------------------------

    def cache(self, row: SequenceRow | None, ignore: str) -> None:
        """Keep what makes the next capture quick. After the commit: whoever stops here only makes it slower."""
        memory = self._cutter.changed_memory()
        if memory is not None:
            self._vault.set(SECRETS, memory, kind="secrets")
        if row is not None:
            clock_trust.note(self._context, row)
        head = row or self._run.head
        facts = {
            _SEEN_AT: None if head is None else head.number,
            _RULES: self._run._rules(self._adapter, self._roots, ignore),
            _ROOT: scan.root_identity(self._roots[0].folder),
            _IGNORE: ignore,
            **({} if self._databases is None else {_DATABASES: self._databases}),
        }
        self._write_cache({key: value for key, value in facts.items() if self._db.get(key) != value})
        search.catch_up(self._db, self._vault)

    def _write_cache(self, facts: JsonObject) -> None:
        tree = self._tree
        seen = {name: one for name, one in tree.seen.items() if self._seen.known.get(name) != one}
        if not (facts or seen or tree.unseen):
            return
        with self._db.transaction():
            if not self._seen.trusted:
                self._db.forget_seen()
                seen = {**{name: one for name, one in self._seen.known.items() if name not in tree.unseen}, **tree.seen}
            self._db.put_seen(seen, tree.unseen)
            for path, large in tree.new_large.items():
                self._db.put_large(path, large.size, large.captured_at)
            for path in tree.changed:
                if self._overlay.puts.get(path, ...) is None:
                    self._db.drop_large(path)
            for key, value in facts.items():
                self._db.put(key, value)


class _NoEntry:
    meta: JsonObject = {}  # noqa: RUF012


_NO_ENTRY = _NoEntry()


def _records_of(meta: JsonObject) -> list[str]:
    return list(meta.get(metas.RECORDS, []))


def _is_table(path: str, prefix: str) -> bool:
    """Whether an entry comes from a database, not from a file of the tree."""
    return path.startswith(f"{prefix}db/")


def _milliseconds_in(agent_id: str) -> int:
    """The time in an agent's id: fixed for ever, so it can stand in ids that must not change."""
    return int(agent_id.replace("-", "")[:12], 16)
