"""The process ends at every step of replacing a key. Then one key is fully in force, and nothing that was kept is
lost."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_core.home import user_key_rotation
from lifeboat_core.home.user_key_rotation import RotationReport
from lifeboat_core.restore import RestoreOptions, restore_agent
from lifeboat_keys.home.device_registry import KnownDevice
from lifeboat_keys.home.home_keys import KeyState
from lifeboat_keys.pairs.user_key import UserKey
from support.core import invariants
from support.core.protected import MEMORY, Protected
from support.killing import killed_at, steps_of
from support.prepared_folders import PreparedFolders

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forks, which this system lacks")

STEPS = [step for step in CrashPoint if step.name.startswith("ROTATE_")]
OF_THE_KEYS = STEPS[: STEPS.index(CrashPoint.ROTATE_JOURNAL_REMOVED) + 1]
"""What is left to do after them concerns a key that others may have."""

CONFIG = '{ gateway: { auth: { mode: "token", token: "0123456789abcdef0123456789abcdef" } } }\n'
LOST = KnownDevice(b"\x07" * 32, "laptop", "2026-11-12T12:00:00.000Z", "2026-11-12T12:00:00.000Z")


@pytest.fixture
def ada(prepared_folders: PreparedFolders) -> Protected:
    return prepared_folders.restore("ada with a credential", _ada_with_a_credential)


def _ada_with_a_credential(folder: Path) -> Protected:
    """Three sequences with a credential."""
    made = Protected(folder, config=CONFIG)
    made.add()
    for number in range(2):
        made.write("MEMORY.md", f"{MEMORY}\n## Tide\n\nHigh water at {number} o'clock.\n")
        made.capture()
    return made


def rotate(ada: Protected, new: UserKey, lost: KnownDevice | None) -> RotationReport:
    old = user_key_rotation.load_key_in_force(ada.context)
    return user_key_rotation.rotate_user_key(ada.context, old, new, compromised=lost is not None, lost=lost)


@pytest.mark.parametrize("step", OF_THE_KEYS)
def test_killed_at_any_step_one_key_is_in_force_and_all_goes_on(ada: Protected, step: CrashPoint) -> None:
    old, new = ada.context.keys().user_key(), UserKey.generate()
    assert killed_at(lambda: rotate(ada, new, None), step)
    one_key_is_in_force(ada, old, new)
    everything_goes_on(ada)


@pytest.mark.parametrize("step", STEPS)
def test_killed_after_a_theft_the_next_command_finishes_it(ada: Protected, step: CrashPoint) -> None:
    old, new = ada.context.keys().user_key(), UserKey.generate()
    assert killed_at(lambda: rotate(ada, new, LOST), step)
    one_key_is_in_force(ada, old, new)
    everything_goes_on(ada)
    user_key_rotation.finish_rotation(ada.context)
    assert ada.context.keys().settling() is None
    one_key_is_in_force(ada, old, new)
    everything_goes_on(ada)
    if ada.context.keys().public == new.public:
        nothing_counts_any_more_that_the_thief_signs(ada, old, LOST)


def one_key_is_in_force(ada: Protected, old: UserKey, new: UserKey) -> None:
    keys = ada.context.keys()
    assert keys.public in (old.public, new.public)
    assert keys.user_key().public == keys.device.user == keys.public
    assert keys.status().state is KeyState.OK


def everything_goes_on(ada: Protected) -> None:
    """Every kept sequence is signed and opens, a change is captured, and a restore puts the secrets back."""
    invariants.every_kept_sequence_has_its_digest(ada.context, ada.agent)
    invariants.the_audit_chain_is_whole(ada.context, ada.agent)
    invariants.a_drill_succeeds(ada.context, ada.agent)
    with ada.context.vault(ada.agent.id) as vault:
        numbers = [row.number for row in vault.sequences()]
    for number in numbers:
        found = ada.document(archive_layout.CREDENTIALS, number)["credentials"]
        assert found and all(ada.context.keys().open(one) for one in found)
    ada.write("SOUL.md", f"# Soul\n\nThe state before was {numbers[-1]}.\n")
    assert ada.capture().changed
    (ada.state_dir / "openclaw.json").unlink()
    restore_agent(ada.context, ada.agent, RestoreOptions(with_credentials=True, reindex=False, yes=True))
    assert (ada.state_dir / "openclaw.json").read_text() == CONFIG


def nothing_counts_any_more_that_the_thief_signs(ada: Protected, old: UserKey, lost: KnownDevice) -> None:
    trusted = ada.context.keys().trusted
    assert trusted.compromised == (old.public,) and trusted.revoked == {lost.public}
    with ada.context.vault(ada.agent.id) as vault:
        assert vault.epoch > 1
        pairs = {one["encryption"]["recipient"] for one in ada.document(archive_layout.CREDENTIALS)["credentials"]}
    assert len(pairs) == 1


def test_every_named_step_is_reached(ada: Protected) -> None:
    assert set(STEPS) <= set(steps_of(lambda: rotate(ada, UserKey.generate(), LOST)))


def test_killed_again_and_again_it_comes_to_its_end(ada: Protected) -> None:
    new = UserKey.generate()
    assert killed_at(lambda: rotate(ada, new, LOST), CrashPoint.ROTATE_HISTORY_SIGNED)
    for step in (CrashPoint.ROTATE_EPOCH_RAISED, CrashPoint.ROTATE_SEALED_AGAIN, CrashPoint.ROTATE_SETTLED):
        assert killed_at(lambda: user_key_rotation.finish_rotation(ada.context), step)
    assert user_key_rotation.finish_rotation(ada.context)
    assert ada.context.keys().settling() is None
    everything_goes_on(ada)
