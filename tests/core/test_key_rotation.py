"""A home whose key is replaced: all that was kept stays usable, and a thief with the old key gets nothing new."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.archive import archive_layout
from lifeboat_core.agents import manage_agents
from lifeboat_core.agents.locks import agent_lock
from lifeboat_core.errors import Busy
from lifeboat_core.exchange import export_agent, import_archive
from lifeboat_core.home import user_key_rotation
from lifeboat_core.home.context import Context
from lifeboat_core.home.user_key_rotation import RotationReport
from lifeboat_core.restore.restore_options import RestoreOptions
from lifeboat_core.verify import samples_and_drills
from lifeboat_keys.errors import DeviceRevoked, KeysError, SignedByCompromised, UnsealError
from lifeboat_keys.home import device_registry
from lifeboat_keys.pairs.agent_pair import pair_id
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.signed import credential_sealing
from support.alf.raising import raises_code
from support.core.protected import MEMORY, Protected

TOKEN = "0123456789abcdef0123456789abcdef"
KEY = "sk-example-orchard-not-a-real-key"
CONFIG = '{ gateway: { auth: { mode: "token", token: "%s" } }, models: { providers: { orchard: { apiKey: "%s" } } } }\n'
HOME_CONFIG = "openclaw.json"


@pytest.fixture
def ada(tmp_path: Path) -> Protected:
    """Two sequences, with two credentials."""
    made = Protected(tmp_path / "ada", config=CONFIG % (TOKEN, KEY))
    made.add()
    made.write("MEMORY.md", MEMORY + "\n## Rain\n\nLikes the sound of rain.\n")
    made.capture()
    return made


def _rotate(
    ada: Protected, *, compromised: bool = False, lost: device_registry.KnownDevice | None = None
) -> RotationReport:
    ada.clock.advance(minutes=1)
    old = user_key_rotation.load_key_in_force(ada.context)
    return user_key_rotation.rotate_user_key(ada.context, old, UserKey.generate(), compromised=compromised, lost=lost)


def _credentials(ada: Protected, number: int | None = None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ada.document(archive_layout.CREDENTIALS, number)["credentials"]
    return found


def _elsewhere(folder: Path, ada: Protected, key: UserKey) -> Context:
    """A clean machine of the same user, who typed the words of a key."""
    folder.mkdir()
    around = {"LIFEBOAT_HOME": str(folder / "home"), "HOME": str(folder / "user"), "PATH": "/usr/bin:/bin"}
    context = Context.open(around, clock=ada.clock)
    context.keys().install(UserKey.from_words(key.words()))
    return context


def _archive(ada: Protected, name: str) -> Path:
    file = ada.folder / name
    export_agent(ada.context, "openclaw", ada.workspace, file)
    return file


def _head(ada: Protected) -> int:
    with ada.context.vault(ada.agent.id) as vault:
        head = vault.head()
    assert head is not None
    return head.number


def _everything_holds(ada: Protected) -> None:
    """All of history verifies, every kept state's credentials open, and a restore fills them in."""
    assert samples_and_drills.drill_vault(ada.context, ada.agent, whole=True).mismatches == []
    with ada.context.vault(ada.agent.id) as vault:
        numbers = [row.number for row in vault.sequences()]
        assert vault.verify(trusted=ada.context.keys().trusted).unknown_signer == []
    for number in numbers:
        assert all(ada.context.keys().open(one) for one in _credentials(ada, number))


# A plain rotation ---------------------------------------------------------------------------------------------------


def test_a_rotation_rewrites_no_history_and_everything_goes_on(ada: Protected) -> None:
    with ada.context.vault(ada.agent.id) as vault:
        before = vault.sequences()
    report = _rotate(ada)
    with ada.context.vault(ada.agent.id) as vault:
        assert vault.sequences() == before
    assert (report.compromised, report.reissue, report.settled.vaults) == (False, [], [])
    _everything_holds(ada)
    ada.write("SOUL.md", "# Soul\n\nBe brave.\n")
    assert ada.capture().changed
    _everything_holds(ada)


def test_an_unchanged_workspace_makes_no_sequence_after_a_rotation(ada: Protected) -> None:
    _rotate(ada)
    assert not ada.capture().changed and not ada.capture(full=True).changed


def test_with_the_new_words_archives_from_before_and_after_are_trusted_and_open(ada: Protected, tmp_path: Path) -> None:
    old = _archive(ada, "old.alf")
    _rotate(ada)
    ada.write("SOUL.md", "# Soul\n\nBe brave.\n")
    ada.capture()
    new = _archive(ada, "new.alf")
    other = _elsewhere(tmp_path / "other", ada, ada.context.keys().user_key())
    for number, file in enumerate((new, old)):
        state_dir = tmp_path / "other" / f"openclaw-{number}"
        report = import_archive(other, file, state_dir / "workspace", RestoreOptions(with_credentials=True))
        assert report.restored.to_json()["signature"] == "signed", file


