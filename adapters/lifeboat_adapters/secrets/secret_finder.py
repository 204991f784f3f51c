"""Find secrets in files: by name in a parsed file, by value in any file."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple
from urllib.parse import quote

from lifeboat_adapters.credential_types import FileSecret
from lifeboat_adapters.secrets import dotenv_leaves, json5_leaves, secret_names, secret_patterns
from lifeboat_adapters.secrets.parsed_leaves import ParsedLeaf
from lifeboat_alf.decoding.squeezed_text import squeeze_text, squeezed_spans, squeezed_spellings

LEAST_KNOWN = 16
"""Characters. Shorter values also occur in unrelated text."""


class KnownSecretMatch(NamedTuple):
    """Where a known value stands: `data[start:end]` spells it (plain or escaped)."""

    start: int
    end: int
    value: str


def secrets_in_json5(
    data: bytes, name_of: Callable[[ParsedLeaf], str] = secret_names.service_of_leaf
) -> list[FileSecret]:
    """Return the secrets of a JSON or JSON5 file by the names of their fields, sorted. Raises UnparsableSecrets."""
    return secrets_of(data, json5_leaves.scan_json5(data), name_of)


def secrets_in_dotenv(
    data: bytes, name_of: Callable[[ParsedLeaf], str] = secret_names.service_of_leaf
) -> list[FileSecret]:
    """Return the secrets of a dotenv file by the names of its variables, sorted. Raises UnparsableSecrets."""
    return secrets_of(data, dotenv_leaves.scan_dotenv(data), name_of)


def secrets_of(
    data: bytes, leaves: Iterable[ParsedLeaf], name_of: Callable[[ParsedLeaf], str] = secret_names.service_of_leaf
) -> list[FileSecret]:
    """Return the leaves of a file whose names mark them as secrets."""
    found = []
    for leaf in leaves:
        kind = secret_names.credential_type_of_leaf(leaf)
        if kind is not None:
            found.append(secret_at(data, leaf, name_of(leaf), kind))
    return found


def add_secret_matches(name: str, data: bytes, found: list[FileSecret]) -> list[FileSecret]:
    """Add the matches of secret patterns to the secrets of a credential file: a key in a comment, or in the place of a
    name. `name` is the name of the file."""
    taken = sorted((secret.start, secret.end) for secret in found)
    others = []
    for look in secret_patterns.find_secret_matches(data):
        at = bisect_left(taken, (look.start, look.end))
        before, after = taken[at - 1 : at] if at else [], taken[at : at + 1]
        if all(end <= look.start for _, end in before) and all(start >= look.end for start, _ in after):
            value = data[look.start : look.end].decode("utf-8", "surrogateescape")
            others.append(FileSecret(look.start, look.end, value, "custom", "custom", f"{name}: {look.kind}"))
    return sorted([*found, *others], key=lambda secret: secret.start)


def secret_at(data: bytes, leaf: ParsedLeaf, service: str, kind: str) -> FileSecret:
    """Return a leaf of a file as a secret, with its path as label."""
    # A number's value is its spelling: 0123 and 123 are two different PINs.
    value = leaf.value if isinstance(leaf.value, str) else data[leaf.start : leaf.end].decode("ascii")
    label = ".".join(str(place) for place in leaf.path)
    return FileSecret(
        leaf.start, leaf.end, replace_surrogates(value), replace_surrogates(service), kind, replace_surrogates(label)
    )


class KnownSecretSearch:
    """One search for many values over many files: build it once and use it for each file.

    Values under 16 characters are left out. A value is found in plain form, escaped as in a JSON string,
    percent-encoded, and also when it is broken over lines, quoted or in capitals (see
    `lifeboat_alf.decoding.squeezing`).
    """

    def __init__(self, values: Iterable[str]) -> None:
        self._value_of: dict[bytes, str] = {}
        self._squeezed: dict[bytes, str] = {}
        for value in values:
            if len(value) >= LEAST_KNOWN:
                self._value_of.update(dict.fromkeys(_spellings(value), value))
                spelled = squeezed_spellings(replace_surrogates(value).encode("utf-8", "surrogateescape"))
                self._squeezed.update(dict.fromkeys(spelled, value))
        # Longer values come first, because one value may begin with another.
        self._spelled = sorted(self._value_of, key=lambda spelling: (-len(spelling), spelling))
        self._search: re.Pattern[bytes] | None = None

    def __bool__(self) -> bool:
        return bool(self._spelled)

    def spans(self, data: bytes) -> list[KnownSecretMatch]:
        """Return where values stand, sorted and without overlaps."""
        found = self._spelled_spans(data)
        broken = list(self._broken_spans(data))
        if not broken:
            return found
        return _apart([*found, *broken])

    def _spelled_spans(self, data: bytes) -> list[KnownSecretMatch]:
        # Nearly every file contains none of the values, and `in` is four times faster than the alternation.
        if not any(spelling in data for spelling in self._spelled):
            return []
        if self._search is None:  # compiled on first use: most searches never get here, and compiling is slow
            self._search = re.compile(b"|".join(map(re.escape, self._spelled)))
        return [KnownSecretMatch(hit.start(), hit.end(), self._value_of[hit[0]]) for hit in self._search.finditer(data)]

    def _broken_spans(self, data: bytes) -> Iterator[KnownSecretMatch]:
        """Return values that are interrupted by other characters. Values in plain form are among them."""
        if self._squeezed:
            squeezed = squeeze_text(data)
            for spelling, value in self._squeezed.items():
                if spelling in squeezed:
                    yield from (KnownSecretMatch(*span, value) for span in squeezed_spans(data, squeezed, spelling))


def _apart(found: Iterable[KnownSecretMatch]) -> list[KnownSecretMatch]:
    """Return places without overlaps, sorted: the longest of those that overlap."""
    kept: list[KnownSecretMatch] = []
    for known in sorted(found, key=lambda one: (one.start, -one.end)):
        if kept and known.start < kept[-1].end:
            if known.end - known.start > kept[-1].end - kept[-1].start:
                kept[-1] = known
        else:
            kept.append(known)
    return kept


def replace_surrogates(text: str) -> str:
    """Replace halves of surrogate pairs by `?`. JSON5 can spell them, but they have no bytes. The span is cut in any
    case."""
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    return text


def _spellings(value: str) -> set[bytes]:
    value = replace_surrogates(value)
    plain = json.dumps(value, ensure_ascii=False)[1:-1]
    ascii_only = json.dumps(value)[1:-1]
    texts = {value, plain, ascii_only, plain.replace("/", "\\/"), ascii_only.replace("/", "\\/")}
    encoded = {text.encode("utf-8", "surrogateescape") for text in texts}
    return encoded | {quote(value.encode("utf-8", "surrogateescape"), safe="").encode("ascii")}
