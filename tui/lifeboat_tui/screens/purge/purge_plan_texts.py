"""Texts of a purge plan: rows of the preview, headline and remarks."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_core.documents.purge_documents import Hit, Purged, Remote, Sight
from lifeboat_core.texts.human_text import count_text, join_names, path_text
from lifeboat_tui.screens.purge.purge_command import PurgeChoices
from lifeboat_tui.widgets.row_table import TableCell, TableColumn, TableRow

COLUMNS = (
    TableColumn("WHAT", 10),
    TableColumn("WHERE", 24, grow=3),
    TableColumn("LINE", 5, rank=3, right=True),
    TableColumn("MATCH", 8, rank=1),
    TableColumn("VERSIONS", 8, rank=2, right=True),
    TableColumn("KEPT IN", 12, rank=4),
)
REVOKE = (
    "A key or a password that leaked has to be revoked where it was issued, first of all: "
    "whoever has it already keeps it."
)
NEVER = (
    "What no program here reaches: files you exported, machines that were off, backups of whoever keeps a second copy."
)
GUESSABLE = (
    "Some of it could be guessed from a print, so none is kept: it comes back with the next change of the file that "
    "holds it. w cuts it there; p keeps a print."
)
GUESSABLE_KEPT = (
    "A print is kept of what can be guessed: captures know it again, but whoever has this disk can find it by trying. "
    "p keeps none."
)
_PLACES = {"workspace": "live file", "undo": "undo folder", "home": "own file"}
_KINDS = {"record": "memory", "file": "file", "name": "file name"}
_MOST = 20
"""Maximum number of remarks of one kind; the twin command shows all."""


def describe_purge_plan(plan: Purged) -> str:
    """Return one sentence that summarizes the plan."""
    name = plan.agent.name
    if plan.is_whole:
        states = count_text(plan.sequences_rewritten, "state")
        return f"All of {name} would be destroyed: {states}, its keys, every undo folder, its place at second copies."
    if plan.is_empty and plan.lies_live:
        return f"It lies in live files of {name} that are not captured yet; a purge captures them first."
    if plan.is_empty:
        return f"Nothing that is kept of {name} holds it."
    return f"{name}: {count_purged_items(plan)} would be destroyed."


def count_purged_items(plan: Purged) -> str:
    """Return what is purged: `3 memories and places in 2 files (41 versions in 38 states)`. Memories are purged whole;
    elsewhere only the matches."""
    if plan.is_whole:
        return f"the whole agent, with {count_text(plan.records, 'memory')}"
    cut = len({hit.where for hit in plan.hits if hit.kind == "record"} - set(plan.record_ids))
    places = [count_text(cut, "memory")] if cut else []
    places += [count_text(len(plan.files), "file")] if plan.files else []
    named = [count_text(plan.records, "memory")] if plan.records else []
    named += [f"places in {join_names(places)}"] if places else []
    versions, states = count_text(plan.versions, "version"), count_text(plan.sequences_rewritten, "state")
    return f"{join_names(named) or 'places'} ({versions} in {states})"


def build_purge_rows(plan: Purged) -> list[TableRow]:
    """Return one row per place: places in the vault first, then places outside of it."""
    kept = [_kept(at, hit) for at, hit in enumerate(plan.hits)]
    return kept + [_beside(at, sight) for at, sight in enumerate(plan.beside)]


def _kept(at: int, hit: Hit) -> TableRow:
    where = hit.where if hit.kind == "record" else path_text(hit.where)
    span = "" if hit.first is None else str(hit.first) if hit.first == hit.last else f"{hit.first} to {hit.last}"
    kind = "warning" if hit.kind == "name" else ""
    versions = "" if hit.versions is None else str(hit.versions)
    return TableRow(
        f"kept {at}",
        (TableCell(_KINDS.get(hit.kind, hit.kind), kind), where, _line(hit.line), hit.masked, versions, span),
    )


def _beside(at: int, sight: Sight) -> TableRow:
    place = TableCell(_PLACES.get(sight.place, sight.place), "muted")
    return TableRow(f"beside {at}", (place, path_text(sight.where), _line(sight.line), sight.match, "", "not kept"))


def _line(line: int | None) -> str:
    return "" if line is None else str(line)


def list_purge_remarks(plan: Purged, wanted: PurgeChoices) -> Iterator[tuple[str, str]]:
    """Yield (kind of style, sentence) for everything else that the user should know before the purge."""
    if plan.is_whole:
        yield "", "The workspace stays as it is."
        for history in plan.histories[1:]:
            yield "", f"Also the history {history} goes."
    yield from _live(plan, wanted)
    for path in plan.names[:_MOST]:
        yield "warning", f"{path_text(path)}: its name holds the text; names stay in the history, so rename it."
    for path in plan.dropped[:_MOST]:
        yield "warning", f"{path_text(path)}: it could not be read without the text, so its content goes whole."
    if plan.spared:
        count = count_text(len(plan.spared), "memory")
        yield "", f"{count} derived from it and from others as well stay: {join_names(plan.spared[:3])}."
    if wanted.keep_print:
        yield "warning", GUESSABLE_KEPT
    elif plan.guessable:
        yield "warning", GUESSABLE
    if plan.sealed:
        yield "", "It is a secret that is cut out and sealed: only your key opens it, and it stays sealed."
    if plan.elsewhere:
        named = join_names([f"{name} ({count_text(count, 'place')})" for name, count in plan.elsewhere.items()])
        yield "warning", f"Other agents hold it too: {named}. o goes on with them afterwards."
    yield from _second_copies(plan)
    for each in plan.unreachable:
        yield "warning", f"Not reached: {path_text(each.name)}: {each.why} ({each.what})."
    yield "muted", NEVER


def _live(plan: Purged, wanted: PurgeChoices) -> Iterator[tuple[str, str]]:
    files = [each for each in plan.live if each.command is None]
    for each in plan.live:
        if each.command is not None:
            yield "warning", f"{path_text(each.path)} holds it and is not cut here; what removes it: {each.command}"
    if files and wanted.workspace:
        named = join_names([f"{path_text(each.path)} ({count_text(each.places, 'place')})" for each in files[:_MOST]])
        yield "warning", f"Live files are cut as well: {named}."
    elif files:
        count = count_text(len(files), "live file")
        yield "", f"It lies in {count} too: left alone, and kept out of captures. w cuts it there, too."
    elif plan.is_empty and plan.lies_live:
        yield "", "What a purge finds in nothing that is kept, also after that capture, it leaves alone."


def _second_copies(plan: Purged) -> Iterator[tuple[str, str]]:
    offline = {each.name for each in plan.unreachable}
    for remote in plan.remotes:
        if remote.name not in offline:
            yield "warning" if remote.state else "", describe_remote_schedule(remote)


def describe_remote_schedule(remote: Remote) -> str:
    """Return when the purge takes effect on a remote."""
    if remote.state is not None:
        why = f" ({remote.message})" if remote.message else ""
        return f"{remote.name}: not reached now{why}; it is told at the next contact."
    only = count_text(len(remote.only_there), "state")
    more = f", with {only} that only it has" if remote.only_there else ""
    when = "after 24 hours, or at once with its second token" if remote.waits else "at once"
    return f"{remote.name}: {when}{more}."