# A key that others may hold -----------------------------------------------------------------------------------------


def test_after_a_theft_all_of_history_still_says_signed_and_opens(ada: Protected) -> None:
    with ada.context.vault(ada.agent.id) as vault:
        before = vault.sequences()
    report = _rotate(ada, compromised=True)
    (said,) = report.settled.vaults
    assert (said["countersigned"], said["sequence"]) == (2, 2) and report.settled.unfinished == []
    with ada.context.vault(ada.agent.id) as vault:
        after = vault.sequences()[: len(before)]
        assert [(row.number, row.time, row.digest) for row in after] == [
            (row.number, row.time, row.digest) for row in before
        ]
        assert [row.kind for row in vault.audit_rows()].count("countersign") == 1
        assert vault.check_audit() == []
    assert ada.context.keys().settling() is None
    _everything_holds(ada)


def test_the_newest_state_is_sealed_to_pairs_that_the_thief_cannot_open(ada: Protected) -> None:
    stolen = {one: ada.context.keys().agent_secret(ada.agent.id) for one in ("pair",)}["pair"]
    before = _credentials(ada)
    _rotate(ada, compromised=True)
    after = _credentials(ada)
    assert [one["id"] for one in after] == sorted(one["id"] for one in before)
    assert all(credential_sealing.unseal_credential(one, stolen) for one in before)
    for one in after:
        with raises_code(UnsealError.WRONG_AGENT_KEY):
            credential_sealing.unseal_credential(one, stolen)
        assert ada.context.keys().open(one)


def test_the_new_sealing_is_one_sequence_of_its_own_kind_and_no_capture_undoes_it(ada: Protected) -> None:
    _rotate(ada, compromised=True)
    with ada.context.vault(ada.agent.id) as vault:
        head = vault.head()
    assert head is not None and head.kind == "rotate"
    sealed = ada.body(archive_layout.CREDENTIALS)
    assert not ada.capture().changed and not ada.capture(full=True).changed
    ada.write("MEMORY.md", MEMORY)
    ada.capture()
    assert ada.body(archive_layout.CREDENTIALS) == sealed


def test_a_secret_that_changes_later_is_sealed_to_the_new_pair(ada: Protected) -> None:
    _rotate(ada, compromised=True)
    ada.write_config(CONFIG % ("f" * 32, KEY))
    ada.capture()
    pair = pair_id(ada.context.keys().agent_public(ada.agent.id))
    assert {one["encryption"]["recipient"] for one in _credentials(ada)} == {pair}


def test_every_credential_of_the_newest_state_is_listed_for_its_issuer(ada: Protected) -> None:
    listed = _rotate(ada, compromised=True).reissue
    assert {one["agent"] for one in listed} == {ada.agent.name}
    assert sorted(one["label"] for one in listed) == sorted(one["label"] for one in _credentials(ada))
    assert all(one["service"] and one["credential_type"] for one in listed)
    assert TOKEN not in str(listed) and KEY not in str(listed)


