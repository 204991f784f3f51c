"""Large artifacts keep their newest versions; of older ones only the description is left."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest

from lifeboat_alf.seams import crash_points
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_alf.states import merkle
from lifeboat_alf.states.agent_state import BodyAbsent
from lifeboat_vault.bodies import body_encoding
from lifeboat_vault.vault import Draft, EntryPut, Vault
from support.vault.vaults import START, commit

CHART = "artifacts/chart.bin"
LARGE = {"attachment": {"id": "chart", "tier": 3}}
SMALL = {"attachment": {"id": "chart", "tier": 2}}
LATER = START + timedelta(days=2)


def bodies(count: int, size: int = 300_000) -> list[bytes]:
    return [os.urandom(size) for _ in range(count)]


def grow(vault: Vault, versions: list[bytes], path: str = CHART) -> None:
    for number, body in enumerate(versions):
        meta = LARGE if path.startswith("artifacts/") else {}
        assert commit(vault, Draft({path: EntryPut(meta, body)}), START + timedelta(minutes=number))


def held(vault: Vault, path: str = CHART) -> list[int]:
    """Return the sequences whose bytes of a path are held."""
    return [row.number for row in vault.sequences() if is_held(vault, row.number, path)]


def is_held(vault: Vault, number: int, path: str) -> bool:
    try:
        vault.state(number).body(path)
    except BodyAbsent:
        return False
    return True


def check(vault: Vault) -> None:
    for row in vault.sequences():
        assert merkle.state_digest(vault.state(row.number)) == row.digest
    assert vault.verify(trusted=None).findings == [] and vault.check_audit() == []


def test_the_newest_versions_stay_and_the_disk_gets_the_rest_back(vault: Vault, tmp_path: Path) -> None:
    versions = bodies(6)
    grow(vault, versions)
    report = vault.drop_old_versions(3, None)
    assert held(vault) == [3, 4, 5] and report.objects_dropped == 3 and report.bytes_freed > 800_000
    assert len(list((tmp_path / "vault" / "objects").iterdir())) == 3
    assert [vault.state(number).body(CHART) for number in (3, 4, 5)] == versions[3:]
    check(vault)


def test_an_old_version_is_still_described(vault: Vault) -> None:
    versions = bodies(5)
    grow(vault, versions)
    before = vault.state(0).entry(CHART)
    vault.drop_old_versions(3, None)
    assert vault.state(0).entry(CHART) == before and before is not None and before.size == len(versions[0])
    assert vault.verify(0, trusted=None, whole=False).absent == 1


def test_dropping_twice_writes_nothing_the_second_time(vault: Vault) -> None:
    grow(vault, bodies(5))
    assert vault.drop_old_versions(3, None).objects_dropped == 2
    rows = len(list(vault.audit_rows()))
    assert vault.drop_old_versions(3, None).objects_dropped == 0 and len(list(vault.audit_rows())) == rows


def test_the_audit_names_no_path(vault: Vault) -> None:
    grow(vault, bodies(4))
    vault.drop_old_versions(3, None)
    last = list(vault.audit_rows())[-1]
    assert (last.kind, last.details) == ("drop versions", {"objects": 1, "reencoded": 0})
    assert "chart" not in last.subject


def test_pinned_labelled_and_verified_sequences_keep_theirs(vault: Vault) -> None:
    grow(vault, bodies(9))
    vault.pin(0, "kept")
    vault.label(1, "before the storm")
    vault.mark_verified(2)
    vault.pin(3, "for a day", START + timedelta(days=1))
    vault.drop_old_versions(3, LATER)
    assert held(vault) == [0, 1, 2, 6, 7, 8]
    check(vault)


def test_no_pin_runs_out_on_a_time_that_is_not_trusted(vault: Vault) -> None:
    grow(vault, bodies(5))
    vault.pin(0, "for a day", START + timedelta(days=1))
    vault.drop_old_versions(3, None)
    assert held(vault) == [0, 2, 3, 4]
    vault.drop_old_versions(3, LATER)
    assert held(vault) == [2, 3, 4]


def test_the_state_of_a_sequence_is_what_counts_not_where_a_version_began(vault: Vault) -> None:
    grow(vault, bodies(3))
    commit(vault, Draft({"raw/a.md": EntryPut({}, b"a")}), START + timedelta(minutes=5))
    vault.pin(3, "kept")
    grow(vault, bodies(4))
    vault.drop_old_versions(3, None)
    assert held(vault) == [2, 3, 5, 6, 7]


def test_managed_files_and_small_artifacts_keep_every_version(vault: Vault) -> None:
    grow(vault, bodies(5), "raw/openclaw/MEMORY.md")
    for body in bodies(5, 100):
        commit(vault, Draft({CHART: EntryPut(SMALL, body)}), START + timedelta(hours=1))
    assert vault.drop_old_versions(1, None).objects_dropped == 0


def test_bytes_that_something_else_holds_stay(vault: Vault) -> None:
    versions = bodies(5)
    grow(vault, versions)
    commit(vault, Draft({"raw/copy": EntryPut({}, versions[0])}), START + timedelta(hours=1))
    commit(vault, Draft({"raw/copy": None}), START + timedelta(hours=2))
    commit(vault, Draft({"artifacts/copy.bin": EntryPut(LARGE, versions[1])}), START + timedelta(hours=3))
    assert vault.drop_old_versions(3, None).objects_dropped == 0


def test_a_content_that_came_back_is_one_version(vault: Vault) -> None:
    one, two, three, four = bodies(4)
    grow(vault, [one, two, three, one, four])
    vault.drop_old_versions(3, None)
    assert held(vault) == [0, 2, 3, 4]


def test_dropped_bytes_that_come_back_are_kept_anew(vault: Vault) -> None:
    versions = bodies(5)
    grow(vault, versions)
    vault.drop_old_versions(3, None)
    commit(vault, Draft({CHART: EntryPut(LARGE, versions[0])}), START + timedelta(hours=1))
    assert vault.state().body(CHART) == versions[0] and held(vault) == [2, 3, 4, 5]
    check(vault)


def chain(vault: Vault, count: int) -> list[bytes]:
    """Commit versions that are patches on each other, each with one word changed."""
    text = bytearray(os.urandom(60_000).hex().encode())
    versions = []
    for number in range(count):
        text[number * 100 : number * 100 + 8] = b"changed!"
        versions.append(bytes(text))
    grow(vault, versions)
    return versions


def test_what_rests_on_a_dropped_version_is_encoded_again(vault: Vault) -> None:
    versions = chain(vault, 6)
    assert [row[0] for row in vault._metadata.rows("select coding from object order by id")][1:] == ["patch"] * 5
    report = vault.drop_old_versions(3, None)
    assert report.objects_reencoded == 1
    assert [vault.state(number).body(CHART) for number in (3, 4, 5)] == versions[3:]
    codings = [row[0] for row in vault._metadata.rows("select coding from object order by id")]
    assert codings[3:] == [body_encoding.ZSTD, body_encoding.PATCH, body_encoding.PATCH]
    check(vault)


def test_a_delta_from_a_sequence_without_bytes_carries_the_new_ones_whole(vault: Vault) -> None:
    versions = chain(vault, 5)
    vault.drop_old_versions(3, None)
    (change,) = vault.changes(0, 4).entries
    assert change.base_body is None and change.body is not None and change.body() == versions[4]


def test_thinning_goes_on_after_versions_were_dropped(vault: Vault) -> None:
    from lifeboat_vault.vault import Retention

    chain(vault, 12)
    vault.drop_old_versions(3, None)
    while vault.thin(Retention(), START + timedelta(days=30)).dropped:
        check(vault)
    assert [row.number for row in vault.sequences()] == [11]


@pytest.mark.parametrize("step", [step for step in CrashPoint if step.name.startswith("THIN_")])
def test_one_that_is_interrupted_leaves_a_whole_vault(vault: Vault, step: CrashPoint, tmp_path: Path) -> None:
    versions = chain(vault, 6)

    def stop(reached: CrashPoint) -> None:
        if reached is step:
            raise KeyboardInterrupt

    crash_points.hook = stop
    try:
        with pytest.raises(KeyboardInterrupt):
            vault.drop_old_versions(3, None)
    finally:
        crash_points.hook = None
    check(vault)
    assert held(vault) == ([3, 4, 5] if step is CrashPoint.THIN_SWEPT else [0, 1, 2, 3, 4, 5])
    vault.close()
    again = Vault.open(tmp_path / "vault")
    again.drop_old_versions(3, None)
    assert held(again) == [3, 4, 5] and again.state().body(CHART) == versions[-1]
    check(again)
