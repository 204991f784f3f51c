"""An index of the edges, entities and parts of long memories in a bundle, by the chunk that they belong to.

A bundle may have millions of edges, so the index is a temporary SQLite database, which SQLite moves to disk when it
grows.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Iterator
from typing import Any, NamedTuple, Self

from lifeboat_alf.common import ids, json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.aimem import aimem_mapping
from lifeboat_formats.aimem.convert import chunk_records
from lifeboat_formats.aimem.wire import instants, urn
from lifeboat_formats.aimem.wire.bundle_model import LINKS, TOO_LARGE, AimemBundle, BundleRefused

_TABLES = """
create table chunk (
  urn text primary key, record text unique, part_of text, claim text, moment integer
) without rowid;
create table part (base text, n integer, content text, head text, primary key (base, n)) without rowid;
create table edge (
  owner text, other text, type text, source text, line text, seen integer, primary key (owner, other, type, source)
) without rowid;
create table entity (urn text primary key, line text, size integer, linked integer default 0) without rowid;
create table whole (base text primary key, record text unique) without rowid;
create table link (chunk text, entity text, line text, seen integer, primary key (chunk, entity)) without rowid;
"""
PART = re.compile(r"(.+)\.p([1-9][0-9]{0,5})")
_MOST_PARTS = 100_000
_OPEN_LINKED, _LINKED = 64 << 20, 1024
"""Largest total size of linked entities in characters: a fixed amount plus an amount per link."""


class EntityLink(NamedTuple):
    """A link of a chunk, and the entity that it names."""

    entity: JsonObject
    link: JsonObject


class LinkIndex:
    """The index of one bundle. A context manager.

    `own` is our namespace. `repeated_edges` and `repeated_links` are repetitions without their first occurrence;
    `joining_edges` join the parts of long memories.
    """

    def __init__(self, bundle: AimemBundle, own: str = "") -> None:
        self._own = own
        self._base = sqlite3.connect("", check_same_thread=False)
        self._base.executescript("pragma journal_mode = off; pragma synchronous = off;" + _TABLES)
        self.repeated_edges: list[JsonObject] = []
        self.joining_edges: list[JsonObject] = []
        self._tied: set[tuple[str, str]] | None = None
        self.repeated_links: list[JsonObject] = []
        try:
            self._take(bundle)
        except BaseException:
            self._base.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._base.close()

    # Asked ------------------------------------------------------------------------------------------------------

    def record_id(self, name: str) -> str | None:
        """Return the id of the record that a chunk or a long memory becomes; None for an unknown name."""
        found = self._one("select record, part_of from chunk where urn = ?", name)
        if found is None:
            return self._id_of_whole(name)
        return str(found[0]) if found[1] is None else self._id_of_whole(str(found[1]))

    def whole_of(self, name: str) -> str:
        """Return the name of the long memory that a chunk is part of, else the chunk's own name."""
        found = self._one("select part_of from chunk where urn = ?", name)
        return name if found is None or found[0] is None else str(found[0])

    def edges(self, name: str) -> Iterator[JsonObject]:
        """Yield the edges of the record of a chunk. For a long memory these are the edges of all its parts, except
        those between them."""
        rows = self._base.execute("select line from edge where owner = ? order by seen", (name,))
        for (line,) in rows.fetchall():
            yield json_codec.decode_json(line)

    def links(self, name: str) -> Iterator[EntityLink]:
        """Yield the entities that a chunk names."""
        query = "select entity.line, link.line from link join entity on urn = entity where chunk = ? order by seen"
        for entity, link in self._base.execute(query, (name,)).fetchall():
            yield EntityLink(json_codec.decode_json(entity), json_codec.decode_json(link))

    def place(self, entity: str) -> None:
        """Mark an entity as stored in a record."""
        self._base.execute("update entity set linked = 2 where urn = ?", (entity,))

    def entities(self) -> Iterator[tuple[str, bool, bool]]:
        """Yield every entity: its name, whether a chunk names it, and whether it was placed."""
        for name, linked in self._base.execute("select urn, linked from entity order by urn").fetchall():
            yield str(name), linked > 0, linked == 2

    def orphans(self) -> Iterator[JsonObject]:
        """Yield the entities that no chunk names."""
        for (line,) in self._base.execute("select line from entity where linked = 0 order by urn"):
            yield json_codec.decode_json(line)

    def joined(self, chunk: JsonObject) -> JsonObject | None:
        """Return a whole chunk as it is, the long memory for its first part, and None for further parts."""
        base = self.whole_of(chunk["id"])
        if base == chunk["id"]:
            return chunk
        if chunk["id"] != f"{base}.p1":
            return None
        rows = self._base.execute("select content from part where base = ? order by n", (base,))
        content = "".join(text for (text,) in rows)
        ours = {name: value for name, value in chunk.get(aimem_mapping.OURS, {}).items() if name != "part"}
        kept = {name: value for name, value in chunk.items() if name not in (aimem_mapping.OURS, "content_hash")}
        digest = hashlib.sha256(content.encode()).hexdigest()
        return {
            **kept,
            "id": base,
            "content": content,
            "content_hash": f"sha256:{digest}",
            **({aimem_mapping.OURS: ours} if ours else {}),
        }

    # Made -------------------------------------------------------------------------------------------------------

    def _take(self, bundle: AimemBundle) -> None:
        for chunk in bundle.chunks:
            self._take_chunk(chunk)
        self._settle_claims()
        self._join_parts(bundle)
        for number, edge in enumerate(bundle.edges):
            self._take_edge(edge, number)
        for entity in bundle.entities:
            line = _line(entity)
            self._base.execute("insert into entity (urn, line, size) values (?, ?, ?)", (entity["id"], line, len(line)))
        for number, link in enumerate(bundle.chunk_entities):
            self._take_link(link, number)
        self._check_size()
        self._base.execute("update entity set linked = 1 where urn in (select entity from link)")

    def _check_size(self) -> None:
        """Raise BundleRefused if the linked entities are too large. Each memory stores the entities that it names, so
        one long entity with many links would grow without bound."""
        query = "select count(*), total(size) from link join entity on urn = entity"
        count, size = self._base.execute(query).fetchone()
        if size > _OPEN_LINKED + _LINKED * count:
            message = (
                f"the entities to which the memories in the bundle refer have more than {_OPEN_LINKED >> 20} MiB "
                "in total"
            )
            raise BundleRefused(message, format_code="too_large", status=TOO_LARGE, where=LINKS)

    def _take_chunk(self, chunk: JsonObject) -> None:
        name = chunk["id"]
        part = _part_of(chunk)
        if part is not None:
            base, number, head = part
            piece = (base, number, chunk["content"], json_codec.encode_json(head).decode())
            self._base.execute("insert or ignore into part values (?, ?, ?, ?)", piece)
        record_id, moment = (
            chunk_records.find_chunk_record_id(chunk, self._own),
            instants.parse_milliseconds(chunk["created_at"]),
        )
        derived = ids.derive_id(moment, f"aimem\0{name}")
        # An id that follows from the name is certain. Any other one is a claim, which is settled later.
        row = (name, derived, None, moment) if record_id == derived else (name, None, record_id, moment)
        self._base.execute("insert into chunk (urn, record, claim, moment) values (?, ?, ?, ?)", row)

    def _settle_claims(self) -> None:
        """Assign the ids that chunks claim. Ids that follow from a chunk's name are assigned first, so that no claim
        can take them; of several equal claims one is granted."""
        self._base.execute("update or ignore chunk set record = claim where record is null")
        for name, moment in self._base.execute("select urn, moment from chunk where record is null").fetchall():
            key, made = f"aimem\0{name}", 0
            while not made:
                query = "update or ignore chunk set record = ? where urn = ?"
                made = self._base.execute(query, (ids.derive_id(moment, key), name)).rowcount
                key += "\0"

    def _join_parts(self, bundle: AimemBundle) -> None:
        """Find the long memories whose parts are complete and unchanged."""
        bases = self._base.execute("select base, min(head), max(head), count(*), max(n) from part group by base")
        for base, least, most, count, last in bases.fetchall():
            head = json_codec.decode_json(least)
            whole = least == most and count == last and self._one(_CHUNK, base) is None
            if whole and (self._is_tied(bundle, base, count) if head["of"] is None else self._fits(base, count, head)):
                self._base.execute(_JOIN, (base, base, base))
                self._name_whole(base)
            else:
                self._base.execute("delete from part where base = ?", (base,))

    def _fits(self, base: str, count: int, head: JsonObject) -> bool:
        return bool(count == head["of"] and self._digest(base) == head["sha256"])

    def _is_tied(self, bundle: AimemBundle, base: str, count: int) -> bool:
        """Return whether edges join every part to the first one, for parts without `x_alf`."""
        if self._tied is None:
            ties = (edge for edge in bundle.edges if edge["edge_type"] == aimem_mapping.PART_OF)
            self._tied = {(edge["source_id"], edge["target_id"]) for edge in ties}
        return count > 1 and all((f"{base}.p{n}", f"{base}.p1") in self._tied for n in range(2, count + 1))

    def _digest(self, base: str) -> str:
        found = hashlib.sha256()
        for (text,) in self._base.execute("select content from part where base = ? order by n", (base,)):
            found.update(text.encode())
        return found.hexdigest()

    def _name_whole(self, base: str) -> None:
        """Assign an id to a long memory that no other memory of the bundle has."""
        (head,) = self._one("select head from part where base = ? and n = 1", base) or ("",)
        created_at = json_codec.decode_json(head)["created_at"]
        found = chunk_records.find_chunk_record_id(
            {"id": base, "created_at": created_at, aimem_mapping.OURS: {}}, self._own
        )
        taken = "select 1 from chunk where record = ? union all select 1 from whole where record = ?"
        if self._one(taken, found, found) is not None:
            found = ids.derive_id(instants.parse_milliseconds(created_at), f"aimem\0{base}")
        self._base.execute("insert or ignore into whole values (?, ?)", (base, found))

    def _id_of_whole(self, base: str) -> str | None:
        found = self._one("select record from whole where base = ?", base)
        return None if found is None else str(found[0])

    def _take_edge(self, edge: JsonObject, number: int) -> None:
        source, target = self.whole_of(edge["source_id"]), self.whole_of(edge["target_id"])
        # Both ends are parts of the same memory: the edge only joins them.
        if edge["edge_type"] == aimem_mapping.PART_OF and source == target != edge["source_id"]:
            self.joining_edges.append(edge)
            return
        owner, other = (target, source) if chunk_records.is_swapped(edge) else (source, target)
        row = (owner, other, edge["edge_type"], source, _line(edge), number)
        made = self._base.execute("insert or ignore into edge values (?, ?, ?, ?, ?, ?)", row)
        if made.rowcount == 0:
            self.repeated_edges.append(edge)

    def _take_link(self, link: JsonObject, number: int) -> None:
        row = (self.whole_of(link["chunk_id"]), link["entity_id"], _line(link), number)
        made = self._base.execute("insert or ignore into link values (?, ?, ?, ?)", row)
        if made.rowcount == 0:
            self.repeated_links.append(link)

    def _one(self, query: str, *values: str) -> tuple[Any, ...] | None:
        row: tuple[Any, ...] | None = self._base.execute(query, values).fetchone()
        return row


_JOIN = "update chunk set part_of = ? where urn in (select ? || '.p' || n from part where base = ?)"
_CHUNK = "select record from chunk where urn = ?"


def _line(item: JsonObject) -> str:
    return json_codec.encode_json(item).decode()


def _part_of(chunk: JsonObject) -> tuple[str, int, JsonObject] | None:
    """Return name and number of a part, and what all parts of a memory state alike; None for a whole chunk."""
    ours = chunk.get(aimem_mapping.OURS)
    said = ours.get("part") if isinstance(ours, dict) else None
    found = PART.fullmatch(chunk["id"])
    if found is None:
        return None
    whole = urn.parse_urn(found[1])
    if said is None and whole is not None and ids.is_version_7(whole.local):
        return found[1], int(found[2]), {"of": None, "sha256": None, "created_at": chunk["created_at"]}
    if not isinstance(said, dict):
        return None
    number, of, digest = said.get("n"), said.get("of"), said.get("sha256")
    if type(number) is not int or type(of) is not int or not isinstance(digest, str) or str(number) != found[2]:
        return None
    if not 1 <= number <= of <= _MOST_PARTS:
        return None
    return found[1], number, {"of": of, "sha256": digest, "created_at": chunk["created_at"]}
