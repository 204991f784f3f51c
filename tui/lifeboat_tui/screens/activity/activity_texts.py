"""Texts of the activity screen: log entries and service events as rows and as detail lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

import msgspec
from textual.content import Content

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError, list_codes
from lifeboat_core.documents.log_documents import Entry
from lifeboat_core.texts.human_text import quote_argument
from lifeboat_tui.cell_text import format_local_day, format_local_time, format_pair, make_plain
from lifeboat_tui.glyphs import Glyphs
from lifeboat_tui.widgets.row_table import TableCell, TableColumn, TableRow

DONE_COLUMNS = (
    TableColumn("TIME", 8),
    TableColumn("AGENT", 12, grow=1, rank=1),
    TableColumn("WHAT", 10),
    TableColumn("DETAILS", 24, grow=5),
)
NOTED_COLUMNS = (
    TableColumn("TIME", 8),
    TableColumn("LEVEL", 9),
    TableColumn("WHAT", 14, grow=1),
    TableColumn("DETAILS", 20, grow=5, rank=1),
)
_STYLES = {
    "held": "error",
    "damaged": "error",
    "purge": "accent",
    "restore": "accent",
    "undo": "accent",
    "import": "accent",
    "adopt": "accent",
    "rotate": "accent",
    "verified": "success",
    "verified_whole": "success",
    "accepted": "success",
}
_MEANING = {
    "create": ("Lifeboat now protects this agent. The first capture follows.", ""),
    "capture": (
        "The workspace changed and was captured as a new sequence.",
        "press o to open the sequence in the timeline",
    ),
    "held": (
        "This capture removed so much that it may be an accident. Lifeboat does not push it to remotes until you "
        "accept it.",
        "to restore the removed data: lifeboat restore {name}; to accept the removal: lifeboat agents accept {name}",
    ),
    "accepted": (
        "A user accepted a capture that was held because it removed much. The capture is now pushed to the remotes.",
        "",
    ),
    "damaged": (
        "The last verification found damaged data.",
        "verify again: lifeboat verify {name}; check the installation: lifeboat doctor",
    ),
    "verified": ("Lifeboat read the newest sequence back. All digests and signatures match.", ""),
    "verified_whole": ("Lifeboat read all sequences back. All digests and signatures match.", ""),
    "thin": ("Lifeboat removed old sequences, as the retention settings say.", ""),
    "pin": ("This sequence was pinned. Thinning (the removal of old sequences) never removes a pinned sequence.", ""),
    "unpin": ("This sequence was unpinned. Thinning (the removal of old sequences) may now remove it.", ""),
    "label": (
        "A user gave this sequence a name. Thinning (the removal of old sequences) never removes a named sequence.",
        "",
    ),
    "restore": ("An earlier sequence was restored.", "to undo the restore: lifeboat undo {name}"),
    "undo": ("A restore was undone. The workspace has the content from before the restore.", ""),
    "import": ("The content of an archive file was imported into the agent.", ""),
    "adopt": (
        "This machine became the writer of the agent. The local history continues from the newest sequence "
        "on a remote.",
        "",
    ),
    "rotate": ("The agent got a new key pair. Its credentials are now encrypted for the new pair.", ""),
    "rotated": ("The agent got a new key pair. Its credentials are now encrypted for the new pair.", ""),
    "forgotten": ("Memories were forgotten (hidden). To show a memory again, select it and press f.", ""),
    "purge": ("A purge destroyed data in the whole history.", "press o to open the receipt"),
    "epoch": ("Machines marked as lost can no longer write this agent.", ""),
}
"""For each kind of entry its meaning and the advice, if any."""
LEVELS = ("debug", "info", "warning", "error")
_LEVEL_SIGNS = {"warning": ("warning", "warning"), "error": ("error", "error")}


# Operations on agents -----------------------------------------------------------------------------------------------


def build_log_rows(entries: Iterable[Entry]) -> Iterator[tuple[TableRow, Entry | None]]:
    """Yield entries newest first, with a heading row for each day."""
    seen: Counter[str] = Counter()
    keyed = [(_keyed(one, seen), one) for one in reversed(list(entries))]
    day = ""
    for key, one in reversed(keyed):
        if day != format_local_day(one.time):
            day = format_local_day(one.time)
            yield TableRow(f"day {day}", (day,), heading=True), None
        what = TableCell(one.kind.replace("_", " "), _STYLES.get(one.kind, "strong"))
        yield TableRow(key, (TableCell(format_local_time(one.time), "muted"), TableCell(one.name), what, one.text)), one


def _keyed(one: Entry, seen: Counter[str]) -> str:
    """Return a stable key for an entry; identical entries get different keys."""
    name = f"{one.time} {one.agent} {one.kind} {one.sequence} {one.receipt} {one.text}"
    seen[name] += 1
    return f"{name} {seen[name]}"


def describe_log_entry(one: Entry) -> Iterator[Content]:
    """Yield each field of an entry, its meaning and the advice."""
    yield Content.styled(make_plain(one.text), "bold")
    meaning, helps = _MEANING.get(one.kind, ("", ""))
    if meaning:
        yield Content(meaning)
    if helps:
        yield format_pair("next", helps.format(name=quote_argument(one.name)))
    if one.details.get("set") is False and one.kind != "label":
        yield Content("This event means that the problem is solved.")
    yield Content("")
    yield from _pairs(
        {
            "time": f"{format_local_day(one.time)} {format_local_time(one.time)}",
            "agent": f"{one.name}  {one.agent}",
            "kind": one.kind,
            "sequence": one.sequence,
            "receipt": one.receipt,
        }
    )
    yield from _pairs({name: value for name, value in one.details.items() if name != "set"})


# Events of the service ----------------------------------------------------------------------------------------------


def build_event_rows(
    events: Iterable[JsonObject], names: dict[str, str], glyphs: Glyphs
) -> Iterator[tuple[TableRow, JsonObject | None]]:
    """Yield events newest first, with a heading row for each day. `names` maps agent ids to names."""
    seen: Counter[str] = Counter()
    keyed: list[tuple[str, JsonObject]] = []
    for one in events:
        name = msgspec.json.encode(one).decode()
        seen[name] += 1
        keyed.append((f"{name} {seen[name]}", one))
    day = ""
    for key, one in reversed(keyed):
        if day != _moment(one, format_local_day):
            day = _moment(one, format_local_day)
            yield TableRow(f"day {day}", (day,), heading=True), None
        yield _noted_row(key, one, names, glyphs), one


def _noted_row(key: str, one: JsonObject, names: dict[str, str], glyphs: Glyphs) -> TableRow:
    level = str(one.get("level", ""))
    sign, style = _LEVEL_SIGNS.get(level, ("", "muted"))
    said = f"{glyphs.sign(sign)} {level}" if sign else f"  {level}"
    rest = (f"{name}={_value(value, names)}" for name, value in one.items() if name not in ("time", "level", "kind"))
    cells = (
        TableCell(_moment(one, format_local_time), "muted"),
        TableCell(said, style),
        TableCell(str(one.get("kind", "")), "strong"),
        " ".join(rest),
    )
    return TableRow(key, cells)


def _moment(event: JsonObject, shown: Callable[[str], str]) -> str:
    """Return the time or the day of an event, "" if it has none."""
    try:
        return shown(str(event.get("time", "")))
    except ValueError:
        return ""


def describe_event(one: JsonObject, names: dict[str, str]) -> Iterator[Content]:
    """Yield each field of an event. An event with an error code also gets cause and advice."""
    yield Content.styled(make_plain(str(one.get("kind", "")).replace("_", " ").replace(".", ", ")), "bold")
    code = one.get("code") or one.get("error")
    if isinstance(code, str):
        cause, helps = find_cause_and_fix(code)
        yield Content.assemble(("cause       ", "$foreground 60%"), make_plain(cause))
        yield Content.assemble(("fix  ", "$foreground 60%"), make_plain(helps))
    yield Content("")
    yield from _pairs({"time": f"{_moment(one, format_local_day)} {_moment(one, format_local_time)}"})
    yield from _pairs({name: _value(value, names) for name, value in one.items() if name != "time"})


def find_cause_and_fix(code: str) -> tuple[str, str]:
    """Return the meaning of an error code and what helps."""
    known = next((each for each in list_codes() if each.code == code and each is not LifeboatError), None)
    cause = code.replace("_", " ") if known is None else known.title
    helps = (known.fix if known is not None else None) or "press 8 to open the doctor"
    return cause, helps


def _value(value: object, names: dict[str, str]) -> str:
    if isinstance(value, str):
        return names.get(value, value)
    return msgspec.json.encode(value).decode()


def _pairs(fields: JsonObject) -> Iterator[Content]:
    for name, value in fields.items():
        if value is None:
            continue
        said = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        yield format_pair(name, said)


def count_kinds(kinds: Iterable[str]) -> list[tuple[str, int]]:
    """Return kinds with their counts, the most frequent first."""
    return sorted(Counter(kinds).items(), key=lambda each: (-each[1], each[0]))
