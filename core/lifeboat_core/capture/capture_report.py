"""The report of a capture."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.texts.human_text import count_text, path_text

CAPTURE = "capture"
"""The kind of a sequence that a capture makes."""

LAST_CAPTURE = "last_capture"
"""The fact of `state.db` that describes the last capture."""

FAILED = "failed"
"""Member of that fact: why the capture failed, None when it did not."""

PENDING, NAMED, OVER_LIMIT, FIX, NOT_READ = "pending", "not_captured", "over_limit", "limit_fix", "unread"
KINDS = "pending_kinds"
"""Members of that fact: what is not in the newest sequence (see `not_captured`)."""

MOST_REASONS = 20
UNREAD, UNSTABLE, WAITING = "could not be read", "kept changing", "may contain secrets and cannot be parsed"
LATE, KEPT_OUT = "changed and will be captured later", "is not captured"
"""Why the present version of a file is not captured, for users."""

CAPTURED, UNCHANGED, ROOT_MISSING = "captured", "unchanged", "root_missing"


@dataclass(slots=True)
class CaptureReport:
    """One capture of one agent.

    `outcome` is `captured` (a new sequence), `unchanged`, or `root_missing` (the workspace was removed, emptied or
    replaced: nothing was captured; `absent` says what is missing). `sequence` is the head afterwards, None in an empty
    vault. `records` counts created, updated and deleted memories; `raw` files put, patched and removed; `delta_bytes`
    is the growth of the vault. The mappings name files with the reason: `unread` (the last version stays), `unstable`
    (changed while being read), `waiting` (may contain secrets and cannot be parsed), `left_out` (not captured at all,
    or not in this version). Of the latter, `late` are due later, the first in `due_in` seconds, and `over_limit` wait
    until the user raises a limit with the command `limit_fix`. `no_room` says why large files are not captured now.
    `kept_out` counts places in live files that have purged text and are left out of every capture; `purged_again` those
    where a purged value occurs in other words and is captured (`purge.again`).
    """

    agent_id: str
    outcome: str = UNCHANGED
    sequence: int | None = None
    records: Counter[str] = field(default_factory=Counter)
    raw: Counter[str] = field(default_factory=Counter)
    delta_bytes: int = 0
    unread: dict[str, str] = field(default_factory=dict)
    unread_files: int = 0
    unstable: dict[str, str] = field(default_factory=dict)
    waiting: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    late: dict[str, str] = field(default_factory=dict)
    over_limit: dict[str, str] = field(default_factory=dict)
    due_in: float | None = None
    limit_fix: str | None = None
    skipped: dict[str, str] = field(default_factory=dict)
    looks_like_secret: dict[str, str] = field(default_factory=dict)
    held: JsonObject | None = None
    sealed: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    absent: str | None = None
    no_room: str | None = None
    kept_out: dict[str, int] = field(default_factory=dict)
    purged_again: dict[str, int] = field(default_factory=dict)

    @property
    def changed(self) -> bool:
        return self.outcome == CAPTURED

    @property
    def pending(self) -> int:
        """Return how many files are not captured in their present version."""
        named = (self.unread, self.unstable, self.waiting, self.late, self.over_limit)
        return self.unread_files + sum(map(len, named))

    def pending_kinds(self) -> dict[str, int]:
        """Count the files of `pending` by the code of the reason."""
        counts = {
            "unread": self.unread_files + len(self.unread),
            "unstable": len(self.unstable),
            "unparsable": len(self.waiting),
            "late": len(self.late),
            "over_limit": len(self.over_limit),
        }
        return {code: count for code, count in counts.items() if count}

    def stale_files(self) -> dict[str, str]:
        """Return every file whose present version is not captured, with the reason."""
        left_out = {path: reason for path, reason in self.left_out.items() if path not in self.skipped}
        unread = {path: f"{words}: {reason}" for words, files in self._unreadable() for path, reason in files.items()}
        return left_out | unread

    def _unreadable(self) -> tuple[tuple[str, dict[str, str]], ...]:
        return (UNREAD, self.unread), (UNSTABLE, self.unstable), (WAITING, self.waiting)

    def not_captured(self, command: str = "") -> list[str]:
        """Return sentences about the files that are not captured in their present version, at most `MOST_REASONS` of
        them. `command` shows the rest."""
        named = *self._unreadable(), (KEPT_OUT, self.over_limit), (LATE, self.late)
        rest = f": {command}" if command else ""
        found = [
            f"{path_text(path)} {problem}: {reason}"
            for problem, files in named
            for path, reason in sorted(files.items())
        ]
        more = [f"and {count_text(len(found) - MOST_REASONS, 'more file')}{rest}"] if len(found) > MOST_REASONS else []
        return [*found[:MOST_REASONS], *more, *(f"{each}{rest}" for each in self._capped())]

    def _capped(self) -> list[str]:
        """Return one sentence for the files that caps of folders left out."""
        named = self.late.keys() | self.over_limit.keys() | self.skipped.keys()
        count = len(self.left_out.keys() - named)
        return (
            [(f"{count_text(count, 'file')} not captured in the current version, because of a limit on the folder")]
            if count
            else []
        )

    def leave_out(self, path: str, why: str, *, wait: float | None = None, fix: str | None = None) -> None:
        """Note a file over a limit, or with `wait` one that can be captured after this many seconds."""
        self.left_out[path] = why
        if wait is None:
            self.over_limit[path] = why
            self.limit_fix = self.limit_fix or fix
        else:
            self.late[path] = why
            self.due_in = wait if self.due_in is None else min(self.due_in, wait)

    @property
    def every_warning(self) -> list[str]:
        return self.warnings if self.absent is None else [self.absent, *self.warnings]

    @property
    def complete(self) -> bool:
        """Return whether everything that should be captured was captured in its present version."""
        return self.outcome != ROOT_MISSING and not (self.unread or self.unstable or self.waiting)

    def to_json(self) -> JsonObject:
        """Return one agent of `lifeboat sync --json` (without state, name and remotes, which `sync_json` adds)."""
        return {
            "id": self.agent_id,
            "outcome": self.outcome,
            "sequence": self.sequence,
            "changed": self.changed,
            "records": {name: self.records[name] for name in ("created", "updated", "deleted")},
            "raw": {name: self.raw[name] for name in ("put", "patched", "removed")},
            "delta_bytes": self.delta_bytes,
            "unread": self.unread,
            "unread_files": self.unread_files,
            "unstable": self.unstable,
            "waiting": self.waiting,
            "left_out": self.left_out,
            "over_limit": sorted(self.over_limit),
            "due_in": self.due_in,
            "looks_like_secret": self.looks_like_secret,
            "held": self.held,
            "sealed": self.sealed,
            "kept_out": self.kept_out,
            "purged_again": self.purged_again,
            "warnings": self.every_warning,
        }
