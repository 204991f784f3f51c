"""A history under a revoked key: valid sequences are signed again, invalid ones stay as they are."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from lifeboat_keys.pairs.device_key import DeviceKey
from lifeboat_keys.pairs.trusted_keys import TrustedKeys
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.signed import sequence_signatures
from lifeboat_vault.vault import Draft, EntryPut, SequenceRow, Vault
from support.vault.vaults import commit, create, new_vault

OLD, NEW = UserKey.generate(), UserKey.generate()
OLD_DEVICE, NEW_DEVICE = DeviceKey.generate(OLD), DeviceKey.generate(NEW)
BEFORE = TrustedKeys(NEW.public, former=(OLD.public,))
AFTER = TrustedKeys(NEW.public, compromised=(OLD.public,))


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    """Return a vault with three sequences under the old key, one under the new one, one unsigned."""
    made = new_vault(tmp_path)
    for number, device in enumerate((OLD_DEVICE, OLD_DEVICE, OLD_DEVICE, NEW_DEVICE)):
        draft = Draft({"raw/a.md": EntryPut({}, b"version %d" % number)}, [create(f"Memory {number}.")])
        assert commit(
            made, draft, sign=lambda sequence, device=device: sequence_signatures.sign_sequence(sequence, device)
        )
    assert commit(made, Draft({"raw/b.md": EntryPut({}, b"foreign")}))
    return made


def _sign_anew(vault: Vault) -> tuple[list[int], list[int]]:
    done = vault.countersign(
        lambda sequence: sequence_signatures.sign_sequence(sequence, NEW_DEVICE), before=BEFORE, after=AFTER
    )
    return [row.number for row in done.signed], [row.number for row in done.refused]


def _without_signature(rows: list[SequenceRow]) -> list[SequenceRow]:
    return [replace(row, signature=None) for row in rows]


def test_a_history_under_a_compromised_key_is_refused_until_it_is_signed_anew(vault: Vault) -> None:
    assert not vault.verify(trusted=AFTER).ok
    assert _sign_anew(vault) == ([0, 1, 2], [])
    found = vault.verify(trusted=AFTER)
    assert found.ok and found.unsigned == [4]


def test_only_the_signatures_change(vault: Vault) -> None:
    before = vault.sequences()
    _sign_anew(vault)
    after = vault.sequences()
    assert _without_signature(before) == _without_signature(after)
    assert before[3:] == after[3:], "what counts anyway stays untouched"


def test_it_is_one_audit_row_and_the_chain_stays_whole(vault: Vault) -> None:
    rows = len(list(vault.audit_rows()))
    _sign_anew(vault)
    (added,) = list(vault.audit_rows())[rows:]
    assert (added.kind, added.details["sequences"], added.details["key"]) == ("countersign", 3, NEW.key_id)
    assert vault.check_audit() == []


def test_doing_it_again_changes_nothing(vault: Vault) -> None:
    _sign_anew(vault)
    before = vault.sequences(), len(list(vault.audit_rows()))
    assert _sign_anew(vault) == ([], [])
    assert (vault.sequences(), len(list(vault.audit_rows()))) == before


@pytest.mark.parametrize(
    "statement",
    [
        "update sequence set time = '2020-01-01T00:00:00.000Z' where n = 1",
        "update sequence set digest = zeroblob(32) where n = 1",
        "update record set position = 7 where first = 1",
    ],
)
def test_what_does_not_hold_is_not_vouched_for(tmp_path: Path, vault: Vault, statement: str) -> None:
    connection = sqlite3.connect(tmp_path / "vault" / "vault.db")
    with connection:
        assert connection.execute(statement).rowcount
    connection.close()
    signed, refused = _sign_anew(vault)
    assert 1 in refused and 1 not in signed


def test_a_raised_epoch_is_carried_by_what_comes_after_and_stands_in_the_audit(tmp_path: Path, vault: Vault) -> None:
    head = vault.head()
    assert head is not None
    assert vault.raise_epoch() == head.epoch + 1
    row = commit(vault, Draft({"raw/c.md": EntryPut({}, b"later")}))
    assert row is not None and row.epoch == head.epoch + 1
    assert [one.kind for one in vault.audit_rows()][-2:] == ["epoch", "commit"]
    vault.close()
    with Vault.open(tmp_path / "vault") as again:
        assert again.epoch == head.epoch + 1 and again.check_audit() == []
