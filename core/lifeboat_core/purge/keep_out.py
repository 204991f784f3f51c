"""Keep purged text out of captures: it may still be in the live workspace, and a capture removes it from everything it
reads, until the workspace was clean for `purge.keep_out_days`.

Two decisions of the vault store this: `keep_out` is the filter (see `keep_out_filter`). `kept_out` says where lines
were removed at the last capture, where purged values were captured in other words (`again`, see `purge.again`), which
files are left out because they may have purged text (`left_out`), and since when a complete read found nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from lifeboat_adapters.memory_stores import MemoryStore
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.redaction.redactions import (
    WHOLE_AGENT,
    ByteEdit,
    LeafReplacement,
    Redaction,
    Redactions,
    apply_edits,
    move_offset,
)
from lifeboat_alf.states.agent_state import BodyAbsent, Leaf
from lifeboat_core.home.context import Context
from lifeboat_core.purge.keep_out_derivation import DerivedFilter, Text, texts_of_entry, texts_of_record
from lifeboat_core.purge.keep_out_filter import (
    VERSION,
    KeepOutFilter,
    KeepOutMarks,
    KeepOutSieve,
    UncertainBinary,
    runtime_file_name,
)
from lifeboat_vault.vault import Vault

FILTER, FOUND = "keep_out", "kept_out"
SETTING, AGAIN = "purge.keep_out_days", "purge.again"
CUT, NOTICE = "cut", "notice"
"""What a capture does with a purged value in other words."""
LEFT_OUT = (
    "a purge removed text from this file; the file has changed since, and Lifeboat cannot tell "
    "whether it contains that text again"
)


Remembered = tuple[dict[str, int], dict[str, int]]


@dataclass(slots=True)
class KeepOut:
    """The filter of one agent in one capture, and its results: `cuts` counts places by archive path, or by name of the
    store for rows; 0 for what is clean. `again` counts purged values that are captured. `days` is the setting.
    `has_weak`: a planned purge removes text that can be guessed, which the stored filter does not recognise."""

    sieve: KeepOutSieve | None = None
    clean_since: str | None = None
    days: int = 0
    cuts: dict[str, int] = field(default_factory=dict)
    again: dict[str, int] = field(default_factory=dict)
    left_out: set[str] = field(default_factory=set)
    has_weak: bool = False

    @classmethod
    def of(cls, context: Context, vault: Vault) -> KeepOut:
        """Return the filter of a vault. Raises NoKey when this machine has lost the filter's key."""
        document = vault.get(FILTER)
        if not document:
            return cls()
        found, days = vault.get(FOUND) or {}, int(context.setting(SETTING))
        cuts_values = context.setting(AGAIN) == CUT
        sieve = KeepOutSieve(
            KeepOutFilter.of_json(document), marks_of(context, vault.agent_id), cuts_values=cuts_values
        )
        return cls(sieve, found.get("clean_since"), days)

    @classmethod
    def planned(cls, context: Context, vault: Vault, redaction: Redaction) -> KeepOut:
        """Return the filter after a redaction that is not applied yet, with digests of everything that is removed; it
        exists in memory only. Raises NoKey, VaultError."""
        derived = _derived(context, vault, redaction, keeps_weak=True)
        made = derived and derived.finish(_remaining(vault, Redactions([*vault.redactions, redaction])))
        if not derived or not made:
            return cls.of(context, vault)
        return cls(KeepOutSieve(made, marks_of(context, vault.agent_id)), has_weak=derived.has_weak)

    def __bool__(self) -> bool:
        return self.sieve is not None

    @property
    def until(self) -> str | None:
        """Return until when lines are kept out, as text; None when none are."""
        if not self:
            return None
        if self.clean_since is None:
            return (
                f"the workspace has not contained the text for {self.days} days"
                if self.days
                else "the workspace does not contain the text"
            )
        return times.to_text(times.parse_time(self.clean_since) + timedelta(days=self.days))

    def cut(self, path: str, body: bytes) -> tuple[bytes, int]:
        """Return the bytes of a file as they may be captured, and the number of removed places."""
        edits = self.edits(path, body)
        return (apply_edits(body, edits), len(edits)) if edits else (body, 0)

    def cut_file(self, path: str, body: bytes) -> bytes | None:
        """Return the bytes of a file as they may be captured; None for one that must be left out, because it may have
        purged text that cannot be removed."""
        try:
            edits = self._edits(path, body)
        except UncertainBinary:
            self.left_out.add(path)
            return None
        return apply_edits(body, edits) if edits else body

    def edits(self, path: str, body: bytes) -> tuple[ByteEdit, ...]:
        """Return the edits for a file, and count them in `cuts`. A file that must be left out has none."""
        try:
            return self._edits(path, body)
        except UncertainBinary:
            return ()

    def _edits(self, path: str, body: bytes) -> tuple[ByteEdit, ...]:
        """Return the edits for a file. Raises UncertainBinary."""
        if self.sieve is None:
            return ()
        self.sieve.met.clear()
        edits = self.sieve.file(path, body)
        self.cuts[path] = max(self.cuts.get(path, 0), len(edits))
        self._note_met(path)
        return edits

    def _note_met(self, path: str) -> None:
        if self.sieve is not None:
            self.again[path] = max(self.again.get(path, 0), sum(self.sieve.met))
            self.sieve.met.clear()

    def cut_row(self, store: MemoryStore, values: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Return the columns of a row as they may be captured; None when nothing is left of its content."""
        if self.sieve is None:
            return values
        scope, content = runtime_file_name(store.name), store.columns.index(store.content)
        self.sieve.met.clear()
        found = [self._cut_value(scope, value) for value in values]
        if not found[content][1]:
            found[content] = self._cut_known_row(scope, store, values)
        self._note_met(store.name)
        count = sum(number for _, number in found)
        self.cuts[store.name] = self.cuts.get(store.name, 0) + count
        if not count:
            return values
        made = tuple(value for value, _ in found)
        is_blank = isinstance(made[content], str | bytes) and not made[content].strip()
        return None if found[content][1] and is_blank else made

    def _cut_known_row(self, scope: str, store: MemoryStore, values: tuple[Any, ...]) -> tuple[Any, int]:
        """Return the edited content of a row that is recognised by its id, because its text can be guessed."""
        named = dict(zip(store.columns, values, strict=True))
        value = named[store.content]
        row = self.sieve and self.sieve.row(scope, named[store.id], named.get("updated_at"))
        if not row or not isinstance(value, str):
            return value, 0
        text = value.encode("utf-8", "surrogatepass")
        if len(text) != row.length:
            return value, 0
        return apply_edits(text, row.edits).decode("utf-8", "surrogatepass"), len(row.edits)

    def _cut_value(self, scope: str, value: Any) -> tuple[Any, int]:
        if self.sieve is None or not isinstance(value, str | bytes) or not value:
            return value, 0
        text = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
        edits = self.sieve.text(scope, text)
        if not edits:
            return value, 0
        made = apply_edits(text, edits)
        return (made.decode("utf-8", "surrogatepass") if isinstance(value, str) else made), len(edits)

    # What a capture found ---------------------------------------------------------------------------------------

    def remember(self, vault: Vault, now: str, *, everything: bool, present: Callable[[str], bool]) -> Remembered:
        """Store where lines were removed, and since when there are none. Return where they are removed now, and where
        purged values were captured, by path. `everything`: all files were read; `present` returns whether a path still
        exists."""
        before = vault.get(FOUND) or {}

        def merged(former: dict[str, int], here: dict[str, int]) -> dict[str, int]:
            kept = {} if everything else {path: count for path, count in former.items() if present(path)}
            return {path: count for path, count in {**kept, **here}.items() if count}

        where, again = merged(read_kept_out_lines(before), self.cuts), merged(read_met_values(before), self.again)
        looked = everything or bool(before.get("looked"))
        is_clean = looked and not (where or again or self.left_out)
        since = (before.get("clean_since") or now) if is_clean else None
        found = {"where": where, "again": again, "left_out": sorted(self.left_out)}
        vault.set(FOUND, {**found, "looked": looked, "clean_since": since}, kind=FOUND)
        self._renew(vault)
        if _is_over(since, self.days, now):
            vault.set(FILTER, None, kind=FOUND)
            vault.set(FOUND, None, kind=FOUND)
        return where, again

    def _renew(self, vault: Vault) -> None:
        """Rewrite a filter that an earlier release stored with digests of guessable text."""
        document = vault.get(FILTER)
        if self.sieve is not None and document and document["version"] < VERSION:
            vault.set(FILTER, self.sieve.filter.to_json(), kind=FOUND)


def read_met_values(document: JsonObject | None) -> dict[str, int]:
    """Return where purged values were captured, by path, from the decision `kept_out`."""
    return dict((document or {}).get("again") or {})


def read_left_out_files(document: JsonObject | None) -> list[str]:
    """Return the files that are left out of captures, from the decision `kept_out`."""
    return list((document or {}).get("left_out") or ())


def let_in(vault: Vault, paths: Collection[str], *, as_they_are: bool = False) -> list[str]:
    """Capture files that are left out again, from the next capture on; return their paths. `as_they_are`: also if
    nothing can be removed from them."""
    document, found = vault.get(FILTER), vault.get(FOUND) or {}
    left = [path for path in read_left_out_files(found) if path in paths]
    if document:
        kept = KeepOutFilter.of_json(document)
        scopes = set(map(runtime_file_name, paths))
        kept.let_in |= scopes if as_they_are else set()
        kept.binaries = {scope: sure for scope, sure in kept.binaries.items() if scope not in scopes}
        vault.set(FILTER, kept.to_json(), kind=FOUND)
        rest = [path for path in read_left_out_files(found) if path not in left]
        vault.set(FOUND, {**found, "left_out": rest}, kind=FOUND)
    return left


def read_kept_out_lines(document: JsonObject | None) -> dict[str, int]:
    """Return where lines were removed at the last capture, by path, from the decision `kept_out`."""
    return dict((document or {}).get("where") or {})


def _is_over(clean_since: str | None, days: int, now: str) -> bool:
    return clean_since is not None and times.parse_time(now) - times.parse_time(clean_since) >= timedelta(days=days)


def marks_of(context: Context, agent_id: str) -> KeepOutMarks:
    """Return the keyed digests of one agent on this machine. Raises NoKey."""
    return KeepOutMarks(bytes.fromhex(context.keys().fingerprint(f"keep out of {agent_id}".encode())))


# A redaction that is about to be applied ----------------------------------------------------------------------------


def derive_keep_out(context: Context, vault: Vault, redaction: Redaction, *, keeps_weak: bool = False) -> JsonObject:
    """Return the decisions that keep out what a redaction is about to destroy, for `Vault.redact`.

    Earlier decisions stay in force. Reads every affected body; no text is in the result. `keeps_weak`: also digests of
    guessable text. Raises NoKey, VaultError.
    """
    derived = _derived(context, vault, redaction, keeps_weak=keeps_weak)
    made = derived and derived.finish(_remaining(vault, Redactions([*vault.redactions, redaction])))
    if not made:
        return {}
    return {FILTER: made.to_json(), FOUND: {**(vault.get(FOUND) or {}), "looked": False, "clean_since": None}}


def _derived(context: Context, vault: Vault, redaction: Redaction, *, keeps_weak: bool) -> DerivedFilter | None:
    if redaction.scope == WHOLE_AGENT or not redaction.leaves:
        return None
    derived = DerivedFilter(
        marks_of(context, vault.agent_id), KeepOutFilter.of_json(vault.get(FILTER)), keeps_weak=keeps_weak
    )
    _take(derived, vault, redaction, Redactions([*vault.redactions, redaction]))
    return derived


def _take(derived: DerivedFilter, vault: Vault, redaction: Redaction, after: Redactions) -> None:
    before, seen = vault.redactions, set[tuple[int, str | None]]()
    for item in vault.history():
        if item.leaf.digest not in redaction.leaves or not item.held or (item.object, item.path) in seen:
            continue
        seen.add((item.object, item.path))
        try:
            body = vault.read_object(item.object)
        except BodyAbsent:
            continue
        former = None if item.leaf.salt else before.replacement(item.leaf.digest)
        edits = _edits_of(body, () if former is None else former.edits, after.replacement(item.leaf.digest))
        if item.path is None:
            derived.record(body, edits)
        elif edits is None or edits:
            taken = (ByteEdit(0, len(body)),) if edits is None else edits
            derived.entry(item.path, body, taken, at_head=item.last is None)


def _edits_of(
    body: bytes, done: tuple[ByteEdit, ...], replacement: LeafReplacement | None
) -> tuple[ByteEdit, ...] | None:
    """Return what a replacement, whose edits count in the original bytes, removes from the present bytes; None: all.
    `done` are the edits that made the present bytes from the original."""
    if replacement is None:
        return None
    if not done:
        return replacement.edits
    ends = (
        (move_offset(edit.offset, done), move_offset(edit.offset + edit.length, done), edit.insert)
        for edit in replacement.edits
    )
    return tuple(ByteEdit(start, end - start, insert) for start, end, insert in ends if body[start:end] != insert)


def _remaining(vault: Vault, after: Redactions) -> Iterator[Text]:
    """Yield what the newest state still says afterwards, line by line."""
    if vault.head() is None:
        return
    state = vault.state()
    for prefix in (archive_layout.RAW, archive_layout.ARTIFACTS):
        for entry in state.entries(prefix):
            with contextlib.suppress(BodyAbsent):
                body = _left_of(after, entry.leaf, state.body(entry.path))
                if body:
                    yield from texts_of_entry(entry.path, body)
    for record in state.records():
        line = _left_of(after, record.leaf, record.line)
        if line:
            yield from texts_of_record(line)


def _left_of(after: Redactions, leaf: Leaf, body: bytes) -> bytes | None:
    """Return what is left of a body; None when it is removed completely."""
    return after.settled(leaf, body) if after.all_naming(leaf.digest) else body
