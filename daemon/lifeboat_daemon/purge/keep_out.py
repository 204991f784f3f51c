"""Keep-out: what was purged may still lie in the live workspace; a capture cuts it out of everything it reads, until
the workspace was clean for `purge.keep_out_days`.

Two decisions of the vault tell of it: `keep_out` is the filter (see `filters`), `kept_out` where lines were cut at the
last look, and since when a look at everything has found none.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from lifeboat_alf import layout, times
from lifeboat_alf.redactions import WHOLE_AGENT, Edit, Redaction, Redactions, Replacement, edited, moved
from lifeboat_alf.state import BodyAbsent, Leaf
from lifeboat_daemon.context import Context
from lifeboat_daemon.purge.deriving import Derived, Text, texts_of_entry, texts_of_record
from lifeboat_daemon.purge.filters import Filter, Marks, Sieve, scope_of
from lifeboat_endpoint.vault import Vault

JsonObject = dict[str, Any]

FILTER, FOUND = "keep_out", "kept_out"
SETTING = "purge.keep_out_days"


@dataclass(slots=True)
class KeepOut:
    """The filter of one agent in one capture, and what it found: `cuts` counts places by archive path, and those of
    rows by the name of their store; 0 for what was looked through and is clean. `days`: see the setting."""

    sieve: Sieve | None = None
    clean_since: str | None = None
    days: int = 0
    cuts: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, context: Context, vault: Vault) -> KeepOut:
        """That of a vault. Raises NoKey where this machine has lost the filter's key."""
        document = vault.get(FILTER)
        if not document:
            return cls()
        found, days = vault.get(FOUND) or {}, int(context.setting(SETTING))
        sieve = Sieve(Filter.of_json(document), marks_of(context, vault.agent_id))
        return cls(sieve, found.get("clean_since"), days)

    @classmethod
    def planned(cls, context: Context, vault: Vault, redaction: Redaction) -> KeepOut:
        """What the filter would be after a redaction that is not applied yet. Raises NoKey, VaultError."""
        document = derive(context, vault, redaction).get(FILTER)
        if not document:
            return cls.of(context, vault)
        return cls(Sieve(Filter.of_json(document), marks_of(context, vault.agent_id)))

    def __bool__(self) -> bool:
        return self.sieve is not None

    @property
    def until(self) -> str | None:
        """Until when lines are kept out, for people; None when none are."""
        if not self:
            return None
        if self.clean_since is None:
            return f"the workspace was clean for {self.days} days" if self.days else "the workspace is clean"
        return times.to_text(times.parse(self.clean_since) + timedelta(days=self.days))

    def cut(self, path: str, body: bytes) -> tuple[bytes, int]:
        """The bytes of a file as they may be captured, and how many places were cut."""
        edits = self.edits(path, body)
        return (edited(body, edits), len(edits)) if edits else (body, 0)

    def edits(self, path: str, body: bytes) -> tuple[Edit, ...]:
        """What goes of the bytes of a file, remembered in `cuts`."""
        if self.sieve is None:
            return ()
        edits = self.sieve.file(path, body)
        self.cuts[path] = max(self.cuts.get(path, 0), len(edits))
        return edits

    def cut_row(self, store: str, content: int, values: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """The columns of a row as they may be captured; None when nothing is left of the one at `content`."""
        if self.sieve is None:
            return values
        scope = scope_of(store)
        found = [self._cut_value(scope, value) for value in values]
        count = sum(number for _, number in found)
        self.cuts[store] = self.cuts.get(store, 0) + count
        if not count:
            return values
        made = tuple(value for value, _ in found)
        return None if found[content][1] and _is_blank(made[content]) else made

    def _cut_value(self, scope: str, value: Any) -> tuple[Any, int]:
        if self.sieve is None or not isinstance(value, str | bytes) or not value:
            return value, 0
        text = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
        edits = self.sieve.text(scope, text)
        if not edits:
            return value, 0
        made = edited(text, edits)
        return (made.decode("utf-8", "surrogatepass") if isinstance(value, str) else made), len(edits)

    # What a capture found ---------------------------------------------------------------------------------------

    def remember(self, vault: Vault, now: str, *, everything: bool, present: Callable[[str], bool]) -> JsonObject:
        """Keep where lines were cut, and since when there are none; where they are cut now, by path. `everything` says
        that all there is was looked through, `present` whether a path is still there."""
        before = vault.get(FOUND) or {}
        where = {} if everything else {path: count for path, count in found_in(before).items() if present(path)}
        where = {path: count for path, count in {**where, **self.cuts}.items() if count}
        looked = everything or bool(before.get("looked"))
        since = (before.get("clean_since") or now) if looked and not where else None
        vault.set(FOUND, {"where": where, "looked": looked, "clean_since": since}, kind=FOUND)
        if _is_over(since, self.days, now):
            vault.set(FILTER, None, kind=FOUND)
            vault.set(FOUND, None, kind=FOUND)
        return where


def found_in(document: JsonObject | None) -> dict[str, int]:
    """Where lines were cut at the last look, by path, from the decision `kept_out`."""
    return dict((document or {}).get("where") or {})


def _is_over(clean_since: str | None, days: int, now: str) -> bool:
    return clean_since is not None and times.parse(now) - times.parse(clean_since) >= timedelta(days=days)


def _is_blank(value: Any) -> bool:
    return isinstance(value, str | bytes) and not value.strip()


def marks_of(context: Context, agent_id: str) -> Marks:
    """The digests of one agent on this machine. Raises NoKey."""
    return Marks(bytes.fromhex(context.keys().fingerprint(f"keep out of {agent_id}".encode())))


# A redaction that is about to be applied ----------------------------------------------------------------------------


def derive(context: Context, vault: Vault, redaction: Redaction) -> dict[str, Any]:
    """The decisions that keep out what a redaction is about to destroy, for `Vault.redact`: what is kept out already
    stays kept out. Reads every body that is named; none of their text is in the result. Raises NoKey, VaultError."""
    if redaction.scope == WHOLE_AGENT or not redaction.leaves:
        return {}
    derived = Derived(marks_of(context, vault.agent_id), Filter.of_json(vault.get(FILTER)))
    after = Redactions([*vault.redactions, redaction])
    _take(derived, vault, redaction, after)
    made = derived.finish(_remaining(vault, after))
    if not made:
        return {}
    return {FILTER: made.to_json(), FOUND: {**(vault.get(FOUND) or {}), "looked": False, "clean_since": None}}


def _take(derived: Derived, vault: Vault, redaction: Redaction, after: Redactions) -> None:
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
            derived.entry(item.path, body, (Edit(0, len(body)),) if edits is None else edits)


def _edits_of(body: bytes, done: tuple[Edit, ...], replacement: Replacement | None) -> tuple[Edit, ...] | None:
    """What a replacement, whose edits count in the bytes before any purge, takes of the bytes that are here; None: all.
    `done` are the edits that made these bytes of those."""
    if replacement is None:
        return None
    if not done:
        return replacement.edits
    ends = (
        (moved(edit.offset, done), moved(edit.offset + edit.length, done), edit.insert) for edit in replacement.edits
    )
    return tuple(Edit(start, end - start, insert) for start, end, insert in ends if body[start:end] != insert)


def _remaining(vault: Vault, after: Redactions) -> Iterator[Text]:
    """What the newest state still says afterwards, line by line."""
    if vault.head() is None:
        return
    state = vault.state()
    for prefix in (layout.RAW, layout.ARTIFACTS):
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
    """None for what goes whole."""
    return after.settled(leaf, body) if after.all_naming(leaf.digest) else body
