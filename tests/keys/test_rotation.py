"""Replacing the user's key: what was sealed and signed before stays usable, and no moment shows a half-done
rotation."""

from __future__ import annotations

import copy
import json
import multiprocessing
import os
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.errors import SignatureError
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_keys.errors import KeyDamaged, KeysError, NoAgentKey, OtherKey, SignedByCompromised
from lifeboat_keys.home.home_keys import HomeKeys, KeyState
from lifeboat_keys.home.key_file_names import JOURNAL
from lifeboat_keys.home.key_rotation import RotationReason
from lifeboat_keys.pairs.strict_base64 import from_base64, to_base64
from lifeboat_keys.pairs.user_key import UserKey, UserPublic
from lifeboat_keys.signed import credential_sealing
from support.alf.raising import raises_code
from support.killing import killed_at, steps_of

AGENT = "01900000-0000-7000-8000-00000000000a"
OTHER_AGENT = "01900000-0000-7000-8000-00000000000b"
SAFE, STOLEN = RotationReason(), RotationReason(compromised=True)
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forks, which this system lacks")
STEPS = [
    CrashPoint.ROTATE_KEY_KEPT,
    CrashPoint.ROTATE_JOURNAL_WRITTEN,
    CrashPoint.ROTATE_AGENT_WRAPPED,
    CrashPoint.ROTATE_DEVICE_CERTIFIED,
    CrashPoint.ROTATE_KEY_REPLACED,
    CrashPoint.ROTATE_JOURNAL_REMOVED,
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "keys"


@pytest.fixture
def keys(folder: Path) -> HomeKeys:
    made = HomeKeys(folder)
    made.ensure()
    made.agent_public(AGENT)
    made.agent_public(OTHER_AGENT)
    return made


def _seal(keys: HomeKeys, payload: bytes = b"value", agent_id: str = AGENT) -> dict[str, Any]:
    record = {"id": "c", "agent_id": agent_id, "service": "openai", "credential_type": "api_key"}
    sealed = credential_sealing.seal_credential(
        payload,
        agent_public=keys.agent_public(agent_id),
        agent_id=agent_id,
        credential_id="c",
        service="openai",
        credential_type="api_key",
        key_id=keys.public.key_id,
    )
    return {**record, **sealed}


def _rotate(keys: HomeKeys, reason: RotationReason = SAFE) -> UserKey:
    new = UserKey.generate()
    keys.rotate(keys.user_key(), new, reason)
    return new


def _travelling(keys: HomeKeys, agent_id: str = AGENT) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(keys.export_agent(agent_id)))
    return found


def _elsewhere(folder: Path, key: UserKey) -> HomeKeys:
    other = HomeKeys(folder)
    other.install(UserKey.from_words(key.words()))
    return other


def _files(folder: Path) -> dict[str, bytes]:
    """Return everything but the store of the key, which may hold a key that never became current."""
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {name: data for name, data in found.items() if not name.startswith(("user.key", "users/"))}


def test_the_new_key_is_in_force_and_the_old_one_is_known_as_former(keys: HomeKeys) -> None:
    old = keys.user_key()
    new = _rotate(keys)
    assert keys.status().state is KeyState.OK
    assert keys.user_key().key_id == keys.public.key_id == new.key_id
    assert [(one.public, one.compromised) for one in keys.former] == [(old.public, False)]
    assert keys.trusted.former == (old.public,) and keys.settling() is None


def test_what_was_sealed_before_opens_with_the_new_key_and_pairs_and_device_stay(keys: HomeKeys) -> None:
    before, public, device = _seal(keys, b"payload"), keys.agent_public(AGENT), keys.device.public
    _rotate(keys)
    assert (keys.agent_public(AGENT), keys.device.public) == (public, device)
    assert keys.open(before) == b"payload"
    assert keys.device.user == keys.public


def test_no_secret_stands_open_in_any_file_but_the_store_of_the_key(folder: Path, keys: HomeKeys) -> None:
    old, secret = keys.user_key(), keys.agent_secret(AGENT)
    new = _rotate(keys, STOLEN)
    written = b"".join(_files(folder).values())
    for hidden in (old.secret, new.secret, secret):
        assert hidden not in written and hidden.hex().encode() not in written
        assert to_base64(hidden).encode() not in written


