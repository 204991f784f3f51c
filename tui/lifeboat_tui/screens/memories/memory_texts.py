"""Texts about memories: rows and detail lines."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from textual.content import Content

from lifeboat_core.documents.record_documents import Before, Link, Memory, Provenance, Shown
from lifeboat_core.texts.human_text import count_text, when_text
from lifeboat_tui.cell_text import format_local_day, format_pair, make_plain, make_plain_lines
from lifeboat_tui.glyphs import Glyphs
from lifeboat_tui.markdown_text import render_markdown, strip_markdown
from lifeboat_tui.widgets.row_table import TableCell, TableColumn, TableRow

COLUMNS = (
    TableColumn("SINCE", 10, rank=1),
    TableColumn("TYPE", 10, rank=3),
    TableColumn("STATE", 9, rank=2),
    TableColumn("FROM", 16, grow=1, rank=5),
    TableColumn("SELF", 4, rank=6, right=True),
    TableColumn("MEMORY", 36, grow=4),
)
RELATIONS = (TableColumn("WHAT", 16), TableColumn("STATE", 13), TableColumn("WHERE", 24, grow=1))
LINE_LIMIT = 120
"""Maximum number of lines of a memory shown beside the list; its own screen shows all."""
LONGEST = 200_000
"""Maximum number of characters of a memory on its own screen."""
LONGEST_RENDERED = 50_000
"""Characters up to which the screen of a memory renders Markdown. A longer text is shown as it is stored: laying it out
would stop the dashboard for seconds."""
_LINK_STATES = {
    "present": ("ok", "there", "success"),
    "deleted": ("pending", "deleted", "warning"),
    "missing": ("unknown", "missing", "warning"),
    "purged": ("error", "purged", "error"),
}
"""Sign, word and style for the state of a link's target."""
LINK, BEFORE = "link", "before"
"""Prefixes of the keys of relation rows."""


_pair = partial(format_pair, width=10)


def build_memory_row(memory: Memory) -> TableRow:
    """Return the row of a memory in a list."""
    version = "" if memory.identity_version is None else f"v{memory.identity_version}"
    cells = (
        TableCell(format_memory_day(memory.created_at), "muted"),
        TableCell(memory.memory_type, "muted"),
        build_state_cell(memory),
        TableCell(memory.origin_file, "muted"),
        TableCell(version, "muted"),
        TableCell(strip_markdown(memory.snippet), "muted" if memory.is_gone else ""),
    )
    texts = (
        memory.memory_type,
        describe_memory_state(memory),
        memory.origin_file,
        memory.snippet,
        memory.id,
        *memory.tags,
    )
    return TableRow(memory.id, cells, search=" ".join(texts))


def describe_memory_state(memory: Memory | Shown) -> str:
    """Return the state of a memory (`active`, `archived`, `deleted`) with the user's marks (`pinned`, `forgotten`)."""
    if memory.forgotten:
        return "forgotten"
    return "pinned" if memory.pinned and memory.status == "active" else memory.status


def build_state_cell(memory: Memory) -> TableCell:
    kinds = {"pinned": "accent", "forgotten": "warning", "deleted": "warning", "archived": "muted"}
    state = describe_memory_state(memory)
    return TableCell(state, kinds.get(state, "muted"))


def format_memory_day(moment: str) -> str:
    """Return the date of a time, or the text itself if it is not a time."""
    try:
        return format_local_day(moment)
    except ValueError:
        return moment


def describe_listed_memory(memory: Memory) -> list[Content]:
    """Return what the list itself knows about a memory, for the time until its details are read."""
    return [Content(make_plain(strip_markdown(memory.snippet))), Content(""), style_faint("Loading...")]


def describe_memory(shown: Shown, glyphs: Glyphs, *, raw: bool) -> list[Content]:
    """Return the beginning of a memory's text, rendered or `raw`, and all known facts."""
    return [*_text_lines(shown, raw=raw), Content(""), *list_memory_facts(shown), *_related(shown, glyphs)]


def render_memory(text: str, *, raw: bool) -> Content:
    """Return the text of a memory, as rendered Markdown or as it is stored."""
    return Content(make_plain_lines(text)) if raw else render_markdown(text)


def _text_lines(shown: Shown, *, raw: bool) -> Iterator[Content]:
    text = shown.about.text
    if not text.strip():
        yield style_faint(
            "The text of this memory is no longer stored." if shown.status == "deleted" else "This memory has no text."
        )
        return
    lines = text.rstrip("\n").split("\n")
    yield render_memory("\n".join(line[:LONGEST] for line in lines[:LINE_LIMIT]), raw=raw)
    if len(lines) > LINE_LIMIT:
        yield style_faint(
            f"{count_text(len(lines) - LINE_LIMIT, 'more line')} not shown; press enter to see the whole memory"
        )


