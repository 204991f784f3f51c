"""Find text that looks like a secret: known formats of keys, and random values under a name for a secret.

The matches are for reports. Nothing is cut only because of its look: a note may discuss keys. A line that says
`lifeboat:allow` is skipped.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator
from typing import NamedTuple

from lifeboat_adapters.secrets import entropy
from lifeboat_keys.recovery import bip39_words

ALLOW = b"lifeboat:allow"
"""On a line, it says that the text there is no secret."""


class SecretMatch(NamedTuple):
    """Bytes that look like a secret; `kind` says which kind."""

    start: int
    end: int
    kind: str


class _KeyPattern(NamedTuple):
    """A known format of secrets.

    Every matching text contains one of `marks`, and hardly any other text does. `sign` is a shorter mark for encoded
    text. The secret is the first group of `pattern`, or all of it. `check` verifies the match. A pattern is compiled on
    first use: most never are.
    """

    marks: tuple[bytes, ...]
    pattern: bytes
    check: Callable[[bytes], bool] | None = None
    sign: bytes = b""


def _shape(marks: str, pattern: str, check: Callable[[bytes], bool] | None = None, sign: str = "") -> _KeyPattern:
    return _KeyPattern(
        tuple(marks.encode().split()), rb"(?<![A-Za-z0-9])(?:%b)" % pattern.encode(), check, sign.encode()
    )


def _is_random(value: bytes) -> bool:
    return entropy.is_random(value.decode("utf-8", "replace"))


def _is_password(value: bytes) -> bool:
    """Return whether a value is neither a password of manuals nor a placeholder."""
    said = (b"pass", b"secret", b"change", b"example", b"xxx", b"***", b"your", b"user", b"<", b"$", b"{", b"%s")
    return len(value) >= 6 and not any(part in value.lower() for part in said)


_BEGIN = b"-----BEGIN"
_SHAPES = {
    "anthropic_key": _shape("sk-ant-", r"sk-ant-[A-Za-z0-9_-]{20,256}"),
    "openai_key": _shape("sk-proj- sk-admin- sk-svcacct-", r"sk-(?:proj|admin|svcacct)-[A-Za-z0-9_-]{20,256}"),
    "api_key": _shape("sk-", r"sk-(?!ant-|proj-|admin-|svcacct-)[A-Za-z0-9_-]{20,256}"),
    "provider_key": _shape(
        "gsk_ xai- pplx- r8_ tvly- ntn_ lin_api_ sbp_ figd_ PMAK- hvs.",
        r"(?:gsk_|xai-|pplx-|r8_|tvly-|ntn_|lin_api_|sbp_|figd_|PMAK-|hvs\.)[A-Za-z0-9_-]{24,256}",
        _is_random,
    ),
    "github_token": _shape(
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255}"
    ),
    "gitlab_token": _shape("glpat- gldt- glrt- glptt-", r"gl(?:pat|dt|rt|ptt)-[A-Za-z0-9_.-]{20,128}"),
    "slack_token": _shape("xox xapp-", r"xox[abeprs]-[A-Za-z0-9-]{10,256}|xapp-[A-Za-z0-9-]{10,256}"),
    "slack_webhook": _shape("hooks.slack.com", r"https://hooks\.slack\.com/services/[A-Za-z0-9/]{20,128}"),
    "discord_webhook": _shape(
        "/api/webhooks/", r"https://(?:\w{1,16}\.)?discord(?:app)?\.com/api/webhooks/[0-9]{8,24}/[A-Za-z0-9_-]{40,100}"
    ),
    "discord_bot_token": _shape(
        ".",
        r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}",
        sign=r"\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27}",
    ),
    "telegram_bot_token": _shape(":A", r"[0-9]{8,10}:A[A-Za-z0-9_-]{34}(?![A-Za-z0-9_-])"),
    "aws_access_key": _shape("AKIA ASIA", r"(?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Z])"),
    "aws_secret_key": _shape(
        "AKIA ASIA",
        r"(?:AKIA|ASIA)[0-9A-Z]{16}[\s\S]{1,200}?(?<![A-Za-z0-9/+=])([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
        _is_random,
    ),
    "google_api_key": _shape("AIza", r"AIza[0-9A-Za-z_-]{35}"),
    "google_oauth_secret": _shape("GOCSPX- ya29.", r"GOCSPX-[A-Za-z0-9_-]{28}|ya29\.[A-Za-z0-9_-]{20,512}"),
    "azure_key": _shape(
        "AccountKey= 8Q~", r"AccountKey=([A-Za-z0-9+/]{86}==)|[A-Za-z0-9_~.-]{3}8Q~[A-Za-z0-9_~.-]{31,34}"
    ),
    "stripe_key": _shape(
        "_live_ _test_ whsec_", r"[rs]k_(?:live|test)_[A-Za-z0-9]{16,255}|whsec_[A-Za-z0-9+/=]{24,128}"
    ),
    "twilio_key": _shape("SK", r"SK[0-9a-f]{32}(?![0-9a-f])"),
    "sendgrid_key": _shape("SG.", r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}"),
    "huggingface_token": _shape("hf_", r"hf_[A-Za-z0-9]{34,64}"),
    "npm_token": _shape("npm_", r"npm_[A-Za-z0-9]{36}"),
    "pypi_token": _shape("pypi-", r"pypi-AgE[A-Za-z0-9_-]{50,512}"),
    "digitalocean_token": _shape("dop_v1_ doo_v1_ dor_v1_", r"do[opr]_v1_[0-9a-f]{64}"),
    "age_secret_key": _shape("AGE-SECRET-KEY-", r"AGE-SECRET-KEY-(?:PQ-)?1[0-9A-Z]{58,128}"),
    "json_web_token": _shape("eyJ", r"eyJ[A-Za-z0-9_-]{10,2048}\.eyJ[A-Za-z0-9_-]{10,4096}\.[A-Za-z0-9_-]{10,1024}"),
    "private_key": _shape(
        "-----BEGIN",
        r"-----BEGIN [A-Z ]{0,32}PRIVATE KEY-----"
        r"(?:(?!-----BEGIN)[A-Za-z0-9+/=\s\\:,.-]){16,16384}?-----END [A-Z ]{0,32}PRIVATE KEY-----",
    ),
    "url_password": _shape(
        "://", r"[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@\"'`<>]{0,64}:([^\s/@\"'`<>]{1,128})@[A-Za-z0-9\[]", _is_password
    ),
}
_KINDS = tuple((mark, kind) for kind, shape in _SHAPES.items() for mark in shape.marks)
"""Each mark with the kind of secret that contains it."""

_NAMES = tuple(b"pass pwd secret token key credential".split())
"""Parts of names for secrets. The list is short, because every file is searched for each of them."""
_ASSIGNED = re.compile(
    rb"(?:pass(?:word|wd|phrase)|pwd|secret|token|credential"
    rb"|(?:(?<=[_-])|(?<=api)|(?<=api )|(?<=access )|(?<=private )|(?<=secret ))key)"
    rb"s?[\"'`*_]{0,3}[ \t]{0,3}(?:[:=]{1,2}>?|is\b)[ \t]{0,3}[\"'`*_]{0,3}(?:Bearer |Basic )?"
    rb"([^\s\"'`<>,;()\[\]{}|]{8,512}+)(?![(\[])",
    re.IGNORECASE,
)
_TOTP = re.compile(rb"(?:otp|OTP|2fa|2FA)[^\n]{0,40}?(?<![A-Za-z0-9])([A-Z2-7]{16,64})(?![A-Za-z0-9])")
"""The seed of one-time passwords behind a word for them, as in `otpauth://totp/me?secret=...`."""
_BEARER = re.compile(rb"bearer ([A-Za-z0-9._~+/=-]{16,4096})", re.IGNORECASE)
_ADDRESS = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*://|[./~]")


class _ByteRun(NamedTuple):
    """Finds runs of at least `least` bytes of a set at the speed of a memory search: most notes have none."""

    table: bytes
    least: int

    def find(self, data: bytes) -> Iterator[tuple[int, int]]:
        marked = data.translate(self.table)
        at = marked.find(b"x" * self.least)
        while at >= 0:
            end = marked.find(b" ", at)
            end = len(data) if end < 0 else end
            yield at, end
            at = marked.find(b"x" * self.least, end)


def _stretch(alphabet: str, least: int) -> _ByteRun:
    return _ByteRun(bytes(ord("x" if chr(byte) in alphabet else " ") for byte in range(256)), least)


_KEY_LIKE = _stretch(string.ascii_letters + string.digits + "_+/=.:~@-", 14)
_WORDS = _stretch(string.ascii_lowercase + " ", 12 * 3 + 11)
_SPACES = frozenset((*range(11, 14), *range(23, 26)))
"""White space between and around 12 or 24 words."""


def find_secret_matches(data: bytes) -> list[SecretMatch]:
    """Return everything that looks like a secret, sorted and without overlaps."""
    long = _long_words(data)
    found = [*_shapes(data, long), *_phrases(data), *_assigned(data, with_bearer=bool(long))]
    found.sort(key=lambda look: (look.start, -look.end))
    apart: list[SecretMatch] = []
    for look in found:
        if not apart or look.start >= apart[-1].end:
            apart.append(look)
    return _not_allowed(data, apart) if ALLOW in data else apart


def find_tokens(data: bytes) -> list[SecretMatch]:
    """Return everything that has the format of a known issuer's secrets, in any bytes."""
    found = list(_shapes(data, _long_words(data)))
    return _not_allowed(data, found) if found and ALLOW in data else found