def test_after_three_rotations_the_last_words_open_everything_and_trust_every_signer(
    tmp_path: Path, keys: HomeKeys
) -> None:
    records, archives = [], []
    for number in range(3):
        records.append(_seal(keys, b"payload %d" % number))
        archives.append(_travelling(keys))
        new = _rotate(keys)
    other = _elsewhere(tmp_path / "other", new)
    with pytest.raises(OtherKey):
        other.import_agent(archives[0])
    other.import_agent(_travelling(keys))
    for archive in archives:
        other.import_agent(archive)
    assert [other.open(record) for record in records] == [b"payload 0", b"payload 1", b"payload 2"]
    assert set(other.trusted.former) == {one.public for one in keys.former} and len(other.trusted.former) == 3


def test_a_pair_that_only_an_old_archive_has_opens_with_the_former_key(tmp_path: Path, keys: HomeKeys) -> None:
    """Another machine of the user made the pair before the key was replaced, so it was never wrapped again."""
    second = _elsewhere(tmp_path / "second", keys.user_key())
    record = _seal(second, b"from the second machine")
    archive = _travelling(second)
    _rotate(keys)
    keys.import_agent(archive)
    assert keys.open(record) == b"from the second machine"
    own = keys.agent_public(AGENT)
    _rotate(keys)
    assert keys.open(record) == b"from the second machine" and keys.agent_public(AGENT) == own


def test_a_compromised_key_gives_every_agent_a_new_pair_and_history_still_opens(keys: HomeKeys) -> None:
    before, public = _seal(keys, b"payload"), keys.agent_public(AGENT)
    _rotate(keys, STOLEN)
    assert keys.agent_public(AGENT) != public
    assert keys.open(before) == b"payload"
    assert len(_travelling(keys)["pairs"]) == len(_travelling(keys, OTHER_AGENT)["pairs"]) == 2
    assert keys.former[0].compromised


def test_a_thief_with_the_old_key_opens_no_new_pair(tmp_path: Path, keys: HomeKeys) -> None:
    old = keys.user_key()
    _rotate(keys, STOLEN)
    for pair in _travelling(keys)["pairs"]:
        with pytest.raises(Exception, match="decrypt"):
            old.open_box(from_base64(pair["wrapped"]))


def test_a_compromised_key_counts_until_the_history_is_signed_and_never_after(keys: HomeKeys) -> None:
    old = keys.user_key()
    _rotate(keys, RotationReason(compromised=True, lost=b"d" * 32))
    assert keys.trusted.former == (old.public,) and keys.trusted.revoked == frozenset()
    assert keys.trusted_when_settled.compromised == (old.public,)
    assert keys.trusted_when_settled.revoked == {b"d" * 32}
    keys.note_signed()
    assert keys.trusted == keys.trusted_when_settled
    keys.machines.revoke(b"d" * 32, "2026-11-20T00:00:00.000Z")
    keys.note_settled()
    assert keys.settling() is None and keys.trusted.compromised == (old.public,)
    assert keys.trusted.revoked == {b"d" * 32}


def test_no_pair_is_taken_from_an_archive_under_a_compromised_key(tmp_path: Path, keys: HomeKeys) -> None:
    """An attacker with the key could make one and receive the next credentials."""
    thief = _elsewhere(tmp_path / "thief", keys.user_key())
    thief.agent_public(AGENT)
    new = _rotate(keys, STOLEN)
    keys.note_signed()
    victim = _elsewhere(tmp_path / "new-machine", new)
    victim.import_agent(_travelling(keys, OTHER_AGENT))
    for home in (keys, victim):
        with pytest.raises(SignedByCompromised):
            home.import_agent(_travelling(thief))
    with pytest.raises(NoAgentKey):
        victim.agent_secret(AGENT)


def test_that_a_key_is_compromised_stays_through_the_next_rotations(keys: HomeKeys) -> None:
    stolen = keys.user_key().public
    _rotate(keys, STOLEN)
    keys.note_signed()
    keys.note_settled()
    _rotate(keys)
    assert keys.trusted.compromised == (stolen,) and len(keys.trusted.former) == 1


def test_nobody_slips_in_a_former_key(folder: Path, tmp_path: Path, keys: HomeKeys) -> None:
    stranger = HomeKeys(tmp_path / "other")
    stranger.ensure()
    stranger.agent_public(AGENT)
    _rotate(stranger)
    _rotate(keys)
    forged = {**_travelling(keys), "former": _travelling(stranger)["former"]}
    with pytest.raises(SignatureError, match="did not sign"):
        keys.import_agent(forged)
    assert len(keys.former) == 1


