"""Describe what a purge would do and what it did for `purge --json`, without any content."""

from __future__ import annotations

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.purging.purge_items import PurgeMatch
from lifeboat_core.agents.agent import Agent
from lifeboat_core.home.context import Context
from lifeboat_core.purge import agent_purge, histories, receipt_signing
from lifeboat_core.purge.purge_run import PurgeResult
from lifeboat_core.purge.purge_search import KeptVersions, PurgeMatches, RemoteSearch
from lifeboat_core.purge.workspace_purge import WorkspaceRemoval
from lifeboat_core.remotes import remote_kinds, remote_registry


def describe_planned_purge(agent: Agent, found: PurgeMatches) -> JsonObject:
    """Return what a purge would remove. `receipt` is null, because nothing was done."""
    remotes = [_planned_at(each) for each in found.remotes]
    return {**_common(agent, None, True), **_found(found), "remotes": remotes}


def describe_done_purge(agent: Agent, result: PurgeResult) -> JsonObject:
    """Return what a purge removed."""
    made = {**_common(agent, result.receipt, False), "partitions": list(result.partitions)}
    if result.found is not None:
        made |= _found(result.found)
    else:
        made |= {"scope": "full_agent", "records": result.records}
    made |= {
        "remotes": [each.to_json() for each in result.remotes],
        "unreachable": [*made["unreachable"], *_pending(result)],
        "objects": result.applied.objects,
        "remains": result.applied.remains,
        "workspace": result.applied.workspace,
        "undo_folders": result.applied.undo_folders,
        "searched": result.applied.searched,
    }
    return made


def describe_kept_out(agent: Agent, cuts: list[WorkspaceRemoval]) -> JsonObject:
    """Return what was purged before and is in live files; `workspace` is null until they are purged."""
    return {**_common(agent, None, True), "live": _live(cuts), "workspace": None}


def describe_let_in(agent: Agent, paths: list[str], *, dry_run: bool) -> JsonObject:
    """Return files that a purge left out of captures, and that are captured again."""
    return {**_common(agent, None, dry_run), "let_in": paths}


def _live(cuts: list[WorkspaceRemoval]) -> list[JsonObject]:
    return [{"path": cut.path, "places": cut.spans, "command": cut.command} for cut in cuts]


def describe_agent_purge(context: Context, agent: Agent) -> JsonObject:
    """Return what a whole agent has, before it is purged."""
    made = {**_common(agent, None, True), "scope": "full_agent"}
    with histories.open_histories(context, agent.id) as opened:
        own = opened.own
        made["partitions"] = [] if own is None else list(agent_purge.list_partitions(own))
        made["histories"] = [each.name for each in opened.open]
        made["sequences_rewritten"] = 0 if own is None else len(own.sequences())
        made["records"] = 0 if own is None else agent_purge.count_records(own)
    made["remotes"] = [
        _planned_at(RemoteSearch(config, config.problem)) for config in remote_registry.list_remotes(context)
    ]
    return made


def _common(agent: Agent, receipt: str | None, dry_run: bool) -> JsonObject:
    return {
        "receipt": receipt,
        "agent": {"id": agent.id, "name": agent.name},
        "dry_run": dry_run,
        "scope": "record_purge",
        "records": 0,
        "record_ids": [],
        "partitions": [],
        "versions": 0,
        "sequences_rewritten": 0,
        "files": {},
        "unreachable": [],
        "remotes": [],
    }


def _found(found: PurgeMatches) -> JsonObject:
    plan = found.plan
    unreachable = [_offline(each) for each in found.remotes if each.problem is not None]
    unreachable += [_said(name, why, "a file that was not searched") for name, why in found.looked.unread.items()]
    unreachable += [_said(name, why, "a history on this disk") for name, why in found.closed.items()]
    return {
        "records": len(plan.record_ids),
        "record_ids": list(plan.record_ids),
        "partitions": list(plan.partitions),
        "versions": len(plan.leaves),
        "sequences_rewritten": len(found.sequences),
        "files": dict(plan.files),
        "hits": [_hit(hit, found.kept.get(hit.where)) for hit in plan.hits],
        "also": [{"where": where, "texts": len(texts)} for where, texts in found.also.items()],
        "not_looked_into": [{"where": where, "form": form} for where, form in sorted(found.opaque.items())],
        "labels": list(found.labels),
        "beside": [sight.to_json() for sight in found.sights],
        "live": _live(found.live),
        "names": list(plan.names),
        "dropped": list(plan.dropped),
        "spared": list(plan.spared),
        "elsewhere": found.elsewhere,
        "sealed": found.sealed,
        "guessable": found.has_weak,
        "unreachable": unreachable,
    }


def _hit(hit: PurgeMatch, kept: KeptVersions | None) -> JsonObject:
    """Return one place. Versions are not counted for names and for what only a remote keeps."""
    counted = None if hit.kind == "name" else kept
    span = (None, None, None) if counted is None else (counted.versions, counted.first, counted.last)
    return {**hit._asdict(), **dict(zip(("versions", "first", "last"), span, strict=True))}


def _planned_at(asked: RemoteSearch) -> JsonObject:
    state = receipt_signing.PENDING if asked.problem is not None else None
    return {
        "name": asked.config.name,
        "state": state,
        "message": asked.problem or "",
        "waits": _waits(asked),
        "only_there": list(asked.only_there),
        "keeps_versions": asked.config.keeps_versions,
    }


def _waits(asked: RemoteSearch) -> bool:
    """Return whether the purge waits at a remote unless the owner's token is given. In other remotes only this user can
    refuse it."""
    kind = remote_kinds.find_installed_kind(asked.config.url)
    return kind is not None and kind.waits_for_owner(asked.config)


def _offline(asked: RemoteSearch) -> JsonObject:
    return _said(
        asked.config.name,
        asked.problem or "",
        "the purge is applied when Lifeboat next reaches the remote; states that exist only there were not searched",
    )


def _pending(result: PurgeResult) -> list[JsonObject]:
    known = {each.name for each in result.unreachable}
    late = (each for each in result.remotes if each.state == receipt_signing.PENDING and each.name not in known)
    return [
        _said(each.name, each.message, "the purge is applied when Lifeboat next reaches the remote") for each in late
    ]


def _said(name: str, why: str, what: str) -> JsonObject:
    return {"name": name, "why": why, "what": what}
