from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from lifeboat_alf.states import merkle
from lifeboat_alf.testing.sample_states import AGENT_ID
from lifeboat_keys.pairs.device_key import DeviceKey
from lifeboat_keys.pairs.trusted_keys import TrustedKeys
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.signed import sequence_signatures
from lifeboat_vault.vault import Draft, EntryPut, Vault, Verification
from support.vault.vaults import commit, create, edit, new_vault

USER = UserKey.generate()
TRUSTED = TrustedKeys(USER.public)
DEVICE = DeviceKey.generate(USER)
LARGE = b"".join(merkle.merkle_root([b"%d" % number]) for number in range(12_000))


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    """Return a vault with four signed sequences, a chain of patches, a body in a file, and records."""
    made = new_vault(tmp_path)
    memory = create("Likes tea.")
    text = b"".join(b"line %d of the note\n" % number for number in range(100))
    drafts = [
        Draft({"raw/a.md": EntryPut({}, text), "raw/large": EntryPut({}, LARGE)}, [memory]),
        Draft({"raw/a.md": EntryPut({}, text + b"more\n")}, [create("Has a cat.")]),
        Draft({"raw/a.md": EntryPut({}, text + b"more\nand more\n")}, [edit(memory, content="Likes coffee.")]),
        Draft({"raw/b.md": EntryPut({"executable": True}, b"#!/bin/sh\n")}),
    ]
    for draft in drafts:
        assert commit(made, draft, sign=lambda sequence: sequence_signatures.sign_sequence(sequence, DEVICE))
    return made


def tamper(folder: Path, *statements: str) -> None:
    """Change the tables with a database tool."""
    connection = sqlite3.connect(folder / "vault" / "vault.db")
    with connection:
        for statement in statements:
            assert connection.execute(statement).rowcount
    connection.close()


def kinds(result: Verification) -> set[str]:
    return {finding.kind for finding in result.findings}


def test_a_whole_vault_is_ok(vault: Vault) -> None:
    result = vault.verify(trusted=TRUSTED)
    assert result.ok and (result.number, result.sequences, result.objects) == (3, 4, 8)
    assert result.unsigned == result.unknown_signer == [] and result.bytes > len(LARGE)


def test_one_sequence_alone_reads_only_what_it_holds(vault: Vault) -> None:
    result = vault.verify(1, trusted=TRUSTED, whole=False)
    assert result.ok and (result.number, result.sequences, result.objects) == (1, 1, 4)


def test_an_empty_vault_is_ok(tmp_path: Path) -> None:
    vault = new_vault(tmp_path)
    assert vault.verify(trusted=None).ok and vault.verify(trusted=None, whole=False).number is None


def test_unsigned_and_unknown_signers_are_named_and_no_findings(vault: Vault) -> None:
    commit(vault, Draft({"raw/c": EntryPut({}, b"c")}))
    trusted, unknown = vault.verify(trusted=TRUSTED), vault.verify(trusted=None)
    assert trusted.ok and trusted.unsigned == [4] and trusted.unknown_signer == []
    assert unknown.ok and unknown.unknown_signer == [0, 1, 2, 3]


def test_a_signature_of_another_user_is_found(vault: Vault) -> None:
    result = vault.verify(trusted=TrustedKeys(UserKey.generate().public))
    assert kinds(result) == {"signature"} and len(result.findings) == 4


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("update object set body = x'00' where coding = 'plain'", "body"),
        ("update object set body = substr(body, 1, 20) where coding = 'patch'", "body"),
        ("update object set size = size + 1 where id = 1", "body"),
        ("update object set sha256 = zeroblob(32) where id = 1", "body"),
        ("update object set base = null where coding = 'patch'", "body"),
        ("update object set leaf = zeroblob(32) where id = 1", "digest"),
        ("update entry set meta = '{\"private\":true}' where path = 'raw/b.md'", "digest"),
        ("update entry set meta = 'no json' where path = 'raw/b.md'", "database"),
        ("update entry set path = 'raw/evil.md' where path = 'raw/b.md'", "digest"),
        ("update entry set last = 2 where path = 'raw/large'", "digest"),
        ("update entry set last = first where path = 'raw/b.md'", "rows"),
        ("update entry set last = null where path = 'raw/a.md' and first = 1", "rows"),
        ("update record set position = 7 where position = 1", "rows"),
        ("delete from record where position = 1", "digest"),
        ("update sequence set digest = zeroblob(32) where n = 2", "signature"),
        ("update sequence set time = '2020-01-01T00:00:00.000Z' where n = 2", "signature"),
        ("update sequence set epoch = 9 where n = 2", "signature"),
        ("update sequence set signature = '{}' where n = 2", "signature"),
        ("update sequence set signature = 'no json' where n = 2", "rows"),
        ("update sequence set signature = (select signature from sequence where n = 1) where n = 2", "signature"),
        ("update bucket set hash = zeroblob(32) where number = 1", "rows"),
        ("update audit set subject = '9' where number = 3", "audit"),
        ("update audit set details = '{}' where number = 3", "audit"),
        ("delete from audit where number = 3", "audit"),
        ("delete from object where id = 1", "database"),
    ],
)
def test_whatever_is_tampered_with_is_found(vault: Vault, tmp_path: Path, statement: str, kind: str) -> None:
    assert vault.verify(trusted=TRUSTED).ok
    tamper(tmp_path, statement)
    assert kind in kinds(vault.verify(trusted=TRUSTED))


def test_a_state_replaced_with_digest_and_audit_but_without_the_key_is_found(vault: Vault, tmp_path: Path) -> None:
    other = Vault.create(tmp_path / "other", AGENT_ID)
    evil = commit(other, Draft({"raw/a.md": EntryPut({}, b"evil")}))
    assert evil is not None
    tamper(tmp_path, f"update sequence set digest = x'{evil.digest.hex()}' where n = 3")
    assert {"signature", "digest", "audit"} <= kinds(vault.verify(trusted=TRUSTED))


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(LARGE[:-1] + b"x")])
def test_a_body_file_that_is_gone_or_changed_is_found(
    vault: Vault, tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    (file,) = (tmp_path / "vault" / "objects").iterdir()
    damage(file)
    assert kinds(vault.verify(trusted=TRUSTED)) == {"body"}
    assert kinds(vault.verify(0, trusted=TRUSTED, whole=False)) == {"body"}
