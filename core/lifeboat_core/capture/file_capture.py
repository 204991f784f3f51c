"""Capture files: read what changed since the last capture, cut secrets, and put the result into the overlay."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Container, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lifeboat_adapters.contract import CaptureRoot
from lifeboat_adapters.credential_types import FileSecret, UnparsableSecrets
from lifeboat_adapters.errors import AdapterError
from lifeboat_adapters.stable_reads import file_reading, sqlite_files
from lifeboat_adapters.stable_reads.file_reading import OverLimit, Unstable
from lifeboat_alf.archive import archive_layout, archive_names
from lifeboat_alf.archive.media_types import guess_media_type
from lifeboat_alf.common.json_shapes import as_object
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.refusal_texts import refusal_reason
from lifeboat_alf.seams.file_operations import FileOperations
from lifeboat_alf.states import entry_metas
from lifeboat_core.agents.name_conflicts import find_conflicts, list_parents
from lifeboat_core.capture import secret_lookalikes
from lifeboat_core.capture.capture_report import CaptureReport
from lifeboat_core.capture.large_artifacts import FolderCaps, LargeArtifacts
from lifeboat_core.capture.overlay import Overlay
from lifeboat_core.capture.root_scan import FILE, FOLDER, LINK, RootScan, ScannedEntry
from lifeboat_core.capture.scan_cache import KnownFile
from lifeboat_core.capture.secret_cutter import SecretCutter
from lifeboat_core.capture.secret_lookalikes import Places
from lifeboat_core.purge.keep_out import LEFT_OUT, KeepOut

RACY_NS = 2_000_000_000
LARGEST = 64 << 20
"""Maximum bytes of a file that is not a large artifact. A sparse file of terabytes costs its writer nothing and its
reader everything."""


@dataclass(slots=True)
class FileCapture:
    """The files of one capture.

    `changed` are archive paths whose entry changed or was removed; `seen` and `unseen` update the stat cache.
    `attachment_id` mints the id of a new artifact by its path. `elsewhere` returns secrets outside the file tree.
    `lookalikes` and `unread` are what `secret_lookalikes` stores. `share` and `matters` are those of the adapter.
    `withheld` are paths whose absence is not a deletion. `keep_out` filters purged text, and the command `let_in`
    captures again what it leaves out.
    """

    files: FileOperations
    overlay: Overlay
    cutter: SecretCutter
    report: CaptureReport
    attachment_id: Any
    large: LargeArtifacts
    now: str
    started_ns: int
    staging: Path
    elsewhere: Callable[[], Iterable[FileSecret]]
    share: Callable[[str, bytes], bytes | None]
    matters: Callable[[str, bytes], bytes | None]
    lookalikes: Places
    unread: dict[str, str]
    runtime: str
    paced: bool = False
    withheld: frozenset[str] = frozenset()
    keep_out: KeepOut = field(default_factory=KeepOut)
    let_in: str | None = None
    changed: set[str] = field(default_factory=set)
    seen: dict[str, KnownFile] = field(default_factory=dict)
    unseen: set[str] = field(default_factory=set)
    _everything: bool = False
    _caps: FolderCaps = field(default_factory=FolderCaps)
    _news: bool = False

    def take(
        self,
        scan: RootScan,
        known: dict[str, KnownFile],
        roots: list[CaptureRoot],
        *,
        everything: bool,
        anew: tuple[str, ...] = (),
        rows_follow: bool = False,
    ) -> None:
        """Read what changed and drop what was removed. With `everything`, read every file; always read those below the
        given prefixes. `rows_follow`: something will be cut although no file changed."""
        self._everything = everything
        self._caps = FolderCaps.of_roots(roots)
        shut = self.cutter.holders_of_shut()
        suspects = {
            name: one
            for name, one in scan.found.items()
            if everything or name.startswith(anew) or one.path in shut or self._differs(one, known.get(name))
        }
        over = self._caps.over(suspects, known, scan.found)
        self.report.left_out.update({suspects[name].path: reason for name, reason in over.items()})
        if everything:
            self._drop_conflicting(scan)
        self._drop_gone(scan, known, roots)
        if rows_follow or suspects or self.changed:
            self._look_for_known(one for name, one in scan.found.items() if name not in suspects)
        if self._read_all({name: one for name, one in suspects.items() if name not in over}, known):
            self._everything = True
            rest = {name: one for name, one in scan.found.items() if name not in suspects}
            self._read_all(rest, known)
        self._drop_conflicting(scan)

    def take_back(self, found: ScannedEntry) -> bool:
        """Undo the capture of a file, so that it stays as in the head. Return False for a file with secrets, which were
        sealed for its new version."""
        put, old = self.overlay.puts.get(found.path), self.overlay.old(found.path)
        if (put is not None and entry_metas.CUTS in put.meta) or (old is not None and entry_metas.CUTS in old.meta):
            return False
        self.overlay.puts.pop(found.path, None)
        self.changed.discard(found.path)
        self.seen.pop(found.native, None)
        self.large.new.pop(found.path, None)
        return True

    def take_back_removals(self, folder: str, known: dict[str, KnownFile]) -> None:
        """Undo the removals in a folder, except of files with secrets, whose credentials were released."""
        for name in [name for name in self.unseen if name.startswith(folder)]:
            path = known[name].path
            old = self.overlay.old(path)
            if old is not None and entry_metas.CUTS not in old.meta and self.overlay.puts.get(path, old) is None:
                del self.overlay.puts[path]
                self.changed.discard(path)
                self.unseen.discard(name)

    @property
    def reads_everything(self) -> bool:
        """Return whether every file is read, because of a new secret or missing caches."""
        return self._everything

    def _read_all(self, suspects: dict[str, ScannedEntry], known: dict[str, KnownFile]) -> bool:
        """Read and put files; return whether a new secret was found, which may be in any file.

        All secrets are learned before the first file is cut. Large files come last, one in memory at a time.
        """
        contents: list[tuple[str, ScannedEntry, file_reading.FileContent, list[FileSecret]]] = []
        large: list[tuple[str, ScannedEntry]] = []
        self._news = False
        for name, found in suspects.items():
            if found.kind != FILE:
                self._put_unread_kind(name, found, known)
            elif self._is_large(found):
                large.append((name, found))
            elif (one := self._read_with_secrets(found)) is not None:
                self._learn(one[1])
                contents.append((name, found, *one))
        for name, found, content, secrets in contents:
            self._forget_former_path(name, found, known)
            self._put(name, found, content, secrets, known)
        for name, found in large:
            self._take_large(name, found, known)
        return self._news

    def _look_for_known(self, unchanged: Iterable[ScannedEntry]) -> None:
        """Read unchanged files that hold secrets again: a print finds a value that stands alone, but not one inside a
        word, such as a token in an address."""
        holders = set(self.cutter.places().values())
        for found in unchanged:
            if found.kind == FILE and found.path in holders and not self._is_large(found):
                with suppress(OverLimit, Unstable, OSError, UnparsableSecrets):
                    data, _ = self.keep_out.cut(
                        found.path, file_reading.read_file(self.files, found.real, LARGEST).data
                    )
                    self.cutter.look_for(self.cutter.secrets_in(found.path, data) or [])
        self.cutter.look_for(self.elsewhere())

    def _learn(self, secrets: list[FileSecret]) -> None:
        self._news = self.cutter.learn(secrets) or self._news

    def _take_large(self, name: str, found: ScannedEntry, known: dict[str, KnownFile]) -> None:
        one = self._read_with_secrets(found) if self._may_take(found) else None
        if one is None:
            self.large.new.pop(found.path, None)
            return
        self._forget_former_path(name, found, known)
        self._put(name, found, *one, known)
        put = self.overlay.puts.get(found.path)
        if put is not None and isinstance(put.body, bytes):
            staged = self.staging / str(len(self.large.new))
            self.files.make_folders(self.staging, 0o700)
            self.files.write_new(staged, put.body, mode=0o600, sync=False)
            self.overlay.stage(found.path, staged)

    def _read_with_secrets(self, found: ScannedEntry) -> tuple[file_reading.FileContent, list[FileSecret]] | None:
        content = None if self._is_too_soon(found) else self._read(found)
        secrets = None if content is None else self._secrets(found.path, content.data)
        return None if content is None or secrets is None else self._own_share(found, content, secrets)

    def _own_share(
        self, found: ScannedEntry, content: file_reading.FileContent, secrets: list[FileSecret]
    ) -> tuple[file_reading.FileContent, list[FileSecret]] | None:
        """Return this agent's part of a file. Secrets of other agents in it are learned too, because they may be in
        this agent's notes."""
        try:
            data = self.share(found.path, content.data)
        except (UnparsableSecrets, AdapterError) as error:
            self.report.waiting[found.path] = str(error)
            return None
        if data == content.data:
            return content, secrets
        self._learn(secrets)
        if data is None:
            self._remove(found.path)
            self._remember(found.native, found._replace(key=content.key))
            return None
        data, _ = self.keep_out.cut(found.path, data)
        own = self._secrets(found.path, data)
        return None if own is None else (content._replace(data=data, is_share=True), own)

    def _is_too_soon(self, found: ScannedEntry) -> bool:
        captured_at = self.large.captured_at(found.path)
        is_paced = self.paced and not self._everything
        reason = self._caps.too_soon(found, captured_at, self.now) if is_paced else None
        if reason is not None:
            self.report.left_out[found.path] = reason
        return reason is not None

    def _read(self, found: ScannedEntry) -> file_reading.FileContent | None:
        """Return the bytes of a file; None, with the reason in the report, when its last version has to stay."""
        try:
            content = self._content(found, self._limit_of(found))
            data = self.keep_out.cut_file(found.path, content.data)
            if data is not None:
                return content._replace(data=data)
            self.report.leave_out(found.path, LEFT_OUT, fix=self.let_in)
        except OverLimit:
            self._leave_out(found)
        except Unstable:
            self.report.unstable[found.path] = "the file changed while Lifeboat read it"
        except FileNotFoundError:
            self.report.unstable[found.path] = "the file was removed while Lifeboat read it"
        except OSError as error:
            self.report.unread[found.path] = refusal_reason(error)
        return None

    def _is_large(self, found: ScannedEntry) -> bool:
        return self.large.is_large(found, has_limit_of_the_user=self._has_limit_of_the_user(found))

    def _has_limit_of_the_user(self, found: ScannedEntry) -> bool:
        """Return whether a file is in a capped folder that accepts any size up to the user's limit."""
        cap = self._caps.of(found)
        return cap is not None and cap.size is None

    def _limit_of(self, found: ScannedEntry) -> int:
        """Return the maximum size of a file. Files that the runtime itself reads may have 64 MB even if the user's
        limit is lower."""
        cap, most = self._caps.of(found), self.large.limits.max_file
        if cap is not None:
            return most if cap.size is None else cap.size
        return most if self._is_large(found) else max(LARGEST, most)

    def _leave_out(self, found: ScannedEntry) -> None:
        cap = self._caps.of(found)
        if cap is not None and cap.size is not None:
            self.report.leave_out(found.path, f"the file is larger than {cap.size >> 20} MB")
            return
        refusal = self.large.too_large(found.key.size)
        self.report.leave_out(found.path, refusal.why, fix=self.large.fix_of(refusal))

    def _content(self, found: ScannedEntry, limit: int) -> file_reading.FileContent:
        """Read a file, or a database in one committed state. Raises OverLimit, Unstable, OSError."""
        may_be_one = sqlite_files.may_be_database(found.key.size, has_log=found.has_log)
        if may_be_one and sqlite_files.is_database(self.files, found.real):
            return sqlite_files.read_database(self.files, found.real, limit, self.staging / "database")
        return file_reading.read_file(self.files, found.real, limit)

    def _secrets(self, path: str, data: bytes) -> list[FileSecret] | None:
        try:
            return self.cutter.secrets_in(path, data) or []
        except UnparsableSecrets as error:
            self.report.waiting[path] = str(error)
            return None

    def _may_take(self, found: ScannedEntry) -> bool:
        refusal = self.large.reason_against(found, anyhow=self._everything or not self.paced)
        self.report.no_room = self.large.no_room
        if refusal is not None:
            self.report.leave_out(found.path, refusal.why, wait=refusal.wait, fix=self.large.fix_of(refusal))
            return False
        self.large.take(found.path, found.key.size)
        return True

    def _put_unread_kind(self, name: str, found: ScannedEntry, known: dict[str, KnownFile]) -> None:
        try:
            if found.kind == LINK:
                meta = file_reading.link_meta(self.files, found.real, found.name_hex)
            else:
                meta = file_reading.folder_meta(found.key.mode, found.name_hex)
        except OSError as error:
            self.report.unread[found.path] = refusal_reason(error)
            return
        self._forget_former_path(name, found, known)
        self._release(found.path)
        self._note(found.path, self.overlay.put(found.path, meta, b""))
        self._remember(name, found)

    def _put(
        self,
        name: str,
        found: ScannedEntry,
        content: file_reading.FileContent,
        secrets: list[FileSecret],
        known: dict[str, KnownFile],
    ) -> None:
        """Cut a file and put it into the overlay. `known` is the stat cache."""
        matters = self.matters(found.path, content.data)
        if matters is not None and self.cutter.holds_what_matters(found.path, matters):
            self._remember(name, found._replace(key=content.key))
            return
        may_differ = self._may_differ(name, found, content, known)
        data, cuts = self.cutter.cut(found.path, content.data, secrets, may_differ=may_differ)
        self._note_unread(found.path)
        if matters is not None:
            self.cutter.note_what_matters(found.path, matters, data)
        meta = self._with_attachment(found.path, file_reading.file_meta(content.key, found.name_hex), len(data))
        old = self.overlay.meta(found.path) or {}
        if entry_metas.RECORDS in old:
            meta[entry_metas.RECORDS] = old[entry_metas.RECORDS]
        if cuts:
            meta[entry_metas.CUTS] = cuts
        if content.is_share and "mtime_ns" in old:
            in_head = self.overlay.old(found.path)
            if in_head is not None and self.overlay.holds(in_head, data):
                meta["mtime_ns"] = old["mtime_ns"]  # only another agent's part of the file changed
        data, meta = self._as_it_is_held(found.path, data, meta)
        changed = self.overlay.put(found.path, meta, data)
        self._note(found.path, changed)
        if self._caps.of(found) is not None and found.path in self.changed:
            self.large.take(found.path, len(data))
        if changed or name not in known or self._everything:
            self._look_at(found.path, content.data, data)
        self._remember(name, found._replace(key=content.key))

    def _as_it_is_held(self, path: str, data: bytes, meta: JsonObject) -> tuple[bytes, JsonObject]:
        """Return bytes and time of the head for a database that differs only in the counters of its header."""
        old = self.overlay.old(path) if data.startswith(sqlite_files.HEADER) else None
        if old is None or old.size != len(data) or entry_metas.CUTS in meta:  # cuts are sealed for these very bytes
            return data, meta
        body = self.overlay.old_body(path) or b""
        if not sqlite_files.differs_in_counters_only(body, data):
            return data, meta
        return body, {**meta, **{name: value for name, value in old.meta.items() if name == "mtime_ns"}}

    def _may_differ(
        self, name: str, found: ScannedEntry, content: file_reading.FileContent, known: dict[str, KnownFile]
    ) -> bool:
        """Return whether a file may have changed since the last capture, by its stat, or by the time in the vault when
        the caches have none."""
        if name in known and known[name].key.inode >= 0:
            return content.key != found.key or self._differs(found, known[name])
        return (self.overlay.meta(found.path) or {}).get("mtime_ns") != str(content.key.mtime_ns)

    def _note_unread(self, path: str) -> None:
        """Note which part of a file could not be searched for known secrets."""
        self.unread.pop(path, None)
        if form := self.cutter.unread.get(path):
            self.unread[path] = form

    def _look_at(self, path: str, original: bytes, kept: bytes) -> None:
        """Report what merely looks like a secret, without changing it."""
        self.lookalikes.pop(path, None)
        if found := secret_lookalikes.find_lookalike_places(original, kept):
            self.lookalikes[path] = found
            self.report.looks_like_secret[path] = secret_lookalikes.describe_places(found)

    def _with_attachment(self, path: str, meta: JsonObject, size: int) -> JsonObject:
        if not path.startswith(archive_layout.ARTIFACTS) or not entry_metas.is_file(meta):
            return meta
        old = (self.overlay.meta(path) or {}).get(entry_metas.ATTACHMENT)
        kept = old or {"id": self.attachment_id(path)}
        tier = 3 if size > self.large.limits.threshold else 2
        return {**meta, entry_metas.ATTACHMENT: {**kept, "media_type": guess_media_type(path), "tier": tier}}

    def _note(self, path: str, changed: bool) -> None:
        if changed:
            self.changed.add(path)

    def _remember(self, name: str, found: ScannedEntry) -> None:
        racy = found.key.mtime_ns >= self.started_ns - RACY_NS and found.kind == FILE
        self.seen[name] = KnownFile(found.path, found.key, racy)

    def _forget_former_path(self, name: str, found: ScannedEntry, known: dict[str, KnownFile]) -> None:
        """Remove the former archive path of a file that became an artifact, or is none any more."""
        former = known.get(name)
        if former is not None and former.path != found.path:
            self._remove(former.path)

    def _drop_gone(self, scan: RootScan, known: dict[str, KnownFile], roots: list[CaptureRoot]) -> None:
        for name, one in known.items():
            if name in scan.found or not any(name.startswith(root.prefix) for root in roots):
                continue
            if scan.keeps(name):
                self.report.unread_files += 1
            elif self._was_only_described(one) or one.path in self.withheld:
                continue
            elif self._is_gone(name, one, scan, roots):
                self._remove(one.path)
                self.unseen.add(name)
            else:
                self.report.unstable[one.path] = "the file was created again while Lifeboat read its folder"

    def _is_gone(self, name: str, one: KnownFile, scan: RootScan, roots: list[CaptureRoot]) -> bool:
        """Return whether a file is ignored now, or the system confirms that it does not exist."""
        root = next(root for root in roots if name.startswith(root.prefix))
        relative = name[len(root.prefix) :]
        # If a folder above is a file or a link now, nothing below it exists any more.
        if stat.S_ISDIR(one.key.mode) or _was_skipped(root.prefix + archive_names.to_archive_name(relative)[0], scan):
            return True
        if any(parent in scan.found and scan.found[parent].kind != FOLDER for parent in list_parents(name)):
            return True
        try:
            found = self.files.lstat(os.path.join(scan.files.folder_of[root.prefix], relative))
        except (FileNotFoundError, NotADirectoryError):
            return True
        except OSError as error:
            self.report.unread[one.path] = refusal_reason(error)
            return False
        return stat.S_ISDIR(found.st_mode)

    def _was_only_described(self, one: KnownFile) -> bool:
        """Return whether a large artifact came with an archive as a description only (ALF §3.1.9) and was never in this
        workspace, so that its absence is not a deletion."""
        entry = self.overlay.old(one.path) if one.key.inode < 0 else None
        attachment = as_object(entry.meta.get(entry_metas.ATTACHMENT)) if entry is not None else {}
        return bool(attachment.get("tier") == 3 and self.overlay.old_body(one.path) is None)

    def _remove(self, path: str) -> None:
        if path in self.overlay.puts and self.overlay.puts[path] is not None:
            return
        self._release(path)
        self._note(path, self.overlay.remove(path))

    def _release(self, path: str) -> None:
        """Forget the secrets and lookalikes of a file."""
        self.cutter.release(path)
        self.lookalikes.pop(path, None)
        self.unread.pop(path, None)

    def _drop_conflicting(self, scan: RootScan) -> None:
        """Remove entries that conflict with what is there now, such as a file where a folder is, even if their absence
        alone is not a deletion. Without caches every path is checked, because an earlier release may have captured such
        a state."""
        there = {one.path for one in scan.found.values()}
        for path, other in find_conflicts(self.overlay, self.runtime, None if self._everything else self.changed):
            self._remove(other if path in there and other not in there else path)

    def _differs(self, found: ScannedEntry, known: KnownFile | None) -> bool:
        """Return whether a file has to be read. A file whose time was too recent at the last scan may have changed
        since; large ones are read at their next change."""
        if known is None or known.path != found.path:
            return True
        return known.key != found.key or (known.racy and not self._is_large(found))

    def put_rows(
        self, tables: dict[str, tuple[bytes, list[FileSecret]]], former: Iterable[str], kept: Container[str] = ()
    ) -> None:
        """Put the rows of the runtime's databases, a file for each table, with their secrets cut. Tables in `kept` stay
        as in the head."""
        for path, (data, secrets) in ((path, found) for path, found in tables.items() if path not in kept):
            body, cuts = self.cutter.cut(path, data, secrets)
            changed = self.overlay.put(path, {entry_metas.CUTS: cuts} if cuts else {}, body)
            self._note(path, changed)
            if changed or self._everything:
                self._look_at(path, data, body)
        for path in former:
            if path not in tables and path not in self.withheld and path not in kept:
                self._remove(path)


def _was_skipped(path: str, scan: RootScan) -> bool:
    if path in scan.skipped:
        return True
    pieces = path.split("/")
    return any("/".join(pieces[:end]) + "/" in scan.skipped for end in range(1, len(pieces)))
