"""Credentials of a ZeroClaw agent put back: beside the key that encrypted them, beside another, without one."""

from __future__ import annotations

import json
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest

from lifeboat_adapters.zeroclaw.credentials import secret_encryption
from lifeboat_adapters.zeroclaw.restore import secret_reencryption
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.restore.left_out_reasons import ReissueCode
from support.adapters import zeroclaw_installs as installs
from support.cli.cli_client import run

KEY = bytes.fromhex("5a" * 32)
OTHER = bytes(range(32))
MODEL, BOT, ACCESS = "an-invented-model-key-0001", "an-invented-bot-token-0002", "an-invented-access-0003"


@pytest.fixture(params=["0.5.9", "0.8.3"])
def install(request: pytest.FixtureRequest, isolated_home: Path) -> installs.Install:
    """An agent with a key, a token and a login, all encrypted, under protection."""
    made = installs.make_install(isolated_home / ".zeroclaw", request.param)
    made.remember("tea", "Likes green tea")
    write_config(made)
    login = {"model_provider": "openai", "kind": "oauth", "access_token": secret_encryption.encrypt_secret(ACCESS, KEY)}
    (made.home / "auth-profiles.json").write_text(json.dumps({"schema_version": 1, "profiles": {"openai:work": login}}))
    run("agents", "add", made.workspace())
    return made


def write_config(made: installs.Install) -> None:
    config = made.home / "config.toml"
    channel = "channels_config.telegram" if made.is_early else "channels.telegram.default"
    text = config.read_text()
    if made.is_early:
        text = f'api_key = "{secret_encryption.encrypt_secret(MODEL, KEY)}"  # mine\n{text}'
    else:
        text = text.replace(
            "[memory]", f'api_key = "{secret_encryption.encrypt_secret(MODEL, KEY)}"  # mine\n\n[memory]', 1
        )
    config.write_text(f'{text}\n[{channel}]\nbot_token = "{secret_encryption.encrypt_secret(BOT, KEY)}"\n')


def restored(name: str, to: Path, *options: str) -> JsonObject:
    return run("restore", name, "--to", to, "--with-credentials", "--yes", *options)


def elsewhere(install: installs.Install, folder: Path) -> Path:
    """The workspace of another, empty installation of the same layout."""
    return folder / ("workspace" if install.is_early else "agents/default/workspace")


def plain(home: Path) -> set[str]:
    """What ZeroClaw reads from the encrypted values there."""
    key = secret_encryption.read_key(home)
    values = tomllib.loads((home / "config.toml").read_text())
    logins = json.loads((home / "auth-profiles.json").read_text())
    return {secret_encryption.decrypt_secret(value, key) for value in (*encrypted(values), *encrypted(logins))}


def encrypted(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [one for each in value.values() for one in encrypted(each)]
    if isinstance(value, list):
        return [one for each in value for one in encrypted(each)]
    return [value] if isinstance(value, str) and value.startswith("enc2:") else []


def in_clear(folder: Path) -> list[Path]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if any(value.encode() in path.read_bytes() for value in (MODEL, BOT, ACCESS))]


def test_beside_its_key_a_lost_configuration_comes_back_byte_for_byte(install: installs.Install) -> None:
    lost = {name: (install.home / name).read_bytes() for name in ("config.toml", "auth-profiles.json")}
    for name in lost:
        (install.home / name).unlink()
    restored("default", install.workspace(), "--state-dir", str(install.home))
    assert {name: (install.home / name).read_bytes() for name in lost} == lost


def test_another_machine_without_a_key_gets_one_and_reads_everything(install: installs.Install, tmp_path: Path) -> None:
    home = tmp_path / "new"
    restored("default", elsewhere(install, home), "--state-dir", str(home))
    assert plain(home) == {MODEL, BOT, ACCESS}
    assert stat.S_IMODE((home / ".secret_key").stat().st_mode) == 0o600
    assert secret_encryption.read_key(home) != KEY


