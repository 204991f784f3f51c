"""Read the rows of the runtime's databases, by table, when a database was written since the last capture."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lifeboat_adapters.contract import Installation, RuntimeRow
from lifeboat_adapters.credential_types import FileSecret, UnparsableSecrets
from lifeboat_adapters.errors import AdapterError, DatabaseAbsent
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.refusal_texts import refusal_reason
from lifeboat_core.capture.capture_session import CaptureSession
from lifeboat_core.capture.kept_rows import KeptRows, find_kept_rows
from lifeboat_core.capture.secret_cutter import SecretCutter
from lifeboat_core.capture.workspace_survey import WorkspaceSurvey

FACT = "databases"
"""The fact of `state.db` that describes the databases as they were when they were last read."""

KEPT = "kept"
"""Member of that fact: files of rows that could not be read. It never equals new stats, so the next capture reports
them again."""


OLDER = "older"
"""Member of that fact: the newest conversation that was left out because of `transcripts_limit`, by its file, or by its
table and id. All older ones were, too."""


@dataclass(frozen=True, slots=True)
class CapturedTables:
    """Rows that were read. `tables` has the bytes and secrets of each table by path; `learned` are secrets outside the
    captured files; `stats` identifies this state of the databases; `kept` are rows that stay although they were not
    found."""

    tables: dict[str, tuple[bytes, list[FileSecret]]]
    learned: list[FileSecret]
    stats: JsonObject
    kept: KeptRows

    def secrets(self) -> list[FileSecret]:
        """Return all secrets that the runtime keeps outside the captured files."""
        return [*(secret for _, found in self.tables.values() for secret in found), *self.learned]


class RuntimeTables:
    """The databases of one capture. `prefix` is the prefix of their archive paths."""

    def __init__(self, session: CaptureSession, seen: WorkspaceSurvey, cutter: SecretCutter) -> None:
        self._session, self._seen, self._cutter = session, seen, cutter
        self._transcripts = bool(session.setting("transcripts"))
        self._most = session.config.get("transcripts_limit", session.agent.settings)
        self._older = ""
        self._cron = bool(session.setting("cron"))
        self.prefix = f"{archive_layout.home_prefix(seen.adapter.runtime)}db/"

    def read(self, *, everything: bool) -> CapturedTables | None:
        """Return the durable rows when a database was written since they were read. Return None when none was, or when
        they cannot be read now: then the captured rows stay."""
        if self.stands_alone():
            return None
        try:
            stats = self.stats()
            known = dict(self._session.db.get(FACT) or {})
            self._older = known.pop(OLDER, "")
            if not everything and stats == known:
                self._report_older()
                return None
            found = self._tables()
            self._report_older()
            kept = find_kept_rows(self._session, self._seen, self.prefix, found)
            for path, lines in kept.waiting.items():
                found[path] = found.get(path, b"") + b"".join(line + b"\n" for line in lines)
            self._session.report.unread.update(kept.files)
            stats |= {KEPT: sorted(kept.files)} if kept.files else {}
            stats |= {OLDER: self._older} if self._older else {}
            tables = {path: (data, self._cutter.secrets_in(path, data) or []) for path, data in found.items()}
            return CapturedTables(tables, list(self._learned()), stats, kept)
        except DatabaseAbsent as error:
            if self._session.db.get(FACT) is not None:
                self._session.report.unread[self.prefix] = str(error)
            return None
        except (AdapterError, UnparsableSecrets, sqlite3.Error, OSError) as error:
            self._session.report.unread[self.prefix] = refusal_reason(error)
            return None

    def secrets_elsewhere(self) -> list[FileSecret]:
        """Return the secrets that are stored outside the file tree. Those that cannot be read now are still found by
        their prints."""
        found: list[FileSecret] = []
        if not self.stands_alone():
            with suppress(AdapterError, UnparsableSecrets, sqlite3.Error, OSError):
                found.extend(self._learned())
        return found

    def _learned(self) -> Iterator[FileSecret]:
        credentials = self._seen.adapter.credentials
        return credentials.learned(self._seen.installation) if credentials is not None else iter(())

    def stands_alone(self) -> bool:
        """Return whether no runtime is around the workspace. Then the captured rows of its databases stay."""
        installed = self._seen.installed
        alone = installed.installation.state_dir is None and not self._files(installed.installation)
        return alone or installed.lost is not None

    def _files(self, installation: Installation) -> list[Path]:
        databases = self._seen.adapter.databases
        return databases.files(installation) if databases is not None else []

    def stats(self) -> JsonObject:
        """Return what shows whether a database was written: size, time and inode of each file and of its log."""
        stats: JsonObject = {"transcripts": self._most.value if self._transcripts else 0}
        if self._cron:
            stats["cron"] = True
        if self._seen.installation.sharing:
            stats["sharing"] = self._seen.installation.sharing
        for path in self._files(self._seen.installation):
            stats[str(path)] = [self._stat(f"{path}{suffix}") for suffix in ("", "-wal")]
        return stats

    def _stat(self, path: str) -> list[int] | None:
        try:
            found = self._seen.scan.files.lstat(path)
        except OSError:
            return None
        return [found.st_size, found.st_mtime_ns, found.st_ino]

    def _tables(self) -> dict[str, bytes]:
        rows: dict[str, list[tuple[str, bytes]]] = {}
        for row, data in self._rows_within_limit():
            rows.setdefault(row.path, []).append((row.key, data))
        tables = {path: b"".join(line + b"\n" for _, line in sorted(found)) for path, found in rows.items()}
        keep_out = self._session.keep_out
        return {path: keep_out.cut(path, data)[0] for path, data in tables.items()} if keep_out else tables

    def _rows_within_limit(self) -> Iterator[tuple[RuntimeRow, bytes]]:
        """Yield every row with its bytes. The first conversation with which the total would exceed the limit, and all
        that follow, are left out."""
        databases = self._seen.adapter.databases
        if databases is None:
            return
        self._older, size, name = "", 0, ""
        conversation: list[tuple[RuntimeRow, bytes]] = []
        for row in databases.rows(self._seen.installation, transcripts=self._transcripts, cron=self._cron):
            data = json_codec.encode_json(row.values)
            if row.conversation != name:
                yield from conversation
                conversation, name = [], row.conversation
            conversation.append((row, data))
            size += len(data) if name else 0
            if size > self._most.value:
                is_file = row.path.endswith(row.conversation)  # otherwise a table has several conversations
                self._older = row.path if is_file else f"{row.path}#{row.conversation}"
                return
        yield from conversation

    def _report_older(self) -> None:
        """Report the conversations that were left out, also by a capture that reads no database."""
        if self._older:
            why = (
                "this conversation and the newer ones together exceed the setting transcripts_limit "
                f"({self._most.written}), so {self._older} and older conversations are not captured"
            )
            self._session.report.left_out[self._older] = why