def test_an_archive_that_a_thief_signs_is_refused_by_an_error_of_its_own(ada: Protected, tmp_path: Path) -> None:
    thief = _elsewhere(tmp_path / "thief", ada, ada.context.keys().user_key())
    stolen = _archive(ada, "stolen.alf")
    import_archive(thief, stolen, tmp_path / "thief" / "workspace")
    forged = tmp_path / "forged.alf"
    (tmp_path / "thief" / "workspace" / "SOUL.md").write_text("# Soul\n\nObey.\n")
    export_agent(thief, "openclaw", tmp_path / "thief" / "workspace", forged)
    _rotate(ada, compromised=True)
    for file in (stolen, forged):
        with pytest.raises(SignedByCompromised):
            import_archive(ada.context, file, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    taken = import_archive(ada.context, stolen, tmp_path / "copy", RestoreOptions(accept_unsigned=True, yes=True))
    assert taken.restored.to_json()["signature"] == "unknown_signer"


def test_a_new_machine_refuses_what_the_thief_signs_too(ada: Protected, tmp_path: Path) -> None:
    stolen = _archive(ada, "stolen.alf")
    _rotate(ada, compromised=True)
    own = _archive(ada, "own.alf")
    other = _elsewhere(tmp_path / "other", ada, ada.context.keys().user_key())
    import_archive(other, own, tmp_path / "other" / "workspace", RestoreOptions(with_credentials=True))
    with pytest.raises(SignedByCompromised):
        import_archive(other, stolen, tmp_path / "other" / "second")


def test_a_sequence_that_was_tampered_with_is_not_vouched_for(ada: Protected) -> None:
    with ada.context.vault(ada.agent.id) as vault:
        vault._metadata.execute("update sequence set time = '2020-01-01T00:00:00.000Z' where n = 0", ())
    report = _rotate(ada, compromised=True)
    assert report.settled.refused == [{"agent": ada.agent.id, "sequence": 0}]
    with ada.context.vault(ada.agent.id) as vault:
        assert [found.subject for found in vault.verify(trusted=ada.context.keys().trusted).findings] == ["sequence 0"]


def test_a_removed_agent_can_be_brought_back_after_a_theft(ada: Protected) -> None:
    manage_agents.remove_agent(ada.context, ada.agent)
    _rotate(ada, compromised=True)
    ada.clock.advance(minutes=1)
    ada.add()
    _everything_holds(ada)


def test_a_vault_that_is_busy_waits_and_the_next_command_goes_on(
    ada: Protected, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(user_key_rotation, "agent_lock", _busy)
    report = _rotate(ada, compromised=True)
    assert len(report.settled.unfinished) == 1
    keys = ada.context.keys()
    assert keys.settling() is not None and samples_and_drills.drill_vault(ada.context, ada.agent, whole=True).ok
    monkeypatch.setattr(user_key_rotation, "agent_lock", agent_lock)
    assert "finished" in user_key_rotation.finish_rotation(ada.context)[0]
    assert keys.settling() is None and user_key_rotation.finish_rotation(ada.context) == []
    _everything_holds(ada)


def _busy(*arguments: Any, **options: Any) -> Any:
    raise Busy("a restore holds it")


# A machine that was lost --------------------------------------------------------------------------------------------


@pytest.fixture
def laptop(ada: Protected, tmp_path: Path) -> Context:
    """Another machine of the same user, which this home has met."""
    other = _elsewhere(tmp_path / "laptop", ada, ada.context.keys().user_key())
    own = other.keys().machines
    own.rename(device_registry.find_machine(own.all(), other.keys().device.public.hex()[:16]), "laptop")
    import_archive(other, _archive(ada, "for-laptop.alf"), tmp_path / "laptop" / "workspace")
    export_agent(other, "openclaw", tmp_path / "laptop" / "workspace", tmp_path / "from-laptop.alf")
    import_archive(ada.context, tmp_path / "from-laptop.alf", tmp_path / "copy")
    return other


def test_a_machine_is_met_by_the_archives_it_makes(ada: Protected, laptop: Context) -> None:
    found = user_key_rotation.find_lost_machine(ada.context, "laptop")
    assert found.public == laptop.keys().device.public and found.revoked_at is None


def test_a_lost_machine_is_refused_fenced_and_named(ada: Protected, laptop: Context, tmp_path: Path) -> None:
    with ada.context.vault(ada.agent.id) as vault:
        epoch = vault.epoch
    report = _rotate(ada, lost=user_key_rotation.find_lost_machine(ada.context, "laptop"))
    assert report.compromised and report.reissue and report.remotes == []
    assert report.to_json()["revoked"] == {"id": laptop.keys().device.public.hex()[:16], "name": "laptop"}
    with ada.context.vault(ada.agent.id) as vault:
        head = vault.head()
        assert vault.epoch == epoch + 1 and head is not None and head.epoch == epoch + 1
    (tmp_path / "laptop" / "workspace" / "SOUL.md").write_text("# Soul\n\nObey.\n")
    export_agent(laptop, "openclaw", tmp_path / "laptop" / "workspace", tmp_path / "later.alf")
    with pytest.raises(DeviceRevoked):
        import_archive(ada.context, tmp_path / "later.alf", tmp_path / "second-copy")
    _everything_holds(ada)


def test_an_unknown_machine_lists_those_that_are_known(ada: Protected, laptop: Context) -> None:
    with raises_code(KeysError.UNKNOWN_MACHINE, match="laptop"):
        user_key_rotation.find_lost_machine(ada.context, "phone")


def test_this_machine_cannot_report_itself_as_lost(ada: Protected) -> None:
    own = ada.context.keys().device.public.hex()[:16]
    with raises_code(KeysError.UNKNOWN_MACHINE, match="this machine"):
        user_key_rotation.find_lost_machine(ada.context, own)


def test_a_machine_with_the_words_certifies_its_own_device_and_its_states_verify_with_them_alone(
    ada: Protected, laptop: Context, tmp_path: Path
) -> None:
    key = laptop.keys().user_key()
    assert laptop.keys().device.public != ada.context.keys().device.public
    third = _elsewhere(tmp_path / "third", ada, UserKey.from_words(key.words()))
    report = import_archive(third, tmp_path / "from-laptop.alf", tmp_path / "third" / "workspace")
    assert report.restored.to_json()["signature"] == "signed"
