from __future__ import annotations

import os
import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest

from lifeboat_alf.common import ids
from lifeboat_alf.testing.sample_states import AGENT_ID
from lifeboat_vault.errors import UnknownSequence, VaultDamaged, VaultError, VaultMissing, VaultNewer
from lifeboat_vault.store.schema_migrations import migrate_tables
from lifeboat_vault.store.sqlite_store import SqliteStore
from lifeboat_vault.store.vault_schema import VERSION
from lifeboat_vault.vault import Draft, EntryPut, Pin, Vault
from support.alf.raising import raises_code
from support.vault.vaults import START, ManualClock, commit, content_of, create, edit, put

LARGE = bytes(range(256)) * 4000


def reopened(vault: Vault, tmp_path: Path) -> Vault:
    vault.close()
    return Vault.open(tmp_path / "vault", clock=ManualClock())


# Files ----------------------------------------------------------------------------------------------------------


def test_a_vault_has_an_id_a_seed_and_an_epoch_of_its_own(vault: Vault, tmp_path: Path) -> None:
    other = Vault.create(tmp_path / "other", AGENT_ID)
    assert ids.is_version_7(vault.id) and vault.id != other.id and vault.seed != other.seed
    assert (vault.agent_id, vault.epoch, len(vault.seed)) == (AGENT_ID, 1, ids.SEED_BYTES)
    known = (vault.id, vault.seed, vault.epoch)
    again = reopened(vault, tmp_path)
    assert (again.id, again.seed, again.epoch) == known


def test_only_the_user_may_read_the_files(vault: Vault, tmp_path: Path) -> None:
    put(vault, "raw/a", LARGE[::-1] * 3)
    vault.close()
    files = [path for path in (tmp_path / "vault").rglob("*") if path.is_file()]
    assert files and all(path.stat().st_mode & 0o077 == 0 for path in files)


def test_everything_is_there_after_opening_again(vault: Vault, tmp_path: Path) -> None:
    commit(vault, Draft({"raw/a": EntryPut({}, LARGE)}, [create("Likes tea.")]))
    before = content_of(vault.state())
    assert content_of(reopened(vault, tmp_path).state()) == before


def test_a_vault_is_never_made_over_another(vault: Vault, tmp_path: Path) -> None:
    with raises_code(VaultError.EXISTS):
        Vault.create(tmp_path / "vault", AGENT_ID)


def test_creating_begins_afresh_after_it_was_cut_off(tmp_path: Path) -> None:
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "vault.db.new").write_bytes(b"half a database")
    with pytest.raises(VaultMissing):
        Vault.open(folder)
    assert Vault.create(folder, AGENT_ID).head() is None


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\x00 but not really", b"text" * 4000])
def test_a_file_that_is_no_vault_is_damage_with_a_way_out(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "vault.db").write_bytes(content)
    with pytest.raises(VaultDamaged) as caught:
        Vault.open(tmp_path)
    assert caught.value.fix and "vault.db" in caught.value.message


