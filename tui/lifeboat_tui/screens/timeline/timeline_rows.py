"""Rows of the timeline: pure functions of the answers of `lifeboat timeline` and `diff`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from lifeboat_alf.common import times
from lifeboat_core.documents.timeline_documents import Activity, Entry, describe_kind
from lifeboat_core.texts.human_text import count_text, group_changes
from lifeboat_tui.cell_text import format_size
from lifeboat_tui.glyphs import Glyphs
from lifeboat_tui.screens.timeline.diff_lines import FILES, MEMORIES, OTHERS, DiffChange, build_change_lines
from lifeboat_tui.widgets.diff_view import MUTED, NOTE, TEXT, DiffLine
from lifeboat_tui.widgets.row_table import TableCell, TableColumn, TableRow

WORKSPACE = "workspace"
"""Key of the workspace's row, and its name on the command line."""
COLUMNS = (
    TableColumn("", 2),
    TableColumn("SEQ", 5, right=True),
    TableColumn("TIME", 8),
    TableColumn("CHANGES", 19, grow=2),
    TableColumn("SIZE", 8, rank=4, right=True),
    TableColumn("VERIFIED IN", 12, rank=2),
    TableColumn("NAME", 8, grow=3, rank=3),
)
_MOST_NAMES = 12
"""Maximum number of names before the changed lines."""


def build_timeline_rows(
    entries: Sequence[Entry], marks: Mapping[str, str], now: datetime, glyphs: Glyphs
) -> Iterator[TableRow]:
    """Yield one row per sequence, below its day."""
    today, shown = now.astimezone().date(), None
    for entry in entries:
        made = times.parse_time(entry.created_at).astimezone()
        day = made.date()
        if day != shown:
            shown = day
            yield TableRow(f"day:{day}", (format_timeline_day(day.isoformat(), today.isoformat()),), heading=True)
        yield _row(entry, made, marks.get(str(entry.sequence), ""), glyphs)


def _row(entry: Entry, made: datetime, mark: str, glyphs: Glyphs) -> TableRow:
    changes, verified, name = describe_sequence_changes(entry), describe_verified(entry), describe_sequence_name(entry)
    return TableRow(
        str(entry.sequence),
        (
            TableCell(mark, "accent"),
            TableCell(str(entry.sequence), "strong"),
            made.strftime("%H:%M:%S"),
            changes,
            TableCell(format_size(entry.bytes), "muted"),
            TableCell(f"{glyphs.sign('done')} {verified}" if verified else "", "success"),
            TableCell(name, "accent"),
        ),
        search=f"{entry.sequence} {made:%Y-%m-%d %H:%M:%S %A} {entry.kind} {changes} {verified} {name}",
    )


def build_workspace_row(text: str, kind: str, *, mark: str) -> TableRow:
    """Return the row of the current workspace."""
    state = "not captured" if kind == "warning" else ""
    cells = (
        TableCell(mark, "accent"),
        TableCell("now", "strong"),
        "",
        TableCell(text, kind),
        "",
        TableCell(state, kind),
        "",
    )
    return TableRow(WORKSPACE, cells, search=f"now workspace {text} {state}")


def format_timeline_day(day: str, today: str) -> str:
    """Return the heading of a day: `TODAY`, `YESTERDAY`, `WED 2026-11-18`."""
    date, now = datetime.fromisoformat(day), datetime.fromisoformat(today)
    if date == now:
        return f"TODAY  {day}"
    if date == now - timedelta(days=1):
        return f"YESTERDAY  {day}"
    return f"{date:%a} {day}".upper()


def describe_sequence_changes(entry: Entry) -> str:
    """Return `1 file, 2 memories`, with the operation if it was no normal capture."""
    what = format_change_counts(entry.files, entry.records_changed)
    made = describe_kind(entry.kind)
    return f"{made}: {what}" if made else what


def format_change_counts(files: int, memories: int) -> str:
    """Return `1 file, 2 memories`."""
    counts = [count_text(files, "file")] * bool(files)
    counts += [count_text(memories, "memory")] * bool(memories)
    return ", ".join(counts) or "no file changed"


def describe_verified(entry: Entry) -> str:
    """Return where a sequence was verified: `this disk`, `this disk, stick`."""
    return ", ".join("this disk" if place == "local" else place for place in entry.verified)


def describe_sequence_name(entry: Entry) -> str:
    """Return the name of a sequence, and why it is never thinned."""
    return ", ".join(filter(None, (entry.label, *entry.pins)))


def format_chart_unit(activity: Activity) -> str:
    """Return the text to the left of the bars."""
    return {"hour": "captures/hour", "day": "captures/day"}.get(activity.unit, "captures")


def format_chart_range(activity: Activity, shown: int) -> str:
    """Return the text to the right of the bars: their first day and the highest count."""
    if activity.start is None or not shown:
        return ""
    left_out = len(activity.counts) - shown
    is_by_hour = activity.unit == "hour"
    begin = times.parse_time(activity.start).astimezone()
    begin += timedelta(hours=left_out) if is_by_hour else timedelta(days=left_out)
    since = f"{begin:%a %H:%M}" if is_by_hour else f"{begin:%Y-%m-%d}"
    return f"since {since}, maximum {max(activity.counts[-shown:])}"


# Details of the sequence under the cursor ---------------------------------------------------------------------------


def describe_sequence(entry: Entry) -> Iterator[DiffLine]:
    """Yield the lines about the sequence itself, which precede its changes."""
    made = times.parse_time(entry.created_at).astimezone()
    by_hand = ", changed by the user" if entry.trigger == "user" else ""
    kind = describe_kind(entry.kind) or "captured"
    yield DiffLine(f"{entry.sequence}  {made:%a %Y-%m-%d %H:%M:%S}  {kind}{by_hand}", NOTE)
    groups = group_changes(entry.changes.get("records", {}), entry.changes.get("raw", {}))
    yield DiffLine(
        f"{'; '.join(groups) or 'no memory or file changed'}, {format_size(entry.bytes)}".removesuffix(", "), TEXT
    )
    if entry.label:
        yield DiffLine(f"name: {entry.label}", TEXT)
    if entry.pins:
        yield DiffLine(f"pinned, so never removed: {', '.join(entry.pins)}", TEXT)
    yield DiffLine(f"verified: {describe_verified(entry)}" if entry.verified else "not verified yet (press v)", MUTED)
    if entry.on:
        yield DiffLine(f"this is the newest sequence on {', '.join(entry.on)}", MUTED)


def build_preview_lines(changes: Sequence[DiffChange], *, truncated: bool, command: str) -> list[DiffLine]:
    """Return the changes of a sequence: names first, then lines."""
    people = [change for change in changes if change.kind != OTHERS]
    lines = [DiffLine("")]
    if not people:
        lines.append(DiffLine("Only metadata changed." if changes else "Nothing changed.", MUTED))
    for change in people[:_MOST_NAMES] if len(people) > 1 else ():
        kind = "memory: " if change.kind == MEMORIES else ""
        lines.append(DiffLine(f"{change.letter} {kind}{change.name}  {change.counts}", TEXT))
    if len(people) > _MOST_NAMES:
        lines.append(DiffLine(f"and {len(people) - _MOST_NAMES} more", MUTED))
    if len(people) > 1:
        lines.append(DiffLine(""))
    # Skip memories if files are shown: memories come from files, so their lines would appear twice.
    lines += build_change_lines([each for each in people if each.kind == FILES] or people)
    if truncated:
        lines.append(DiffLine(f"Only the first changes are shown. To see all, press enter or run {command}", NOTE))
    return lines