def test_another_machine_with_a_key_keeps_it(install: installs.Install, tmp_path: Path) -> None:
    there = installs.make_install(tmp_path / "new", install.generation)
    (there.home / ".secret_key").write_text(OTHER.hex())
    restored("default", there.workspace(), "--yes")
    assert secret_encryption.read_key(there.home) == OTHER
    assert plain(there.home) == {MODEL, BOT, ACCESS}


def test_nothing_stands_there_in_clear(install: installs.Install, tmp_path: Path) -> None:
    home = tmp_path / "new"
    restored("default", elsewhere(install, home), "--state-dir", str(home))
    assert in_clear(home) == []


def test_every_credential_is_said_to_be_put_in(install: installs.Install, tmp_path: Path) -> None:
    home = tmp_path / "new"
    report = restored("default", elsewhere(install, home), "--state-dir", str(home))
    assert report["credentials"] == {"injected": 3, "skipped": 0}


def test_undo_takes_a_new_key_back(install: installs.Install) -> None:
    names = ("config.toml", "auth-profiles.json", ".secret_key")
    for name in names:
        (install.home / name).unlink()
    restored("default", install.workspace(), "--state-dir", str(install.home))
    assert plain(install.home) == {MODEL, BOT, ACCESS}
    run("undo", "default")
    assert not any((install.home / name).exists() for name in names)


def test_a_damaged_key_stops_the_restore_before_anything_is_written(install: installs.Install, tmp_path: Path) -> None:
    there = installs.make_install(tmp_path / "new", install.generation)
    (there.home / ".secret_key").write_text("damaged")
    before = (there.home / "config.toml").read_bytes()
    said = run("restore", "default", "--to", there.workspace(), "--with-credentials", "--yes", expect=3)
    assert ".secret_key" in json.dumps(said)
    assert (there.home / "config.toml").read_bytes() == before


def test_a_value_whose_key_was_lost_before_stays_out_and_says_why(isolated_home: Path, tmp_path: Path) -> None:
    install = installs.make_install(isolated_home / ".zeroclaw")
    write_config(install)
    (install.home / ".secret_key").unlink()
    run("agents", "add", install.workspace())
    report = restored("default", elsewhere(install, tmp_path), "--state-dir", str(tmp_path))
    assert {one["reason"] for one in report["credential_details"]} == {str(secret_reencryption.LOCKED)}
    assert {one["reissue_code"] for one in report["credential_details"]} == {ReissueCode.ISSUE_AGAIN}
    assert "telegram" in (tmp_path / "config.toml").read_text()


def test_a_value_whose_key_comes_back_later_is_put_in_as_it_was(isolated_home: Path, tmp_path: Path) -> None:
    install = installs.make_install(isolated_home / ".zeroclaw")
    write_config(install)
    (install.home / ".secret_key").unlink()
    run("agents", "add", install.workspace())
    (tmp_path / ".secret_key").write_text(KEY.hex())
    restored("default", elsewhere(install, tmp_path), "--state-dir", str(tmp_path))
    assert (tmp_path / "config.toml").read_bytes() == (install.home / "config.toml").read_bytes()


def test_an_agent_that_comes_home_finds_its_credentials_under_the_names_they_had(
    install: installs.Install, tmp_path: Path
) -> None:
    before = {name: (install.home / name).read_bytes() for name in ("config.toml", "auth-profiles.json")}
    away = tmp_path / "away" / "workspace"
    restored("default", away, "--runtime", "openclaw", "--state-dir", str(away.parent / "state"), "--adopt")
    run("sync", "default")
    for name in before:
        (install.home / name).unlink()
    report = restored("default", install.workspace(), "--runtime", "zeroclaw", "--adopt")
    assert {name: (install.home / name).read_bytes() for name in before} == before
    assert report["credentials"]["skipped"] == 0
