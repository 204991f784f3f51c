"""Find secrets as people write them in prose, for a report: a password in a sentence, a key in groups of characters.

Only the word before such a secret marks it, so these matches are neither cut nor masked by themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lifeboat_adapters.secrets.entropy import is_random
from lifeboat_adapters.secrets.secret_patterns import ALLOW, SecretMatch

_PASSWORDS = (b"pass", b"pwd")
_NAMES = (*_PASSWORDS, b"key", b"token", b"secret", b"code", b"seed")
_SAID = re.compile(
    rb"(?:password|passphrase|passcode|passwd|pwd)\b[^\n:=]{0,40}?(?:\b(?:is|was|ist|est|es)\b|[:=])[ \t]{0,3}"
    rb"[\"'`*_(]{0,3}([^\s\"'`*<>()\[\]{}|/]{8,64})(?![^\s\"'`*.,;:!?)])",
    re.IGNORECASE,
)
_GROUPS = re.compile(
    rb"[a-z]{3,10}\b[^\n]{0,40}?(?<![A-Za-z0-9-])((?:[A-Za-z0-9]{4}[ -]){3,15}[A-Za-z0-9]{4}"
    rb"|(?:[A-Za-z0-9]{5}[ -]){3,15}[A-Za-z0-9]{5}|(?:[A-Za-z0-9]{6}[ -]){2,15}[A-Za-z0-9]{6})(?![A-Za-z0-9-])",
    re.IGNORECASE,
)
_SPECIAL = re.compile(r"[!#$%&?^~+@]")


def find_secrets_in_prose(data: bytes) -> list[SecretMatch]:
    """Return everything that prose presents as a secret, sorted and without overlaps."""
    lower = data.lower()
    looks: list[SecretMatch] = []
    for look in sorted(_told(data, lower), key=lambda one: (one.start, -one.end)):
        if not looks or look.start >= looks[-1].end:
            looks.append(look)
    return looks


def _told(data: bytes, lower: bytes) -> Iterator[SecretMatch]:
    for name in _NAMES:
        at = lower.find(name)
        while at >= 0:
            found = [_group(data, at)]
            if name in _PASSWORDS:
                found.append(_password(data, at))
            yield from (look for look in found if look is not None and ALLOW not in _line(data, look.start))
            at = lower.find(name, at + len(name))


def _password(data: bytes, at: int) -> SecretMatch | None:
    hit = _SAID.match(data, at)
    if hit is None:
        return None
    value = hit[1].rstrip(b".,;:!?") if not _is_thought_up(hit[1]) else hit[1].rstrip(b".,;:")
    return SecretMatch(hit.start(1), hit.start(1) + len(value), "password") if _is_thought_up(value) else None


def _is_thought_up(value: bytes) -> bool:
    """Return whether a value is random, or a word with a number and a mark, as password rules demand."""
    text = value.decode("utf-8", "replace")
    return len(value) >= 8 and (
        is_random(text)
        or all((re.search("[a-z]", text), re.search("[A-Z]", text), re.search("[0-9]", text), _SPECIAL.search(text)))
    )


def _group(data: bytes, at: int) -> SecretMatch | None:
    hit = _GROUPS.match(data, at)
    if hit is None:
        return None
    groups = re.split(rb"[ -]", hit[1])
    with_digits = sum(any(0x30 <= byte <= 0x39 for byte in group) for group in groups)
    is_told = 2 * with_digits >= len(groups) and is_random(b"".join(groups).decode("ascii"))
    return SecretMatch(*hit.span(1), "key_in_groups") if is_told else None


def _line(data: bytes, at: int) -> bytes:
    end = data.find(b"\n", at)
    return data[data.rfind(b"\n", 0, at) + 1 : len(data) if end < 0 else end]
