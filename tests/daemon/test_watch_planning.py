"""What is watched of an agent follows from what its adapter captures."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import msgspec
import pytest

from lifeboat_adapters import exclusion_rules
from lifeboat_adapters.contract import Placement
from lifeboat_core.agents.agent import Agent
from lifeboat_core.home.context import Context
from lifeboat_daemon.watch import make_watch_plan
from lifeboat_daemon.watch.event_filter import EventFilter
from lifeboat_daemon.watch.watch_plan import PlannedFolder, WatchPlan
from support.core.protected import Protected
from support.core.zeroclaw_protected import ProtectedClaw


@pytest.fixture
def ada(tmp_path: Path) -> Protected:
    made = Protected(tmp_path, config="{}")
    made.add()
    return made


def planned(ada: Protected) -> WatchPlan:
    return make_watch_plan.plan_watching(ada.context, ada.agent)


def matters(plan: WatchPlan, path: Path) -> bool:
    """Return whether an event would be reported: some watch covers it, and it matters there."""
    return any(EventFilter(one).matters(str(path)) for one in plan.folders if _reaches(one, path))


def _reaches(one: PlannedFolder, path: Path) -> bool:
    return Path(one.folder) == path.parent or (one.recursive and Path(one.folder) in path.parents)


def test_the_workspace_comes_first_and_is_watched_whole(ada: Protected) -> None:
    first = planned(ada).folders[0]
    assert (first.folder, first.recursive, first.only) == (str(ada.workspace.resolve()), True, None)


def test_a_plan_survives_the_way_to_the_daemon(ada: Protected) -> None:
    plan = planned(ada)
    assert msgspec.json.decode(msgspec.json.encode(plan), type=WatchPlan) == plan


def test_equal_surroundings_give_an_equal_plan(ada: Protected) -> None:
    assert planned(ada) == planned(ada)


def test_what_the_adapter_leaves_out_and_what_the_user_does_not_matter(ada: Protected) -> None:
    for name in ("node_modules/x/index.js", "sub/.git/HEAD", "notes.db-wal", "drafts/a.md", "run.log", "kept/a.md"):
        ada.write(name, "x")
    ada.write(".lifeboatignore", "drafts/\n*.log\n")
    plan = planned(ada)
    assert {"node_modules/", "sub/.git/", "drafts/", "run.log", "notes.db-wal"} <= set(plan.folders[0].ignored)
    away = ("node_modules/y", "sub/.git/index", "drafts/b.md", "run.log", "new.sqlite-shm", "memory/.MEMORY.md.swp")
    assert [name for name in away if matters(plan, ada.workspace / name)] == []
    there = ("MEMORY.md", "kept/b.md", ".lifeboatignore", "new/deep/er/file.bin", "notes.db")
    assert [name for name in there if not matters(plan, ada.workspace / name)] == []


def test_an_unreadable_list_of_what_to_ignore_ignores_nothing(ada: Protected) -> None:
    (ada.workspace / ".lifeboatignore").mkdir()
    ada.write("a.log", "x")
    assert matters(planned(ada), ada.workspace / "a.log")


def test_of_the_runtimes_folder_only_what_is_captured_matters(ada: Protected) -> None:
    plan = planned(ada)
    there = (
        *("openclaw.json", ".env", "secrets.json", "skills/tea/SKILL.md", "credentials/telegram-pairing.json"),
        "agents/main/agent/auth-profiles.json",
    )
    assert [name for name in there if not matters(plan, ada.state_dir / name)] == []
    away = ("logs/today.log", "agents/main/sessions/1.jsonl", "agents/other/agent/auth-profiles.json", "update.json")
    assert [name for name in away if matters(plan, ada.state_dir / name)] == []
    assert not any(one.recursive for one in plan.folders if Path(one.folder) == ada.state_dir.resolve())


def test_a_channels_login_matters_when_it_is_new_and_not_each_time_it_is_written(ada: Protected) -> None:
    login = ada.state_dir / "credentials" / "whatsapp" / "default"
    login.mkdir(parents=True)
    (login / "creds.json").write_text("{}")
    plan = planned(ada)
    assert not matters(plan, login / "creds.json") and not matters(plan, login / "pre-key-17.json")
    assert matters(plan, login.parent / "second" / "creds.json")


def test_a_database_of_the_runtime_matters_with_the_log_that_commits_are_written_to(tmp_path: Path) -> None:
    claw = ProtectedClaw(tmp_path)
    claw.add()
    plan = make_watch_plan.plan_watching(claw.context, claw.agent)
    adapter = claw.context.adapter("zeroclaw")
    databases = adapter.databases.files(claw.context.installation(claw.agent))
    assert databases
    for path in databases:
        assert matters(plan, path) and matters(plan, Path(f"{path}-wal")) and not matters(plan, Path(f"{path}-shm"))


def test_a_database_that_is_kept_by_rows_matters_in_a_workspace_too(tmp_path: Path) -> None:
    claw = ProtectedClaw(tmp_path, "0.1.0")
    claw.add()
    plan = make_watch_plan.plan_watching(claw.context, claw.agent)
    workspace = claw.install.workspace("default")
    inside = [path for path in _databases(claw.context, claw.agent) if workspace in path.parents]
    assert inside and all(matters(plan, path) for path in inside)


def _databases(context: Context, agent: Agent) -> list[Path]:
    return context.adapter(agent.runtime).databases.files(context.installation(agent))


def test_while_the_runtime_cannot_be_found_it_is_watched_where_it_was(ada: Protected) -> None:
    ada.write_config("{ no json")
    assert matters(planned(ada), ada.state_dir / "openclaw.json")


def test_a_workspace_that_is_not_there_is_watched_for(ada: Protected) -> None:
    import shutil

    shutil.rmtree(ada.workspace)
    first = planned(ada).folders[0]
    assert Path(first.folder) == ada.workspace.resolve()


def test_a_workspace_behind_a_link_is_named_by_where_it_lies(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    ada = Protected(tmp_path / "link")
    ada.add()
    assert planned(ada).folders[0].folder == str(tmp_path.resolve() / "real" / "openclaw" / "workspace")


def test_a_large_workspace_is_not_walked_to_its_end(ada: Protected, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(make_watch_plan, "MOST_ENTRIES", 20)
    for number in range(30):
        ada.write(f"{number:02}/.git/HEAD", "x")
    ada.write("node_modules/x", "x")
    found = planned(ada).folders[0].ignored
    assert "node_modules/" in found and len(found) < 30


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every folder count as unchanged for long."""
    monkeypatch.setattr(make_watch_plan, "SETTLED_NS", -(10**18))


