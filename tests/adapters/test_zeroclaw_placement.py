from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from lifeboat_adapters.contract import Placement
from lifeboat_adapters.zeroclaw import ADAPTER, zeroclaw_placement
from support.adapters.zeroclaw_installs import make_install
from support.core.zeroclaw_protected import ProtectedClaw

RAW, HOME = "raw/zeroclaw/", "raw/zeroclaw-home/"


@pytest.mark.parametrize(
    "path",
    [
        *("SOUL.md", "MEMORY.md", "MEMORY_SNAPSHOT.md", ".env", "memory/2026-02-10.md", "memory/archive/2026-01-01.md"),
        *("skills/tide/SKILL.md", "skills/tide/run.sh", "sops/launch/SOP.toml"),
    ],
)
def test_what_the_runtime_reads_and_writes_is_its_state(path: str) -> None:
    assert zeroclaw_placement.place_zeroclaw_path(RAW + path, is_folder=False) is Placement.MANAGED


@pytest.mark.parametrize(
    "path",
    [
        *("data/soundings.csv", "reports/a.md", "skills/tide/chart.png", "facts.db", "memory/talk.wav", "Cargo.lock"),
        *("state/plan.json", "sessions/notes.md", "backups/mine.zip", "cron/README", "config.toml", "data/brain.db"),
    ],
)
def test_everything_else_is_an_artifact(path: str) -> None:
    assert zeroclaw_placement.place_zeroclaw_path(RAW + path, is_folder=False) is Placement.ARTIFACT
    assert zeroclaw_placement.place_zeroclaw_path("artifacts/" + path, is_folder=False) is Placement.ARTIFACT


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("memory/brain.db", "captured row by row"),
        ("memory/brain.db-wal", "captured row by row"),
        ("memory/brain.db.backup-20260520", "captured row by row"),
        ("memory/audit.db", "log file, which belongs to this machine only"),
        ("memory/response_cache.db", "cache"),
        ("sessions/sessions.db", "transcript"),
        ("sessions/tg_1.jsonl", "transcript"),
        ("sessions/tg_1.jsonl.migrated", "transcript"),
        ("cron/jobs.db", "captured row by row"),
        ("knowledge.db", "captured row by row"),
        ("devices.db", "log file, which belongs to this machine only"),
        ("state/costs.jsonl", "log file, which belongs to this machine only"),
        ("state/models_cache.json", "cache"),
        (".secret_key", "key of this machine"),
        (".git/HEAD", "version control"),
        ("facts.db-wal", "journal file"),
        ("daemon.sock", "socket"),
    ],
)
def test_what_is_left_out_of_a_workspace_says_why(path: str, said: str) -> None:
    assert zeroclaw_placement.place_zeroclaw_path(RAW + path, is_folder=False) is Placement.EXCLUDED
    assert said in (zeroclaw_placement.zeroclaw_exclusion_reason(RAW + path, is_folder=False) or "")


@pytest.mark.parametrize("path", ["memory/migrations", "delegate_results", "backups/backup-20260301", "node_modules"])
def test_folders_of_what_happened_here_are_not_entered(path: str) -> None:
    assert zeroclaw_placement.place_zeroclaw_path(RAW + path, is_folder=True) is Placement.EXCLUDED


@pytest.mark.parametrize(
    "path",
    [
        *("config.toml", "auth-profiles.json", "otp-secret", "webauthn_credentials.json", ".env"),
        *("shared/skills/a/b/SKILL.md", "playbooks/launch.md", "db/brain/agents.jsonl", "db/cron/cron_jobs.jsonl"),
    ],
)
def test_what_is_taken_from_the_home_is_state(path: str) -> None:
    assert zeroclaw_placement.place_zeroclaw_path(HOME + path, is_folder=False) is Placement.MANAGED


@pytest.mark.parametrize(
    "path",
    [
        *(".secret_key", "auth-profiles.lock", "auth-openai-pending.json", "estop-state.json", "config.toml.backup"),
        *("active_workspace.toml", "data/memory/brain.db", "data/MEMORY_SNAPSHOT.md", "agents/rover/workspace/SOUL.md"),
        *("logs/a.log", "plugins/a.wasm", "backup-1/legacy-workspace/SOUL.md", "shared/skills/.git/HEAD"),
    ],
)
def test_nothing_else_is_taken_from_the_home(path: str) -> None:
    assert zeroclaw_placement.place_zeroclaw_path(HOME + path, is_folder=False) is Placement.EXCLUDED


@pytest.mark.parametrize("folder", ["data", "agents", "logs", "plugins", "backup-1", "workspace"])
def test_folders_of_the_home_in_which_nothing_is_wanted_are_not_entered(folder: str) -> None:
    assert zeroclaw_placement.place_zeroclaw_path(HOME + folder, is_folder=True) is Placement.EXCLUDED


@pytest.mark.parametrize("folder", ["shared", "shared/skills", "shared/skills/a/b", "playbooks", "db"])
def test_folders_in_which_something_may_be_wanted_are_entered(folder: str) -> None:
    assert zeroclaw_placement.place_zeroclaw_path(HOME + folder, is_folder=True) is not Placement.EXCLUDED


@pytest.mark.parametrize("generation", ["0.5.9", "0.8.3"])
def test_every_file_that_a_home_is_asked_for_is_kept(tmp_path: Path, generation: str) -> None:
    made = make_install(tmp_path / ".zeroclaw", generation)
    _, home = ADAPTER.roots(ADAPTER.locate(made.workspace(), {}, tmp_path))
    assert home.only is not None and "config.toml" in home.only
    for pattern in home.only:
        path = HOME + pattern.replace("**", "a/SKILL.md")
        assert zeroclaw_placement.zeroclaw_exclusion_reason(path, is_folder=False) is None
        assert not fnmatchcase(".secret_key", pattern)


def test_a_lone_workspace_has_one_root(tmp_path: Path) -> None:
    (tmp_path / "SOUL.md").write_text("# Soul\n")
    (root,) = ADAPTER.roots(ADAPTER.locate(tmp_path, {}, tmp_path / "nobody"))
    assert (root.prefix, root.folder) == (RAW, tmp_path)


@pytest.mark.parametrize("generation", ["0.1.5", "0.8.3"])
def test_no_database_and_no_key_of_the_machine_is_in_an_archive(tmp_path: Path, generation: str) -> None:
    ada = ProtectedClaw(tmp_path, generation)
    ada.install.remember("a", "b")
    ada.install.workspace().joinpath("chart.csv").write_text("1,2\n")
    ada.add()
    with ada.context.vault(ada.agent.id) as vault:
        kept = [entry.path for entry in vault.state().entries("raw/")]
        kept += [entry.path for entry in vault.state().entries("artifacts/")]
    assert {"raw/zeroclaw/SOUL.md", "raw/zeroclaw-home/config.toml", "artifacts/chart.csv"} <= set(kept)
    assert not [path for path in kept if ".db" in path or "secret_key" in path]
