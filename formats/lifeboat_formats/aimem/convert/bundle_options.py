"""Options and results of exporting and importing bundles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from lifeboat_adapters.item_fates import ItemFate
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.interchange.cleaning import Cleaner
from lifeboat_formats.interchange.contract import FormatNotice


@dataclass(frozen=True, slots=True)
class ProducerOptions:
    """Options of an export.

    `scope` is FULL, DNA_ONLY or SINCE; `since` is a timestamp. `producer` is the namespace of the ids, "" for that of
    `ConversionContext.identity`. `model` is the model whose vectors are exported, "" for the most frequent one. With
    `closure` a SINCE bundle also holds the targets of its edges. `cleaner` cleans every exported text.
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
    cleaner: Cleaner | None = None
    only: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class ConsumerOptions:
    """Options of an import. `namespace` is our own; `allow_dna_update` lets a newer chunk change a protected memory;
    `allow_resurrect` lets erased memories return; with `embeddings` False vectors are left out, with a notice."""

    namespace: str = ""
    allow_dna_update: bool = False
    allow_resurrect: bool = False
    embeddings: bool = True


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """An existing memory that a URN names.

    `chunk` is its current form in a bundle (without embedding), `chain_ids` are all ids that name it, `versions` are
    the hashes of its earlier contents. If `is_gone`, it was deleted and may return under a new id. An identity text is
    not a memory and has no `record_id`.
    """

    record_id: str
    record: JsonObject
    chunk: JsonObject
    chain_ids: tuple[str, ...] = ()
    is_gone: bool = False
    versions: frozenset[str] = frozenset()


class ExistingMemories:
    """Existing memories, looked up by their names in a bundle. This class has none; `StateMemories` has those of a
    state."""

    def find(self, name: str) -> StoredChunk | None:
        """Return the memory with a name, including deleted ones."""
        return None

    def has_edge(self, source: str, target: str, edge_type: str) -> bool:
        return False

    def has_entity(self, name: str) -> bool:
        return False

    def has_link(self, chunk: str, entity: str) -> bool:
        return False

    def is_erased(self, name: str) -> bool:
        return False

    def is_other_tenant(self, producer: str, tenant_id: str) -> bool:
        """Return whether memories of a producer exist, but none of this tenant."""
        return False

    def orphans(self) -> Iterable[JsonObject]:
        """Return the entities that no memory names."""
        return ()


@dataclass(slots=True)
class ImportPlan:
    """The result of planning an import; nothing is written yet.

    `inserts` are records without `agent_id`; `updates` are fields by the id of the current record (`content` if it
    changes; `related_records` and `entities` are complete lists). `entries` are raw files to write. `summary` has the
    names of the reference implementation and `inserted`, `updated`, `skipped`, `warnings`.
    """

    inserts: list[JsonObject] = field(default_factory=list)
    updates: list[tuple[str, JsonObject]] = field(default_factory=list)
    entries: Mapping[str, bytes] = field(default_factory=dict)
    summary: JsonObject = field(default_factory=dict)
    fates: list[ItemFate] = field(default_factory=list)
    notices: list[FormatNotice] = field(default_factory=list)
