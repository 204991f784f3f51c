"""ALF §10.4.5 where keys come into play: the first credential after the base snapshot, and a rotation in between.

`lifeboat/keys.json` holds the agent's key pairs, and a delta carries it whole: what a delta makes of a snapshot has the
pairs of a full snapshot at the new sequence.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from lifeboat_core.home.context import Context
from support.alf.archive_files import ArchiveFile
from support.cli.cli_client import run

KEYS = "lifeboat/keys.json"
EARLY_VALUE = "fake-tide-key-0123456789abcdef"
LATE_VALUE = "fake-tide-key-fedcba9876543210"
ROTATIONS = {"first credential": None, "rotated": (), "rotated after a theft": ("--compromised",)}
"""What happens between the base snapshot and the delta, with the options of `keys rotate`."""


class KeyStory(NamedTuple):
    """An agent whose credential got `LATE_VALUE` after the base snapshot. `words` are the user's at the end."""

    applied: ArchiveFile
    full: ArchiveFile
    keys_folder: Path
    words: Path


def _put_value(workspace: Path, value: str) -> None:
    (workspace / ".env").write_text(f"TIDE_API_KEY={value}\n")
    (workspace / ".env").chmod(0o600)


@pytest.fixture(params=ROTATIONS)
def key_story(
    request: pytest.FixtureRequest, isolated_home: Path, tmp_path: Path, export: Callable[..., ArchiveFile]
) -> KeyStory:
    workspace = isolated_home / ".openclaw/workspace"
    workspace.mkdir(parents=True)
    (workspace / "SOUL.md").write_text("# Soul\n\nCalm.\n")
    (workspace / "USER.md").write_text("# User\n\nMira.\n")
    words, rotation = tmp_path / "words", ROTATIONS[request.param]
    run("keys", "init", "--words-to", words, "--no-prove")
    if rotation is not None:
        _put_value(workspace, EARLY_VALUE)
    run("agents", "add", workspace)
    base = export(workspace, "base.alf")
    assert (KEYS in base.bodies) == (rotation is not None)
    if rotation is not None:
        words.unlink()
        run("keys", "rotate", *rotation, "--words-to", words, "--no-prove", "--yes")
    _put_value(workspace, LATE_VALUE)
    run("sync")
    delta = export(workspace, "late.alf-delta", "--since", "0")
    run("alf", "apply", base.path, delta.path, "-o", tmp_path / "applied.alf")
    keys_folder = Context.open().home.keys_folder
    return KeyStory(ArchiveFile(tmp_path / "applied.alf"), export(workspace, "full.alf"), keys_folder, words)


def _import_on_new_machine(archive: ArchiveFile, machine: Path, monkeypatch: pytest.MonkeyPatch, words: Path) -> Path:
    """Import with credentials on a machine that has nothing but the user's words; the workspace."""
    monkeypatch.setenv("LIFEBOAT_HOME", str(machine / "lifeboat"))
    run("keys", "recover", "--words-from", words, "--store", "file")
    workspace = machine / "workspace"
    run("alf", "import", archive.path, "--runtime", "openclaw", "--to", workspace, "--with-credentials")
    return workspace


def test_the_result_equals_a_full_snapshot(key_story: KeyStory) -> None:
    applied, full = key_story.applied.bodies, key_story.full.bodies
    assert {name for name in applied.keys() | full.keys() if applied.get(name) != full.get(name)} == set()
    assert {KEYS, "credentials.json", "raw/openclaw/.env"} <= applied.keys()


def test_the_credential_is_back_on_a_machine_that_has_the_agents_keys(
    key_story: KeyStory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIFEBOAT_HOME", str(tmp_path / "second/lifeboat"))
    shutil.copytree(key_story.keys_folder, Context.open().home.keys_folder, dirs_exist_ok=True)
    workspace = tmp_path / "second/workspace"
    run("alf", "import", key_story.applied.path, "--runtime", "openclaw", "--to", workspace, "--with-credentials")
    assert LATE_VALUE in (workspace / ".env").read_text()


def test_a_full_snapshot_and_the_words_bring_the_credential_back(
    key_story: KeyStory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = _import_on_new_machine(key_story.full, tmp_path / "new", monkeypatch, key_story.words)
    assert LATE_VALUE in (workspace / ".env").read_text()


def test_a_base_its_deltas_and_the_words_bring_the_credential_back(
    key_story: KeyStory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = _import_on_new_machine(key_story.applied, tmp_path / "new", monkeypatch, key_story.words)
    assert LATE_VALUE in (workspace / ".env").read_text()
