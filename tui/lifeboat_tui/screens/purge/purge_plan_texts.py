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
REVOKE = (
    "If a key or password leaked, revoke it first at the service that issued it: copies outside Lifeboat still work."
)
NEVER = "A purge cannot reach exported files, machines that are off, and backups made by operators of remotes."
GUESSABLE = (
    "This text is short enough to be guessed from a fingerprint (hash), so Lifeboat keeps none. The text is "
    "captured again when a file that contains it changes. Press w to remove it from the live files, or p to keep "
    "a fingerprint."
)
GUESSABLE_KEPT = (
    "Lifeboat keeps a fingerprint (hash) of this text, so that captures leave the text out. Anyone with this disk "
    "could guess the text from the fingerprint. Press p to keep no fingerprint."
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
        return f"All data of {name} will be purged: {states}, the keys, all undo folders, and the copies on remotes."
    if plan.is_empty and plan.lies_live:
        return (
            f"Only live files of {name} contain the text, and they are not captured yet. The purge captures "
            "these files first."
        )
    if plan.is_empty:
        return f"No sequence of {name} contains the text."
    return f"{name}: {count_purged_items(plan)} will be purged."


def count_purged_items(plan: Purged) -> str:
    """Return what is purged: `3 memories and places in 2 files (41 versions in 38 states)`. Memories are purged whole;
    elsewhere only the matches."""
    if plan.is_whole:
        return f"the whole agent, with {count_text(plan.records, 'memory')}"
    if plan.labels and not plan.versions:
        return count_text(len(plan.labels), "name or proposal", "names or proposals")
    cut = len({hit.where for hit in plan.hits if hit.kind == "record"} - set(plan.record_ids))
    places = [count_text(cut, "memory")] if cut else []
    places += [count_text(len(plan.files), "file")] if plan.files else []
    named = [count_text(plan.records, "memory")] if plan.records else []
    named += [f"matching passages in {join_names(places)}"] if places else []
    versions, states = count_text(plan.versions, "version"), count_text(plan.sequences_rewritten, "state")
    return f"{join_names(named) or 'matching passages'} ({versions} in {states})"


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
            yield "", f"The older history {history} of this agent is purged too."
    yield from _live(plan, wanted)
    for path in plan.names[:_MOST]:
        yield (
            "warning",
            f"The name of the file {path_text(path)} contains the text. A purge cannot remove file names from the "
            "history, so rename the file.",
        )
    for path in plan.dropped[:_MOST]:
        yield (
            "warning",
            (
                f"If the text is removed, {path_text(path)} can no longer be read, so the whole content of the "
                "file is purged."
            ),
        )
    if plan.spared:
        count = count_text(len(plan.spared), "memory")
        yield (
            "",
            (
                f"The purge keeps {count}, because also derived from memories that are not purged: "
                f"{join_names(plan.spared[:3])}."
            ),
        )
    if wanted.keep_print:
        yield "warning", GUESSABLE_KEPT
    elif plan.guessable:
        yield "warning", GUESSABLE
    if plan.sealed:
        yield (
            "",
            (
                "Lifeboat also stores this text as an encrypted credential. Only your key decrypts it, and the "
                "purge does not remove it."
            ),
        )
    if plan.elsewhere:
        named = join_names([f"{name} ({count_text(count, 'place')})" for name, count in plan.elsewhere.items()])
        yield "warning", f"Other agents contain the text too: {named}. After this purge, press o to purge it there."
    yield from _second_copies(plan)
    for each in plan.unreachable:
        yield "warning", f"The purge cannot reach {path_text(each.name)}: {each.why} ({each.what})."
    yield "muted", NEVER


def _live(plan: Purged, wanted: PurgeChoices) -> Iterator[tuple[str, str]]:
    files = [each for each in plan.live if each.command is None]
    for each in plan.live:
        if each.command is not None:
            yield (
                "warning",
                (
                    f"{path_text(each.path)} contains the text, but the purge does not edit this file. To "
                    f"remove the text: {each.command}"
                ),
            )
    if files and wanted.workspace:
        named = join_names([f"{path_text(each.path)} ({count_text(each.places, 'place')})" for each in files[:_MOST]])
        yield "warning", f"The text is also removed from these files in the workspace: {named}."
    elif files:
        count = count_text(len(files), "live file")
        yield (
            "",
            (
                f"The text is also in {count}. The purge does not edit them, but captures leave the text out. "
                "Press w to remove it there too."
            ),
        )
    elif plan.is_empty and plan.lies_live:
        yield (
            "",
            "The purge captures these files first. If no sequence contains the text after that, nothing is purged.",
        )


def _second_copies(plan: Purged) -> Iterator[tuple[str, str]]:
    offline = {each.name for each in plan.unreachable}
    for remote in plan.remotes:
        if remote.name not in offline:
            yield "warning" if remote.state else "", describe_remote_schedule(remote)


def describe_remote_schedule(remote: Remote) -> str:
    """Return when the purge takes effect on a remote."""
    if remote.state is not None:
        why = f" ({remote.message})" if remote.message else ""
        return f"The remote {remote.name} is unreachable now{why}. The purge is sent at the next contact."
    only = count_text(len(remote.only_there), "state")
    more = f", including {only} stored only on this remote" if remote.only_there else ""
    when = "after 24 hours, or immediately with the endpoint's token (scope purge)" if remote.waits else "at once"
    return f"Remote {remote.name}: the purge is applied {when}{more}."