def is_likely_secret(value: str) -> bool:
    """Return whether a value by itself looks like a secret: it has a known format, or is random."""
    data = value.encode("utf-8", "replace")
    return entropy.is_random(value) or any(True for _ in _shapes(data, _long_words(data)))


def line_of_match(data: bytes, look: SecretMatch) -> int:
    """Return the line on which a match begins, from 1."""
    return data.count(b"\n", 0, look.start) + 1


def _long_words(data: bytes) -> bytes:
    """Return everything that is long enough for a key, each on a line: b"" for nearly every note."""
    long = b"\n".join([data[start:end] for start, end in _KEY_LIKE.find(data)])
    return long + _BEGIN if _BEGIN in data else long


def _shapes(data: bytes, long: bytes) -> Iterator[SecretMatch]:
    for kind in dict.fromkeys([kind for mark, kind in _KINDS if mark in long] if long else ()):
        shape = _SHAPES[kind]
        if not shape.sign or re.search(shape.sign, long):
            yield from _looks(data, kind, shape)


def _looks(data: bytes, kind: str, shape: _KeyPattern) -> Iterator[SecretMatch]:
    for hit in re.finditer(shape.pattern, data):
        group = hit.lastindex or 0
        if shape.check is None or shape.check(hit[group]):
            yield SecretMatch(hit.start(group), hit.end(group), kind)


