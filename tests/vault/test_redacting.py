"""Purged content is nowhere in a vault's files; every number, digest and signature stays."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from lifeboat_alf.common import json_codec
from lifeboat_alf.errors import RedactionInvalid
from lifeboat_alf.redaction import redactions
from lifeboat_alf.states import merkle
from lifeboat_alf.states.agent_state import BodyAbsent
from lifeboat_alf.testing.sample_states import AGENT_ID
from lifeboat_keys.pairs.device_key import DeviceKey
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.signed import redaction_signatures
from lifeboat_vault.at_rest.sealer import PLAIN, Sealer
from lifeboat_vault.vault import Draft, EntryPut, Retention, Vault, draft_of_state
from support.endpoint import kept_home
from support.endpoint.sealed import new_sealer
from support.vault.redacted_vaults import (
    BIG,
    CANARY,
    LARGE,
    NOTE,
    TRUSTED,
    body_of,
    check,
    cuts,
    digests,
    either,
    leaks,
    live,
    note,
    purge_of,
    sealer,
    signed,
    small_rows,
    vault,
)
from support.vault.vaults import QUARTER, START, commit, create

__all__ = ["sealer", "small_rows", "vault"]

COLUMNS = ("salt", "sha256", "size", "base", "depth", "coding", "file", "body")


@either
def test_what_was_purged_is_nowhere_and_every_digest_stays(vault: Vault, tmp_path: Path) -> None:
    live(vault)
    before = digests(vault)
    report = vault.redact(purge_of(vault, CANARY))
    assert report.fresh and report.swept and report.objects == 13
    check(vault, before)
    assert leaks(tmp_path) == []
    vault.close()
    assert leaks(tmp_path) == []


@either
def test_what_was_not_purged_is_there_byte_for_byte(vault: Vault) -> None:
    live(vault)
    vault.redact(purge_of(vault, CANARY))
    for number in range(8):
        state = vault.state(number)
        assert state.body(NOTE) == note(number + 1, holding=range(3, 6)).replace(CANARY, b"")
        assert [json_codec.decode_json(item.line)["content"] for item in state.records()] == ["Likes tea."] * (
            number >= 1
        )


def test_a_gone_record_leaves_its_place(vault: Vault) -> None:
    live(vault)
    vault.redact(purge_of(vault, CANARY))
    (gone,) = vault.state().gone()
    assert (gone.partition, gone.position, gone.leaf.salt) == (QUARTER, 0, b"")
    assert vault.state().record(gone.id) is None and [item.position for item in vault.state().records()] == [1]


@either
def test_neither_salt_nor_hash_is_left_of_what_went(vault: Vault) -> None:
    live(vault)
    redaction = purge_of(vault, CANARY)
    assert vault.remaining(redaction) == 13
    vault.redact(redaction)
    assert vault.remaining(redaction) == 0
    entry = vault.state(4).entry(NOTE)
    assert entry is not None and entry.leaf.salt == b"" and entry.sha256 is None
    assert entry.size == len(vault.state(4).body(NOTE))


def test_a_short_number_cannot_be_guessed_from_what_is_left(vault: Vault, tmp_path: Path) -> None:
    pin = create("739164")
    commit(vault, Draft({"raw/pin": EntryPut({}, b"739164")}, [pin]))
    leaf = vault.state().entry("raw/pin")
    vault.redact(purge_of(vault, b"739164"))
    vault.close()
    data = b"".join(path.read_bytes() for path in sorted((tmp_path / "vault").rglob("*")) if path.is_file())
    assert leaf is not None and leaf.leaf.salt not in data
    assert hashlib.sha256(b"739164").digest() not in data
    assert pin.line is not None and hashlib.sha256(pin.line).digest() not in data


def test_one_audit_row_says_what_the_specification_wants(vault: Vault) -> None:
    live(vault)
    before = sum(1 for _ in vault.audit_rows())
    redaction = purge_of(vault, CANARY)
    vault.redact(redaction, decisions={"keep_out": {"lines": ["00ff"]}})
    row = list(vault.audit_rows())[-1]
    assert sum(1 for _ in vault.audit_rows()) == before + 1
    assert (row.kind, row.subject) == ("purge", redaction.id)
    assert set(row.details) == {
        "purge_id",
        "agent_id",
        "scope",
        "record_ids",
        "partitions_affected",
        "reason",
        "requested_at",
        "completed_at",
        "requested_by",
    }
    assert vault.get("keep_out") == {"lines": ["00ff"]} and vault.audit_end() == (row.number, row.hash.hex())


def test_a_redaction_that_is_known_does_nothing(vault: Vault) -> None:
    live(vault)
    redaction = purge_of(vault, CANARY)
    vault.redact(redaction, decisions={"keep_out": 1})
    rows = sum(1 for _ in vault.audit_rows())
    report = vault.redact(redaction, decisions={"keep_out": 2})
    assert not report.fresh and report.swept and vault.get("keep_out") == 1
    assert sum(1 for _ in vault.audit_rows()) == rows and len(vault.redactions) == 1


def test_one_of_another_agent_is_refused(vault: Vault) -> None:
    with pytest.raises(RedactionInvalid):
        vault.redact(replace(signed({}), agent_id="019a0000-0000-7000-8000-00000000beef"))


def test_edits_that_are_not_of_the_bytes_are_refused_and_nothing_happened(vault: Vault) -> None:
    live(vault)
    entry = vault.state().entry(NOTE)
    assert entry is not None
    wrong = redactions.replacement_of(b"other bytes", cuts(b"other bytes", b"other"))
    before = vault.state().body(NOTE)
    with pytest.raises(RedactionInvalid):
        vault.redact(signed({entry.leaf.digest: wrong}))
    assert len(vault.redactions) == 0 and vault.state().body(NOTE) == before


@either
def test_what_rests_on_destroyed_bytes_is_encoded_again(vault: Vault) -> None:
    """Days 3 to 5 contain the canary; the note of day 6 is a patch on that of day 5."""
    live(vault)
    expected = vault.state(6).body(NOTE)
    vault.redact(purge_of(vault, CANARY))
    assert vault.state(6).body(NOTE) == expected


def test_long_chains_of_patches_stay_chains(vault: Vault) -> None:
    text = bytearray(os.urandom(40_000).hex().encode() + CANARY)
    for number in range(30):
        text[number * 100 : number * 100 + 8] = b"changed!"
        commit(vault, Draft({NOTE: EntryPut({}, bytes(text))}), START + timedelta(minutes=number))
    expected = [vault.state(number).body(NOTE).replace(CANARY, b"") for number in range(30)]
    size = vault.size()
    vault.redact(purge_of(vault, CANARY))
    assert [vault.state(number).body(NOTE) for number in range(30)] == expected
    assert vault.size() < size * 1.2


@either
def test_a_second_purge_of_the_same_bytes_cuts_both(vault: Vault, tmp_path: Path) -> None:
    live(vault)
    before = digests(vault)
    vault.redact(purge_of(vault, b"line 7 of the note", passage=True))
    vault.redact(purge_of(vault, CANARY))
    check(vault, before)
    body = vault.state(4).body(NOTE)
    assert CANARY not in body and b"line 7" not in body and b"line 8 of the note" in body
    assert leaks(tmp_path) == []


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_two_purges_arrive_in_any_order(vault: Vault, tmp_path: Path, order: tuple[int, int]) -> None:
    live(vault)
    before = digests(vault)
    other = Vault.create(tmp_path / "other", AGENT_ID)
    other.accept(vault.state(4).sequence, draft_of_state(vault.state(4)), kind="push", writer="w", raw_time=START)
    first = purge_of(vault, b"line 7 of the note", passage=True)
    vault.redact(first)
    second = purge_of(vault, CANARY)
    vault.redact(second)
    for place in order:
        other.redact((first, second)[place])
    assert other.state().body(NOTE) == vault.state(4).body(NOTE)
    assert other.verify(trusted=TRUSTED).findings == [] and digests(other) == [before[4]]


def test_machines_that_purged_without_knowing_of_each_other_keep_nothing_of_either(tmp_path: Path) -> None:
    """Both cut the same file in different places. No signed redaction says what is right, so nothing remains."""
    one, two = Vault.create(tmp_path / "one", AGENT_ID), Vault.create(tmp_path / "two", AGENT_ID)
    commit(one, Draft({NOTE: EntryPut({}, b"the red lamp and the blue lamp")}))
    state = one.state()
    two.accept(state.sequence, draft_of_state(state), kind="push", writer="w", raw_time=START)
    both = purge_of(one, b"red"), purge_of(two, b"blue")
    for each, order in ((one, both), (two, both[::-1])):
        for redaction in order:
            each.redact(redaction)
        assert each.state().body(NOTE) == b"" and each.verify(trusted=TRUSTED).findings == []


@either
def test_a_purged_large_file_does_not_come_back(vault: Vault) -> None:
    live(vault)
    body = vault.state(2).body(BIG)
    sha256 = hashlib.sha256(body).hexdigest()
    vault.redact(purge_of(vault, CANARY))
    assert vault.artifacts.missing([sha256]) == [] and not vault.artifacts.has(sha256)
    assert vault.artifacts.fill(sha256, body) is False
    assert vault.state(2).body(BIG) == body.replace(CANARY, b"")


def test_of_a_large_file_that_is_not_here_the_hash_goes(vault: Vault, tmp_path: Path) -> None:
    body = os.urandom(100) + CANARY
    commit(vault, Draft({BIG: EntryPut(LARGE, body)}))
    sha256, state = hashlib.sha256(body).hexdigest(), vault.state()
    entry = state.entry(BIG)
    assert entry is not None
    other = Vault.create(tmp_path / "other", AGENT_ID)
    put = EntryPut(LARGE, None, entry.leaf, entry.size, sha256)
    other.accept(state.sequence, Draft({BIG: put}), kind="push", writer="w", raw_time=START)
    assert other.artifacts.missing([sha256]) == [sha256]
    redaction = purge_of(vault, CANARY)
    assert other.redact(redaction).objects == 1 and other.remaining(redaction) == 0
    assert other.artifacts.missing([sha256]) == [] and not other.artifacts.fill(sha256, body)
    assert other.verify(trusted=TRUSTED).findings == []


def test_the_same_bytes_captured_again_are_new_ones(vault: Vault) -> None:
    live(vault)
    vault.redact(purge_of(vault, CANARY))
    commit(vault, Draft({"raw/again": EntryPut({}, note(4, holding=range(3, 6)))}), START + timedelta(days=1))
    assert vault.state().body("raw/again") == note(4, holding=range(3, 6))
    assert vault.verify(trusted=TRUSTED).findings == []


def test_copies_that_a_migration_kept_go_too(tmp_path: Path) -> None:
    (folder,) = (kept_home.unpack(1, tmp_path / "ada") / "vault").iterdir()
    with Vault.open(folder) as vault:
        assert (folder / "vault.db.schema-1").exists()
        item = next(item for item in vault.history() if item.path is not None and body_of(vault, item))
        empty = redactions.replacement_of(body_of(vault, item), [redactions.ByteEdit(0, item.size)])
        redaction = replace(signed({item.leaf.digest: empty}), agent_id=vault.agent_id)
        assert vault.redact(redaction).swept
        assert not (folder / "vault.db.schema-1").exists()


@either
def test_a_reader_keeps_the_files_from_being_swept_until_it_is_done(
    vault: Vault, tmp_path: Path, sealer: Sealer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lifeboat_vault.store.sqlite_store.BUSY_SECONDS", 0.05)
    live(vault)
    redaction = purge_of(vault, CANARY)
    with closing(sqlite3.connect(tmp_path / "vault" / "vault.db")) as reader:
        reader.execute("begin")
        reader.execute("select count(*) from object").fetchone()
        report = vault.redact(redaction)
        assert report.fresh and not report.swept and not vault.is_swept()
        assert not vault.settle(wait=False)
    vault.close()
    with Vault.open(tmp_path / "vault", sealer=sealer) as again:
        assert again.is_swept()
    assert leaks(tmp_path) == []


# Purges that wait -----------------------------------------------------------------------------------------------------


@either
def test_one_that_waits_destroys_nothing_until_it_is_applied(vault: Vault, tmp_path: Path) -> None:
    live(vault)
    before, redaction = digests(vault), purge_of(vault, CANARY)
    until = START + timedelta(days=1)
    report = vault.redact(redaction, waits_until=until)
    assert report.fresh and report.waits_until == "2026-11-21T12:00:00.000Z"
    assert CANARY in vault.state(4).body(NOTE) and vault.remaining(redaction) == 13
    check(vault, before)
    assert not vault.redact(redaction, waits_until=until).fresh
    assert [row.applied for row in vault.redaction_rows()] == [False]
    assert vault.redact(redaction).objects == 13
    check(vault, before)
    assert [row.applied for row in vault.redaction_rows()] == [True]
    assert leaks(tmp_path) == []


def test_one_that_was_refused_destroys_nothing(vault: Vault) -> None:
    live(vault)
    redaction = purge_of(vault, CANARY)
    vault.redact(redaction, waits_until=START)
    assert vault.withdraw(redaction.id) and not vault.withdraw(redaction.id) and not vault.withdraw("other")
    assert not vault.redact(redaction, waits_until=START).fresh
    (row,) = vault.redaction_rows()
    assert row.refused and CANARY in vault.state(4).body(NOTE)
    assert [row.kind for row in vault.audit_rows()][-2:] == ["purge waits", "purge refused"]
    assert vault.verify(trusted=TRUSTED).findings == []


@either
def test_what_waits_here_is_taken_as_whoever_applied_it_sends_it(vault: Vault, tmp_path: Path) -> None:
    live(vault)
    redaction = purge_of(vault, CANARY)
    remote = Vault.create(tmp_path / "remote", AGENT_ID)
    remote.redact(redaction, waits_until=START)
    vault.redact(redaction)
    state = vault.state(4)
    remote.accept(state.sequence, draft_of_state(state), kind="push", writer="w", raw_time=START)
    assert remote.state().body(NOTE) == state.body(NOTE)
    assert [item.id for item in remote.state().gone()] == [item.id for item in state.gone()]
    assert remote.verify(trusted=TRUSTED).findings == []
    assert merkle.state_digest(remote.state()) == state.sequence.digest


# Verification ---------------------------------------------------------------------------------------------------------


def test_replaced_bytes_without_a_redaction_are_found(vault: Vault) -> None:
    live(vault)
    vault.redact(purge_of(vault, CANARY))
    vault._metadata.execute("delete from redaction")
    kinds = {finding.kind for finding in vault.verify(trusted=TRUSTED).findings}
    assert kinds == {"body", "audit"}


def test_a_redaction_that_nobody_trusted_signed_is_found(vault: Vault) -> None:
    live(vault)
    redaction = purge_of(vault, CANARY)
    vault.redact(replace(redaction, reason="security_incident"))
    assert [finding.kind for finding in vault.verify(trusted=TRUSTED).findings] == ["signature"]


@either
def test_named_bytes_that_were_put_back_are_found(vault: Vault) -> None:
    live(vault)
    number = next(item.object for item in vault.history() if item.path == NOTE and item.first == 4)
    row = vault._metadata.row(f"select {', '.join(COLUMNS)} from object where id = ?", (number,))
    redaction = purge_of(vault, CANARY)
    vault.redact(redaction)
    assert row is not None
    back = ", ".join(f"{column} = ?" for column in COLUMNS)
    vault._metadata.execute(f"update object set {back} where id = ?", (*row, number))
    assert vault.remaining(redaction) == 1
    assert "body" in {finding.kind for finding in vault.verify(trusted=TRUSTED).findings}


# With all the rest ----------------------------------------------------------------------------------------------------


@either
def test_what_lies_between_two_sequences_names_the_gone_records(vault: Vault) -> None:
    live(vault)
    vault.redact(purge_of(vault, CANARY))
    forth, back = vault.changes(0, 7), vault.changes(7, 0)
    assert [item.position for item in forth.gone] == [0] and [each.record.position for each in forth.records] == [1]
    assert len(back.removed) == 2 and not back.gone
    assert forth.redactions is not None and forth.redactions.is_gone(forth.gone[0].leaf.digest)
    in_place = vault.changes(2, 4)
    assert [item.position for item in in_place.gone] == [0] and not in_place.records


@either
def test_thinning_and_old_versions_go_on(vault: Vault, tmp_path: Path) -> None:
    live(vault)
    before = digests(vault)
    vault.redact(purge_of(vault, CANARY))
    vault.drop_old_versions(3, START + timedelta(days=30))
    with pytest.raises(BodyAbsent):
        vault.state(0).body(BIG)
    check(vault, before)
    while vault.thin(Retention(), START + timedelta(days=30)).dropped:
        check(vault, [before[row.number] for row in vault.sequences()])
    vault.close()
    assert leaks(tmp_path) == []


@either
def test_it_can_be_put_under_another_key(vault: Vault) -> None:
    live(vault)
    before = digests(vault)
    vault.redact(purge_of(vault, CANARY))
    for other in (new_sealer(), PLAIN):
        vault.reseal(other)
        check(vault, before)
        assert len(list(vault.state().gone())) == 1


@either
def test_a_purged_content_is_not_found_by_its_words(vault: Vault) -> None:
    live(vault)
    text = f"The number is {CANARY.decode()}, until 2030."
    assert len(vault.records_with_content(text)) == 1
    vault.redact(purge_of(vault, CANARY))
    assert vault.records_with_content(text) == []


# Signed again -----------------------------------------------------------------------------------------------------


def test_another_signature_is_seen_by_everybody_who_has_the_vault_open(vault: Vault, tmp_path: Path) -> None:
    live(vault)
    redaction = purge_of(vault, CANARY)
    vault.redact(redaction)
    again = redaction_signatures.sign_redaction(redaction, DeviceKey.generate(UserKey.generate()))
    with Vault.open(tmp_path / "vault", sealer=vault._columns.sealer) as other:
        assert [each.signature for each in other.redactions] == [redaction.signature]
        assert vault.resign_redaction(again)
        assert [each.signature for each in other.redactions] == [again.signature]
        assert [each.signature for each in vault.redactions] == [again.signature]


def test_only_the_same_redaction_gets_another_signature_and_once(vault: Vault) -> None:
    live(vault)
    redaction = purge_of(vault, CANARY)
    device = DeviceKey.generate(UserKey.generate())
    assert not vault.resign_redaction(redaction_signatures.sign_redaction(redaction, device))
    vault.redact(redaction)
    rows = sum(1 for _ in vault.audit_rows())
    assert not vault.resign_redaction(redaction)
    assert not vault.resign_redaction(redaction_signatures.sign_redaction(replace(redaction, reason="another"), device))
    assert [each.to_json() for each in vault.redactions] == [redaction.to_json()]
    assert sum(1 for _ in vault.audit_rows()) == rows