@pytest.mark.parametrize("field", ["compromised", "replaced_at", "secret", "signature"])
def test_a_changed_entry_of_a_former_key_is_refused(keys: HomeKeys, field: str) -> None:
    _rotate(keys)
    document = copy.deepcopy(_travelling(keys))
    entry = document["former"][0]
    entry[field] = not entry[field] if isinstance(entry[field], bool) else f"{'A' * 4}{entry[field][4:]}"
    with pytest.raises(SignatureError):
        keys.import_agent(document)


@pytest.mark.parametrize("listed", [5, "x", [5], [{}], [{"user": None}]])
def test_former_keys_of_the_wrong_shape_are_refused(keys: HomeKeys, listed: object) -> None:
    with pytest.raises(KeyDamaged):
        keys.import_agent({**_travelling(keys), "former": listed})


def test_documents_without_former_keys_and_machines_stay_valid(keys: HomeKeys) -> None:
    document = {name: value for name, value in _travelling(keys).items() if name in ("agent_id", "user", "pairs")}
    keys.import_agent(document)
    assert keys.former == []


def test_two_rotations_at_once_end_with_one_key(keys: HomeKeys) -> None:
    old, first, second = keys.user_key(), UserKey.generate(), UserKey.generate()
    keys.rotate(old, first, SAFE)
    with pytest.raises(OtherKey, match=first.key_id):
        keys.rotate(old, second, SAFE)
    assert keys.public == first.public


def test_a_rotation_waits_until_the_last_one_has_settled(keys: HomeKeys) -> None:
    _rotate(keys, STOLEN)
    with pytest.raises(KeysError, match="is not complete"):
        _rotate(keys)


def test_a_pair_that_does_not_open_stops_it_before_anything_is_written(folder: Path, keys: HomeKeys) -> None:
    before = _files(folder)
    with pytest.raises(KeyDamaged):
        keys.rotate(_Hollow(keys.user_key().public), UserKey.generate(), SAFE)
    assert _files(folder) == before


class _Hollow(UserKey):
    """A key as an attacker without its secret would have it: only the public halves are right."""

    def __init__(self, claimed: UserPublic) -> None:
        super().__init__(os.urandom(32))
        self.claimed = claimed

    @property
    def public(self) -> UserPublic:
        return self.claimed


# Interrupted --------------------------------------------------------------------------------------------------------


@forks
@pytest.mark.parametrize("reason", [SAFE, STOLEN], ids=["safe", "stolen"])
@pytest.mark.parametrize("step", STEPS)
def test_killed_anywhere_one_of_the_keys_is_fully_in_force(
    folder: Path, keys: HomeKeys, step: CrashPoint, reason: RotationReason
) -> None:
    old, new, record = keys.user_key(), UserKey.generate(), _seal(keys, b"payload")
    reached = 0
    while killed_at(lambda: keys.rotate(old, new, reason), step, reached + 1):
        reached += 1
        assert keys.public in (old.public, new.public)
        assert keys.user_key().public == keys.device.user == keys.public
        assert keys.open(record) == b"payload"
        assert keys.agent_secret(OTHER_AGENT) and keys.status().state is KeyState.OK
        assert not (folder / JOURNAL).exists(), "whoever comes next rolls it forward"
        if keys.public == new.public:
            assert STEPS.index(step) > STEPS.index(CrashPoint.ROTATE_JOURNAL_WRITTEN)
            return
    assert reached, f"{step} was never reached"


def test_every_named_step_of_the_keys_is_reached_in_order(keys: HomeKeys) -> None:
    seen = steps_of(lambda: _rotate(keys, STOLEN))
    assert list(dict.fromkeys(seen)) == STEPS
    assert seen.count(CrashPoint.ROTATE_AGENT_WRAPPED) == 2


@forks
def test_before_the_journal_nothing_changed(folder: Path, keys: HomeKeys) -> None:
    before = _files(folder)
    assert killed_at(lambda: _rotate(keys), CrashPoint.ROTATE_JOURNAL_WRITTEN)
    assert _files(folder) == before


@forks
def test_a_pair_made_while_a_journal_waits_is_one_of_the_new_key(keys: HomeKeys) -> None:
    third = "01900000-0000-7000-8000-00000000000c"
    new = UserKey.generate()
    assert killed_at(lambda: keys.rotate(keys.user_key(), new, SAFE), CrashPoint.ROTATE_AGENT_WRAPPED)
    keys.agent_public(third)
    assert keys.public == new.public and keys.agent_secret(third)


