"""ALF §10.5: credentials: cut out, sealed, opened by the right key and by no other."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lifeboat_core.home.context import Context
from lifeboat_keys.home.home_keys import HomeKeys
from lifeboat_keys.signed.credential_sealing import unseal_credential
from support.adapters import canaries
from support.adapters.canary_planting import plant
from support.adapters.canary_scan import Scanner
from support.adapters.openclaw_workspaces import NEW, OLD, SECRETS, StateFolder
from support.alf.archive_files import ArchiveFile
from support.cli.cli_client import run


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def test_no_credential_stands_in_clear_in_an_archive(
    openclaw: StateFolder, isolated_home: Path, export: Callable[..., ArchiveFile]
) -> None:
    """Neither in an archive, nor in a delta, nor in anything that is stored."""
    run("agents", "add", openclaw.workspace)
    archives = [export(openclaw.workspace, "whole.alf")]
    note = openclaw.workspace / "MEMORY.md"
    note.write_text(note.read_text() + f"\n## Careless\n\nThe key is {SECRETS[0]}, do not tell.\n")
    run("sync")
    archives.append(export(openclaw.workspace, "later.alf"))
    archives.append(export(openclaw.workspace, "later.alf-delta", "--since", "0"))
    for secret in SECRETS:
        clear = secret.encode()
        for archive in archives:
            assert [name for name, data in archive.bodies.items() if clear in data] == []
        assert [path for path in _files(isolated_home / "lifeboat") if clear in path.read_bytes()] == []


@pytest.mark.parametrize("generation", [OLD, NEW])
def test_no_canary_of_any_place_stands_in_an_archive(
    isolated_home: Path, export: Callable[..., ArchiveFile], generation: str
) -> None:
    """Every place in which OpenClaw keeps a secret, in every spelling and packing, in snapshots and in a delta."""
    state = plant(isolated_home / ".openclaw", generation)
    run("agents", "add", state.workspace)
    archives = [export(state.workspace, "whole.alf")]
    place = "config: provider key"
    state.config.write_text(state.config.read_text().replace(canaries.canary(place), canaries.rotated(place)))
    run("sync")
    archives += [export(state.workspace, "later.alf"), export(state.workspace, "later.alf-delta", "--since", "0")]
    scanner = Scanner.of(canaries.of(generation))
    assert [leak for archive in archives for leak in scanner.file(archive.path)] == []
    bodies = [(name, data) for archive in archives for name, data in archive.bodies.items()]
    assert [leak for name, data in bodies for leak in scanner.data(data, name)] == []


def _opened(archive: ArchiveFile, secret: bytes) -> set[str]:
    opened = set()
    for credential in archive.json("credentials.json")["credentials"]:
        opened.add(unseal_credential(credential, secret).decode(errors="replace"))
    return opened


def test_a_credential_opens_with_the_right_key(agent: Path, export: Callable[..., ArchiveFile]) -> None:
    archive = export(agent)
    keys = Context.open().keys()
    payloads = _opened(archive, keys.agent_secret(archive.manifest["agent"]["id"]))
    for secret in SECRETS:
        assert any(secret in payload for payload in payloads), "a secret was cut out and not sealed"


def test_a_credential_stays_shut_under_a_wrong_key(
    agent: Path, export: Callable[..., ArchiveFile], tmp_path: Path
) -> None:
    from lifeboat_keys.errors import KeysError

    archive = export(agent)
    other = HomeKeys(tmp_path / "other")
    other.ensure()
    agent_id = archive.manifest["agent"]["id"]
    other.agent_public(agent_id)
    wrong = other.agent_secret(agent_id)
    credentials = archive.json("credentials.json")["credentials"]
    assert len(credentials) >= len(SECRETS)
    for credential in credentials:
        with pytest.raises(KeysError):
            unseal_credential(credential, wrong)


def _spelled(secret: bytes) -> Iterator[bytes]:
    yield from (secret, secret.hex().encode(), base64.b64encode(secret), base64.urlsafe_b64encode(secret))


def test_nothing_that_can_leave_the_machine_holds_a_key(
    openclaw: StateFolder, isolated_home: Path, export: Callable[..., ArchiveFile]
) -> None:
    """What a service would get: snapshots, deltas, the vault. Neither the user's keys, nor the agent's, nor the
    device's, nor the words, also not after the key was replaced."""
    run("agents", "add", openclaw.workspace)
    former = Context.open().keys().user_key()
    run("keys", "rotate", "--compromised", "--words-to", isolated_home / "words", "--no-prove", "--yes")
    (openclaw.workspace / "SOUL.md").write_text("# Soul\n\nKeep what is told in confidence.\n")
    run("sync")
    archives = [export(openclaw.workspace, "whole.alf"), export(openclaw.workspace, "later.alf-delta", "--since", "0")]
    keys = Context.open().keys()
    agent_id = archives[0].manifest["agent"]["id"]
    users = (former, keys.user_key())
    secrets = [*(key.secret for key in users), keys.agent_secret(agent_id), keys.device.secret]
    needles = {spelling for secret in secrets for spelling in _spelled(secret)}
    needles |= {" ".join(key.words()).encode() for key in users}
    bodies = [data for archive in archives for data in (archive.path.read_bytes(), *archive.bodies.values())]
    bodies += [path.read_bytes() for path in _files(isolated_home / "lifeboat" / "vault")]
    assert [needle for needle in needles if any(needle in body for body in bodies)] == []