def test_pages_overwritten_are_damage_and_found(vault: Vault, tmp_path: Path) -> None:
    commit(vault, Draft({}, [create(f"memory {number}") for number in range(500)]))
    vault.close()
    path = tmp_path / "vault" / "vault.db"
    data = bytearray(path.read_bytes())
    for page in range(8, len(data) // 4096, 3):
        data[page * 4096 : page * 4096 + 200] = bytes(200)
    path.write_bytes(data)
    again = Vault.open(tmp_path / "vault")
    assert not again.verify(trusted=None).ok
    with pytest.raises(VaultDamaged):
        list(again.state().records())


def test_damage_of_which_sqlite_cannot_even_speak_is_damage(vault: Vault, tmp_path: Path) -> None:
    """SQLite quotes the damaged bytes, which are not text."""
    vault.close()
    path = tmp_path / "vault" / "vault.db"
    data = path.read_bytes()
    assert b"vaultvault" in data
    path.write_bytes(data.replace(b"vaultvault", b"\xff" * 10))
    with pytest.raises(VaultDamaged) as caught:
        Vault.open(tmp_path / "vault").close()
    assert caught.value.fix and "vault.db" in caught.value.message


def test_a_copy_is_a_whole_vault(vault: Vault, tmp_path: Path) -> None:
    commit(vault, Draft({"raw/a": EntryPut({}, os.urandom(400_000))}, [create("Likes tea.")]))
    vault.copy_to(tmp_path / "copy")
    with Vault.open(tmp_path / "copy") as copy:
        assert content_of(copy.state()) == content_of(vault.state()) and copy.id == vault.id
        assert copy.verify(trusted=None).ok
    with raises_code(VaultError.EXISTS):
        vault.copy_to(tmp_path / "copy")


# Schema ---------------------------------------------------------------------------------------------------------


def test_a_newer_vault_is_refused_by_name_and_not_touched(vault: Vault, tmp_path: Path) -> None:
    vault.close()
    path = tmp_path / "vault" / "vault.db"
    with sqlite3.connect(path) as connection:
        connection.execute("update vault set schema = 99")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(VaultNewer, match="schema 99"):
        Vault.open(tmp_path / "vault")
    assert path.read_bytes() == before


def test_a_migration_goes_forward_and_keeps_a_copy(vault: Vault, tmp_path: Path) -> None:
    put(vault, "raw/a", b"a")
    vault.close()
    path = tmp_path / "vault" / "vault.db"
    store = SqliteStore(path)
    steps = {VERSION: ["alter table decision add column note text"], VERSION + 1: ["drop table redaction"]}
    copy = migrate_tables(store, path, steps, VERSION + 2)
    assert copy is not None and SqliteStore(copy).row("select schema from vault") == (VERSION,)
    assert store.row("select schema from vault") == (VERSION + 2,)
    assert store.row("select note from decision") == (None,)
    assert migrate_tables(store, path, steps, VERSION + 2) is None


def test_a_migration_that_fails_changes_nothing(vault: Vault, tmp_path: Path) -> None:
    vault.close()
    path = tmp_path / "vault" / "vault.db"
    store = SqliteStore(path)
    with pytest.raises(VaultDamaged):
        migrate_tables(store, path, {VERSION: ["drop table redaction", "drop table unknown"]}, VERSION + 1)
    store.close()
    assert Vault.open(tmp_path / "vault").head() is None


# Pins, labels, decisions, audit ---------------------------------------------------------------------------------


def test_pins_are_kept_by_reason_until_they_are_taken_away(vault: Vault) -> None:
    put(vault, "raw/a", b"a")
    vault.pin(0, "held")
    vault.pin(0, "safety", START)
    vault.pin(0, "safety", START + timedelta(days=7))
    assert vault.sequence(0).pins == [Pin(0, "held"), Pin(0, "safety", "2026-11-27T12:00:00.000Z")]
    assert vault.unpin(0, "held") and not vault.unpin(0, "held")
    assert [pin.reason for pin in vault.sequences()[0].pins] == ["safety"]
    with pytest.raises(UnknownSequence):
        vault.pin(5, "held")


def test_labels_are_set_and_taken_away(vault: Vault) -> None:
    put(vault, "raw/a", b"a")
    vault.label(0, "before the move")
    assert vault.sequence(0).label == "before the move"
    vault.label(0, None)
    assert vault.sequence(0).label is None
    with pytest.raises(UnknownSequence):
        vault.label(5, "x")


def test_decisions_are_kept_and_forgotten(vault: Vault, tmp_path: Path) -> None:
    vault.set("fenced", {"since": 4, "by": ["laptop-2"]})
    again = reopened(vault, tmp_path)
    assert again.get("fenced") == {"since": 4, "by": ["laptop-2"]}
    again.set("fenced", None)
    assert again.get("fenced") is None and again.get("fenced", "default") == "default"


def test_every_change_has_its_audit_row_and_nothing_else_has(vault: Vault) -> None:
    put(vault, "raw/a", b"a")
    put(vault, "raw/a", b"b")
    vault.pin(0, "held")
    vault.unpin(0, "held")
    vault.unpin(0, "held")
    vault.label(1, "my secret plan")
    vault.set("key", {"secret": "plan"}, kind="held")
    vault.set("key", {"secret": "plan"}, kind="held")
    vault.mark_verified(1)
    rows = list(vault.audit_rows())
    words = ["create", "commit", "commit", "pin", "unpin", "label", "held", "verified"]
    assert [row.kind for row in rows] == words and [row.number for row in rows] == list(range(1, 9))
    assert rows[2].subject == "1" and rows[2].details["digest"] == vault.sequence(1).digest.hex()
    assert "plan" not in str(rows) and vault.check_audit() == []


def test_a_changed_audit_row_breaks_the_chain_there(vault: Vault, tmp_path: Path) -> None:
    for number in range(4):
        put(vault, "raw/a", b"%d" % number)
    with sqlite3.connect(tmp_path / "vault" / "vault.db") as connection:
        connection.execute("update audit set time = '2020-01-01T00:00:00.000Z' where number = 3")
    connection.close()
    assert vault.check_audit() == [3]


def test_the_sequence_that_wrote_a_record_is_known_by_its_id(vault: Vault) -> None:
    one, two = create("one"), create("two")
    commit(vault, Draft({}, [one, two]))
    commit(vault, Draft({}, [edit(two, content="two again")]))
    many = [f"unknown {number}" for number in range(1200)]
    assert vault.written_by([one.id, *many, two.id]) == {one.id: 0, two.id: 1}
    assert vault.written_by([]) == {}
