"""Check vector files against their indexes. Vectors can be computed again, so every finding is a warning."""

from __future__ import annotations

from collections.abc import Mapping

from lifeboat_alf.archive.zip_container import ArchiveReader
from lifeboat_alf.errors import ArchiveError
from lifeboat_alf.memory import embeddings
from lifeboat_alf.memory.embeddings import FLOAT_BYTES, EmbeddingGroup
from lifeboat_alf.validation.validation_findings import Validation


def check_vectors(found: Validation, archive: ArchiveReader, sizes: Mapping[str, int], known: set[str]) -> None:
    """Check all vector files. `sizes` are those of all entries, `known` the ids of all records."""
    for index in filter(embeddings.is_index, archive.names()):
        try:
            groups = embeddings.read_groups(index, archive.read(index))
        except ArchiveError as error:
            found.warn("vectors", error.message, index)
            continue
        for group in groups:
            _check_group(found, group, sizes, known, index)


def _check_group(
    found: Validation, group: EmbeddingGroup, sizes: Mapping[str, int], known: set[str], index: str
) -> None:
    end = group.offset + group.dimensions * FLOAT_BYTES * len(group.records)
    if group.file not in sizes:
        found.warn("missing_entry", f"the file of vectors {group.file} is listed in the archive, but missing", index)
    elif sizes[group.file] < end:
        found.warn(
            "vectors", f"the file of vectors {group.file} ends before the last vector of the model {group.model}", index
        )
    for missing in sorted(set(group.records) - known):
        found.warn("dangling", f"a vector belongs to the record {missing}, which is missing from the archive", index)
