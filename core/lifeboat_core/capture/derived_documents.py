"""Derive documents from files: identity, principals, and what the manifest says about the runtime.

A derivation runs only when a file that it reads has changed. This module assigns ids and versions: an unchanged
document keeps its version, a changed one gets the next, and the former one stays in `history/`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from lifeboat_adapters.contract import Derivation, DerivationContext
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.archive.archive_documents import identity_version, unwrap_document
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_shapes import as_object, as_text, objects_in
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.capture.overlay import Overlay

IDENTITY, PRINCIPALS, HINTS, MANIFEST = "identity", "principals", "runtime_hints", "manifest"
_VERSIONED = ("id", "agent_id", "version", "updated_at")
_PROFILE = (*_VERSIONED, "principal_id")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")


class DerivedDocuments:
    """The derived documents of one capture. `head` is the manifest's head document, changed in place."""

    def __init__(self, overlay: Overlay, about: DerivationContext, now: str, head: JsonObject) -> None:
        self._overlay = overlay
        self._about = about
        self._now = now
        self._head = head

    def derive(self, derivations: Iterable[Derivation], changed: set[str], *, everything: bool) -> None:
        """Run the derivations whose files changed, or all with `everything`."""
        for derivation in derivations:
            if everything or any(derivation.reads(path) for path in changed):
                self._run(derivation)

    def _run(self, derivation: Derivation) -> None:
        if derivation.document == IDENTITY:
            self._identity(derivation)
        elif derivation.document == PRINCIPALS:
            self._principals(derivation)
        elif derivation.document == HINTS:
            known = as_object(self._head.get(HINTS)) or None
            self._set_head(HINTS, derivation.derive(self._overlay, known, self._about))
        else:
            for name, value in (derivation.derive(self._overlay, self._head, self._about) or {}).items():
                self._set_head(name, value)

    def _set_head(self, name: str, value: Any) -> None:
        if isinstance(value, dict) and isinstance(self._head.get(name), dict):
            value = {**self._head[name], **value}
        if value is not None:
            self._head[name] = value
        elif name == HINTS:
            self._head.pop(name, None)

    def document(self, path: str) -> JsonObject | None:
        """Return a document as this capture leaves it; None also for one that a purge emptied."""
        data = self._overlay.read(path)
        document: JsonObject | None = json_codec.decode_json(data) if data else None
        return unwrap_document(path, document) if document else None

    def identity_version(self) -> int | None:
        """Return the identity version that new memories are made under."""
        identity = self.document(archive_layout.IDENTITY)
        return None if identity is None else identity_version(identity)

    def primary(self) -> str | None:
        """Return the id of the first human principal."""
        principals = _principals_in(self.document(archive_layout.PRINCIPALS))
        return next((one["id"] for one in principals if one.get("principal_type") == "human"), None)

    def _identity(self, derivation: Derivation) -> None:
        old = self.document(archive_layout.IDENTITY)
        said = derivation.derive(self._overlay, old, self._about)
        if said is None and old is None:
            return
        new = _without(said or {}, _VERSIONED)
        if old is not None and _without(old, _VERSIONED) == new:
            return
        if old is not None:
            self._put(archive_layout.identity_history(identity_version(old)), old)
        identity_id = as_text((old or {}).get("id")) or self._about.ids("identity")
        version = 1 if old is None else identity_version(old) + 1
        self._put(
            archive_layout.IDENTITY, self._stamp({"id": identity_id, "agent_id": self._about.agent_id}, version, new)
        )

    def _stamp(self, ids: JsonObject, version: int, fields: JsonObject) -> JsonObject:
        return {**ids, "version": version, "updated_at": self._now, **fields}

    def _principals(self, derivation: Derivation) -> None:
        old = self.document(archive_layout.PRINCIPALS)
        said = derivation.derive(self._overlay, old, self._about)
        if said is None and old is None:
            return
        before = {one["id"]: one for one in _principals_in(old)}
        document = {**(said or {}), "principals": []}
        for principal in objects_in((said or {}).get("principals")):
            document["principals"].append(self._principal(principal, before))
        self._keep_departed(before, {one["id"] for one in document["principals"]})
        if document != old:
            self._put(archive_layout.PRINCIPALS, document)

    def _keep_departed(self, before: dict[str, JsonObject], here: set[str]) -> None:
        for principal_id, principal in before.items():
            profile = as_object(principal.get("profile"))
            if principal_id not in here and profile:
                self._keep_profile(profile)

    def _keep_profile(self, profile: JsonObject) -> None:
        """Keep a profile in the history under its own id, if that can be a folder name."""
        profile_id = as_text(profile.get("id"))
        if _NAME.fullmatch(profile_id):
            self._put(archive_layout.profile_history(profile_id, identity_version(profile)), profile)

    def _principal(self, said: JsonObject, before: dict[str, JsonObject]) -> JsonObject:
        principal_id = as_text(said.get("id")) or self._about.ids("principal", "primary")
        old = as_object(before.get(principal_id, {}).get("profile")) or None
        new = _without(as_object(said.get("profile")), _PROFILE)
        if old is not None and _without(old, _PROFILE) == new:
            return {"id": principal_id, **_without(said, ("id",)), "profile": old}
        if old is not None:
            self._keep_profile(old)
        profile_id = as_text((old or {}).get("id")) or self._about.ids("profile", principal_id)
        ids = {"id": profile_id, "agent_id": self._about.agent_id, "principal_id": principal_id}
        version = 1 if old is None else identity_version(old) + 1
        return {"id": principal_id, **_without(said, ("id",)), "profile": self._stamp(ids, version, new)}

    def _put(self, path: str, document: JsonObject) -> None:
        meta = self._overlay.meta(path) or {}
        self._overlay.put(path, meta, json_codec.encode_json(document))


def _principals_in(document: JsonObject | None) -> list[JsonObject]:
    """Return the principals of a document that have an id."""
    return [one for one in objects_in((document or {}).get("principals")) if as_text(one.get("id"))]


def _without(document: JsonObject, names: tuple[str, ...]) -> JsonObject:
    return {key: value for key, value in document.items() if key not in names}
