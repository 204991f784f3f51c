"""Differences between two sequences as text: pure functions of the answer of `lifeboat diff`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lifeboat_core.documents.diff_documents import Difference, File, Record
from lifeboat_core.texts.human_text import count_text, path_text
from lifeboat_core.texts.unified_diffs import unified_diff_lines
from lifeboat_tui.widgets.diff_view import ADDED, NOTE, PLACE, REMOVED, TITLE, DiffLine

FILES, MEMORIES, OTHERS = "files", "memories", "others"
LETTERS = {
    "created": "A",
    "changed": "M",
    "updated": "M",
    "removed": "D",
    "deleted": "D",
    "meta": "T",
}
"""Letters as in version control: added, modified, deleted; T: only modification time or permissions changed."""
WORDS = {"A": "new", "M": "changed", "D": "removed", "T": "touched"}
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_MOST_COMPARED = 4000
"""Number of lines of a memory above which its two versions are shown one after the other."""
_TITLE_WIDTH = 60


@dataclass(frozen=True, slots=True)
class DiffChange:
    """Changed file, memory or document with its lines. `name` is the label, `path` the path of a file in the workspace,
    "" for anything but a file. `is_cut`: the change has more lines than `lines`."""

    key: str
    kind: str
    letter: str
    name: str
    path: str
    lines: tuple[DiffLine, ...]
    added: int
    removed: int
    is_cut: bool = False

    @property
    def counts(self) -> str:
        """Return numbers of added and removed lines: `+3 -1`."""
        return " ".join(filter(None, (f"+{self.added}" * bool(self.added), f"-{self.removed}" * bool(self.removed))))


def list_changes(difference: Difference) -> list[DiffChange]:
    """Return the changes of files, then of memories, then of documents derived from them."""
    return [
        *(_file(each, FILES) for each in difference.files),
        *(_record(each) for each in difference.records),
        *(_file(each, OTHERS) for each in difference.documents),
    ]


def build_change_lines(changes: Sequence[DiffChange]) -> list[DiffLine]:
    """Return the lines of all changes, each change below its title."""
    return [line for change in changes for line in (_title(change), *change.lines, DiffLine("", NOTE))]


def _title(change: DiffChange) -> DiffLine:
    kind = "memory: " if change.kind == MEMORIES else ""
    text = f"{change.letter} {kind}{change.name}  {change.counts}".rstrip()
    return DiffLine(text, TITLE, None, change.key)


def _file(file: File, kind: str) -> DiffChange:
    lines = _diff_lines(file.diff.split("\n")[2:]) if file.diff else ()
    notes = tuple(_file_notes(file))
    path = path_text(file.path) if kind == FILES else ""
    return _change(
        f"{kind}:{file.path}", kind, file.operation, path or file.path, path, (*lines, *notes), file.cut or file.omitted
    )


def _file_notes(file: File) -> Iterator[DiffLine]:
    if file.omitted:
        yield DiffLine("The changed lines are not shown here. To see them, press L in the full diff.", NOTE)
    elif file.cut:
        yield DiffLine("Only some changed lines are shown here. To see all, press L in the full diff.", NOTE)
    elif file.operation == "meta":
        yield DiffLine("Only the date or the permissions of this file changed.", NOTE)
    elif file.diff is None:
        yield DiffLine("The file is binary or too long, so its lines cannot be compared.", NOTE)


def _record(record: Record) -> DiffChange:
    old, new = (record.previous or "").splitlines(), (record.content or "").splitlines()
    if record.omitted:
        lines: tuple[DiffLine, ...] = (DiffLine("The text of this memory is too long to show here.", NOTE),)
    elif len(old) + len(new) > _MOST_COMPARED:
        lines = (*(DiffLine(text, REMOVED) for text in old), *(DiffLine(text, ADDED) for text in new))
    else:
        lines = tuple(_diff_lines(list(unified_diff_lines(old, new))[2:], places=False))
        lines = lines or (DiffLine("The text of this memory did not change, but its metadata did.", NOTE),)
    name = _first_words(new or old) or record.id
    return _change(f"{MEMORIES}:{record.id}", MEMORIES, record.operation, name, "", lines, record.omitted)


def _first_words(lines: Sequence[str]) -> str:
    first = next((text for line in lines if (text := line.strip().lstrip("#-* ").strip())), "")
    return first if len(first) <= _TITLE_WIDTH else f"{first[: _TITLE_WIDTH - 1]}…"


def _change(
    key: str, kind: str, operation: str, name: str, path: str, lines: tuple[DiffLine, ...], is_cut: bool
) -> DiffChange:
    added, removed = (sum(line.kind == which for line in lines) for which in (ADDED, REMOVED))
    return DiffChange(key, kind, LETTERS.get(operation, "M"), name, path, lines, added, removed, is_cut)


def _diff_lines(diff: Sequence[str], *, places: bool = True) -> tuple[DiffLine, ...]:
    return tuple(_numbered(diff, places=places))


def _numbered(diff: Sequence[str], *, places: bool) -> Iterator[DiffLine]:
    """Yield the lines of a unified diff without its two header lines, numbered on their own side."""
    old = new = 0
    for nth, text in enumerate(diff):
        if (found := _HUNK.match(text)) is not None:
            old, new = int(found[1]), int(found[2])
            if nth or (places and max(old, new) > 1):
                yield DiffLine(f"from line {new or old}", PLACE)
            continue
        sign, rest = text[:1], text[1:]
        if sign == "+":
            yield DiffLine(rest, ADDED, new)
        elif sign == "-":
            yield DiffLine(rest, REMOVED, old)
        else:
            yield DiffLine(rest, "", new)
        old, new = old + (sign != "+"), new + (sign != "-")


def summarize_changes(changes: Sequence[DiffChange]) -> str:
    """Return `2 files and 1 memory`, or that nothing changed."""
    files = sum(change.kind == FILES for change in changes)
    memories = sum(change.kind == MEMORIES for change in changes)
    parts = [count_text(files, "file")] * bool(files) + [count_text(memories, "memory")] * bool(memories)
    return " and ".join(parts) or ("details" if changes else "nothing")
