"""What may be chosen when a bundle is made or taken in, and what becomes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from lifeboat_adapters.item_fates import ItemFate
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.interchange.contract import FormatNotice


class TextCleaner(Protocol):
    """`interchange.cleaning.Cleaner`, as far as a producer needs it."""

    @property
    def redacts(self) -> bool: ...

    def clean(self, text: str, *, where: str = "") -> str: ...

    def clean_value(self, value: Any, *, where: str = "") -> Any: ...

    def figures(self) -> dict[str, int]: ...


@dataclass(frozen=True, slots=True)
class ProducerOptions:
    """What a bundle is to hold.

    `scope` is FULL, DNA_ONLY or SINCE; `since` a timestamp. `producer` is the namespace of the ids, "" for that of
    `Surroundings.identity`. `model` is the one whose vectors go in, "" for the one that most memories have. `closure`:
    a SINCE bundle also holds what its edges point to. `cleaner` gets every text that leaves.
    """

    scope: str = "FULL"
    since: str | None = None
    embeddings: bool = False
    model: str = ""
    pure: bool = False
    include_history: bool = False
    include_identity: bool = False
    preserve_ids: bool = False
    closure: bool = False
    tenant_id: str = ""
    producer: str = ""
    cleaner: TextCleaner | None = None
    only: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class ConsumerOptions:
    """How a bundle is taken in. `namespace` is our own one; `allow_dna_update` lets a newer chunk change a protected
    memory; `allow_resurrect` lets erased ones come back; `embeddings` False leaves vectors out, with a notice."""

    namespace: str = ""
    allow_dna_update: bool = False
    allow_resurrect: bool = False
    embeddings: bool = True


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A memory that a URN already names here.

    `chunk` is what it would be in a bundle now (without embedding), `chain_ids` are all ids that name it, `versions`
    the hashes of what it said before. One that `is_gone` was deleted: it may come back, under a new id. What is no
    memory but a text of the identity has no `record_id`.
    """

    record_id: str
    record: JsonObject
    chunk: JsonObject
    chain_ids: tuple[str, ...] = ()
    is_gone: bool = False
    versions: frozenset[str] = frozenset()


class ExistingMemories(Protocol):
    """What is here already."""

    def find(self, urn: str) -> StoredChunk | None: ...

    def has_edge(self, source: str, target: str, edge_type: str) -> bool: ...

    def has_entity(self, urn: str) -> bool: ...

    def has_link(self, chunk: str, entity: str) -> bool: ...

    def is_erased(self, urn: str) -> bool: ...

    def is_other_tenant(self, producer: str, tenant_id: str) -> bool:
        """Whether memories of a producer are here, and none of them of this tenant."""
        ...


@dataclass(slots=True)
class ImportPlan:
    """What taking in a bundle would do; nothing is written yet.

    `inserts` are records without `agent_id`; `updates` are fields by the id of the record that counts now (`content`
    among them where it changes; `related_records` and `entities` are whole new lists). `entries` are raw files to put.
    `summary` has the names of the reference and `inserted`, `updated`, `skipped`, `warnings`.
    """

    inserts: list[JsonObject] = field(default_factory=list)
    updates: list[tuple[str, JsonObject]] = field(default_factory=list)
    entries: Mapping[str, bytes] = field(default_factory=dict)
    summary: JsonObject = field(default_factory=dict)
    fates: list[ItemFate] = field(default_factory=list)
    notices: list[FormatNotice] = field(default_factory=list)
