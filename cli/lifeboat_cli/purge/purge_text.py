"""Describe a purge for people: what would be destroyed, what was, and what cannot be reached."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.decoding.unread_forms import NOT_READ
from lifeboat_cli.terminal.output import CommandOutput
from lifeboat_core.agents.agent import Agent
from lifeboat_core.texts.human_text import count_text, join_names, path_text, quote_argument, time_text

if TYPE_CHECKING:
    from lifeboat_core.purge.purge_search import PurgeMatches
    from lifeboat_core.purge.workspace_purge import WorkspaceRemoval

_WIDEST = 300
"""Characters of one destroyed text."""
_MOST = 20
"""Lines of one kind; `--json` has all."""
_NEVER = (
    "A purge does not reach files that you exported, machines that are off, and backups that operators of remotes made."
)


_GUESSABLE = (
    "No fingerprint of the text is stored, because the text could be guessed from the fingerprint. If an agent writes "
    "the text again, Lifeboat captures it again. To store a fingerprint anyway: --keep-print"
)
_GUESSABLE_LIVE = ". To remove the text from the current files now: --workspace"


def describe_extent(document: JsonObject) -> str:
    """Return `3 memories and places in 2 files (41 versions in 38 states)`. Memories are destroyed entirely; elsewhere
    only the matches."""
    whole = count_text(document["records"], "memory") if document["records"] else ""
    cut = len({hit["where"] for hit in document["hits"] if hit["kind"] == "record"} - set(document["record_ids"]))
    parts = [
        count_text(cut, "memory") if cut else "",
        count_text(len(document["files"]), "file") if document["files"] else "",
    ]
    places = join_names([part for part in parts if part])
    named = join_names([part for part in (whole, f"places in {places}" if places else "") if part]) or "nothing"
    if not document["versions"] and document["labels"]:
        return count_text(len(document["labels"]), "name or proposal", "names or proposals")
    versions, states = document["versions"], document["sequences_rewritten"]
    return f"{named} ({count_text(versions, 'version')} in {count_text(states, 'state')})" if versions else named


def print_purge_plan(
    output: CommandOutput, agent: Agent, found: PurgeMatches, document: JsonObject, *, workspace: bool
) -> None:
    """Print what would be destroyed, and what stays. With `workspace`, the live files are cut too, so their differences
    are shown."""
    if not document["versions"] and not document["labels"]:
        output.line(f"No copy of {agent.name} contains the text.")
    else:
        output.line(f"{describe_extent(document)} of {agent.name} would be destroyed.", style="bold")
    _some(output, [f"  {_hit(hit)}" for hit in document["hits"]])
    _some(output, [f"  {_beside(sight)}" for sight in document["beside"]])
    if document["labels"]:
        output.line(f"Would be removed: {join_names(document['labels'])}.")
    _say_also(output, found)
    _say_live(output, found, workspace=workspace)
    if document["guessable"]:
        output.warn(_GUESSABLE if workspace else _GUESSABLE + _GUESSABLE_LIVE)
    for line in _remarks(agent, document):
        output.warn(line)
    unreachable = {each["name"] for each in document["unreachable"]}
    for remote in document["remotes"]:
        if remote["name"] not in unreachable:
            output.line(f"  {_planned_at(remote)}")
    _say_opaque(output, found)
    if document["sealed"]:
        output.warn(
            "This text is a credential, which Lifeboat stores only encrypted for your key. The encrypted "
            "credential is not purged"
        )
    if document["hits"] or document["beside"]:
        output.note("If a key or password leaked, first revoke it at the service that issued it.")
        output.note(_NEVER)


def _say_opaque(output: CommandOutput, found: PurgeMatches) -> None:
    """Print where the text may be in a form that is not searched."""
    if found.opaque:
        names = [f"{name} ({form})" for name, form in sorted(found.opaque.items())]
        more = [f"{len(names) - _MOST} more"] if names[_MOST:] else []
        output.warn(f"these files could not be searched: {join_names([*names[:_MOST], *more])}")
    output.note(f"A purge never searches {NOT_READ}.")


def _say_also(output: CommandOutput, found: PurgeMatches) -> None:
    """Print what is destroyed beside the matches. Its text appears on this terminal and nowhere else."""
    if not found.also:
        return
    count, places = sum(map(len, found.also.values())), len(found.also)
    output.warn(
        f"the purge also destroys text around the matches: {count_text(count, 'passage')} in "
        f"{count_text(places, 'place')}"
    )
    if not output.is_terminal:
        return
    for where, texts in list(found.also.items())[:_MOST]:
        output.line(f"  {path_text(where)}:")
        for text in texts[:_MOST]:
            output.verbatim(f"    {_first(text)}")


def _first(text: str) -> str:
    """Return the first characters, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= _WIDEST else f"{line[:_WIDEST]}…"


