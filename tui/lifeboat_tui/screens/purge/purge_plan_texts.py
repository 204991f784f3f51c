"""Texts of a purge plan: rows of the preview, headline and remarks."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_core.documents.purge_documents import Hit, Purged, Remote, Sight
from lifeboat_core.texts.human_text import count_text, join_names, path_text
from lifeboat_tui.screens.purge.purge_command import PurgeChoices
from lifeboat_tui.widgets.row_table import TableCell, TableColumn, TableRow

COLUMNS = (
    TableColumn("WHAT", 11),
    TableColumn("WHERE", 24, grow=3),
    TableColumn("LINE", 5, rank=3, right=True),
    TableColumn("MATCH", 8, rank=1),
    TableColumn("VERSIONS", 8, rank=2, right=True),
    TableColumn("FOUND IN", 12, rank=4),
)
REVOKE = "If a key or password leaked, revoke it at its issuer first: copies outside Lifeboat stay valid."
NEVER = "Not reached: exported files, machines that are off, and backups made by operators of remotes."
GUESSABLE = (
    "No fingerprint is kept, because the text could be guessed from it. The text comes back when a file that contains "
    "it changes. Press w to cut it there, or p to keep a fingerprint."
)
GUESSABLE_KEPT = (
    "A fingerprint of the guessable text is kept. Captures recognise the text, but anyone with this disk can guess it. "
    "Press p to keep none."
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
        return f"All of {name} will be purged: {states}, its keys, all undo folders, and its copies on remotes."
    if plan.is_empty and plan.lies_live:
        return f"It is in live files of {name} that are not captured yet; the purge captures them first."
    if plan.is_empty:
        return f"No sequence of {name} contains it."
    return f"{name}: {count_purged_items(plan)} will be purged."


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
    return TableRow(f"beside {at}", (place, path_text(sight.where), _line(sight.line), sight.match, "", "not captured"))


def _line(line: int | None) -> str:
    return "" if line is None else str(line)


def list_purge_remarks(plan: Purged, wanted: PurgeChoices) -> Iterator[tuple[str, str]]:
    """Yield (kind of style, sentence) for everything else that the user should know before the purge."""
    if plan.is_whole:
        yield "", "The workspace is not changed."
        for history in plan.histories[1:]:
            yield "", f"The history {history} is purged too."
    yield from _live(plan, wanted)
    for path in plan.names[:_MOST]:
        yield (
            "warning",
            f"{path_text(path)}: the file name contains the text. Names stay in the history, so rename the file.",
        )
    for path in plan.dropped[:_MOST]:
        yield "warning", f"{path_text(path)}: it would be unreadable without the text, so its whole content is purged."
    if plan.spared:
        count = count_text(len(plan.spared), "memory")
        yield "", f"{count} with other sources too are kept: {join_names(plan.spared[:3])}."
    if wanted.keep_print:
        yield "warning", GUESSABLE_KEPT
    elif plan.guessable:
        yield "warning", GUESSABLE
    if plan.sealed:
        yield "", "The text is a sealed secret. Only your key opens it, and it stays sealed."
    if plan.elsewhere:
        named = join_names([f"{name} ({count_text(count, 'place')})" for name, count in plan.elsewhere.items()])
        yield "warning", f"Other agents contain it too: {named}. Press o afterwards to continue with them."
    yield from _second_copies(plan)
    for each in plan.unreachable:
        yield "warning", f"Not reached: {path_text(each.name)}: {each.why} ({each.what})."
    yield "muted", NEVER


def _live(plan: Purged, wanted: PurgeChoices) -> Iterator[tuple[str, str]]:
    files = [each for each in plan.live if each.command is None]
    for each in plan.live:
        if each.command is not None:
            yield "warning", f"{path_text(each.path)} contains it and is not edited. To remove it: {each.command}"
    if files and wanted.workspace:
        named = join_names([f"{path_text(each.path)} ({count_text(each.places, 'place')})" for each in files[:_MOST]])
        yield "warning", f"Live files are edited too: {named}."
    elif files:
        count = count_text(len(files), "live file")
        yield "", f"It is also in {count}: not edited, and left out of captures. Press w to cut it there too."
    elif plan.is_empty and plan.lies_live:
        yield "", "If no sequence contains it after that capture, nothing is purged."


def _second_copies(plan: Purged) -> Iterator[tuple[str, str]]:
    offline = {each.name for each in plan.unreachable}
    for remote in plan.remotes:
        if remote.name not in offline:
            yield "warning" if remote.state else "", describe_remote_schedule(remote)


def describe_remote_schedule(remote: Remote) -> str:
    """Return when the purge takes effect on a remote."""
    if remote.state is not None:
        why = f" ({remote.message})" if remote.message else ""
        return f"{remote.name}: unreachable now{why}; purged at the next contact."
    only = count_text(len(remote.only_there), "state")
    more = f", including {only} that only this remote has" if remote.only_there else ""
    when = "after 24 hours, or immediately with its second token" if remote.waits else "at once"
    return f"{remote.name}: {when}{more}."
