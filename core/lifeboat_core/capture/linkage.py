"""Which capability needs which credential: written on both, so that an importer can wire them up (ALF §3.2.6, §3.4.2).

A capability lists `credential_ids`, a credential the names in `capabilities_granted`; one of no capability in
particular has no such field. What an archive said stays until one of its ends goes. A link says nothing new about who
the agent is: the identity keeps its version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from lifeboat_adapters.credentials import Need
from lifeboat_alf import codec, layout
from lifeboat_alf.json_types import JsonObject
from lifeboat_alf.state import State
from lifeboat_core.capture.overlay import Overlay
from lifeboat_core.state import state_documents as documents

DECISION = "links"
"""Where the vault keeps the links that captures made: [[capability, credential id]]. Others came with an archive."""

_IDS, _NAMES = "credential_ids", "capabilities_granted"


class Link(NamedTuple):
    """A capability, by its name in lower case, and the id of a credential it needs."""

    capability: str
    credential_id: str


@dataclass(frozen=True, slots=True)
class Change:
    """`made` links were made by captures before, `links` hold now; `gone` are ends that went since."""

    made: frozenset[Link]
    links: frozenset[Link]
    gone: frozenset[str]

    def keeps(self, link: Link) -> bool:
        """Whether a link that is there stays."""
        return link in self.links or not (link in self.made or self.gone & set(link))


def needed(needs: Iterable[Need], credentials: Mapping[str, JsonObject]) -> frozenset[Link]:
    """The links from what capabilities need to the credentials, by id, that are called so."""
    return frozenset(
        Link(need.capability.casefold(), credential_id)
        for need in needs
        for credential_id, credential in credentials.items()
        if _is_met(need, str(credential.get("label", "")))
    )


def _is_met(need: Need, label: str) -> bool:
    return label.startswith(need.places) or label.rpartition(": ")[2] in need.variables


def missing(state: State) -> list[str]:
    """What capabilities of a state need and the state does not hold, for people: a warning, never an error (ALF
    §10.5.1)."""
    known = documents.credentials_of(state)
    return [
        f"the capability {capability['name']} needs the credential {wanted}, which is not there"
        for capability in documents.capabilities(documents.of(state, layout.IDENTITY))
        for wanted in documents.texts(capability.get(_IDS))
        if wanted not in known
    ]


def ends(identity: JsonObject, credentials: Iterable[JsonObject]) -> frozenset[str]:
    """What links can hold on to: names in lower case, and ids."""
    names = {each["name"].casefold() for each in documents.capabilities(identity)}
    return frozenset(names | {str(each.get("id")) for each in credentials})


def link(capabilities: list[JsonObject], credentials: list[JsonObject], change: Change) -> None:
    """Write the links on both sides, in place; a field that would be empty goes. Both ends of `change.links` are
    there."""
    names = {each["name"].casefold(): each["name"] for each in capabilities}
    for capability in capabilities:
        name = capability["name"].casefold()
        ids = [one.credential_id for one in change.links if one.capability == name]
        _write(capability, _IDS, ids, partial(_of_capability, name), change)
    for credential in credentials:
        granted = [names[one.capability] for one in change.links if one.credential_id == credential["id"]]
        _write(credential, _NAMES, granted, partial(_of_credential, credential["id"]), change)


def _of_capability(name: str, credential_id: str) -> Link:
    return Link(name, credential_id)


def _of_credential(credential_id: str, name: str) -> Link:
    return Link(name.casefold(), credential_id)


def _write(item: JsonObject, field: str, wanted: list[str], link_of: Callable[[str], Link], change: Change) -> None:
    """What stays keeps its order, new links follow. A list that nobody understands is left alone."""
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


def update(
    overlay: Overlay, needs: Iterable[Need], places: Mapping[str, str], memory: list[list[str]] | None
) -> list[list[str]] | None:
    """Write the links into the documents of an overlay. `places` are the archive paths of the credentials that capture
    cut, by id; `memory` is the vault's decision `links`, and so is what is returned: None when it stays."""
    identity, listed = documents.read(overlay.read(layout.IDENTITY)), documents.read(overlay.read(layout.CREDENTIALS))
    capabilities, credentials = documents.capabilities(identity), documents.credentials(listed)
    own = {each["id"]: each for each in credentials if _is_at_home(each, places.get(each["id"], ""))}
    now = ends(identity, credentials)
    before = ends(
        documents.read(overlay.old_body(layout.IDENTITY)),
        documents.credentials(documents.read(overlay.old_body(layout.CREDENTIALS))),
    )
    links = frozenset(one for one in needed(needs, own) if now.issuperset(one))
    made = frozenset(Link(*pair) for pair in memory or ())
    link(capabilities, credentials, Change(made, links, before - now))
    _put(overlay, layout.IDENTITY, identity)
    _put(overlay, layout.CREDENTIALS, listed)
    known = sorted([*one] for one in links | made if now.issuperset(one))
    return None if known == (memory or []) else known


def _is_at_home(credential: JsonObject, path: str) -> bool:
    """Whether a credential was cut where it is configured: a copy in a note has the same label."""
    return str(credential.get("label", "")).partition(": ")[0] == path.rpartition("/")[2]


def _put(overlay: Overlay, path: str, document: JsonObject) -> None:
    """Only what says something else: another program's document keeps its bytes."""
    if document != documents.read(overlay.read(path)):
        overlay.put(path, overlay.meta(path) or {}, codec.encode(document))
