"""Notes from memories, so that splitting them gives the same memories again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lifeboat_adapters.openclaw import paths
from lifeboat_adapters.openclaw.memories import dress, splitting

Memory = tuple[str, str]
"""A record's id and its text."""

_SECTION = "# .\n"


def join(name: str, memories: Sequence[Memory], *, native: bool) -> str:
    """The text of a note, by workspace path. `native` memories stood in this note before: when they still are the
    sections of their joined text, that is the note. What is no section of its own stands in its dress.
    """
    plain = "".join(content for _, content in memories)
    if native and texts(name, plain) == [content for _, content in memories]:
        return plain
    return "".join(_parts(name, memories))


def says(name: str, text: str, contents: Iterable[str]) -> bool:
    """Whether a note says what memories say, but for white space."""
    return [part.split() for part in texts(name, text)] == [content.split() for content in contents]


def texts(name: str, text: str) -> list[str]:
    """The memories in a note, without those that say nothing."""
    return [section.text for section in splitting.split(paths.RAW + name, text) or [] if section.text]


def _parts(name: str, memories: Sequence[Memory]) -> Iterator[str]:
    is_open = False
    for run in _runs(name, memories):
        stands_alone = _stands_alone(name, run)
        for memory in run:
            is_dressed = not stands_alone and not _stands_alone(name, [memory])
            if is_open and not is_dressed:
                yield dress.CLOSE
            yield dress.put_on(*memory) if is_dressed else memory[1]
            is_open = is_dressed
    if is_open:
        yield dress.CLOSE


def _runs(name: str, memories: Iterable[Memory]) -> Iterator[list[Memory]]:
    """Each memory that begins a section, with those that may be further pieces of it."""
    run: list[Memory] = []
    for memory in memories:
        if run and texts(name, _SECTION + memory[1])[:1] == [_SECTION]:
            yield run
            run = []
        run.append(memory)
    if run:
        yield run


def _stands_alone(name: str, run: Sequence[Memory]) -> bool:
    """Whether memories come out of any note as they went in."""
    contents = [content for _, content in run]
    return texts(name, "".join([_SECTION, *contents, _SECTION])) == [_SECTION, *contents, _SECTION]