def _say_live(output: CommandOutput, found: PurgeMatches, *, workspace: bool) -> None:
    """Print what is in the live workspace. If it is to be cut, its text appears on this terminal and nowhere else."""
    files = [cut for cut in found.live if cut.command is None]
    if files and not workspace:
        count = count_text(len(files), "file")
        output.note(
            f"The text is in {count} of the workspace. To remove it there: --workspace. Without that option captures "
            "leave it out."
        )
    binary = [path_text(cut.path) for cut in files if not cut.diff]
    if binary and not workspace:
        output.warn(
            "captures may leave out these files after their next change, unless you remove the text from the files: "
            f"{join_names(binary)}"
        )
    _say_cuts(output, [cut for cut in found.live if workspace or cut.command is not None])


def _say_cuts(output: CommandOutput, cuts: list[WorkspaceRemoval]) -> None:
    for cut in cuts:
        if cut.command is not None:
            output.warn(
                f"{path_text(cut.path)} contains the text, but this command cannot remove it there; to remove it: "
                f"{cut.command}"
            )
        elif cut.diff and output.is_terminal:
            output.line(f"Changes in the workspace file {path_text(cut.path)}:")
            output.block(cut.diff)
        else:
            output.line(f"Matches in the workspace file {path_text(cut.path)}: {count_text(cut.spans, 'place')}")


def _hit(hit: JsonObject) -> str:
    place = path_text(hit["where"]) if hit["kind"] != "record" else f"memory {hit['where']}"
    line = f":{hit['line']}" if hit["line"] else ""
    return f"{place}{line}  {hit['masked']}"


def _beside(sight: JsonObject) -> str:
    line = f":{sight['line']}" if sight["line"] else ""
    return f"{sight['place']} {sight['where']}{line}  {sight['match']}"


def _remarks(agent: Agent, document: JsonObject) -> Iterator[str]:
    for path in document["names"][:_MOST]:
        yield (
            f"{path_text(path)}: the name of the file contains the text, and names stay in the history; rename the file"
        )
    for path in document["dropped"][:_MOST]:
        yield f"{path_text(path)}: the file cannot be rewritten without the text, so its whole content is destroyed"
    if document["spared"]:
        count = count_text(len(document["spared"]), "memory")
        yield (
            f"{count} kept, because also derived from memories that are not purged: "
            f"{join_names(document['spared'][:3])}"
        )
    for name, count in document["elsewhere"].items():
        yield (
            f"the agent {name} also contains the text, in {count_text(count, 'place')}; to purge it there: "
            f"lifeboat purge {quote_argument(name)}"
        )
    for each in document["unreachable"]:
        yield f"not reached: {each['name']} ({each['what']}): {each['why']}"


def _planned_at(remote: JsonObject) -> str:
    if remote["state"] is not None:
        return f"{remote['name']}: not reachable now; the purge is sent at the next contact"
    more = (
        f", including {count_text(len(remote['only_there']), 'state')} that exist only on this remote"
        if remote["only_there"]
        else ""
    )
    when = "24 hours after the request, or immediately with its second token" if remote["waits"] else "immediately"
    stays = (
        "; the bucket keeps older versions of deleted objects, and the purge does not remove these versions"
        if remote["keeps_versions"]
        else ""
    )
    return f"{remote['name']}: the purge is applied {when}{more}{stays}"


