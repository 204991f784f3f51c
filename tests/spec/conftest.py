"""Agents for the tests of the format's own testing strategy (ALF §10)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lifeboat_adapters.secrets import credential_payload
from lifeboat_core.home.context import Context
from lifeboat_keys.signed.credential_sealing import unseal_credential
from support.adapters import openclaw_workspaces
from support.adapters.openclaw_workspaces import StateFolder
from support.adapters.zeroclaw_installs import Install, make_install, packed
from support.aged_files import age_files
from support.alf.archive_files import ArchiveFile
from support.cli.cli_client import run
from support.core.archive_travel import Export, ImportInto, exporting_into, importing_below


@pytest.fixture
def openclaw(isolated_home: Path) -> StateFolder:
    """An OpenClaw with two agents in the user's home; the main agent has notes, skills, artifacts and secrets."""
    made = openclaw_workspaces.make_state_dir(isolated_home / ".openclaw")
    age_files(made.folder)
    return made


@pytest.fixture
def agent(openclaw: StateFolder) -> Path:
    """The main agent's workspace, protected."""
    run("agents", "add", openclaw.workspace)
    return openclaw.workspace


Values = Callable[[ArchiveFile], dict[str, str]]


@pytest.fixture
def export(tmp_path: Path) -> Export:
    """`export(workspace, "name.alf", *options)`: the archive, written by the program and read by zipfile."""
    return exporting_into(tmp_path)


@pytest.fixture
def values(isolated_home: Path) -> Values:
    """`values(archive)`: what its credentials say to the key of this home, by id."""

    def opened(archive: ArchiveFile) -> dict[str, str]:
        secret = Context.open().keys().agent_secret(archive.manifest["agent"]["id"])
        listed = archive.json("credentials.json")["credentials"]
        return {each["id"]: credential_payload.decode_payload(unseal_credential(each, secret)).value for each in listed}

    return opened


@pytest.fixture
def import_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ImportInto:
    """`import_into("folder", archive)`: a workspace made from an archive on another machine of the same user.

    What runs afterwards runs on that machine too.
    """
    return importing_below(tmp_path, monkeypatch)


@pytest.fixture
def claw_with_vector(tmp_path: Path) -> Install:
    """Return a ZeroClaw whose one memory has a vector, of a model that its configuration and its database name."""
    made = make_install(tmp_path / "claw")
    config = made.home / "config.toml"
    settings = 'embedding_provider = "openai"\nembedding_model = "pip-embed-1"\nembedding_dimensions = 3\n'
    config.write_text(config.read_text().replace("[memory]\n", f"[memory]\n{settings}"))
    for name, value in (("provider", "openai"), ("model", "pip-embed-1"), ("dimensions", "3")):
        made.execute("INSERT INTO memory_meta VALUES (?, ?)", f"embedding_{name}", value)
    made.remember("buoy", "The buoy is red.", embedding=packed(0.5, -0.25, 1.0))
    return made
