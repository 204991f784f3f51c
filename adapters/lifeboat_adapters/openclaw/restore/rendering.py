"""A workspace from an agent's structured layers, where there is no raw file of OpenClaw to write (ALF §6.2)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Any

from lifeboat_adapters.contract import Rendered
from lifeboat_adapters.openclaw import paths
from lifeboat_adapters.openclaw.documents import StateFiles, text_of
from lifeboat_adapters.openclaw.layers import heartbeat, synthesis
from lifeboat_adapters.openclaw.memories import joining, splitting
from lifeboat_alf import codec, effective, layout, metas, records
from lifeboat_alf.state import State

JsonObject = dict[str, Any]

STRUCTURED, MERGED = "structured", "merged"

_PROSE = {"soul": paths.SOUL, "identity_profile": paths.IDENTITY, "operating_instructions": paths.AGENTS}
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_NAME = 80


def render(state: State) -> Iterator[Rendered]:
    """Files under `raw/openclaw/`, sorted by kind then path. A file that a raw entry already gives is left out."""
    files = StateFiles(state)
    identity = _document(state, layout.IDENTITY)
    principals = _document(state, layout.PRINCIPALS).get("principals") or []
    primary: JsonObject = next((one for one in principals if one.get("principal_type") == "human"), {})
    texts = {**identity_files(identity, files), **_user_file(primary)}
    for name, text in texts.items():
        path = paths.RAW + name
        if text.strip() and text_of(files, path) != text:
            yield Rendered(path, text.encode("utf-8", "replace"), STRUCTURED)
    yield from _memory_files(state, str(primary.get("id", "")), has_profile=bool(texts.get(paths.USER)))


def _document(state: State, path: str) -> JsonObject:
    if state.entry(path) is None:
        return {}
    document: JsonObject = codec.decode(state.body(path))
    return document


def identity_files(identity: JsonObject, files: StateFiles) -> dict[str, str]:
    """SOUL, IDENTITY and AGENTS from prose; what prose does not tell from the structured fields."""
    prose = identity.get("prose") or {}
    texts = {file: str(prose.get(name) or "") for name, file in _PROSE.items()}
    made = _made_up_for(identity, texts)
    texts |= {_PROSE[name]: synthesis.MAKERS[name](identity) for name in made}
    blocks = prose.get("custom_blocks") or {}
    held = (texts[paths.AGENTS], heartbeat.checklist(files))
    for name, file in paths.CUSTOM_BLOCKS.items():
        block = str(blocks.get(name) or "")
        if not any(block and block in text for text in held):
            texts[file] = block
    return texts


def _made_up_for(identity: JsonObject, texts: dict[str, str]) -> Iterator[str]:
    """Which prose has to be made: all of it when there is none; else only where the structure says more."""
    structured = identity.get("structured") or {}
    absent = [name for name, file in _PROSE.items() if not texts[file].strip()]
    if len(absent) == len(_PROSE):
        yield from absent if identity else ()
        return
    if "identity_profile" in absent and (structured.get("role") or structured.get("goals")):
        yield "identity_profile"
    if "operating_instructions" in absent and structured.get("sub_agents"):
        yield "operating_instructions"


def _user_file(primary: JsonObject) -> dict[str, str]:
    profile = primary.get("profile") or {}
    text = str((profile.get("prose") or {}).get("user_profile") or "")
    if not text.strip() and profile.get("structured"):
        text = synthesis.user_profile(profile)
    return {paths.USER: text}


def _memory_files(state: State, primary: str, *, has_profile: bool) -> Iterator[Rendered]:
    """Notes from the effective memories: those a raw file lists in its order, then the others that belong to it."""
    listed = _listed(state)
    found: dict[str, list[tuple[int, joining.Memory]]] = {}
    for item in effective.visible_records(state):
        known = next((listed[id] for id in item.chain_ids if id in listed), None)
        name, place = known or (file_for(item.record, primary), len(listed))
        memory = (str(item.record["id"]), str(item.record.get("content", "")))
        if (known or memory[1].strip()) and (name != paths.USER or not has_profile):
            found.setdefault(name, []).append((place, memory))
    for name, placed in sorted(found.items()):
        memories = [memory for _, memory in sorted(placed, key=lambda pair: pair[0])]
        entry = state.entry(paths.RAW + name)
        is_merged = entry is not None and bool(entry.meta.get(metas.RECORDS))
        if not (is_merged and _says(state, name, memories)):
            data = joining.join(name, memories, native=is_merged).encode("utf-8", "surrogatepass")
            yield Rendered(paths.RAW + name, data, MERGED if is_merged else STRUCTURED)


def _says(state: State, name: str, memories: list[joining.Memory]) -> bool:
    text = state.body(paths.RAW + name).decode("utf-8", "replace")
    return joining.says(name, text, (content for _, content in memories))


def _listed(state: State) -> dict[str, tuple[str, int]]:
    """Where records stand in raw files: id to workspace path and place."""
    found: dict[str, tuple[str, int]] = {}
    for entry in state.entries(paths.RAW):
        for record_id in entry.meta.get(metas.RECORDS) or []:
            found[record_id] = (entry.path[len(paths.RAW) :], len(found))
    return found


def file_for(record: JsonObject, primary: str = "") -> str:
    """The file that a memory belongs to: the one it came from, else by its kind (ALF §2.1, §3.1.7)."""
    origin = str((record.get("source") or {}).get("origin_file") or "")
    if _is_note(origin):
        return origin
    if records.reads_as("memory_type", str(record.get("memory_type"))) == "summary":
        return paths.MEMORY
    if record.get("category") == "daily_log":
        temporal = record.get("temporal") or {}
        return f"{paths.MEMORY_FOLDER}{str(temporal.get('observed_at') or temporal.get('created_at'))[:10]}.md"
    namespace = str(record.get("namespace") or "default")
    if primary and namespace == f"principal_context:{primary}":
        return paths.PREFERENCES
    return paths.file_of_principal(namespace) or f"{paths.MEMORY_FOLDER}{_file_name(namespace)}.md"


def _is_note(path: str) -> bool:
    """A path that OpenClaw reads memories from, and that cannot lead out of the workspace."""
    return splitting.holds_memories(path) and not any(part in ("", ".", "..") for part in path.split("/"))


def _file_name(namespace: str) -> str:
    """A namespace as a file name; one that had to change carries a few digits of what it was."""
    name = _UNSAFE.sub("-", namespace).strip(".-")[:_LONGEST_NAME]
    if name == namespace:
        return name
    return f"{name or 'notes'}-{hashlib.sha256(namespace.encode('utf-8', 'replace')).hexdigest()[:6]}"
