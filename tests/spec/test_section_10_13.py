"""ALF §10.13: data privacy and encryption, at the level of vaults and data keys."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lifeboat_vault.at_rest.data_keys import DataKeys
from lifeboat_vault.at_rest.sealer import Sealer, key_id_of
from lifeboat_vault.errors import KeyRevoked, OtherDataKey, VaultDamaged
from lifeboat_vault.vault import Draft, EntryPut, Vault
from support.endpoint.sealed import (
    AGENT,
    OTHER_AGENT,
    OTHER_TENANT,
    TENANT,
    MovingClock,
    data_keys,
    key_file,
    opened_keys,
)
from support.vault.vaults import ManualClock, commit, content_of, create

SEALED_PARTITION = "memory/partitions/2025-Q1.jsonl"
NOISE = os.urandom(300 << 10)
CONTENT = "The doctor said that the knee will heal by March."


def stored(folder: Path, keys: DataKeys, agent: str = AGENT) -> Vault:
    """The vault of an agent with an identity, a large file, and memories in a closed partition and an open one."""
    vault = Vault.create(folder, agent, clock=ManualClock(), sealer=keys.sealer(agent))
    entries = {
        "identity.json": EntryPut({}, b'{"names": ["Ada of the knee"]}'),
        "raw/openclaw/MEMORY.md": EntryPut({"mode": "0600"}, CONTENT.encode() * 30),
        "artifacts/scan.bin": EntryPut({}, NOISE),
    }
    old = create(CONTENT)._replace(partition=SEALED_PARTITION)
    commit(vault, Draft(entries, [old, create("The knee is better.")]))
    vault.label(0, "after the doctor")
    return vault


def everything_kept(folder: Path, vault: Vault) -> Iterator[tuple[str, bytes]]:
    """(kind, sealed) of all bodies and salts, in rows and in files: the storage without the service."""
    for body, salt in vault._metadata.rows("select body, salt from object"):
        yield from [(kind, data) for kind, data in (("body", body), ("salt", salt)) if data is not None]
    for path in (folder / "objects").iterdir():
        yield "body", path.read_bytes()


def opens_nothing(sealer: Sealer, kept: list[tuple[str, bytes]]) -> bool:
    def is_refused(kind: str, sealed: bytes) -> bool:
        try:
            sealer.open(kind, sealed)
        except VaultDamaged:
            return True
        return False

    return len(kept) > 5 and all(is_refused(kind, sealed) for kind, sealed in kept)


def test_the_key_of_one_tenant_opens_nothing_of_another(tmp_path: Path) -> None:
    mine, theirs = data_keys(tmp_path, TENANT), data_keys(tmp_path, OTHER_TENANT)
    with stored(tmp_path / "mine", mine), stored(tmp_path / "theirs", theirs) as vault:
        kept = list(everything_kept(tmp_path / "theirs", vault))
    for agent in (AGENT, None):
        assert opens_nothing(mine.sealer(agent), kept)
        with pytest.raises(OtherDataKey):
            Vault.open(tmp_path / "theirs", sealer=mine.sealer(agent))
    with pytest.raises(KeyRevoked):
        mine.sealer_of(theirs.current(), AGENT)


def test_what_the_storage_holds_is_ciphertext(tmp_path: Path) -> None:
    with stored(tmp_path / "vault", data_keys(tmp_path)):
        files = {path: path.read_bytes() for path in (tmp_path / "vault").rglob("*") if path.is_file()}
    assert {path.name for path in files} >= {"vault.db", "vault.db-wal"} and len(files) > 3
    words = [b"doctor", b"knee", b"MEMORY.md", b"identity", b"partitions", b"2025-Q1", b'"content"', NOISE[:64]]
    assert [(word, path.name) for word in words for path, data in files.items() if word in data] == []


def test_after_a_rotation_everything_is_under_the_new_key_and_the_old_one_opens_nothing(tmp_path: Path) -> None:
    keys = data_keys(tmp_path)
    old = keys.sealer(AGENT)
    with stored(tmp_path / "vault", keys) as vault:
        before = content_of(vault.state())
        new_id = keys.rotate()
        vault.reseal(keys.sealer(AGENT))
        kept = list(everything_kept(tmp_path / "vault", vault))
        assert {key_id_of(sealed) for _, sealed in kept} == {new_id} and opens_nothing(old, kept)
        assert any(record.partition == SEALED_PARTITION for record in vault.state().records())
    assert keys.destroy([]) == [old.key_id]
    with Vault.open(tmp_path / "vault", sealer=opened_keys(tmp_path).sealer(AGENT)) as again:
        assert content_of(again.state()) == before and again.verify(trusted=None).findings == []


def test_each_agent_is_under_a_key_of_its_own_where_it_is_so_configured(tmp_path: Path) -> None:
    keys = data_keys(tmp_path, scope="agent")
    with stored(tmp_path / "one", keys) as one, stored(tmp_path / "two", keys, OTHER_AGENT) as two:
        kept = [list(everything_kept(tmp_path / name, vault)) for name, vault in (("one", one), ("two", two))]
        ids = [{key_id_of(sealed) for _, sealed in each} for each in kept]
    assert [len(each) for each in ids] == [1, 1] and ids[0] != ids[1]
    assert opens_nothing(keys.sealer(OTHER_AGENT), kept[0]) and opens_nothing(keys.sealer(AGENT), kept[1])


def test_a_customer_who_takes_the_key_away_makes_all_reads_of_the_tenant_fail(tmp_path: Path) -> None:
    clock = MovingClock()
    mine = data_keys(tmp_path, TENANT, source=key_file(tmp_path, "customer.key"), clock=clock)
    theirs = data_keys(tmp_path, OTHER_TENANT, clock=clock)
    with stored(tmp_path / "mine", mine) as vault, stored(tmp_path / "theirs", theirs) as other:
        state, before = vault.state(), content_of(vault.state())
        (tmp_path / "customer.key").rename(tmp_path / "revoked.key")
        clock.advance(minutes=1)
        reads: list[Callable[[], object]] = [
            vault.head,
            vault.sequences,
            lambda: list(state.entries()),
            lambda: list(state.records()),
            lambda: state.body("identity.json"),
            lambda: mine.sealer(AGENT),
            lambda: opened_keys(tmp_path, TENANT).sealer(AGENT),
            lambda: vault.reseal(theirs.sealer(AGENT)),
        ]
        for read in reads:
            with pytest.raises(KeyRevoked, match=r"customer\.key"):
                read()
        assert len(list(other.state().records())) == 2
        (tmp_path / "revoked.key").rename(tmp_path / "customer.key")
        assert content_of(vault.state()) == before


def test_a_tenant_moves_to_a_key_source_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUSTOMER_KEY", bytes(range(32)).hex())
    keys = data_keys(tmp_path, source="env:CUSTOMER_KEY")
    with stored(tmp_path / "vault", keys) as vault:
        keys.move(key_file(tmp_path))
        monkeypatch.delenv("CUSTOMER_KEY")
        assert len(list(vault.state().records())) == 2 and opened_keys(tmp_path).sealer(AGENT).key_id == vault.key_id