def _phrases(data: bytes) -> Iterator[SecretMatch]:
    """Find 12 or 24 words on a line that are the seed phrase of a wallet or a key, by their checksum (BIP-39)."""
    for start, end in _WORDS.find(data):
        if data.count(b" ", start, end) not in _SPACES:
            continue
        text = data[start:end].decode("ascii")
        if len(text.split()) in (12, 24) and bip39_words.is_phrase(text):
            yield SecretMatch(start + len(text) - len(text.lstrip()), start + len(text.rstrip()), "recovery_phrase")


def _assigned(data: bytes, *, with_bearer: bool) -> Iterator[SecretMatch]:
    """Find `password: ...`, `API_KEY = ...`, `Bearer ...` with a random value."""
    lower = data.lower()
    searches = [(name, _ASSIGNED) for name in _NAMES] + ([(b"bearer ", _BEARER)] if with_bearer else [])
    for name, pattern in searches:
        at = lower.find(name)
        while at >= 0:
            hit = pattern.match(data, at)
            if hit is not None and _ADDRESS.match(hit[1]) is None and _is_random(hit[1]):
                yield SecretMatch(*hit.span(1), "secret_value")
            at = lower.find(name, at + len(name))
    if b"otp" in lower or b"2fa" in lower:
        yield from (SecretMatch(*hit.span(1), "totp_seed") for hit in _TOTP.finditer(data))


def _not_allowed(data: bytes, found: list[SecretMatch]) -> list[SecretMatch]:
    """Drop matches on lines that the user marked with `lifeboat:allow`."""
    kept, start, end, is_allowed = list[SecretMatch](), 0, 0, False
    for look in found:
        if not start <= look.start < end:
            start, end = data.rfind(b"\n", 0, look.start) + 1, data.find(b"\n", look.start)
            end = len(data) if end < 0 else end
            is_allowed = data.find(ALLOW, start, end) >= 0
        if not is_allowed:
            kept.append(look)
    return kept