def _use(folder: str) -> bool:
    """Do what captures and restores do, while another process replaces the key."""
    keys = HomeKeys(Path(folder))
    for _ in range(15):
        record = _seal(keys, b"payload")
        assert keys.device.testify("test", {}) and keys.open(record) == b"payload"
        assert keys.export_agent(AGENT)["pairs"]
    return True


def test_captures_and_restores_go_on_while_the_key_is_replaced(folder: Path, keys: HomeKeys) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        busy = pool.map_async(_use, [str(folder)] * 2)
        for _ in range(12):
            _rotate(keys)
            busy.wait(0.1)
        assert busy.get() == [True, True]


# Several machines ---------------------------------------------------------------------------------------------------


def test_another_machine_follows_with_the_words_of_the_new_key(tmp_path: Path, keys: HomeKeys) -> None:
    second = _elsewhere(tmp_path / "second", keys.user_key())
    record = _seal(second, b"from the second machine")
    new = _rotate(keys)
    with pytest.raises(OtherKey):
        second.import_agent(_travelling(keys))
    second.rotate(second.user_key(), UserKey.from_words(new.words()), SAFE)
    second.import_agent(_travelling(keys))
    keys.import_agent(_travelling(second))
    assert keys.open(record) == second.open(record) == b"from the second machine"
    assert keys.public == second.public and len(second.former) == 1


def test_a_key_that_is_or_was_in_force_is_not_taken_again(keys: HomeKeys) -> None:
    old = keys.user_key()
    new = _rotate(keys)
    for key in (old, new):
        with raises_code(KeysError.EXISTS):
            keys.rotate(new, key, SAFE)
    assert keys.public == new.public


def test_a_machine_that_learns_of_a_theft_later_gets_new_pairs_and_has_to_settle(
    tmp_path: Path, keys: HomeKeys
) -> None:
    old = keys.user_key()
    second = _elsewhere(tmp_path / "second", old)
    pair = second.agent_public(AGENT)
    new = _rotate(keys, STOLEN)
    second.rotate(old, new, SAFE)
    assert second.trusted.former == (old.public,) and second.settling() is None
    second.import_agent(_travelling(keys, OTHER_AGENT))
    assert second.agent_public(AGENT) != pair and second.settling() is not None
    assert second.trusted_when_settled.compromised == (old.public,)


def test_with_a_stolen_key_all_keys_before_it_are_stolen_because_it_opens_them(keys: HomeKeys) -> None:
    first = keys.public
    second = _rotate(keys).public
    _rotate(keys, STOLEN)
    assert [(one.public, one.compromised) for one in keys.former] == [(first, True), (second, True)]
    assert keys.trusted.former == (first, second), "the history still carries their signatures"
    assert keys.trusted_when_settled.compromised == (first, second)


@pytest.mark.parametrize(
    "content",
    [
        b"{}",
        b"[]",
        b'{"kind": "lifeboat rotation", "version": 2}',
        b"\xff",
        b'{"a":' + b"[" * 100_000,
        b" " * (17 << 20) + b"{}",
    ],
    ids=["empty", "list", "newer", "binary", "deep", "large"],
)
def test_a_journal_that_is_none_stops_everything_and_is_named(folder: Path, keys: HomeKeys, content: bytes) -> None:
    (folder / JOURNAL).write_bytes(content)
    (folder / JOURNAL).chmod(0o600)
    with pytest.raises(KeyDamaged, match="rotation"):
        keys.public  # noqa: B018
    assert keys.status().state is KeyState.ERROR


@forks
@pytest.mark.parametrize(
    "change",
    [
        {"agents": []},
        {"agents": {AGENT: 5}},
        {"agents": {"../user": {}}},
        {"certificate": "%%"},
        {"certificate": "AA=="},
        {"certificate": to_base64(bytes(64))},
        {"settle": [1]},
        {"user": UserKey(bytes(32)).public.to_json()},
    ],
    ids=lambda change: repr(change)[:40],
)
def test_a_journal_with_a_field_that_is_none_changes_nothing(
    folder: Path, keys: HomeKeys, change: dict[str, Any]
) -> None:
    old = keys.user_key()
    assert killed_at(lambda: keys.rotate(old, UserKey.generate(), STOLEN), CrashPoint.ROTATE_AGENT_WRAPPED)
    journal = json.loads((folder / JOURNAL).read_bytes())
    (folder / JOURNAL).write_text(json.dumps({**journal, **change}))
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    with pytest.raises(KeyDamaged, match=JOURNAL):
        keys.public  # noqa: B018
    assert {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()} == before
