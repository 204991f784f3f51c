from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_adapters.contract import Placement
from lifeboat_adapters.openclaw import openclaw_placement
from support.adapters import openclaw_workspaces as workspaces

RAW = "raw/openclaw/"
HOME = "raw/openclaw-home/"


@pytest.mark.parametrize(
    "path",
    [
        "SOUL.md",
        "shared_docs.md",
        ".env",
        "memory/a/b.md",
        "memory/state.json",
        "skills/x/run.sh",
        "skills/x/LICENSE",
        "hooks/a.ts",
    ],
)
def test_what_the_runtime_reads_and_writes_is_its_state(path: str) -> None:
    assert openclaw_placement.place_openclaw_path(RAW + path, is_folder=False) is Placement.MANAGED


@pytest.mark.parametrize(
    "path",
    [
        "data/soundings.csv",
        "reports/a.md",
        "memory/talk.wav",
        "avatars/a.png",
        "facts.db",
        "facts.db-backup",
        "notes.lock",
        "my-journal",
    ],
)
def test_everything_else_is_an_artifact(path: str) -> None:
    assert openclaw_placement.place_openclaw_path(RAW + path, is_folder=False) is Placement.ARTIFACT
    assert openclaw_placement.place_openclaw_path("artifacts/" + path, is_folder=False) is Placement.ARTIFACT


@pytest.mark.parametrize(
    "path",
    [
        ".DS_Store",
        "a/.DS_Store",
        ".git/HEAD",
        "a/node_modules/b.js",
        "__pycache__/a.pyc",
        ".openclaw/workspace-state.json",
        "facts.db-wal",
        "facts.sqlite3-journal",
        ".openclaw/secrets.json",
        "a/facts.sqlite-shm",
        "memory/main.sqlite",
        "openclaw-agent.sqlite.memory-reindex-1f-wal",
        "agents/main/agent/auth-profiles.json.migrated-1",
        ".ws.lifeboat-undo-1/SOUL.md",
    ],
)
def test_what_can_be_made_again_is_left_out_with_a_reason(path: str) -> None:
    assert openclaw_placement.place_openclaw_path(RAW + path, is_folder=False) is Placement.EXCLUDED
    assert openclaw_placement.openclaw_exclusion_reason(RAW + path, is_folder=False)


@pytest.mark.parametrize("path", [".git", ".openclaw/agents", "a/node_modules", "__pycache__", "a/.venv"])
def test_folders_of_packages_caches_and_version_control_are_not_entered(path: str) -> None:
    assert openclaw_placement.place_openclaw_path(RAW + path, is_folder=True) is Placement.EXCLUDED


def test_folders_of_state_and_artifacts_are_entered() -> None:
    for path in ("memory", "memory/deep", "data", "skills/x", "memory.sqlite"):
        assert openclaw_placement.place_openclaw_path(RAW + path, is_folder=True) is not Placement.EXCLUDED


@pytest.mark.parametrize(
    "path",
    [
        "openclaw.json",
        "parts/agents.json5",
        ".env",
        "secrets.json",
        "credentials/whatsapp/default/creds.json",
        "credentials/telegram-allowFrom.json",
        "agents/main/agent/auth-profiles.json",
        "skills/a/SKILL.md",
        "hooks/tide/HOOK.md",
        "extensions/harbour/index.js",
        "wiki/main/entities/mira.md",
        "media/inbound/chart.png",
        "memory/lancedb/memories.lance/_versions/1.manifest",
        "settings/tts.json",
        "db/state/cron_jobs.jsonl",
        "db/auth/profiles.jsonl",
    ],
)
def test_of_the_state_folder_configuration_credentials_and_managed_skills_are_kept(path: str) -> None:
    assert openclaw_placement.place_openclaw_path(HOME + path, is_folder=False) is Placement.MANAGED


@pytest.mark.parametrize(
    "path",
    [
        "state/openclaw.sqlite",
        "identity/device.json",
        "devices/paired.json",
        "openclaw.json.bak.2",
        "agents/main/agent/models.json",
        "agents/main/agent/auth-profiles.json.migrated-1",
        "agents/main/auth-profiles.json",
        "agents/main/agent/deep/agent/auth-profiles.json",
        "workspace-rover/settings.json",
        "skills/a/node_modules/b",
        "extensions/harbour/node_modules/b.js",
        "hooks/lifeboat/handler.js",
        "media/playback-transcode/a.ogg",
        "memory/main.sqlite",
        "parts/.hidden.json",
    ],
)
def test_the_rest_of_the_state_folder_is_left_out(path: str) -> None:
    assert openclaw_placement.place_openclaw_path(HOME + path, is_folder=False) is Placement.EXCLUDED


@pytest.mark.parametrize(
    "folder",
    [
        "skills",
        "wiki/main",
        "media",
        "media/inbound",
        "memory",
        "memory/lancedb/a",
        "hooks",
        "credentials/whatsapp/default",
        "agents",
        "agents/main/agent",
        "parts",
    ],
)
def test_folders_of_the_state_folder_that_hold_something_kept_are_entered(folder: str) -> None:
    assert openclaw_placement.place_openclaw_path(HOME + folder, is_folder=True) is Placement.MANAGED


@pytest.mark.parametrize(
    "folder",
    [
        "state",
        "media/playback-transcode",
        "hooks/lifeboat",
        "memory/other",
        "identity",
        "workspace-rover",
        "agents/main/sessions",
        "agents/a/agent/b",
    ],
)
def test_other_folders_of_the_state_folder_are_not_entered(folder: str) -> None:
    assert openclaw_placement.place_openclaw_path(HOME + folder, is_folder=True) is Placement.EXCLUDED


@pytest.mark.parametrize(
    "name", ["session-49.0.json", "pre-key-7.json", "sender-key-a.json", "app-state-sync-key-b.json", "keys.sqlite"]
)
def test_what_a_channel_changes_with_every_message_is_left_out_with_its_reason(name: str) -> None:
    reason = openclaw_placement.openclaw_exclusion_reason(f"{HOME}credentials/whatsapp/default/{name}", is_folder=False)
    assert reason == "connection state of a channel; a restored copy would not work"


def test_nothing_of_the_invented_workspace_is_left_out_but_what_should_be(tmp_path: Path) -> None:
    folder = workspaces.make_workspace(tmp_path / "ws", layout=workspaces.OLD)
    left_out = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file()
        and openclaw_placement.openclaw_exclusion_reason(RAW + path.relative_to(folder).as_posix(), is_folder=False)
    }
    assert left_out == {
        ".DS_Store",
        ".git/HEAD",
        "tools/__pycache__/tiles.cpython-312.pyc",
        "web/node_modules/left/index.js",
        "memory/index.sqlite",
        ".openclaw/workspace-state.json",
    }