def list_memory_facts(shown: Shown) -> Iterator[Content]:
    """Yield facts of a memory: state, source, and validity."""
    about, origin = shown.about, shown.about.provenance
    yield _pair("state", ", ".join(filter(None, (describe_memory_state(shown), shown.memory_type, shown.namespace))))
    yield _pair("from", describe_source(origin))
    if origin.session_id or origin.interaction_id:
        yield _pair("session", " ".join(filter(None, (origin.session_id, origin.interaction_id))))
    speaks = f", about {when_text(shown.temporal.observed_at)}" if shown.temporal.observed_at else ""
    yield _pair("made", f"{when_text(shown.temporal.created_at)}{speaks}")
    if origin.identity_version is not None:
        yield _pair("identity", f"version {origin.identity_version}")
    yield _pair("kept", describe_validity(shown))
    if shown.tags:
        yield _pair("tags", ", ".join(shown.tags))
    if about.confidence is not None:
        yield _pair("sure", f"{about.confidence:.0%}")
    if about.stats is not None and about.stats.access_count:
        last = f", last on {when_text(about.stats.last_accessed_at)}" if about.stats.last_accessed_at else ""
        yield _pair("read", f"{count_text(about.stats.access_count, 'time')}{last}")


def describe_source(origin: Provenance) -> str:
    """Return the source of a memory: `MEMORY.md of openclaw 2026.2, written by the agent`."""
    runtime = " ".join(filter(None, (origin.runtime, origin.runtime_version)))
    place = origin.origin_file or "no file"
    how = f", {origin.extraction_method.replace('_', ' ')}" if origin.extraction_method else ""
    return f"{place}{f' in {runtime}' if runtime else ''}{how}"


def describe_validity(shown: Shown) -> str:
    """Return since when and until when this version is valid."""
    about = shown.about
    if about.first_sequence is None:
        return "not in any stored sequence"
    until = "until now" if about.present else f"until sequence {about.last_sequence}"
    return f"from sequence {about.first_sequence} {until}"


def _related(shown: Shown, glyphs: Glyphs) -> Iterator[Content]:
    before = len(list_earlier_versions(shown))
    if before:
        yield _pair("before", f"{count_text(before, 'earlier version')} (press enter)")
    for link in shown.about.links:
        yield _pair(
            link.relation or "link", f"{build_link_cell(link, glyphs)}  {strip_markdown(link.snippet) or link.id}"
        )


def list_earlier_versions(shown: Shown) -> list[Before]:
    """Return the earlier versions of the memory, newest first."""
    return [one for one in reversed(shown.about.chain) if not one.current]


def build_relation_rows(shown: Shown, glyphs: Glyphs) -> list[TableRow]:
    """Return earlier versions and links of the memory as rows."""
    rows: list[TableRow] = []
    if before := list_earlier_versions(shown):
        rows.append(TableRow("before-heading", ("EARLIER VERSIONS",), heading=True))
        rows += [_before_row(at, one, glyphs) for at, one in enumerate(before)]
    if links := shown.about.links:
        rows.append(TableRow("links-heading", ("LINKS",), heading=True))
        rows += [_link_row(at, one, glyphs) for at, one in enumerate(links)]
    return rows


def _before_row(at: int, one: Before, glyphs: Glyphs) -> TableRow:
    state = f"{glyphs.sign('error')} purged" if one.purged else f"{glyphs.sign('done')} kept"
    if one.sequence is None and not one.purged:
        state = f"{glyphs.sign('unknown')} thinned"
    where = "" if one.sequence is None else f"sequence {one.sequence}"
    since = when_text(one.time) if one.time else ""
    kind = "error" if one.purged else "success" if one.sequence is not None else "muted"
    return TableRow(f"{BEFORE}:{at}", (f"since {since}" if since else "earlier", TableCell(state, kind), where))


def _link_row(at: int, link: Link, glyphs: Glyphs) -> TableRow:
    kind = _LINK_STATES.get(link.state, ("unknown", link.state, "muted"))[2]
    return TableRow(
        f"{LINK}:{at}",
        (
            link.relation or "link",
            TableCell(build_link_cell(link, glyphs), kind),
            strip_markdown(link.snippet) or link.id,
        ),
    )


def _target(link: Link) -> str:
    return strip_markdown(link.snippet) or link.id


def build_link_cell(link: Link, glyphs: Glyphs) -> str:
    """Return the state of a link's target: `● there`, `? missing`, `✖ purged`."""
    sign, word, _ = _LINK_STATES.get(link.state, ("unknown", link.state, "muted"))
    return f"{glyphs.sign(sign)} {make_plain(word)}"


def style_faint(text: str) -> Content:
    return Content.styled(make_plain(text), "$foreground 60%")
