"""Render notes from memories so that splitting them gives the same memories again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lifeboat_adapters.notes import memory_comments, note_splitting
from lifeboat_adapters.notes.note_splitting import Split

Memory = tuple[str, str]
"""The id of a record and its text."""

_SECTION = "# .\n"


def join_note(name: str, memories: Sequence[Memory], *, native: bool, split: Split = note_splitting.split_note) -> str:
    """Return the text of a note that holds these memories.

    `native` memories stood in this note before. If they are still the sections of their joined text, that text is the
    note. Memories that would not split off as sections of their own get a comment. `split` is the function by which the
    runtime splits the note.
    """
    plain = "".join(content for _, content in memories)
    if native and memory_texts(name, plain, split) == [content for _, content in memories]:
        return plain
    return "".join(_parts(name, memories, split))


def note_contains_exactly(
    name: str, text: str, contents: Iterable[str], split: Split = note_splitting.split_note
) -> bool:
    """Return whether a note contains exactly these memories, apart from white space."""
    return [part.split() for part in memory_texts(name, text, split)] == [content.split() for content in contents]


def memory_texts(name: str, text: str, split: Split = note_splitting.split_note) -> list[str]:
    """Return the texts of the memories in a note, without empty ones."""
    return [section.text for section in split(name, text) or [] if section.text]


def _parts(name: str, memories: Sequence[Memory], split: Split) -> Iterator[str]:
    is_open = False
    for run in _runs(name, memories, split):
        stands_alone = _stands_alone(name, run, split)
        for memory in run:
            is_dressed = not stands_alone and not _stands_alone(name, [memory], split)
            if is_open and not is_dressed:
                yield memory_comments.CLOSE
            yield memory_comments.prefix_comment(*memory) if is_dressed else memory[1]
            is_open = is_dressed
    if is_open:
        yield memory_comments.CLOSE


def _runs(name: str, memories: Iterable[Memory], split: Split) -> Iterator[list[Memory]]:
    """Yield each memory that begins a section, together with those that may be further pieces of it."""
    run: list[Memory] = []
    for memory in memories:
        if run and memory_texts(name, _SECTION + memory[1], split)[:1] == [_SECTION]:
            yield run
            run = []
        run.append(memory)
    if run:
        yield run


def _stands_alone(name: str, run: Sequence[Memory], split: Split) -> bool:
    """Return whether memories come out of any note unchanged."""
    contents = [content for _, content in run]
    return memory_texts(name, "".join([_SECTION, *contents, _SECTION]), split) == [_SECTION, *contents, _SECTION]
