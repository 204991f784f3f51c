"""The meta of an entry: what its bytes do not say.

    type         "file" (when absent), "link", "folder"
    target       of a link, as text
    executable   true, else absent
    private      true when group and others have no rights, else absent
    mtime_ns     nanoseconds since 1970, as a decimal string
    name_hex     the raw bytes of a name that is not UTF-8 (the path then holds it percent-encoded)
    attachment   for artifacts: {"id", "media_type", "tier": 2|3, "referenced_by"?, unknown fields}
    records      for files that hold memories: the ids of their records in order
    cuts         [{"offset", "credential_id"}]: where secrets were cut out of the bytes

An archive spreads these over four documents, all of them readable by other tools; the reader joins them again.
"""

from __future__ import annotations

from typing import Any

JsonObject = dict[str, Any]

RECORDS = "records"
ATTACHMENT = "attachment"
CUTS = "cuts"


def is_file(meta: JsonObject) -> bool:
    return bool(meta.get("type", "file") == "file")


def file_part(meta: JsonObject) -> JsonObject:
    """What stands in `lifeboat/files.json`: everything but records, attachment and cuts."""
    return {key: value for key, value in meta.items() if key not in (RECORDS, ATTACHMENT, CUTS)}


def join(
    file_part: JsonObject,
    *,
    records: list[str] | None = None,
    attachment: JsonObject | None = None,
    cuts: list[JsonObject] | None = None,
) -> JsonObject:
    """One meta from its four parts; empty parts leave no key."""
    meta = dict(file_part)
    if records:
        meta[RECORDS] = records
    if attachment:
        meta[ATTACHMENT] = attachment
    if cuts:
        meta[CUTS] = cuts
    return meta
