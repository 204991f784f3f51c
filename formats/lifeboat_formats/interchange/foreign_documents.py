"""Complete identity and principals of another system with ids, versions and times."""

from __future__ import annotations

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import ids, json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import ArchiveError
from lifeboat_formats.interchange.errors import SourceRefused


def complete_document(path: str, body: bytes, agent_id: str, now: str) -> JsonObject:
    """Return `identity.json` or `principals.json` of a reading with all fields of a state's document. Raises
    SourceRefused."""
    try:
        document = json_codec.decode_object(body, entry=path)
    except ArchiveError as error:
        raise SourceRefused(f"{path} of the source cannot be parsed: {error.message}", where=path) from error
    if path == archive_layout.IDENTITY:
        return {"id": _id(agent_id, "identity"), **document, **_stamp(document, agent_id, now)}
    listed = document.get("principals")
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise SourceRefused(f"{path} in the source file does not contain a list of principals", where=path)
    principals = [_principal(one, number, agent_id, now) for number, one in enumerate(listed)]
    return {**document, "principals": principals}


def _principal(said: JsonObject, number: int, agent_id: str, now: str) -> JsonObject:
    principal_id = str(said.get("id") or _id(agent_id, f"principal\0{number}"))
    principal = {"id": principal_id, "principal_type": "human", **said}
    profile = said.get("profile")
    if isinstance(profile, dict):
        own = {"id": _id(agent_id, f"profile\0{principal_id}"), **profile, "principal_id": principal_id}
        principal["profile"] = {**own, **_stamp(profile, agent_id, now)}
    return principal


def _stamp(document: JsonObject, agent_id: str, now: str) -> JsonObject:
    version = document.get("version")
    is_version = type(version) is int and version > 0
    updated = document.get("updated_at") or now
    return {"agent_id": agent_id, "version": version if is_version else 1, "updated_at": updated}


def _id(agent_id: str, part: str) -> str:
    """Return an id that is always the same for the same agent and part."""
    return ids.derive_id(0, f"{agent_id}\0{part}")
