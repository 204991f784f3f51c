"""Bytes used by one scope (a vault, a tenant, the endpoint itself), and references of its rows that lead nowhere."""

from __future__ import annotations

from lifeboat_vault.store.store_protocols import MetadataStore

_ROW = 100
"""Estimated bytes of a row beside its large columns: header, numbers, its part of the indexes."""

_LARGE = {
    "vault": {
        "object": "octet_length(body)",
        "entry": "octet_length(path) + octet_length(meta)",
        "record": "octet_length(partition)",
        "sequence": "octet_length(counts)",
        "audit": "octet_length(details)",
        "redaction": "octet_length(document)",
        "decision": "octet_length(value)",
        "bucket": "0",
        "place": "0",
    },
    "tenant": {
        "agent": "octet_length(facts) + coalesce(octet_length(keys), 0)",
        "upload": "octet_length(machine)",
        "part": "0",
        "sealed_file": "octet_length(name)",
        "sealed_head": "octet_length(data)",
        "purge_waiting": "0",
        "purge_receipt": "octet_length(document)",
        "erased": "octet_length(document) + coalesce(octet_length(receipt), 0)",
        "tenant": "0",
    },
    "control": {"tenant": "octet_length(name)", "token": "octet_length(name)", "note": "octet_length(value)"},
    "bodies": {"blob": "octet_length(key)"},
}

_NAMES = {
    "vault": (
        ("entry", "object", "object", "id"),
        ("record", "object", "object", "id"),
        ("object", "base", "object", "id"),
        ("pin", "n", "sequence", "n"),
    ),
    "tenant": (("part", "upload_id", "upload", "id"),),
    "control": (("token", "tenant", "tenant", "id"),),
}
"""References between tables: table, column, the table referred to and its column."""


def measure_size(metadata: MetadataStore, kind: str) -> int:
    """Return the bytes of a scope. The sizes of bodies are known without reading them."""
    sums = [
        f"(select coalesce(sum({_ROW} + coalesce({large}, 0)), 0) from {table})"
        for table, large in _LARGE.get(kind, {}).items()
    ]
    row = metadata.row(f"select {' + '.join(sums)}") if sums else None
    return 0 if row is None else int(row[0])


def find_scope_problems(metadata: MetadataStore, kind: str) -> list[str]:
    """Return a sentence for each kind of reference that leads nowhere."""
    found = []
    for table, column, other, key in _NAMES.get(kind, ()):
        row = metadata.row(
            f"select count(*) from {table} a where a.{column} is not null"
            f" and not exists (select 1 from {other} b where b.{key} = a.{column})"
        )
        if row is not None and row[0]:
            found.append(f"rows of {table} that refer to a missing row of {other}: {row[0]}")
    return found
