from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_vault.at_rest.keyed_sealer import KeyedSealer
from lifeboat_vault.at_rest.sealed_blobs import SealedBlobs
from lifeboat_vault.at_rest.sealer import PLAIN, Sealer, key_id_of
from lifeboat_vault.errors import OtherDataKey, VaultDamaged
from lifeboat_vault.store.disk_blobs import DiskBlobs
from support.endpoint.sealed import AGENT, OTHER_AGENT, OTHER_TENANT, TENANT, new_sealer

KEY, KEY_ID = bytes(range(32)), "0a0b0c0d0e0f"
SEALER = KeyedSealer.of(KEY, key_id=KEY_ID, tenant=TENANT, agent=AGENT)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@given(TEXTS, st.binary(max_size=5000))
def test_what_was_sealed_opens_again(kind: str, data: bytes) -> None:
    assert SEALER.open(kind, SEALER.seal(kind, data)) == data


@given(TEXTS, TEXTS)
def test_a_token_says_its_text_and_is_the_same_for_the_same_text(kind: str, text: str) -> None:
    token = SEALER.token(kind, text)
    assert SEALER.text(kind, token) == text and token == SEALER.token(kind, text)


def test_what_is_sealed_is_different_every_time_and_names_its_key() -> None:
    one, two = SEALER.seal("body", b"the same"), SEALER.seal("body", b"the same")
    assert one != two and b"the same" not in one and {key_id_of(one), key_id_of(two)} == {KEY_ID}


def test_tokens_of_different_texts_have_no_beginning_in_common_beyond_the_key() -> None:
    one, two = (SEALER.token("path", f"raw/notes/{name}.md") for name in ("monday", "monday2"))
    shared = next(place for place, pair in enumerate(zip(one, two, strict=True)) if pair[0] != pair[1])
    assert shared <= 11 and one.replace("-", "").replace("_", "").isalnum()


def test_short_paths_have_tokens_of_one_length() -> None:
    assert len({len(SEALER.token("path", "x" * length)) for length in range(31)}) == 1


@given(st.data())
def test_a_changed_byte_is_damage(data: st.DataObject) -> None:
    sealed = bytearray(SEALER.seal("body", data.draw(st.binary(max_size=100))))
    sealed[data.draw(st.integers(0, len(sealed) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(VaultDamaged):
        SEALER.open("body", bytes(sealed))


@given(st.integers(0, 46))
def test_what_is_cut_off_is_damage(length: int) -> None:
    with pytest.raises(VaultDamaged):
        SEALER.open("body", SEALER.seal("body", b"")[:length])


@pytest.mark.parametrize("token", ["", "no token", "é", "AAAA", SEALER.token("path", "raw/a")[:-4]])
def test_what_is_no_token_is_damage(token: str) -> None:
    with pytest.raises(VaultDamaged):
        SEALER.text("path", token)


WRONG: dict[str, Sealer] = {
    "tenant": KeyedSealer.of(KEY, key_id=KEY_ID, tenant=OTHER_TENANT, agent=AGENT),
    "agent": KeyedSealer.of(KEY, key_id=KEY_ID, tenant=TENANT, agent=OTHER_AGENT),
    "whole tenant": KeyedSealer.of(KEY, key_id=KEY_ID, tenant=TENANT),
    "key": KeyedSealer.of(bytes(32), key_id=KEY_ID, tenant=TENANT, agent=AGENT),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_nobody_else_opens_it(wrong: str) -> None:
    with pytest.raises(VaultDamaged):
        WRONG[wrong].open("body", SEALER.seal("body", b"secret"))


@pytest.mark.parametrize("wrong", WRONG)
def test_nobody_else_reads_or_makes_a_token(wrong: str) -> None:
    token = SEALER.token("path", "raw/a.md")
    assert WRONG[wrong].token("path", "raw/a.md") != token
    with pytest.raises(VaultDamaged):
        WRONG[wrong].text("path", token)


def test_another_kind_does_not_open_it() -> None:
    with pytest.raises(VaultDamaged):
        SEALER.open("meta", SEALER.seal("body", b"secret"))
    with pytest.raises(VaultDamaged):
        SEALER.text("partition", SEALER.token("path", "raw/a.md"))


def test_another_key_is_told_by_its_id() -> None:
    other = new_sealer()
    with pytest.raises(OtherDataKey) as caught:
        SEALER.open("body", other.seal("body", b"secret"))
    assert caught.value.key_id == other.key_id
    with pytest.raises(OtherDataKey):
        SEALER.text("path", other.token("path", "raw/a"))


def test_plain_changes_nothing() -> None:
    assert PLAIN.open("x", PLAIN.seal("x", b"data")) == b"data" and PLAIN.token("x", "a") == PLAIN.text("x", "a") == "a"


def test_sealed_bodies_stand_encrypted_under_their_name(tmp_path: Path) -> None:
    kept = DiskBlobs(tmp_path / "bodies", SystemFiles())
    blobs = SealedBlobs(kept, SEALER)
    blobs.put("0a", b"the lighthouse" * 100)
    blobs.flush()
    assert blobs.read("0a") == b"the lighthouse" * 100 and b"lighthouse" not in kept.read("0a")
    kept.put("0b", kept.read("0a"))
    with pytest.raises(VaultDamaged):
        blobs.read("0b")
    assert sorted(blobs.names()) == ["0a", "0b"] and blobs.size() == kept.size()
