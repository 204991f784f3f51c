"""Splits long memories into parts that every reader accepts (AIMEM §2.2 requires 65,536 characters)."""

from __future__ import annotations

import hashlib

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.aimem import aimem_mapping
from lifeboat_formats.aimem.wire import checksum
from lifeboat_formats.aimem.wire.bundle_model import OPEN_CONTENT

_BORDERS = ("\n\n", "\n", " ")


def parts_of(chunk: JsonObject, *, pure: bool, at_most: int | None = None) -> list[JsonObject]:
    """Split a chunk into chunks `NAME.p1`, `NAME.p2` and so on. The first keeps every member besides the content, the
    others only the shared ones; `x_alf.part` joins them again. `at_most` limits the number of parts: the last one takes
    the rest."""
    pieces = split_text(chunk["content"], OPEN_CONTENT)
    if at_most is not None:
        pieces = [*pieces[: at_most - 1], "".join(pieces[at_most - 1 :])] if len(pieces) > at_most else pieces
    digest = hashlib.sha256(chunk["content"].encode()).hexdigest()
    shared = {name: value for name, value in chunk.items() if name not in ("embedding", aimem_mapping.OURS)}
    made = []
    for number, piece in enumerate(pieces, start=1):
        # Only the first part keeps the embedding and `x_alf`.
        part = dict(chunk) if number == 1 else dict(shared)
        part |= {"id": f"{chunk['id']}.p{number}", "content": piece, "content_hash": checksum.hash_content(piece)}
        if not pure:
            said = {"n": number, "of": len(pieces), "sha256": digest}
            part[aimem_mapping.OURS] = {**part.get(aimem_mapping.OURS, {}), "part": said}
        made.append(part)
    return made


def split_text(text: str, most: int) -> list[str]:
    """Split a text into pieces of at most `most` characters, after a paragraph, a line or a word in the second half of
    a piece if there is one. Joined, the pieces are the text."""
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
