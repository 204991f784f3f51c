"""ALF §8.3: what keeps an archive shut on storage that nobody trusts."""

from __future__ import annotations

from pathlib import Path

import pyrage
from cli_client import run

from lifeboat_daemon.context import Context
from lifeboat_keys import age


def test_a_whole_archive_is_encrypted_on_demand_and_opens_for_its_user_alone(agent: Path, tmp_path: Path) -> None:
    """With this program, and with any other that reads the age format, given the user's key."""
    soul = (agent / "SOUL.md").read_text()
    sealed, copy = tmp_path / "whole.alf.age", tmp_path / "copy"
    run("alf", "export", "openclaw", agent, "--encrypt", "-o", sealed)
    data = sealed.read_bytes()
    assert data.startswith(b"age-encryption.org/v1\n")
    assert b"PK\x03\x04" not in data and b"SOUL.md" not in data
    identity = pyrage.x25519.Identity.from_str(age.identity(Context.open().keys().user_key()))
    assert pyrage.decrypt(data, [identity]).startswith(b"PK\x03\x04")
    run("alf", "import", sealed, "--to", copy)
    assert (copy / "SOUL.md").read_text() == soul
