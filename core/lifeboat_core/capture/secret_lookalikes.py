"""What merely looks like a secret in an agent's files: where it stands and of which kind, never what it says; and which
files were not looked into.

It is kept as it is, since a note may speak of keys; status counts it and the doctor names it, until the file changes or
the user says that it is to be cut there (`lifeboat agents cut`).
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
"""Where the caches keep them: {archive path: [[line, kind], ...]}."""

UNREAD = "not_looked_into"
"""Where the caches keep the form of files in which secrets are not found: {archive path: form}."""

DECISION = "cut_lookalikes"
"""Where the vault keeps the names of files and rows of which the user said that what looks like a secret is cut."""

UNCUT = "uncut_lookalikes"
"""Where the vault keeps the names of files and rows of which the user took this back. Without it, a file would go on to
be cut because its newest version was."""

SERVICE_AND_TYPE = ("custom", "custom")
"""Of a credential that was cut for its look."""

_LABEL = "looks like "
"""How the label of such a credential begins."""

LOOKED_AT = 1 << 20
"""Bytes at the top of a file in which what is encoded is decoded, for the sake of secrets that nobody knows."""
TOKENS_LOOKED_AT = 16 << 20
"""Bytes at the top of a file in which the formats of known issuers are looked for as they are."""
LARGEST_CUT = 4 << 20
"""Bytes. What is encoded or compressed in more is not cut for its look."""
MOST_CUT = 2001
"""Of one file: one more than a file may have secrets."""
MOST_PLACES = 20
"""Of one file. Whoever has read of twenty looks into the file."""
_BINARY_SEEN_IN = 8192


class LookalikePlace(NamedTuple):
    """A line (from 1) that holds what looks like a secret, and the kind of secret."""

    line: int
    kind: str


Places = dict[str, list[LookalikePlace]]


class LookalikeMatch(NamedTuple):
    """What looks like a secret, and the parts of the file that spell it."""

    spans: tuple[tuple[int, int], ...]
    value: bytes
    kind: str


def find_lookalikes(data: bytes) -> list[LookalikeMatch]:
    """What looks like a secret in a file, in order. In what is encoded or is no text only the formats of known issuers
    are looked for: a name before a random value says little there."""
    from lifeboat_alf.decoding.decoder import decode_layers  # loaded where something is read

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
    """What looks like a secret in a text, or is told as one."""
    found = secret_patterns.find_secret_matches(data)
    told = (
        one
        for one in secrets_in_prose.find_secrets_in_prose(data)
        if all(one.end <= look.start or one.start >= look.end for look in found)
    )
    return [*found, *told]


def find_lookalike_places(original: bytes, kept: bytes) -> list[LookalikePlace]:
    """What looks like a secret in a file and is still there in the bytes that are kept of it."""
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
    """The secrets of a file of which the user said that what looks like one is one. `name` is the archive path of the
    file, or what the row is called."""
    found = sorted(known, key=lambda secret: secret.start)
    for match in find_lookalikes(data)[:MOST_CUT]:
        value = replace_surrogates(match.value.decode("utf-8", "surrogateescape"))
        for start, end in match.spans:
            if end - start <= LARGEST_CUT and all(end <= one.start or start >= one.end for one in found):
                label = f"{_LABEL}{match.kind}: {name}"
                found.append(FileSecret(start, end, value, *SERVICE_AND_TYPE, label, by_look=True))
    return sorted(found, key=lambda secret: secret.start)


def has_former_label(document: JsonObject, label: str) -> bool:
    """Return whether a credential is labelled as one that was cut for its look."""
    kept = (document.get("service"), document.get("credential_type"))
    return kept == SERVICE_AND_TYPE and label.startswith(_LABEL)


def is_label_of(label: str, name: str) -> bool:
    """Return whether a credential that was cut for its look and has this label is of the file with this archive path,
    or of the row of this name."""
    named = label.partition(": ")[2]
    # An earlier release wrote the name of the file without its folder. An archive path always has one.
    return named == name or ("/" not in named and named == name.rpartition("/")[2])


def describe_places(found: Iterable[LookalikePlace]) -> str:
    """`github_token (line 3), api_key (line 7)`."""
    return ", ".join(f"{place.kind} (line {place.line})" for place in found)


def find_token_secrets(name: str, texts: Iterable[str | bytes]) -> list[FileSecret]:
    """What looks like a secret in the texts of a row, as secrets that are looked for everywhere."""
    data = (
        text if isinstance(text, bytes) else replace_surrogates(text).encode("utf-8", "surrogateescape")
        for text in texts
    )
    return [secret for text in data for secret in add_chosen_secrets(name, text, ())]


def read_lookalikes(db: StateDb) -> Places:
    """What the captures so far have found."""
    return {path: [LookalikePlace(*place) for place in found] for path, found in (db.get(FACT) or {}).items()}


def read_opaque_files(db: StateDb) -> dict[str, str]:
    """The form of each file, by its archive path, that captures do not look into."""
    return dict(db.get(UNREAD) or {})


def places_to_json(found: Places) -> dict[str, list[list[int | str]]] | None:
    """What `read_lookalikes` reads, None where nothing was found."""
    return {path: [list(place) for place in places] for path, places in found.items()} or None