def _later(folder: Path) -> None:
    """Wait until a change in a folder gets another timestamp: clocks of file systems have a coarse resolution."""
    before, name = folder.stat().st_mtime_ns, folder / "tick"
    while folder.stat().st_mtime_ns == before:
        name.touch()
        name.unlink()


@pytest.mark.usefixtures("settled")
def test_names_are_looked_at_once_while_their_folder_stays(ada: Protected, monkeypatch: pytest.MonkeyPatch) -> None:
    ada.write("sub/node_modules/x", "x")
    first, asked = planned(ada), []
    real = make_watch_plan._FolderSurvey._is_left_out

    def ask(self: make_watch_plan._FolderSurvey, relative: str, *, is_folder: bool) -> bool:
        asked.append(relative)
        return real(self, relative, is_folder=is_folder)

    monkeypatch.setattr(make_watch_plan._FolderSurvey, "_is_left_out", ask)
    assert planned(ada) == first and "sub/node_modules/" in first.folders[0].ignored
    assert asked == []
    _later(ada.workspace / "sub")
    ada.write("sub/.git/HEAD", "x")
    assert {"sub/.git/", "sub/node_modules/"} <= set(planned(ada).folders[0].ignored)
    assert sorted(asked) == ["sub/.git", "sub/node_modules"]


@pytest.mark.usefixtures("settled")
def test_other_rules_are_asked_about_names_that_stay(ada: Protected) -> None:
    ada.write("sub/run.log", "x")
    assert "sub/run.log" not in planned(ada).folders[0].ignored
    ada.write(".lifeboatignore", "*.log\n")
    assert "sub/run.log" in planned(ada).folders[0].ignored


def test_a_folder_that_was_written_a_moment_ago_is_looked_at_again(
    ada: Protected, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(make_watch_plan, "SETTLED_NS", 10**18)
    ada.write("sub/a.md", "x")
    planned(ada)
    assert not any(str(ada.workspace / "sub") in str(key) for key in make_watch_plan._known)


@pytest.mark.parametrize("runtime", ["openclaw", "zeroclaw"])
def test_names_that_come_and_go_are_none_that_the_adapter_keeps(runtime: str, tmp_path: Path) -> None:
    made = Protected(tmp_path)
    adapter = made.context.adapter(runtime)
    for pattern in exclusion_rules.COMMON:
        sample = pattern.replace("[op]", "p").replace("*", "x")
        assert adapter.place(f"raw/{runtime}/memory/{sample}", is_folder=False) is Placement.EXCLUDED


def test_what_a_database_of_the_agents_own_does_matters(ada: Protected) -> None:
    with sqlite3.connect(ada.workspace / "notes.db") as connection:
        connection.execute("create table note (text)")
    connection.close()
    assert matters(planned(ada), ada.workspace / "notes.db")
