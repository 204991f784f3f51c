"""Record which capability needs which credential, on both sides, so that an importer can connect them (ALF §3.2.6,
§3.4.2).

A capability lists `credential_ids`, a credential the names in `capabilities_granted`; a credential of no particular
capability has no such field. Links from an archive stay until one of their ends is removed. A link does not change who
the agent is: the identity keeps its version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from lifeboat_adapters.credential_types import CredentialNeed
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.states.agent_state import State
from lifeboat_core.capture.overlay import Overlay
from lifeboat_core.state import state_documents as documents

DECISION = "links"
"""The vault's decision that stores the links that captures made: [[capability, credential id]]. Other links came with
an archive."""

_IDS, _NAMES = "credential_ids", "capabilities_granted"


class CapabilityLink(NamedTuple):
    """A capability, by its lower-case name, and the id of a credential that it needs."""

    capability: str
    credential_id: str


@dataclass(frozen=True, slots=True)
class LinkChange:
    """`made` are links that captures made before, `links` the current ones, `gone` the ends that were removed since."""

    made: frozenset[CapabilityLink]
    links: frozenset[CapabilityLink]
    gone: frozenset[str]

    def keeps(self, link: CapabilityLink) -> bool:
        """Return whether an existing link stays."""
        return link in self.links or not (link in self.made or self.gone & set(link))


def find_needed_links(
    needs: Iterable[CredentialNeed], credentials: Mapping[str, JsonObject]
) -> frozenset[CapabilityLink]:
    """Return the links from needs of capabilities to the credentials, by id, whose labels match."""
    return frozenset(
        CapabilityLink(need.capability.casefold(), credential_id)
        for need in needs
        for credential_id, credential in credentials.items()
        if _is_met(need, str(credential.get("label", "")))
    )


def _is_met(need: CredentialNeed, label: str) -> bool:
    return label.startswith(need.places) or label.rpartition(": ")[2] in need.variables


def describe_unmet_needs(state: State) -> list[str]:
    """Return warnings about credentials that capabilities of a state need and the state lacks (ALF §10.5.1: never an
    error)."""
    known = documents.load_credentials(state)
    return [
        f"the agent's capability {capability['name']} needs the credential {wanted}, which does not exist"
        for capability in documents.list_capabilities(documents.load_document(state, archive_layout.IDENTITY))
        for wanted in documents.filter_texts(capability.get(_IDS))
        if wanted not in known
    ]


def find_link_ends(identity: JsonObject, credentials: Iterable[JsonObject]) -> frozenset[str]:
    """Return what links can connect: lower-case capability names, and credential ids."""
    names = {each["name"].casefold() for each in documents.list_capabilities(identity)}
    return frozenset(names | {str(each.get("id")) for each in credentials})


def write_links(capabilities: list[JsonObject], credentials: list[JsonObject], change: LinkChange) -> None:
    """Write the links into both sides, in place, and remove fields that become empty. Both ends of `change.links` must
    exist."""
    names = {each["name"].casefold(): each["name"] for each in capabilities}
    for capability in capabilities:
        name = capability["name"].casefold()
        ids = [one.credential_id for one in change.links if one.capability == name]
        _write(capability, _IDS, ids, partial(CapabilityLink, name), change)
    for credential in credentials:
        granted = [names[one.capability] for one in change.links if one.credential_id == credential["id"]]
        _write(credential, _NAMES, granted, partial(_of_credential, credential["id"]), change)


def _of_credential(credential_id: str, name: str) -> CapabilityLink:
    return CapabilityLink(name.casefold(), credential_id)


def _write(
    item: JsonObject, field: str, wanted: list[str], link_of: Callable[[str], CapabilityLink], change: LinkChange
) -> None:
    """Set the list in `field`: existing values keep their order, new ones follow. A list in an unknown form is not
    changed."""
    before = item.get(field, [])
    if not isinstance(before, list) or not all(isinstance(value, str) for value in before):
        return
    kept = [value for value in before if change.keeps(link_of(value))]
    there = {link_of(value) for value in kept}
    after = kept + sorted(value for value in wanted if link_of(value) not in there)
    if after:
        item[field] = after
    elif before:
        del item[field]


def update_links(
    overlay: Overlay, needs: Iterable[CredentialNeed], places: Mapping[str, str], memory: list[list[str]] | None
) -> list[list[str]] | None:
    """Write the links into the documents of an overlay.

    `places` are the archive paths of the credentials that capture cut, by id. `memory` is the vault's decision `links`;
    the result is its new value, None when it does not change.
    """
    identity, listed = (
        documents.parse_document(overlay.read(archive_layout.IDENTITY)),
        documents.parse_document(overlay.read(archive_layout.CREDENTIALS)),
    )
    capabilities, credentials = documents.list_capabilities(identity), documents.list_credentials(listed)
    own = {each["id"]: each for each in credentials if _is_at_home(each, places.get(each["id"], ""))}
    now = find_link_ends(identity, credentials)
    before = find_link_ends(
        documents.parse_document(overlay.old_body(archive_layout.IDENTITY)),
        documents.list_credentials(documents.parse_document(overlay.old_body(archive_layout.CREDENTIALS))),
    )
    links = frozenset(one for one in find_needed_links(needs, own) if now.issuperset(one))
    made = frozenset(CapabilityLink(*pair) for pair in memory or ())
    write_links(capabilities, credentials, LinkChange(made, links, before - now))
    _put(overlay, archive_layout.IDENTITY, identity)
    _put(overlay, archive_layout.CREDENTIALS, listed)
    known = sorted([*one] for one in links | made if now.issuperset(one))
    return None if known == (memory or []) else known


def _is_at_home(credential: JsonObject, path: str) -> bool:
    """Return whether a credential was cut where it is configured; a copy in a note has the same label."""
    return str(credential.get("label", "")).partition(": ")[0] == path.rpartition("/")[2]


def _put(overlay: Overlay, path: str, document: JsonObject) -> None:
    """Put a document only if it says something else, so that another program's document keeps its bytes."""
    if document != documents.parse_document(overlay.read(path)):
        overlay.put(path, overlay.meta(path) or {}, json_codec.encode_json(document))
