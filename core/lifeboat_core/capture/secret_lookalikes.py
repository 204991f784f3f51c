"""Find what merely looks like a secret in an agent's files, with its place and kind but never its value; and name files
that were not searched.

Such text is captured unchanged, because a note may be about keys. `status` counts it and `doctor` names it until the
file changes or the user has it cut (`lifeboat agents cut`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from lifeboat_adapters.credential_types import FileSecret
from lifeboat_adapters.secrets import secret_patterns, secrets_in_prose
from lifeboat_adapters.secrets.secret_finder import replace_surrogates
from lifeboat_adapters.secrets.secret_patterns import SecretMatch
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.state.state_db import StateDb

FACT = "lookalikes"
"""The fact of `state.db` with the places: {archive path: [[line, kind], ...]}."""

UNREAD = "not_looked_into"
"""The fact of `state.db` with the form of files that cannot be searched for secrets: {archive path: form}."""

DECISION = "cut_lookalikes"
"""The vault's decision that names files and rows in which the user has lookalikes cut."""

UNCUT = "uncut_lookalikes"
"""The vault's decision that names files and rows for which the user took that back. Without it, a file would still be
cut because its newest version was."""

SERVICE_AND_TYPE = ("custom", "custom")
"""Service and type of a credential that was cut for its look."""

_LABEL = "looks like "
"""Beginning of the label of such a credential."""

LOOKED_AT = 1 << 20
"""Bytes at the start of a file in which encoded text is decoded to find unknown secrets."""
TOKENS_LOOKED_AT = 16 << 20
"""Bytes at the start of a file that are searched for the formats of known issuers without decoding."""
LARGEST_CUT = 4 << 20
"""Bytes. Larger encoded or compressed parts are not cut for their look."""
MOST_CUT = 2001
"""Maximum matches in one file: one more than a file may have secrets."""
MOST_PLACES = 20
"""Maximum places that are reported for one file."""
_BINARY_SEEN_IN = 8192


class LookalikePlace(NamedTuple):
    """The line (from 1) of a lookalike, and its kind."""

    line: int
    kind: str


Places = dict[str, list[LookalikePlace]]


class LookalikeMatch(NamedTuple):
    """A lookalike, and the parts of the file that spell it."""

    spans: tuple[tuple[int, int], ...]
    value: bytes
    kind: str


def find_lookalikes(data: bytes) -> list[LookalikeMatch]:
    """Return what looks like a secret in a file, in order. Encoded and binary parts are searched only for the formats
    of known issuers, because a name before a random value means little there."""
    from lifeboat_alf.decoding.decoder import decode_layers  # imported late: most commands decode nothing

    top = data[:LOOKED_AT]
    is_binary = b"\0" in top[:_BINARY_SEEN_IN]
    whole = data[:TOKENS_LOOKED_AT]
    found = dict[tuple[tuple[int, int], ...], LookalikeMatch]()
    tokens = secret_patterns.find_tokens(whole) if is_binary or len(whole) > len(top) else []
    for look in [*tokens, *([] if is_binary else find_looks_in_text(top))]:
        match = LookalikeMatch(((look.start, look.end),), data[look.start : look.end], look.kind)
        found[match.spans] = match
    for reading in decode_layers(top):
        for look in secret_patterns.find_tokens(reading.data):
            spans = tuple(reading.spans(look.start, look.end))
            found.setdefault(spans, LookalikeMatch(spans, reading.data[look.start : look.end], look.kind))
    return sorted(found.values())


def find_looks_in_text(data: bytes) -> list[SecretMatch]:
    """Return what looks like a secret in a text, or is described as one."""
    found = secret_patterns.find_secret_matches(data)
    told = (
        one
        for one in secrets_in_prose.find_secrets_in_prose(data)
        if all(one.end <= look.start or one.start >= look.end for look in found)
    )
    return [*found, *told]


def find_lookalike_places(original: bytes, kept: bytes) -> list[LookalikePlace]:
    """Return the places of lookalikes in a file that are still in plain text in the bytes to be stored."""
    still = dict[LookalikePlace, None]()
    line, counted = 1, 0
    for found in find_lookalikes(original):
        start = found.spans[0][0]
        line, counted = line + original.count(b"\n", counted, start), start
        place = LookalikePlace(line, found.kind)
        if place not in still and all(original[start:end] in kept for start, end in found.spans):
            still[place] = None
        if len(still) == MOST_PLACES:
            break
    return list(still)


def add_chosen_secrets(name: str, data: bytes, known: Iterable[FileSecret]) -> list[FileSecret]:
    """Return the secrets of a file in which the user has lookalikes cut. `name` is the archive path of the file or the
    name of a row."""
    found = sorted(known, key=lambda secret: secret.start)
    for match in find_lookalikes(data)[:MOST_CUT]:
        value = replace_surrogates(match.value.decode("utf-8", "surrogateescape"))
        for start, end in match.spans:
            if end - start <= LARGEST_CUT and all(end <= one.start or start >= one.end for one in found):
                label = f"{_LABEL}{match.kind}: {name}"
                found.append(FileSecret(start, end, value, *SERVICE_AND_TYPE, label, by_look=True))
    return sorted(found, key=lambda secret: secret.start)


def has_former_label(document: JsonObject, label: str) -> bool:
    """Return whether a credential has the label of one that was cut for its look."""
    kept = (document.get("service"), document.get("credential_type"))
    return kept == SERVICE_AND_TYPE and label.startswith(_LABEL)


def is_label_of(label: str, name: str) -> bool:
    """Return whether a label of a credential that was cut for its look belongs to this file or row."""
    named = label.partition(": ")[2]
    # Labels of an earlier release have the file name without a folder. Archive paths always have one.
    return named == name or ("/" not in named and named == name.rpartition("/")[2])


def describe_places(found: Iterable[LookalikePlace]) -> str:
    """Return places as text: `github_token (line 3), api_key (line 7)`."""
    return ", ".join(f"{place.kind} (line {place.line})" for place in found)


def find_token_secrets(name: str, texts: Iterable[str | bytes]) -> list[FileSecret]:
    """Return what looks like a secret in the texts of a row, as secrets that are searched for everywhere."""
    data = (
        text if isinstance(text, bytes) else replace_surrogates(text).encode("utf-8", "surrogateescape")
        for text in texts
    )
    return [secret for text in data for secret in add_chosen_secrets(name, text, ())]


def read_lookalikes(db: StateDb) -> Places:
    """Return the lookalikes that captures have found so far."""
    return {path: [LookalikePlace(*place) for place in found] for path, found in (db.get(FACT) or {}).items()}


def read_opaque_files(db: StateDb) -> dict[str, str]:
    """Return the form of each file, by archive path, that captures do not search."""
    return dict(db.get(UNREAD) or {})


def places_to_json(found: Places) -> dict[str, list[list[int | str]]] | None:
    """Return what `read_lookalikes` reads, None when there is nothing."""
    return {path: [list(place) for place in places] for path, places in found.items()} or None
