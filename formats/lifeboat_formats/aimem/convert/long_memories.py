"""A long memory in parts that every reader takes (AIMEM §2.2 asks for 65,536 characters and no more)."""

from __future__ import annotations

import hashlib

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.aimem import aimem_mapping
from lifeboat_formats.aimem.wire import checksum
from lifeboat_formats.aimem.wire.bundle_model import OPEN_CONTENT

_BORDERS = ("\n\n", "\n", " ")


def parts_of(chunk: JsonObject, *, pure: bool, at_most: int | None = None) -> list[JsonObject]:
    """A chunk as chunks `NAME.p1`, `NAME.p2` and so on. The first one has everything but the text, the others what has
    to be the same; `x_alf.part` says how they belong together. Where there is room for `at_most` the last one is as
    long as it has to be."""
    pieces = split_text(chunk["content"], OPEN_CONTENT)
    if at_most is not None:
        pieces = [*pieces[: at_most - 1], "".join(pieces[at_most - 1 :])] if len(pieces) > at_most else pieces
    digest = hashlib.sha256(chunk["content"].encode()).hexdigest()
    shared = {name: value for name, value in chunk.items() if name not in ("embedding", aimem_mapping.OURS)}
    made = []
    for number, piece in enumerate(pieces, start=1):
        part = dict(chunk) if number == 1 else dict(shared)
        part |= {"id": f"{chunk['id']}.p{number}", "content": piece, "content_hash": checksum.hash_content(piece)}
        if not pure:
            said = {"n": number, "of": len(pieces), "sha256": digest}
            part[aimem_mapping.OURS] = {**part.get(aimem_mapping.OURS, {}), "part": said}
        made.append(part)
    return made


def split_text(text: str, most: int) -> list[str]:
    """A text in pieces of at most `most` characters that are the text again when they are joined: cut behind a
    paragraph, else a line, else a word, where there is one in the second half of a piece."""
    pieces, at = [], 0
    while len(text) - at > most:
        end = at + most
        for border in _BORDERS:
            found = text.rfind(border, at + most // 2, at + most)
            if found >= 0:
                end = found + len(border)
                break
        pieces.append(text[at:end])
        at = end
    return [*pieces, text[at:]]