def print_kept_out_files(output: CommandOutput, agent: Agent, cuts: list[WorkspaceRemoval]) -> None:
    """Print what was purged and is still in live files."""
    if not cuts:
        output.line(f"The workspace of {agent.name} contains no purged text.")
    _say_cuts(output, cuts)


def print_cut_files(output: CommandOutput, document: JsonObject) -> None:
    """Print which live files were cut."""
    if document["workspace"]:
        output.line(
            "Removed purged text from these workspace files: "
            f"{join_names([path_text(path) for path in document['workspace']])}."
        )


def print_readmitted_files(output: CommandOutput, agent: Agent, document: JsonObject) -> None:
    """Print which files captures take again."""
    if not document["let_in"]:
        output.line(f"No file of {agent.name} is left out of captures because of a purge.")
        return
    named = join_names([path_text(path) for path in document["let_in"]])
    output.line(
        f"{('Would be captured' if document['dry_run'] else 'Captured')} again from the next capture on: {named}."
    )


def print_whole_agent(output: CommandOutput, agent: Agent, document: JsonObject) -> None:
    """Print an entire agent that would be destroyed."""
    states = count_text(document["sequences_rewritten"], "state")
    output.line(f"All data of {agent.name} would be destroyed: {states}, its keys and all undo folders.", style="bold")
    output.line(f"The files in the workspace {agent.workspace} are not changed.")
    for name in document["histories"][1:]:
        output.line(f"  The replaced history {name} would be destroyed too.")
    for remote in document["remotes"]:
        output.line(f"  {_planned_at({**remote, 'only_there': []})}")
    output.note(_NEVER)


def print_purge_result(output: CommandOutput, agent: Agent, document: JsonObject) -> None:
    """Print what was destroyed, where it is not finished, and where the proof is. What could not be searched was in the
    plan."""
    if document["scope"] == "full_agent":
        output.line(f"All data of {agent.name} on this machine was destroyed.", style="bold")
    else:
        output.line(f"Destroyed: {describe_extent(document)}.", style="bold")
    if document.get("labels"):
        output.line(f"Removed: {join_names(document['labels'])}.")
    print_cut_files(output, document)
    if document["undo_folders"]:
        folders = count_text(document["undo_folders"], "undo folder")
        output.line(f"Emptied {folders}, so `lifeboat undo` can no longer undo earlier restores.")
    if document["remains"]:
        output.warn(
            "other processes still have files of the vault open, and these files may contain purged data; Lifeboat "
            "removes that data later"
        )
    _say_search(output, document)
    for remote in document["remotes"]:
        _say_remote(output, remote, document["receipt"])
    output.line("To show the signed receipt:")
    output.verbatim(f"  lifeboat receipts show {document['receipt']}")


def _say_search(output: CommandOutput, document: JsonObject) -> None:
    searched = document["searched"]
    if not searched:
        return
    if searched["hits"]:
        output.warn(
            f"after the purge the text is still in {count_text(searched['hits'], 'place')}; run the purge again"
        )
    else:
        output.line(f"A second search of {count_text(searched['bodies'], 'version')} found no match.")
    if searched.get("live"):
        live = count_text(searched["live"], "place")
        output.note(f"The workspace still contains the text in {live}; captures leave it out.")


def _say_remote(output: CommandOutput, remote: JsonObject, receipt: str) -> None:
    if remote["state"] == "done":
        output.line(f"  {remote['name']}: done")
    elif remote["state"] == "waiting":
        if remote["message"]:
            output.warn(f"{remote['name']}: {remote['message']}")
        output.line(
            f"  {remote['name']}: applies the purge at {time_text(remote['applies_at'])}, unless its owner confirms "
            "the purge earlier with:"
        )
        output.verbatim(f"    lifeboat receipts confirm {receipt} --remote {quote_argument(remote['name'])}")
    else:
        output.warn(f"{remote['name']}: not applied yet ({remote['message']}); the purge is sent at the next contact")


def _some(output: CommandOutput, lines: list[str]) -> None:
    for line in lines[:_MOST]:
        output.line(line)
    if len(lines) > _MOST:
        output.note(f"  and {len(lines) - _MOST} more; to list all: --json")
