"""Secrets in files: by name in a parsed file, by value anywhere, and by look (for a report only)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple
from urllib.parse import quote

from lifeboat_adapters.contract import Secret
from lifeboat_adapters.secrets import dotenv, json5, rules
from lifeboat_adapters.secrets.leaves import Leaf

LEAST_KNOWN = 16
"""A shorter value would be found in text that has nothing to do with it."""


class Known(NamedTuple):
    """Where a known value stands: `data[start:end]` spells it (as is, or escaped)."""

    start: int
    end: int
    value: str


class Look(NamedTuple):
    """Text that looks like a secret; `kind` says which."""

    start: int
    end: int
    kind: str


def secrets_in_json5(data: bytes, name_of: Callable[[Leaf], str] = rules.service_of) -> list[Secret]:
    """The secrets of a JSON or JSON5 file by the names of their fields, sorted. Raises UnparsableSecrets."""
    return _secrets(data, json5.scan(data), name_of)


def secrets_in_dotenv(data: bytes, name_of: Callable[[Leaf], str] = rules.service_of) -> list[Secret]:
    """The secrets of a dotenv file by the names of its variables, sorted. Raises UnparsableSecrets."""
    return _secrets(data, dotenv.scan(data), name_of)


def _secrets(data: bytes, leaves: Iterable[Leaf], name_of: Callable[[Leaf], str]) -> list[Secret]:
    found = []
    for leaf in leaves:
        kind = rules.kind_of(leaf)
        if kind is not None:
            found.append(secret_at(data, leaf, name_of(leaf), kind))
    return found


def secret_at(data: bytes, leaf: Leaf, service: str, kind: str) -> Secret:
    """A leaf of a file as a secret; its label is its path."""
    # A number's value is its spelling: 0123 and 123 are two different PINs.
    value = leaf.value if isinstance(leaf.value, str) else data[leaf.start : leaf.end].decode("ascii")
    label = ".".join(str(place) for place in leaf.path)
    return Secret(leaf.start, leaf.end, _encodable(value), _encodable(service), kind, _encodable(label))


class KnownValues:
    """One search for many values over many files: build it once, ask it for each file.

    Values under 16 characters are left out. A value is found as it is, escaped as in a JSON string, and
    percent-encoded.
    """

    def __init__(self, values: Iterable[str]) -> None:
        self._value_of: dict[bytes, str] = {}
        for value in values:
            if len(value) >= LEAST_KNOWN:
                self._value_of.update(dict.fromkeys(_spellings(value), value))
        # The longer first: a value may begin with another one.
        self._spelled = sorted(self._value_of, key=lambda spelling: (-len(spelling), spelling))
        self._search = re.compile(b"|".join(map(re.escape, self._spelled)))

    def __bool__(self) -> bool:
        return bool(self._spelled)

    def spans(self, data: bytes) -> list[Known]:
        """Where values stand, sorted, not overlapping."""
        # Nearly every file holds none, and `in` says so four times faster than the alternation.
        if not any(spelling in data for spelling in self._spelled):
            return []
        return [Known(hit.start(), hit.end(), self._value_of[hit[0]]) for hit in self._search.finditer(data)]


def known_values_in(data: bytes, values: Iterable[str]) -> list[Known]:
    """`KnownValues` for a single file."""
    return KnownValues(values).spans(data)


def _encodable(text: str) -> str:
    """Half a surrogate pair, which JSON5 can spell, has no bytes: `?` stands for it. The span is what is cut."""
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    return text


def _spellings(value: str) -> set[bytes]:
    value = _encodable(value)
    plain = json.dumps(value, ensure_ascii=False)[1:-1]
    ascii_only = json.dumps(value)[1:-1]
    texts = {value, plain, ascii_only, plain.replace("/", "\\/"), ascii_only.replace("/", "\\/")}
    encoded = {text.encode("utf-8", "surrogateescape") for text in texts}
    return encoded | {quote(value.encode("utf-8", "surrogateescape"), safe="").encode("ascii")}


class _Shape(NamedTuple):
    """`mark`: a part that every such text holds, and hardly any other text."""

    mark: str
    pattern: str


_LOOKS = {
    "anthropic_key": _Shape("sk-ant-", r"sk-ant-[A-Za-z0-9_-]{20,256}"),
    "api_key": _Shape("sk-", r"sk-(?!ant-)[A-Za-z0-9_-]{20,256}"),
    "github_token": _Shape(r"gh[pousr]_|github_pat_", r"gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255}"),
    "gitlab_token": _Shape("glpat-", r"glpat-[A-Za-z0-9_-]{20,64}"),
    "slack_token": _Shape(r"xox[abeprs]-|xapp-", r"xox[abeprs]-[A-Za-z0-9-]{10,256}|xapp-[A-Za-z0-9-]{10,256}"),
    "slack_webhook": _Shape(r"hooks\.slack\.com", r"https://hooks\.slack\.com/services/[A-Za-z0-9/]{20,128}"),
    "aws_access_key": _Shape("AKIA|ASIA", r"(?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Z])"),
    "google_api_key": _Shape("AIza", r"AIza[0-9A-Za-z_-]{35}"),
    "telegram_bot_token": _Shape(r":[A-Za-z0-9_-]{35}", r"[0-9]{8,10}:[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    "discord_bot_token": _Shape(
        r"\.[A-Za-z0-9_-]{6}\.", r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}"
    ),
    "json_web_token": _Shape("eyJ", r"eyJ[A-Za-z0-9_-]{10,2048}\.eyJ[A-Za-z0-9_-]{10,4096}\.[A-Za-z0-9_-]{10,1024}"),
    "private_key": _Shape(
        "-----BEGIN",
        r"-----BEGIN [A-Z ]{0,32}PRIVATE KEY-----"
        r"(?:(?!-----BEGIN)[A-Za-z0-9+/=\s\\:,.-]){16,16384}?-----END [A-Z ]{0,32}PRIVATE KEY-----",
    ),
}
_MARK = re.compile("|".join(look.mark for look in _LOOKS.values()))
_LOOK = re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(f'(?P<{kind}>{look.pattern})' for kind, look in _LOOKS.items())})")


def looks_like_secret(text: str) -> list[Look]:
    """What looks like a secret, for a report. Nothing is ever cut for its look: a note may speak of keys."""
    if _MARK.search(text) is None:
        return []
    return [Look(hit.start(), hit.end(), str(hit.lastgroup)) for hit in _LOOK.finditer(text)]
