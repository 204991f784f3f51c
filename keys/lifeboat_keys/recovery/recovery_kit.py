"""The recovery kit: one page of plain text with everything needed to recover without the old machine.

It is meant to be printed. The words are on it twice: numbered, for typing, and as a QR code (in capitals, which need a
smaller code). Anyone who has the page has the key.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from lifeboat_keys.errors import BadWords, KeysError
from lifeboat_keys.installers import first_install_command
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.recovery import bip39_words

TITLE = "AGENT LIFEBOAT: RECOVERY KIT"
WIDTH = 80
QUIET_ZONE = 4
"""White modules around a QR code, as its standard requires."""
_WORDS_HEADING = "THE 24 WORDS"
_INDENT = "    "
_KEY_ID = re.compile(r"key id\W+([0-9a-f]{32})\b", re.IGNORECASE)
_NUMBERED = re.compile(r"\b(\d{1,2})\.[ \t]*([a-z]{3,8})\b", re.IGNORECASE)
_HALF_BLOCKS = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}


_REMOTES_HEADING = "REMOTES"
_SCANNER_HEADING = "THE SAME WORDS FOR A SCANNER"
_FIELD = re.compile(r"[> \t]*([A-Za-z0-9][\w.-]*)[ \t]*:[ \t]*(\S.*)")
_DETAILS = ("pin", "id", "options")
_CHECK = re.compile(r"^[> \t]*Check:[ \t]*([0-9a-f]{32})[ \t\r]*$", re.MULTILINE | re.IGNORECASE)
_CHECK_PERSON = b"lifeboat-kit"


@dataclass(frozen=True, slots=True)
class KitRemote:
    """A remote on the kit. `pin` is the pinned certificate, "" without one; `token` says in a sentence how to get a
    token without the old machine. `id` is the id of the remote itself. `access` is a join line that can only restore,
    "" without one."""

    name: str
    url: str
    pin: str = ""
    token: str = ""
    id: str = ""
    sealed: bool = False
    optional: bool = False
    access: str = field(default="", repr=False)

    @property
    def options(self) -> str:
        """Return the options of `lifeboat remote add` for it, as the page names them."""
        return ", ".join(word for word, is_set in (("sealed", self.sealed), ("optional", self.optional)) if is_set)


@dataclass(frozen=True, slots=True)
class RecoveryKit:
    """The content of a kit. `is_checked` says that its remotes are those that it was written with; pages of older
    releases have no check."""

    key: UserKey
    remotes: tuple[KitRemote, ...] = ()
    is_checked: bool = False


def render_kit(key: UserKey, made_at: str, remotes: Sequence[KitRemote] = ()) -> str:
    """Return the page, for a day like `2026-11-20`."""
    key_words = key.words()
    lines = [
        TITLE,
        "",
        f"Key id: {key.key_id}",
        f"Made:   {made_at}",
        "",
        "ANYONE WHO HAS THIS PAGE HAS YOUR KEY. Print it, store it in a safe place, and",
        "delete the file. A photograph of it is a copy of the key.",
        "",
        _WORDS_HEADING,
        "",
        *(_INDENT + line for line in bip39_words.format_word_sheet(key_words)),
        "",
        "WHAT THE WORDS OPEN",
        "The words open the credentials sealed in the archives and vaults of your agents,",
        "and archives encrypted for this key. They also prove which states are yours. The",
        "words contain no memories: for those, you need a copy of the agent.",
        "",
        "ON A NEW MACHINE",
        f"{_INDENT}{first_install_command()}",
        *(_INDENT + line for line in _way_back(remotes)),
        "",
        _REMOTES_HEADING,
        *_remote_lines(remotes),
        *([f"Check: {_check(key, remotes)}"] if remotes else []),
        "",
        f"{_SCANNER_HEADING}, dark on light",
        *qr_lines(key_words),
    ]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def read_kit(text: str) -> UserKey:
    """Return the key of a kit, however its page was copied: with other line ends, other spaces, without the QR code.

    Raises KeysError.NOT_A_KIT (without 24 numbered words, or with those of another key than it names), BadWords.
    """
    found = _numbered_words(text)
    missing = [str(place) for place in range(1, bip39_words.WORDS + 1) if place not in found]
    if missing:
        raise KeysError.NOT_A_KIT(f"these words are missing on the page: number {', '.join(missing)}")
    try:
        key = UserKey.from_words([found[place] for place in sorted(found)])
    except BadWords as error:
        raise BadWords(f"on the page of the recovery kit, {error.message}", fix=error.fix) from None
    named = _KEY_ID.search(text)
    if named and named[1].lower() != key.key_id:
        raise KeysError.NOT_A_KIT(
            f"the page states the key id {named[1].lower()}, but its words belong to the key {key.key_id}"
        )
    return key


def read_whole_kit(text: str) -> RecoveryKit:
    """Return the key and the remotes of a kit, however its page was copied. Raises what `read_kit` raises, and
    KeysError.NOT_A_KIT if its remotes are not those that it was written with."""
    key = read_kit(text)
    remotes = tuple(_read_remotes(text))
    found = _CHECK.search(text)
    if found is not None and found[1].lower() != _check(key, remotes):
        raise KeysError.NOT_A_KIT(
            "the list of remotes on the page was changed or truncated after the page was written; the words are intact",
            fix="lifeboat keys recover --kit FILE, then lifeboat remote add NAME",
        )
    return RecoveryKit(key, remotes, found is not None)


def _read_remotes(text: str) -> Iterator[KitRemote]:
    """Yield the remotes between their heading and the next one."""
    pieces = re.split(rf"^[> \t]*{_REMOTES_HEADING}[ \t\r]*$", text, maxsplit=1, flags=re.MULTILINE)
    section = pieces[1].split(_SCANNER_HEADING)[0] if len(pieces) == 2 else ""
    found: dict[str, str] = {}
    for line in section.splitlines():
        match = _FIELD.fullmatch(line.strip())
        if match is None:
            continue
        name, value = match[1], match[2]
        is_access = name == "access" and value.startswith("lifeboat+")
        if "://" in value and " " not in value and not is_access:
            if found:
                yield _make_remote(found)
            found = {"name": name, "url": value}
        elif found and (is_access or name in _DETAILS):
            found[name] = value
    if found:
        yield _make_remote(found)


def _make_remote(found: dict[str, str]) -> KitRemote:
    options = [word.strip() for word in found.get("options", "").split(",")]
    return KitRemote(
        found["name"],
        found["url"],
        found.get("pin", ""),
        id=found.get("id", ""),
        sealed="sealed" in options,
        optional="optional" in options,
        access=found.get("access", ""),
    )


def _check(key: UserKey, remotes: Sequence[KitRemote]) -> str:
    """Return a keyed digest of the remotes, which only the key can make."""
    fields = (part for each in remotes for part in (each.name, each.url, each.pin, each.id, each.options, each.access))
    digest = hashlib.blake2b(key=key.secret, digest_size=16, person=_CHECK_PERSON)
    for part in fields:
        digest.update(len(part.encode()).to_bytes(4, "big") + part.encode())
    return digest.hexdigest()


def key_in(text: str) -> UserKey:
    """Return the key of a text that is a kit or just the 24 words. Raises KeysError.NOT_A_KIT, BadWords."""
    return read_kit(text) if TITLE in text else UserKey.from_words(text)


def qr_lines(key_words: Sequence[str]) -> list[str]:
    """Return the words as a QR code with two rows of modules per line and the quiet zone: ink is dark, paper is
    light."""
    modules = qr_modules(key_words)
    if len(modules) % 2:
        modules.append([False] * len(modules[0]))
    pairs = zip(modules[::2], modules[1::2], strict=True)
    return ["".join(_HALF_BLOCKS[pair] for pair in zip(*rows, strict=True)).rstrip() for rows in pairs]


def qr_modules(key_words: Sequence[str]) -> list[list[bool]]:
    """Return the modules of the QR code row by row, including the quiet zone; True is dark."""
    import segno

    code = segno.make_qr(" ".join(key_words).upper(), error="l")
    return [[bool(module) for module in row] for row in code.matrix_iter(border=QUIET_ZONE)]


def _numbered_words(text: str) -> dict[int, str]:
    """Return the first 24 numbered words after their heading (if present), by number."""
    start = text.find(_WORDS_HEADING)
    found: dict[int, str] = {}
    for match in _NUMBERED.finditer(text, max(start, 0)):
        if 1 <= int(match[1]) <= bip39_words.WORDS:
            found.setdefault(int(match[1]), match[2])
    return found


def _way_back(remotes: Sequence[KitRemote]) -> Iterable[str]:
    """Yield the commands that restore the agents: from the remotes, or from an archive."""
    if remotes:
        yield "lifeboat setup --kit THIS-FILE"
        yield "or, from paper: lifeboat keys recover, then lifeboat setup"
        return
    yield "lifeboat keys recover"
    yield "lifeboat alf import FILE --to ~/.openclaw/workspace --with-credentials"


def _remote_lines(remotes: Sequence[KitRemote]) -> Iterable[str]:
    if not remotes:
        yield "No remote is configured. This key opens archives made with"
        yield f"{_INDENT}lifeboat alf export RUNTIME FOLDER -o FILE.alf"
        yield "Keep such an archive on another machine, and write here where it is:"
    for remote in remotes:
        yield f"{remote.name}: {remote.url}"
        for name, value in (
            ("pin", remote.pin),
            ("id", remote.id),
            ("options", remote.options),
            ("token", "" if remote.access else remote.token),
            ("access", remote.access),
        ):
            if value:
                yield f"{_INDENT}{name}: {value}"
