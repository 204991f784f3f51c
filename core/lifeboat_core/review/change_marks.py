"""Mark changes of memories that a user should look at. Pure; the text of a memory is only ever quoted.

A mark is a hint for a person. It never decides anything by itself, and a memory without a mark may still be wrong.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from lifeboat_core.capture.rewrite_guard import LEAST_REMOVED, LEAST_REWRITTEN, REWRITTEN_SHARE
from lifeboat_core.review.memory_changes import DELETED, TextChange
from lifeboat_core.texts.human_text import snippet_text

SECRET, INSTRUCTION, DUPLICATE, CONTRADICTION, REWRITE, CLEANUP = (
    "secret",
    "instruction",
    "duplicate",
    "contradiction",
    "rewrite",
    "cleanup",
)
LEAST_ALIKE = 0.8
"""Share of the words that near-duplicates have in common."""
_LEAST_WORDS = 5
_LONGEST = 4000
"""Characters of a memory that are compared and searched for instructions."""
_QUOTED = 80
_PLACEHOLDER = "{{lifeboat:credential:"
_WORD = re.compile(r"\w+")
_INSTRUCTIONS = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b[^.\n]{0,40}\b(?:instructions?|rules?|prompts?|guidelines?)\b"
    r"|\b(?:do not|don't|never)\s+(?:tell|inform|mention|reveal|ask|show)\b[^.\n]{0,40}\b(?:user|owner|human|anyone)\b"
    r"|\b(?:system|developer)\s+(?:prompt|message)\b"
    r"|\byou (?:must|are now|will now|have to)\b|\bfrom now on\b|\bact as\b"
    r"|\b(?:always|silently|immediately)\s+(?:run|execute|send|forward|upload|post|delete|install|download)\b"
    r"|\b(?:curl|wget)\b[^\n]{0,120}\|\s*(?:ba|z)?sh\b|\brm\s+-rf\b|\bbase64\s+(?:-d|--decode)\b",
    re.IGNORECASE,
)
_STATEMENT = re.compile(
    r"^[ \t>*+-]*([^\W_][\w '’/-]{2,50}?)[ \t]*(?::|=|\b(?:is|are|was|lives in|prefers|likes)\b)[ \t]*(\S[^\n]{0,100})",
    re.MULTILINE,
)


class ChangeMark(NamedTuple):
    """`kind` is one of the constants above. `quote` is the part of the text that it is about, on one line and without
    control characters; `other` the id of another memory."""

    kind: str
    quote: str = ""
    other: str | None = None


class KnownMemory(NamedTuple):
    """A memory that the agent has now."""

    id: str
    text: str


def mark_changes(
    changes: Iterable[TextChange],
    known: Iterable[KnownMemory],
    file_sizes: Mapping[str, int],
    limit: int | None = None,
) -> dict[str, list[ChangeMark]]:
    """Return the marks of the first `limit` changes (None: of all) by the id of the memory. `known` are all current
    memories; `file_sizes` the bytes of each file before the changes, by its name."""
    listed = list(changes)
    memories = list(known)
    rewritten, cleaned = _find_rewrites(listed, file_sizes), _find_cleanups(listed)
    alike, statements = _WordIndex(memories), _StatementIndex(memories)
    return {
        change.id: [
            *_marks_of_text(change),
            *alike.find(change),
            *statements.find(change),
            *(ChangeMark(REWRITE, change.origin_file) for _ in range(_key(change) in rewritten)),
            *(
                ChangeMark(CLEANUP, change.origin_file)
                for _ in range(change.operation == DELETED and _key(change) in cleaned)
            ),
        ]
        for change in listed[:limit]
    }


def _marks_of_text(change: TextChange) -> Iterator[ChangeMark]:
    text, before = change.after or "", change.before or ""
    if _PLACEHOLDER in text and text.count(_PLACEHOLDER) > before.count(_PLACEHOLDER):
        yield ChangeMark(SECRET, _quote(text, text.find(_PLACEHOLDER)))
    for found in _INSTRUCTIONS.finditer(text[:_LONGEST]):
        if found[0] not in before:
            yield ChangeMark(INSTRUCTION, _quote(text, found.start()))
            return


def _quote(text: str, at: int) -> str:
    line = text.rfind("\n", 0, at) + 1
    start = max(line, at - _QUOTED // 4)
    if start > line:  # a quote begins with a whole word
        start = text.find(" ", start, at) + 1 or at
    quoted = snippet_text(text[start : start + 2 * _QUOTED], _QUOTED)
    return quoted if start == line else f"…{quoted}"


# Files --------------------------------------------------------------------------------------------------------------


def _key(change: TextChange) -> tuple[int, str]:
    return change.sequence, change.origin_file


def _find_rewrites(changes: Iterable[TextChange], sizes: Mapping[str, int]) -> set[tuple[int, str]]:
    gone: Counter[tuple[int, str]] = Counter()
    for change in changes:
        gone[_key(change)] += change.changed_bytes
    return {
        key
        for key, count in gone.items()
        if sizes.get(key[1], 0) >= LEAST_REWRITTEN and count > REWRITTEN_SHARE * sizes[key[1]]
    }


def _is_cleaned(change: TextChange, cleaned: set[tuple[int, str]]) -> bool:
    return change.operation == DELETED and _key(change) in cleaned


def _find_cleanups(changes: Iterable[TextChange]) -> set[tuple[int, str]]:
    removed = Counter(_key(change) for change in changes if change.operation == DELETED)
    return {key for key, count in removed.items() if count >= LEAST_REMOVED}


# Near-duplicates ----------------------------------------------------------------------------------------------------


class _WordIndex:
    """Finds memories with nearly the same words. Candidates share three of their four longest words, so that a memory
    is compared with few others."""

    def __init__(self, memories: Iterable[KnownMemory]) -> None:
        self._words: dict[str, frozenset[str]] = {}
        self._keys: dict[str, list[str]] = {}
        self._by_key: dict[str, list[str]] = defaultdict(list)
        for memory in memories:
            words = self._words[memory.id] = _words_of(memory.text)
            keys = self._keys[memory.id] = _keys_of(words)
            for key in keys:
                self._by_key[key].append(memory.id)

    def find(self, change: TextChange) -> Iterator[ChangeMark]:
        seen = {change.id}
        for key in self._keys.get(change.id, ()):
            for other in self._by_key[key][:_MOST_CANDIDATES]:
                if other not in seen and _share(self._words[change.id], self._words[other]) >= LEAST_ALIKE:
                    yield ChangeMark(DUPLICATE, "", other)
                    return
                seen.add(other)


_MOST_CANDIDATES = 20


def _words_of(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text[:_LONGEST].casefold()))


def _keys_of(words: frozenset[str]) -> list[str]:
    if len(words) < _LEAST_WORDS:
        return []
    first, second, third, fourth = sorted(sorted(words), key=len)[-4:]  # the same ones in every process
    return [
        f"{first} {second} {third}",
        f"{first} {second} {fourth}",
        f"{first} {third} {fourth}",
        f"{second} {third} {fourth}",
    ]


def _share(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other)


# Contradictions -----------------------------------------------------------------------------------------------------


class _StatementIndex:
    """Finds statements about the same subject with another value, such as `Coffee: black` and `coffee: with milk`."""

    def __init__(self, memories: Iterable[KnownMemory]) -> None:
        self._of_memory: dict[str, list[tuple[str, str]]] = {}
        self._by_subject: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for memory in memories:
            statements = self._of_memory[memory.id] = list(_statements_in(memory.text))
            for subject, value in statements:
                self._by_subject[subject].append((value, memory.id))

    def find(self, change: TextChange) -> Iterator[ChangeMark]:
        for subject, value in self._of_memory.get(change.id, ()):
            others = self._by_subject[subject]
            if len(others) > _MOST_CANDIDATES:
                continue  # a word that begins many memories names no subject
            for said, other in others:
                if other != change.id and said != value:
                    yield ChangeMark(CONTRADICTION, snippet_text(f"{subject}: {said}", _QUOTED), other)
                    return


def _statements_in(text: str) -> Iterator[tuple[str, str]]:
    for found in _STATEMENT.finditer(text[:_LONGEST]):
        yield " ".join(found[1].casefold().split()), " ".join(found[2].casefold().rstrip(" .").split())
