"""The JSON that scripts rely on, command by command, on a real workspace."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.adapters import openclaw_workspaces
from support.cli import cli_client

run = cli_client.run


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    openclaw_workspaces.make_workspace(folder)
    return folder


@pytest.fixture
def agent(workspace: Path) -> str:
    return str(run("agents", "add", workspace, "--name", "ada")["name"])


def test_agents_add_says_who_was_added(workspace: Path) -> None:
    document = run("agents", "add", workspace)
    assert {"id", "name", "runtime", "workspace"} <= set(document)
    assert document["runtime"] == "openclaw" and document["workspace"] == str(workspace)
    assert document["key_made"] is True and document["capture"]["sequence"] == 0


def test_a_second_add_of_the_same_folder_is_refused_by_a_guard(agent: str, workspace: Path) -> None:
    assert run("agents", "add", workspace, expect=3)["error"]["code"] == "already_protected"


def test_sync_counts_what_changed(agent: str, workspace: Path) -> None:
    (workspace / "MEMORY.md").write_text("# Fresh\n\n" + (workspace / "MEMORY.md").read_text())
    (one,) = run("sync")["agents"]
    assert {"id", "name", "state", "sequence", "changed", "records", "raw", "delta_bytes", "remotes"} <= set(one)
    assert one["changed"] is True and one["sequence"] == 1 and one["state"] == "ok"
    assert one["records"]["created"] == 1 and one["records"]["deleted"] == 0
    assert run("sync")["agents"][0]["changed"] is False


def test_sync_of_a_missing_workspace_is_an_error_and_captures_nothing(agent: str, workspace: Path) -> None:
    workspace.rename(workspace.with_name("away"))
    (one,) = run("sync", expect=1)["agents"]
    assert one["state"] == "error" and one["changed"] is False and one["sequence"] == 0
    assert run("status")["agents"][0]["state"] == "error"
    run("status", "--check", expect=1)


def test_status_has_verdict_agents_key_and_daemon(agent: str) -> None:
    document = run("status")
    (one,) = document["agents"]
    wanted = {
        "id",
        "name",
        "runtime",
        "workspace",
        "state",
        "sequence",
        "last_captured_at",
        "last_verified_at",
        "pending",
    }
    assert wanted <= set(one)
    assert {"state", "id"} <= set(document["key"]) and {"running", "pid", "version"} <= set(document["daemon"])
    assert "on this disk only" in document["verdict"]


def test_timeline_lists_kept_sequences_newest_first(agent: str, workspace: Path) -> None:
    (workspace / "SOUL.md").write_text("# Soul\n\nChanged.\n")
    run("sync")
    entries = run("timeline", agent)["entries"]
    assert [entry["sequence"] for entry in entries] == [1, 0]
    assert {"sequence", "created_at", "kind", "changes", "bytes"} <= set(entries[0])
    assert len(run("timeline", agent, "--limit", "1")["entries"]) == 1


def test_search_finds_where_a_fact_stands(agent: str) -> None:
    hits = run("search", agent, "Mira")["hits"]
    assert hits and {"id", "sequence", "snippet", "origin_file"} <= set(hits[0])
    assert run("search", agent, "nowhere-to-be-found")["hits"] == []


def test_records_are_shown_forgotten_and_brought_back(agent: str) -> None:
    record = run("search", agent, "Mira")["hits"][0]["id"]
    assert run("records", "show", agent, record)["records"][0]["id"] == record
    assert run("records", "forget", agent, record)["changed"] is True
    assert record not in [hit["id"] for hit in run("search", agent, "Mira")["hits"]]
    assert run("records", "restore", agent, record)["changed"] is True
    assert record in [hit["id"] for hit in run("search", agent, "Mira")["hits"]]


def test_restore_reports_files_records_and_credentials(agent: str, tmp_path: Path) -> None:
    document = run("restore", agent, "--to", tmp_path / "elsewhere")
    wanted = {"agent", "sequence", "to", "runtime", "files", "records", "credentials", "receipt", "warnings"}
    assert wanted <= set(document)
    assert {"created", "overwritten", "same", "removed"} <= set(document["files"])
    assert {"injected", "skipped"} <= set(document["credentials"]) and "restored" in document["records"]


def test_restore_over_files_without_consent_is_refused_and_writes_nothing(agent: str, workspace: Path) -> None:
    (workspace / "SOUL.md").write_text("mine\n")
    assert run("restore", agent, expect=3)["error"]["code"] == "consent_needed"
    assert (workspace / "SOUL.md").read_text() == "mine\n"
    assert run("restore", agent, "--dry-run")["files"]["overwritten"] == 1
    assert (workspace / "SOUL.md").read_text() == "mine\n"


def test_restore_and_undo_give_the_text_back(agent: str, workspace: Path) -> None:
    before = (workspace / "SOUL.md").read_text()
    (workspace / "SOUL.md").write_text("mine\n")
    run("restore", agent, "--yes", "--no-reindex")
    assert (workspace / "SOUL.md").read_text() == before
    run("undo", agent)
    assert (workspace / "SOUL.md").read_text() == "mine\n"


def test_verify_reports_files_and_mismatches(agent: str) -> None:
    document = run("verify", agent)
    assert document["mismatches"] == [] and document["sequence"] == 0 and document["files"] > 5
    assert run("status")["agents"][0]["last_verified_at"] is not None


def test_export_validate_apply_and_diff_work_on_files(agent: str, workspace: Path, tmp_path: Path) -> None:
    first, delta, second = tmp_path / "first.alf", tmp_path / "more.alf-delta", tmp_path / "second.alf"
    document = run("alf", "export", "openclaw", workspace, "-o", first)
    assert {"path", "agent", "records", "bytes", "artifacts"} <= set(document)
    assert {"included", "referenced"} <= set(document["artifacts"])
    (workspace / "memory" / "new.md").write_text("# New\n\nA fresh fact.\n")
    run("sync")
    run("alf", "export", "openclaw", workspace, "-o", delta, "--since", "0")
    run("alf", "apply", first, delta, "-o", second)
    valid = run("alf", "validate", second, "--strict")
    assert valid["ok"] is True and valid["errors"] == [] and valid["warnings"] == []
    changes = run("alf", "diff", first, second)
    assert [change["path"] for change in changes["entries"] if change["path"].endswith("new.md")]
    assert run("alf", "show", delta)["kind"] == "delta" and run("alf", "show", second)["sequence"] == 1


def test_an_existing_file_is_not_replaced_without_force(agent: str, workspace: Path, tmp_path: Path) -> None:
    target = tmp_path / "precious.alf"
    target.write_text("precious")
    assert run("alf", "export", "openclaw", workspace, "-o", target, expect=3)["error"]["code"] == "file_exists"
    assert target.read_text() == "precious"


def test_purge_of_a_file_prints_the_audit_record_and_keeps_a_valid_archive(
    agent: str, workspace: Path, tmp_path: Path
) -> None:
    archive, purged = tmp_path / "a.alf", tmp_path / "b.alf"
    run("alf", "export", "openclaw", workspace, "-o", archive)
    record = run("search", agent, "Mira")["hits"][0]["id"]
    dry = run("alf", "purge", archive, "--record", record, "--dry-run")
    assert not purged.exists() and dry["partitions_affected"]
    audit = run("alf", "purge", archive, "--record", record, "-o", purged)
    assert audit["scope"] == "record_purge" and record in audit["record_ids"]
    assert run("alf", "validate", purged)["ok"] is True


def test_an_import_elsewhere_goes_on_where_the_archive_ended(agent: str, workspace: Path, tmp_path: Path) -> None:
    archive, target = tmp_path / "a.alf", tmp_path / "moved" / "workspace"
    run("alf", "export", "openclaw", workspace, "-o", archive)
    run("agents", "remove", agent, "--yes")
    run("alf", "import", archive, "--to", target)
    assert (target / "SOUL.md").read_bytes() == (workspace / "SOUL.md").read_bytes()


def test_config_shows_value_source_and_effect_and_refuses_nonsense(agent: str) -> None:
    assert run("config", "get", "artifacts.threshold")["source"] == "default"
    assert run("config", "set", "artifacts.threshold", "10KB")["source"] == "config.toml"
    assert run("config", "set", "artifacts.threshold", "1KB", "--agent", agent)["source"] == "agent"
    assert run("config", "set", "artifacts.threshold", "much", expect=1)["error"]["code"]
    assert run("config", "get", "artifacts.threshold")["value"] == "10KB"
    assert all(one["effect"] for one in run("config", "list", agent)["settings"])


def test_doctor_lists_findings_with_fixes(agent: str) -> None:
    document = run("doctor")
    assert document["ok"] is True
    assert {"agents", "clock", "copies", "disk", "home", "key", "restores", "runtimes", "vaults"} <= {
        one["check"] for one in document["findings"]
    }


def test_agents_show_tells_what_is_kept_and_why_not(agent: str, workspace: Path) -> None:
    (workspace / "node_modules").mkdir()
    (workspace / "node_modules" / "big.js").write_text("x")
    files = {one["path"]: one for one in run("agents", "show", agent)["files"]}
    assert files["raw/openclaw/SOUL.md"]["kept"] is True
    left = [one for path, one in files.items() if "node_modules" in path]
    assert left and not left[0]["kept"] and left[0]["why"]


def test_pausing_rests_and_resuming_goes_on(agent: str, workspace: Path) -> None:
    run("agents", "pause", agent, "--hours", "2")
    (workspace / "SOUL.md").write_text("later\n")
    assert run("sync")["agents"] == []
    assert run("status")["agents"][0]["state"] == "paused"
    run("agents", "resume", agent)
    assert run("sync")["agents"][0]["changed"] is True
