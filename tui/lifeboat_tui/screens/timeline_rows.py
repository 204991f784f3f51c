"""The lines of the timeline: pure functions from what `lifeboat timeline` and `diff` say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from lifeboat_alf import times
from lifeboat_core.texts.words import change_groups, count_text
from lifeboat_tui.documents.timeline import Activity, Entry
from lifeboat_tui.glyphs import Glyphs
from lifeboat_tui.screens.diff_lines import FILES, MEMORIES, OTHERS, Change, lines_of
from lifeboat_tui.text import size
from lifeboat_tui.widgets.diff_view import MUTED, NOTE, TEXT, Line
from lifeboat_tui.widgets.table import Cell, Column, Row

WORKSPACE = "workspace"
"""The key of the line of the workspace as it stands, and what the command line calls it."""
COLUMNS = (
    Column("", 2),
    Column("SEQ", 5, right=True),
    Column("TIME", 8),
    Column("CHANGES", 19, grow=2),
    Column("SIZE", 8, rank=4, right=True),
    Column("VERIFIED IN", 12, rank=2),
    Column("NAME", 8, grow=3, rank=3),
)
KINDS = {
    "capture": "",
    "restore": "restored",
    "adopt": "taken up",
    "snapshot": "safety point",
    "import": "imported",
    "rotate": "sealed anew",
}
"""What made a sequence, where it is no usual capture."""
_MOST_NAMES = 12
"""Lines of names before the changed lines."""


def rows_of(entries: Sequence[Entry], marks: Mapping[str, str], now: datetime, glyphs: Glyphs) -> Iterator[Row]:
    """A line for each sequence, under its day."""
    today, shown = now.astimezone().date(), None
    for entry in entries:
        made = times.parse(entry.created_at).astimezone()
        day = made.date()
        if day != shown:
            shown = day
            yield Row(f"day:{day}", (day_text(day.isoformat(), today.isoformat()),), heading=True)
        yield _row(entry, made, marks.get(str(entry.sequence), ""), glyphs)


def _row(entry: Entry, made: datetime, mark: str, glyphs: Glyphs) -> Row:
    changes, verified, name = changed(entry), verified_text(entry), name_text(entry)
    return Row(
        str(entry.sequence),
        (
            Cell(mark, "accent"),
            Cell(str(entry.sequence), "strong"),
            made.strftime("%H:%M:%S"),
            changes,
            Cell(size(entry.bytes), "muted"),
            Cell(f"{glyphs.sign('done')} {verified}" if verified else "", "success"),
            Cell(name, "accent"),
        ),
        search=f"{entry.sequence} {made:%Y-%m-%d %H:%M:%S %A} {entry.kind} {changes} {verified} {name}",
    )


def workspace_row(text: str, kind: str, *, mark: str) -> Row:
    """The line of the workspace as it stands."""
    state = "not captured" if kind == "warning" else ""
    cells = (Cell(mark, "accent"), Cell("now", "strong"), "", Cell(text, kind), "", Cell(state, kind), "")
    return Row(WORKSPACE, cells, search=f"now workspace {text} {state}")


def day_text(day: str, today: str) -> str:
    """`TODAY`, `YESTERDAY`, `WED 2026-11-18`."""
    date, now = datetime.fromisoformat(day), datetime.fromisoformat(today)
    if date == now:
        return f"TODAY  {day}"
    if date == now - timedelta(days=1):
        return f"YESTERDAY  {day}"
    return f"{date:%a} {day}".upper()


def changed(entry: Entry) -> str:
    """`1 file, 2 memories`, with what made it where that is no usual capture."""
    what = counted(entry.files, entry.records_changed)
    made = KINDS.get(entry.kind, entry.kind)
    return f"{made}: {what}" if made else what


def counted(files: int, memories: int) -> str:
    """`1 file, 2 memories`."""
    counts = [count_text(files, "file")] * bool(files)
    counts += [count_text(memories, "memory", "memories")] * bool(memories)
    return ", ".join(counts) or "details"


def verified_text(entry: Entry) -> str:
    """`this disk`, `this disk, stick`."""
    return ", ".join("this disk" if place == "local" else place for place in entry.verified)


def name_text(entry: Entry) -> str:
    """Its name, and why it is never thinned."""
    return ", ".join(filter(None, (entry.label, *entry.pins)))


def chart_unit(activity: Activity) -> str:
    """What stands before the bars."""
    return {"hour": "captures an hour", "day": "captures a day"}.get(activity.unit, "captures")


def chart_range(activity: Activity, shown: int) -> str:
    """What stands behind the newest bars: since when they are, and how much the highest is."""
    if activity.start is None or not shown:
        return ""
    left_out = len(activity.counts) - shown
    is_by_hour = activity.unit == "hour"
    begin = times.parse(activity.start).astimezone()
    begin += timedelta(hours=left_out) if is_by_hour else timedelta(days=left_out)
    since = f"{begin:%a %H:%M}" if is_by_hour else f"{begin:%Y-%m-%d}"
    return f"since {since}, at most {max(activity.counts[-shown:])}"


# What is told of the sequence under the cursor ----------------------------------------------------------------------


def about(entry: Entry) -> Iterator[Line]:
    """The sequence itself, before what it changed."""
    made = times.parse(entry.created_at).astimezone()
    by_hand = ", changed by hand" if entry.trigger == "user" else ""
    yield Line(f"{entry.sequence}  {made:%a %Y-%m-%d %H:%M:%S}  {entry.kind}{by_hand}", NOTE)
    groups = change_groups(entry.changes.get("records", {}), entry.changes.get("raw", {}))
    yield Line(f"{'; '.join(groups) or 'details'}, {size(entry.bytes)}".removesuffix(", "), TEXT)
    if entry.label:
        yield Line(f"name: {entry.label}", TEXT)
    if entry.pins:
        yield Line(f"never thinned: {', '.join(entry.pins)}", TEXT)
    yield Line(f"verified in {verified_text(entry)}" if entry.verified else "not read back by itself yet (v)", MUTED)
    if entry.on:
        yield Line(f"the newest state of {', '.join(entry.on)}", MUTED)


def told(changes: Sequence[Change], *, truncated: bool, command: str) -> list[Line]:
    """What changed: names first, then lines."""
    people = [change for change in changes if change.kind != OTHERS]
    lines = [Line("")]
    if not people:
        lines.append(Line("Only details changed." if changes else "Nothing changed.", MUTED))
    for change in people[:_MOST_NAMES] if len(people) > 1 else ():
        kind = "memory: " if change.kind == MEMORIES else ""
        lines.append(Line(f"{change.letter} {kind}{change.name}  {change.counts}", TEXT))
    if len(people) > _MOST_NAMES:
        lines.append(Line(f"and {len(people) - _MOST_NAMES} more", MUTED))
    if len(people) > 1:
        lines.append(Line(""))
    # Memories come from files: where the lines of files stand, theirs are the same once more.
    lines += lines_of([each for each in people if each.kind == FILES] or people)
    if truncated:
        lines.append(Line(f"This is the beginning; enter shows all. In a shell: {command}", NOTE))
    return lines
