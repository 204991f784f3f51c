"""What of an agent is kept and what is not, file by file, with the reason (`lifeboat agents show`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lifeboat_adapters.errors import AdapterError
from lifeboat_alf import layout, metas
from lifeboat_alf.state import Entry, State
from lifeboat_daemon.agent import Agent
from lifeboat_daemon.capture import ignore, scan
from lifeboat_daemon.capture.read import OverLimit, Unstable, read_file
from lifeboat_daemon.capture.scan import Scan
from lifeboat_daemon.context import Context
from lifeboat_daemon.words import count_text


@dataclass(frozen=True, slots=True)
class Kept:
    """One path. `how`: managed, artifact, large artifact, link, empty folder, or not kept; `why` says more."""

    path: str
    kept: bool
    how: str
    why: str
    size: int

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def kept(context: Context, agent: Agent) -> list[Kept]:
    """Everything the newest state holds, and everything in the workspace and in the runtime's own folder that it does
    not."""
    with context.vault(agent.id) as vault:
        held = list(_held(vault.state())) if vault.head() is not None else []
    return sorted([*held, *_left_out(context, agent, {one.path for one in held})], key=lambda one: one.path)


def _held(state: State) -> Iterator[Kept]:
    for prefix in (layout.ARTIFACTS, layout.RAW):
        for each in state.entries(prefix):
            entry = each._replace(meta=state.redactions.meta(each.meta, each.leaf.digest))
            yield Kept(entry.path, True, _how(entry), _why(entry), entry.size)


def _how(entry: Entry) -> str:
    if not metas.is_file(entry.meta):
        return "link" if entry.meta["type"] == "link" else "empty folder"
    if entry.path.startswith(layout.RAW):
        return "managed"
    return "large artifact" if entry.meta.get(metas.ATTACHMENT, {}).get("tier") == 3 else "artifact"


def _why(entry: Entry) -> str:
    notes = []
    if entry.meta.get(metas.RECORDS):
        notes.append(count_text(len(entry.meta[metas.RECORDS]), "memory", "memories"))
    if entry.meta.get(metas.CUTS):
        notes.append(f"{count_text(len(entry.meta[metas.CUTS]), 'secret')} cut out and sealed")
    return ", ".join(notes)


def _left_out(context: Context, agent: Agent, held: set[str]) -> Iterator[Kept]:
    seen = _scan(context, agent)
    if seen is None:
        return
    for path, reason in (seen.beside | seen.skipped | seen.unread | seen.missing_roots).items():
        yield Kept(path, False, "not kept", reason, 0)
    for found in seen.found.values():
        if found.path not in held:
            yield Kept(
                found.path, False, "not kept", "not captured yet, or over a limit: lifeboat sync", found.key.size
            )


def _scan(context: Context, agent: Agent) -> Scan | None:
    """The workspace as it is now, by name; None when there is none."""
    adapter = context.adapter(agent.runtime)
    try:
        roots = list(adapter.roots(context.installation(agent)))
    except (AdapterError, OSError):
        return None
    return scan.walk(context.files, roots, adapter, ignore.parse(_ignore_text(context, roots[0].folder)), {})


def _ignore_text(context: Context, workspace: Path) -> str:
    try:
        data = read_file(context.files, workspace / ignore.FILE_NAME, ignore.LARGEST).data
    except (OSError, OverLimit, Unstable):
        return ""
    return data.decode("utf-8", "replace")
