"""Restore drills of remotes: the newest state there is restored aside, from what the remote alone has."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_alf.archive import artifact_index
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.states.agent_state import BodyAbsent
from lifeboat_cli import program
from lifeboat_cli.doctor import DoctorLevel
from lifeboat_cli.doctor import check_remotes as doctor
from lifeboat_core.errors import NothingToRestore
from lifeboat_core.machine import power_and_network
from lifeboat_core.machine.power_and_network import MachineConditions
from lifeboat_core.processes.progress import tell_nobody
from lifeboat_core.remotes import acknowledged_states, pulling, remote_drill, remote_verification, vault_bundles
from lifeboat_core.remotes.remote_kinds import open_remote
from lifeboat_core.settings import config_file
from lifeboat_keys.errors import KeyLocked
from lifeboat_keys.home.home_keys import HomeKeys
from lifeboat_vault.vault import Vault
from support.cli.cli_client import run
from support.core.machines import Machine
from support.core.second_copies import HTTP, PLAIN_FOLDER, SEALED_FOLDER, added
from support.endpoint.endpoint_servers import running_endpoint

LARGE, SMALL = 200_000, 50_000
DAY = 25


def _with_credential(ada: Machine) -> None:
    ada.write(".env", "TIDE_API_KEY=fake-tide-key-0123456789abcdef\n", mode=0o600)


@pytest.fixture
def laptop(tmp_path: Path) -> Machine:
    """Protected, with a large file and a credential; it has no remote."""
    made = Machine(tmp_path / "laptop")
    config_file.write_config(made.context.home, made.context.files, "artifacts.interval", "0s")
    made.write("film.bin", b"\x01" * LARGE)
    _with_credential(made)
    made.add(name="ada")
    return made


@pytest.fixture
def ada(laptop: Machine, tmp_path: Path) -> Machine:
    """The same with a sealed folder, to which all is pushed."""
    (tmp_path / "stick").mkdir()
    laptop.add_remote("home", (tmp_path / "stick").as_uri(), sealed=True)
    laptop.push()
    return laptop


@pytest.fixture(params=[HTTP, SEALED_FOLDER, PLAIN_FOLDER])
def anywhere(request: pytest.FixtureRequest, laptop: Machine, tmp_path: Path) -> Iterator[Machine]:
    """The same with each kind of remote."""
    with contextlib.ExitStack() as stack:
        if request.param == HTTP:
            added(laptop.context, stack.enter_context(running_endpoint(tmp_path / "endpoint", plain=True)))
        else:
            (tmp_path / "stick").mkdir()
            laptop.add_remote("home", (tmp_path / "stick").as_uri(), sealed=request.param == SEALED_FOLDER)
        laptop.push()
        yield laptop


def drill(ada: Machine) -> remote_drill.RemoteDrill:
    return remote_drill.drill_remote(ada.context, ada.known_agent, ada.remote())


def read_back(ada: Machine) -> JsonObject:
    return remote_drill.verify_or_drill(ada.context, ada.known_agent, ada.remote())


def findings(ada: Machine) -> list[tuple[DoctorLevel, str | None]]:
    return [(each.level, each.fix) for each in doctor.check(ada.context)]


def stored(tmp_path: Path, ending: str) -> list[Path]:
    return sorted(path for path in (tmp_path / "stick").rglob(f"*{ending}") if path.is_file())


# What it finds ----------------------------------------------------------------------------------------------------


def test_a_drill_restores_what_a_remote_has(anywhere: Machine) -> None:
    anywhere.write("film.bin", b"\x02" * SMALL)
    anywhere.capture_and_push()
    found = drill(anywhere)
    assert (found.ok, found.drill.sequence, found.mended) == (True, 1, [])
    assert found.drill.files >= 4 and found.drill.absent == []
    assert anywhere.acknowledged().drilled_at == anywhere.context.now()
    assert (DoctorLevel.OK, None) in findings(anywhere)


def test_a_large_file_that_a_remote_lost_is_named_and_sent_again(ada: Machine, tmp_path: Path) -> None:
    (film,) = (path for path in stored(tmp_path, ".age") if path.stat().st_size > LARGE)
    film.unlink()
    found = drill(ada)
    assert found.drill.mismatches == ["the file artifacts/film.bin is missing"]
    assert (ada.acknowledged().state, ada.acknowledged().drilled_at) == ("error", None)
    assert findings(ada) == [(DoctorLevel.ERROR, "lifeboat verify ada --remote home")]
    assert ada.push().code == "remote_damaged"
    assert drill(ada).ok
    assert ada.push().state == "ok"


def test_keys_that_open_no_credential_are_named_and_sent_again(ada: Machine) -> None:
    with contextlib.closing(open_remote(ada.context, ada.remote())) as remote:
        keys = remote.keys(ada.agent.id)
        assert keys is not None
        remote.put_keys(ada.agent.id, {**keys, "pairs": []})
    (mismatch,) = drill(ada).drill.mismatches
    assert mismatch.startswith("the key that opens the credential ")
    assert ada.push().code == "remote_damaged"
    assert drill(ada).ok


def test_a_log_of_which_a_bundle_lacks_bytes_gets_a_new_snapshot(ada: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """As an earlier version wrote it: the patch of a large artifact against bytes that no bundle carries."""
    with monkeypatch.context() as patch:
        patch.setattr(artifact_index, "is_carried", lambda entry, *, held: held)
        patch.setattr(vault_bundles, "find_unreadable", lambda *_: [])
        ada.write("film.bin", b"\x01" * SMALL)
        ada.capture_and_push()
    found = drill(ada)
    assert found.ok and found.mended
    to = ada.folder / "back"
    ada.restore_from("ada", to)
    assert (to / "film.bin").read_bytes() == b"\x01" * SMALL


def test_a_delta_that_its_reader_could_not_apply_is_followed_by_a_snapshot(
    ada: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(artifact_index, "is_carried", lambda entry, *, held: held)
        ada.write("film.bin", b"\x01" * SMALL)
        ada.capture_and_push()
    found = drill(ada)
    assert found.ok and not found.mended


def test_a_state_that_this_machine_does_not_have_is_not_tried_out(
    ada: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lifeboat_vault.vault.Vault.find", lambda *_: None)
    with pytest.raises(NothingToRestore):
        drill(ada)


# When it is made --------------------------------------------------------------------------------------------------


def test_a_remote_is_drilled_when_it_is_first_read_back_and_then_monthly(ada: Machine) -> None:
    ada.clock.advance(hours=DAY)
    assert read_back(ada)["drill"]["files"] >= 4
    ada.clock.advance(hours=DAY)
    assert read_back(ada)["drill"] is None
    ada.clock.advance(days=30)
    assert read_back(ada)["drill"]["mismatches"] == []


def test_what_a_drill_found_is_taken_back_by_the_drill_of_the_next_reading_alone(ada: Machine, tmp_path: Path) -> None:
    film = max(stored(tmp_path, ".age"), key=lambda path: path.stat().st_size)
    kept = film.read_bytes()
    film.unlink()
    assert not drill(ada).ok
    assert not read_back(ada)["ok"]
    film.write_bytes(kept)
    assert not remote_verification.verify_remote(ada.context, ada.known_agent, ada.remote())["ok"]
    assert read_back(ada)["drill"]["mismatches"] == []
    assert remote_verification.verify_remote(ada.context, ada.known_agent, ada.remote())["ok"]


def test_sync_says_that_a_copy_does_not_hold_when_it_is_read_back(
    ada: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("LIFEBOAT_HOME", "HOME"):
        monkeypatch.setenv(name, ada.context.environment[name])
    max(stored(tmp_path, ".age"), key=lambda path: path.stat().st_size).unlink()
    with ada.context.vault(ada.agent.id) as vault:
        acknowledged_states.note_acknowledged(vault, ada.remote().id, verified_at="2026-01-01T00:00:00.000Z")
    (document,) = run("sync", expect=1)["agents"]
    (remote,) = document["remotes"]
    assert (remote["state"], remote["fix"]) == ("error", "lifeboat verify ada --remote home")
    assert "film.bin is missing" in remote["message"]


def test_a_drill_of_a_sealed_remote_waits_for_the_key_and_the_doctor_says_so(
    ada: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked(_: HomeKeys) -> None:
        raise KeyLocked("the key is locked")

    monkeypatch.setattr(HomeKeys, "user_key", locked)
    found = read_back(ada)
    assert (found["ok"], found["drill"]) == (True, None)
    with pytest.raises(KeyLocked):
        drill(ada)
    ada.clock.advance(days=45)
    assert (DoctorLevel.WARNING, "lifeboat verify ada --remote home") in findings(ada)


def test_a_drill_over_a_network_that_costs_waits(ada: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lifeboat_core.remotes.remote_kinds.needs_network", lambda _: True)
    monkeypatch.setattr(power_and_network, "read_conditions", lambda _: MachineConditions(online=True, metered=True))
    assert read_back(ada)["drill"] is None


# The command ------------------------------------------------------------------------------------------------------


def test_verify_of_a_remote_says_what_came_back(
    ada: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for name in ("LIFEBOAT_HOME", "HOME"):
        monkeypatch.setenv(name, ada.context.environment[name])
    assert program.run_command(["verify", "ada", "--remote", "home"]) == 0
    assert "is verified: every byte was fetched" in capsys.readouterr().out
    max(stored(tmp_path, ".age"), key=lambda path: path.stat().st_size).unlink()
    assert program.run_command(["verify", "ada", "--remote", "home"]) == 1
    assert "film.bin is missing" in capsys.readouterr().out
    assert program.run_command(["verify", "ada", "--remote", "home", "--whole"]) == 2
    with ada.context.vault(ada.agent.id) as vault:
        assert acknowledged_states.load_acknowledged(vault)[ada.remote().id].drill_failed


# A flipped bit in a large file ------------------------------------------------------------------------------------


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-100] ^= 1
    path.write_bytes(data)


def test_a_flipped_bit_in_a_large_sealed_file_is_found_by_the_drill_and_mended(ada: Machine, tmp_path: Path) -> None:
    """As docs/health.md says: nobody is asked for the key that tells its bytes from others at each reading."""
    (film,) = (path for path in stored(tmp_path, ".age") if path.stat().st_size > LARGE)
    _flip(film)
    assert remote_verification.verify_remote(ada.context, ada.known_agent, ada.remote())["ok"]
    assert any("film.bin" in each for each in drill(ada).drill.mismatches)
    ada.push()
    assert drill(ada).ok


def test_a_flipped_bit_in_a_large_file_in_clear_is_found_at_the_next_reading(laptop: Machine, tmp_path: Path) -> None:
    (tmp_path / "stick").mkdir()
    laptop.add_remote("home", (tmp_path / "stick").as_uri(), sealed=False)
    laptop.push()
    (film,) = (path for path in (tmp_path / "stick").rglob("large-*") if path.stat().st_size >= LARGE)
    _flip(film)
    found = remote_verification.verify_remote(laptop.context, laptop.known_agent, laptop.remote())
    assert found["findings"] == ["the remote returned changed content for artifacts/film.bin"]


def test_a_restore_from_a_remote_with_a_flipped_bit_in_a_large_file_brings_the_rest(
    ada: Machine, tmp_path: Path
) -> None:
    (film,) = (path for path in stored(tmp_path, ".age") if path.stat().st_size > LARGE)
    _flip(film)
    to = ada.folder / "back"
    done = ada.restore_from("ada", to)
    assert (to / "MEMORY.md").exists() and not (to / "film.bin").exists()
    assert [(each["name"], each["code"]) for each in done.left_out] == [("film.bin", "damaged")]


def test_a_history_comes_from_a_remote_with_a_flipped_bit_in_a_large_file(ada: Machine, tmp_path: Path) -> None:
    (film,) = (path for path in stored(tmp_path, ".age") if path.stat().st_size > LARGE)
    _flip(film)
    folder = tmp_path / "came"
    with contextlib.closing(open_remote(ada.context, ada.remote())) as remote:
        pulling.fetch_history(ada.context, remote, ada.agent.id, folder, accept_unsigned=False, tell=tell_nobody)
    with Vault.open(folder, files=ada.context.files, clock=ada.context.clock) as vault:
        state = vault.state()
        assert state.body("raw/openclaw/MEMORY.md")
        with pytest.raises(BodyAbsent):
            state.body("artifacts/film.bin")
