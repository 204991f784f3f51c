"""A purged PIN of six digits cannot be found by trying: not in the receipt, the redaction, the audit or any file of the
vault, in any form that a hash, an id or a digest could have."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.common import ids, json_codec
from support.core.protected import Protected
from support.core.purge_receipt_home import Purged

PIN = "482913"
CANDIDATES = [f"{number:06}" for number in range(472_914, 492_914)]
LINE = f"The PIN of the harbour gate is {PIN}."
SECTION = f"## Gate\n\n{LINE}\n"
MEMORY = f"# Memory\n\n{SECTION}\n## Boat\n\nThe red boat lies in the harbour.\n"
_HEX = re.compile(rb"(?<![0-9a-f])[0-9a-f]{32,128}(?![0-9a-f])")
_UUID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_BASE64 = re.compile(rb"[A-Za-z0-9+/]{22,}={0,2}")
BITS = 62
"""The bits of an id that do not depend on its time, version and variant."""


@dataclass
class Evidence:
    """What an attacker has with the receipt and the vault. `data` are bytes, `values` every digest in them, `tails` the
    last bits of every id, `secrets` what a digest may be keyed with."""

    data: list[bytes]
    secrets: list[bytes]

    def __post_init__(self) -> None:
        self.values = {value for each in self.data for value in _digests(each)}
        self.tails = {
            int(found.replace(b"-", b""), 16) & (1 << BITS) - 1 for each in self.data for found in _UUID.findall(each)
        }

    def has(self, digest: bytes) -> bool:
        """Return whether a digest, or its beginning, is there: in text, in JSON, or as bytes of a row."""
        return any(digest[:size] in self.values for size in (16, 20, 32, 64) if size <= len(digest))


def _digests(data: bytes) -> Iterator[bytes]:
    for found in _HEX.findall(data):
        if len(found) % 2 == 0:
            yield bytes.fromhex(found.decode())
    for found in _BASE64.findall(data):
        try:
            yield base64.b64decode(found + b"=" * (-len(found) % 4))
        except binascii.Error:
            continue


class Purse(Purged):
    """The agent `ada`, who remembered a PIN."""

    def __init__(self, folder: Path) -> None:
        super(Purged, self).__init__(folder)
        self.write("MEMORY.md", MEMORY)
        self._begin(PIN.encode())

    def evidence(self) -> Evidence:
        context, agent_id = self.context, self.agent.id
        with self.vault() as vault:
            rows = [
                json_codec.encode_json([row.time, row.kind, row.subject, row.details]) + row.hash.hex().encode()
                for row in vault.audit_rows()
            ]
            blobs, texts = self._columns(vault._metadata)
            seeds = [vault.seed, vault.record_seed]
        files = [path.read_bytes() for path in context.home.vault_folder(agent_id).rglob("*") if path.is_file()]
        documents = [json_codec.encode_json(self.document()), json_codec.encode_json(self.redaction.to_json())]
        made = Evidence([*documents, *rows, *texts, *files], _salts(self.redaction.to_json()))
        made.values |= blobs
        made.secrets += [*seeds, agent_id.encode(), self.redaction.id.encode(), b""]
        return made

    @staticmethod
    def _columns(metadata: Any) -> tuple[set[bytes], list[bytes]]:
        """Return every value of every row of every table."""
        blobs: set[bytes] = set()
        texts: list[bytes] = []
        for (table,) in list(metadata.rows("select name from sqlite_master where type = 'table'", ())):
            for row in metadata.rows(f"select * from {table}", ()):
                blobs |= {value for value in row if isinstance(value, bytes)}
                texts += [value.encode() for value in row if isinstance(value, str)]
        return blobs, texts


def _salts(value: Any) -> list[bytes]:
    """Return the salts of the replacements, the only ones left of the purge."""
    if isinstance(value, dict):
        own = [bytes.fromhex(value["salt"])] if "salt" in value else []
        return own + [salt for each in value.values() for salt in _salts(each)]
    return []


@pytest.fixture(scope="module")
def purse(tmp_path_factory: pytest.TempPathFactory) -> Purse:
    return Purse(tmp_path_factory.mktemp("purse"))


@pytest.fixture(scope="module")
def evidence(purse: Purse) -> Evidence:
    return purse.evidence()


# Forms ----------------------------------------------------------------------------------------------------------------

Form = Callable[[str], bytes]
FORMS: dict[str, Form] = {
    "the digits": lambda pin: pin.encode(),
    "the number": lambda pin: int(pin).to_bytes(4, "big"),
    "the line": lambda pin: LINE.replace(PIN, pin).encode(),
    "the line with its end": lambda pin: f"{LINE.replace(PIN, pin)}\n".encode(),
    "the section": lambda pin: SECTION.replace(PIN, pin).encode(),
    "the section up to the next": lambda pin: f"{SECTION.replace(PIN, pin)}\n".encode(),
    "the section without its end": lambda pin: SECTION.replace(PIN, pin).strip().encode(),
    "the text as JSON": lambda pin: json_codec.encode_json(LINE.replace(PIN, pin)),
    "the file": lambda pin: MEMORY.replace(PIN, pin).encode(),
}
HASHES: dict[str, Callable[[bytes], bytes]] = {
    "sha256": lambda data: hashlib.sha256(data).digest(),
    "sha1": lambda data: hashlib.sha1(data).digest(),
    "md5": lambda data: hashlib.md5(data).digest(),
    "sha512": lambda data: hashlib.sha512(data).digest(),
    "blake2b": lambda data: hashlib.blake2b(data).digest(),
    "blake2b of 32 bytes": lambda data: hashlib.blake2b(data, digest_size=32).digest(),
    "blake2b of 16 bytes": lambda data: hashlib.blake2b(data, digest_size=16).digest(),
}


def guessed(evidence: Evidence, digest: Callable[[str], bytes], candidates: list[str] = CANDIDATES) -> list[str]:
    return [pin for pin in candidates if evidence.has(digest(pin))]


def test_the_evidence_is_large_enough_to_mean_something(evidence: Evidence, purse: Purse) -> None:
    assert PIN in CANDIDATES and len(CANDIDATES) == 20_000
    assert len(evidence.values) > 60 and len(evidence.tails) > 8 and len(evidence.secrets) > 4
    assert purse.redaction.digest in evidence.values and all(leaf in evidence.values for leaf in purse.redaction.leaves)


def test_before_the_purge_the_same_search_finds_it(purse: Purse) -> None:
    """The search would find an unsalted hash; otherwise it would prove nothing."""
    told = Evidence([hashlib.sha256(LINE.encode()).hexdigest().encode()], [])
    assert guessed(told, lambda pin: hashlib.sha256(LINE.replace(PIN, pin).encode()).digest()) == [PIN]


@pytest.mark.parametrize("text", [PIN, f" {PIN}", f"{PIN}."])
def test_the_text_itself_stands_nowhere(evidence: Evidence, text: str) -> None:
    for data in (*evidence.data, *evidence.values):
        assert text.encode() not in data
        assert base64.b64encode(text.encode()).rstrip(b"=")[:-1] not in data
        assert text.encode().hex().encode() not in data


@pytest.mark.parametrize("form", FORMS)
def test_no_hash_of_a_guess_is_there(evidence: Evidence, form: str) -> None:
    made = [(pin, FORMS[form](pin)) for pin in CANDIDATES]
    for name, digest in HASHES.items():
        assert [pin for pin, data in made if evidence.has(digest(data))] == [], name


@pytest.mark.parametrize("form", FORMS)
def test_no_hash_of_a_guess_under_anything_that_is_left_is_there(evidence: Evidence, form: str) -> None:
    """Salted as leaves are, keyed as ids and content keys are, with every known salt, seed and id."""
    few = CANDIDATES[9_900:10_100]
    assert PIN in few
    for secret in evidence.secrets:
        for pin in few:
            data = FORMS[form](pin)
            for digest in (
                hashlib.sha256(secret + data).digest(),
                hashlib.sha256(data + secret).digest(),
                hmac.digest(secret, data, "sha256"),
                hashlib.blake2b(data, key=secret[:64], digest_size=16).digest(),
                hashlib.blake2b(data, key=secret[:64], digest_size=32).digest(),
            ):
                assert not evidence.has(digest), (form, pin)


@pytest.mark.parametrize("form", FORMS)
def test_no_id_follows_from_a_guess(evidence: Evidence, form: str) -> None:
    """Neither a derived UUID, nor one minted as memories are, keyed with anything left in the vault."""
    few = CANDIDATES[9_900:10_100]
    time = "2026-11-12T12:00:00.000Z"
    for pin in few:
        text = FORMS[form](pin).decode("utf-8", "replace")
        for secret in (each for each in evidence.secrets if len(each) == ids.SEED_BYTES):
            for parts in minted_of(text):
                for ordinal in (0, 1):
                    made = int(ids.mint_id(secret, time, *parts, ordinal=ordinal).replace("-", ""), 16)
                    assert made & (1 << BITS) - 1 not in evidence.tails, (form, pin, parts)


def minted_of(text: str) -> Iterator[tuple[str, ...]]:
    yield (text,)
    for path in ("MEMORY.md", "raw/openclaw/workspace/MEMORY.md", "raw/openclaw/MEMORY.md", "workspace/MEMORY.md"):
        yield (path, text)
        yield (path, "Gate", text)


def test_an_id_follows_from_the_content_for_whoever_has_what_it_was_minted_with(tmp_path: Path) -> None:
    """This is why a purge destroys the seed too: otherwise the search above would find the id."""
    before = Protected(tmp_path)
    before.write("MEMORY.md", MEMORY)
    before.add(name="bert")
    with before.context.vault(before.agent.id) as vault:
        found = {record.id for record in vault.state().records()}
        seed = vault.record_seed
    time = ids.mint_id(seed, before.context.now(), "MEMORY.md", f"{SECTION}\n")
    assert time[18:] in {record_id[18:] for record_id in found}


def test_no_checksum_of_a_guess_is_there(evidence: Evidence) -> None:
    """No present body is a compressed form of a guess."""
    for form, make in FORMS.items():
        for pin in CANDIDATES[9_990:10_010]:
            packed = zlib.compress(make(pin))
            assert all(packed not in data for data in evidence.data), form
