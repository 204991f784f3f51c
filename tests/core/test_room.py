"""When room runs out: large files first, then their old versions, then history; notes and credentials never."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.seams.file_operations import StrPath, SystemFiles
from lifeboat_alf.snapshot import SnapshotReader, write_snapshot
from lifeboat_alf.states import merkle
from lifeboat_alf.states.agent_state import BodyAbsent
from lifeboat_cli.doctor import DoctorLevel
from lifeboat_cli.doctor import check_disk as disk
from lifeboat_core.agents import manage_agents
from lifeboat_core.health import status_gathering
from lifeboat_core.history import thin_history
from lifeboat_core.history.vault_quota import VaultQuota
from lifeboat_core.machine import clock_trust
from lifeboat_core.restore import RestoreOptions, plan_restore
from lifeboat_core.settings import config_file
from lifeboat_core.verify import samples_and_drills
from support.cli.cli_client import run
from support.core.protected import Protected

LARGE = "chart.bin"
GB = 1 << 30


class SmallDisk(SystemFiles):
    """A disk with as much room as is said."""

    free = 100 * GB

    def free_space(self, folder: StrPath) -> int:
        return self.free


@pytest.fixture
def disk_files() -> SmallDisk:
    return SmallDisk()


@pytest.fixture
def ada(tmp_path: Path, disk_files: SmallDisk) -> Protected:
    made = Protected(tmp_path, files=disk_files)
    made.add(name="ada")
    return made


def set_up(ada: Protected, name: str, value: str) -> None:
    config_file.write_config(ada.context.home, ada.context.files, name, value)


def grow(ada: Protected, count: int) -> None:
    """So many versions of a large file, two hours apart."""
    for _ in range(count):
        ada.clock.advance(hours=2)
        ada.write(LARGE, os.urandom(300_000))
        assert ada.capture().changed


def held(ada: Protected) -> list[int]:
    with ada.context.vault(ada.agent.id) as vault:
        rows = [
            row.number for row in vault.sequences() if vault.state(row.number).entry(archive_layout.ARTIFACTS + LARGE)
        ]
    return [number for number in rows if is_held(ada, number)]


def is_held(ada: Protected, number: int) -> bool:
    try:
        ada.body(archive_layout.ARTIFACTS + LARGE, number)
    except BodyAbsent:
        return False
    return True


# Versions of large files ------------------------------------------------------------------------------------------


def test_three_versions_of_a_large_file_keep_their_bytes(ada: Protected) -> None:
    grow(ada, 5)
    assert thin_history.apply_retention(ada.context, ada.agent) == []
    assert held(ada) == [3, 4, 5]


def test_how_many_is_a_setting(ada: Protected) -> None:
    set_up(ada, "artifacts.versions", "2")
    grow(ada, 5)
    thin_history.apply_retention(ada.context, ada.agent)
    assert held(ada) == [4, 5]


def test_a_restore_of_an_old_sequence_names_the_file_as_not_held(ada: Protected, tmp_path: Path) -> None:
    grow(ada, 5)
    thin_history.apply_retention(ada.context, ada.agent)
    with ada.context.vault(ada.agent.id) as vault:
        planned = plan_restore(ada.context, vault.state(1), tmp_path / "again", RestoreOptions())
    assert [one.filename for one in planned.contents.absent] == [LARGE]
    assert "SOUL.md" in planned.contents.workspace


def test_verifying_an_old_sequence_says_that_the_file_is_absent(ada: Protected) -> None:
    grow(ada, 5)
    thin_history.apply_retention(ada.context, ada.agent)
    old = samples_and_drills.drill_vault(ada.context, ada.agent, 1, whole=True)
    assert old.ok and old.absent == [LARGE]
    assert samples_and_drills.drill_vault(ada.context, ada.agent).absent == []


def test_the_last_verified_sequence_keeps_its_large_files(ada: Protected) -> None:
    grow(ada, 1)
    samples_and_drills.drill_vault(ada.context, ada.agent)
    grow(ada, 4)
    thin_history.apply_retention(ada.context, ada.agent)
    assert held(ada) == [1, 3, 4, 5]


# Room -------------------------------------------------------------------------------------------------------------


def test_shortage_says_which_limit_it_is() -> None:
    plenty = VaultQuota(used=GB, max_size=10 * GB, free=100 * GB, min_free=GB)
    assert plenty.shortage() is None and plenty.shortage(9 * GB) is None
    assert "vault.max_size" in (plenty.shortage(9 * GB + 1) or "")
    full = VaultQuota(used=11 * GB, max_size=10 * GB, free=100 * GB, min_free=GB)
    assert "the vault uses 11" in (full.shortage() or "")
    tight = VaultQuota(used=0, max_size=10 * GB, free=2 * GB, min_free=GB)
    assert tight.shortage(GB) is None and "vault.min_free" in (tight.shortage(GB + 1) or "")


def test_a_full_vault_takes_notes_and_credentials_but_no_large_file(ada: Protected) -> None:
    set_up(ada, "vault.max_size", "1KB")
    ada.write(LARGE, os.urandom(300_000))
    ada.write("small.csv", "a,b\n")
    ada.write(".env", "API_KEY=sk-test-0123456789abcdef0123\n")
    ada.write("MEMORY.md", "# Memory\n\n## Tea\n\nLikes black tea now.\n")
    report = ada.capture()
    assert report.changed and set(report.left_out) == {"artifacts/chart.bin"}
    assert "vault.max_size" in report.left_out["artifacts/chart.bin"] and report.no_room
    assert {"small.csv", ".env", "MEMORY.md"} <= ada.kept().keys() and LARGE not in ada.kept()
    assert ada.document("credentials.json")["credentials"]


def test_a_disk_with_little_room_takes_no_large_file(ada: Protected, disk_files: SmallDisk) -> None:
    ada.write(LARGE, os.urandom(300_000))
    disk_files.free = GB + 100_000
    assert "vault.min_free" in ada.capture().left_out["artifacts/chart.bin"]
    disk_files.free = 2 * GB
    assert ada.capture().changed and LARGE in ada.kept()


def test_the_version_that_is_held_stays_while_there_is_no_room(ada: Protected, disk_files: SmallDisk) -> None:
    grow(ada, 1)
    before = ada.body(archive_layout.ARTIFACTS + LARGE)
    disk_files.free = 0
    ada.clock.advance(hours=2)
    ada.write(LARGE, os.urandom(300_000))
    report = ada.capture()
    assert not report.changed and "artifacts/chart.bin" in report.left_out
    assert ada.body(archive_layout.ARTIFACTS + LARGE) == before


def test_room_is_not_looked_for_without_a_large_file(ada: Protected, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(folder: StrPath) -> int:
        raise AssertionError(folder)

    monkeypatch.setattr(ada.files, "free_space", never)
    ada.write("SOUL.md", "# Soul\n\nBe brave.\n")
    assert ada.capture().changed


def test_status_waits_and_says_why(ada: Protected, disk_files: SmallDisk) -> None:
    disk_files.free = 100
    (found,) = status_gathering.gather_status(ada.context).agents
    assert found.state == "waiting" and "vault.min_free" in found.reasons[0]
    disk_files.free = 100 * GB
    assert status_gathering.gather_status(ada.context).agents[0].state == "ok"


def test_status_also_says_that_one_file_alone_was_too_much(ada: Protected, disk_files: SmallDisk) -> None:
    disk_files.free = GB + 1000
    ada.write(LARGE, os.urandom(300_000))
    ada.capture()
    (found,) = status_gathering.gather_status(ada.context).agents
    assert found.state == "waiting" and found.no_room and found.to_json()["no_room"] == found.no_room


def with_history(ada: Protected, days: int) -> None:
    for day in range(days):
        for hour in range(4):
            ada.clock.advance(hours=6)
            ada.write("memory/counter.md", f"# Counter\n\n{day} {hour}\n")
            ada.capture()


def count(ada: Protected) -> int:
    with ada.context.vault(ada.agent.id) as vault:
        return len(vault.sequences())


def test_old_versions_of_large_files_go_before_history(ada: Protected) -> None:
    grow(ada, 3)
    with ada.context.vault(ada.agent.id) as vault:
        set_up(ada, "vault.max_size", str(vault.size() - 100_000))
    before = count(ada)
    said = thin_history.apply_retention(ada.context, ada.agent)
    assert held(ada) == [3] and count(ada) == before
    assert "large files are not captured" in said[0] and "2 older versions" in said[1] and len(said) == 2


def test_then_history_is_thinned_harder_a_tenth_at_a_time(ada: Protected) -> None:
    with_history(ada, 3)
    before = count(ada)
    assert thin_history.apply_retention(ada.context, ada.agent) == [] and count(ada) == before
    set_up(ada, "vault.max_size", "1KB")
    said = thin_history.apply_retention(ada.context, ada.agent)
    assert count(ada) == before - max(1, before // 10) and "old sequence earlier than the settings specify" in said[-1]
    with ada.context.vault(ada.agent.id) as vault:
        assert vault.verify(trusted=ada.context.keys().trusted).ok


def test_history_is_not_thinned_on_a_clock_that_is_not_trusted(ada: Protected) -> None:
    with_history(ada, 3)
    set_up(ada, "vault.max_size", "1KB")
    before = count(ada)
    ada.clock.jump(days=3650)
    assert not clock_trust.is_clock_trusted(ada.context)
    assert "clock of this machine may be wrong" in thin_history.apply_retention(ada.context, ada.agent)[-1]
    assert count(ada) == before


def test_a_user_who_keeps_less_than_that_goes_on_keeping_less() -> None:
    from lifeboat_vault.vault import Retention

    assert thin_history.shorten_retention(Retention(24, 7, 90)) == Retention(1, 1, 30)
    assert thin_history.shorten_retention(Retention(0, 0, 10)) == Retention(0, 0, 10)


def test_the_doctor_goes_by_the_same_settings(ada: Protected, disk_files: SmallDisk) -> None:
    assert {one.level for one in disk.check(ada.context)} == {DoctorLevel.OK}
    set_up(ada, "vault.min_free", "200GB")
    set_up(ada, "vault.max_size", "1KB")
    of_disk, of_vault = disk.check(ada.context)
    assert of_disk.level is DoctorLevel.ERROR and "vault.min_free" in of_disk.result
    assert of_vault.level is DoctorLevel.WARNING and of_vault.subject == "ada" and of_vault.fix


def test_sync_says_each_step(isolated_home: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "SOUL.md").write_text("# Soul\n\nBe kind.\n")
    run("agents", "add", workspace, "--runtime", "openclaw", "--name", "ada")
    run("config", "set", "vault.max_size", "1KB")
    (workspace / LARGE).write_bytes(os.urandom(300_000))
    (one,) = run("sync", expect=1)["agents"]
    assert "large files are not captured" in one["warnings"][0] and "artifacts/chart.bin" in one["left_out"]
    assert run("status")["agents"][0]["state"] == "waiting"


def test_the_least_free_space_is_for_all_agents(ada: Protected) -> None:
    from lifeboat_core.errors import BadSetting

    with pytest.raises(BadSetting):
        manage_agents.write_setting(ada.context, ada.agent, "vault.min_free", "2GB")


def test_an_archive_of_an_old_sequence_describes_what_is_not_held(ada: Protected, tmp_path: Path) -> None:
    grow(ada, 5)
    thin_history.apply_retention(ada.context, ada.agent)
    with ada.context.vault(ada.agent.id) as vault, (tmp_path / "old.alf").open("wb") as out:
        write_snapshot(vault.state(1), out)
        expected = vault.sequence(1).digest
    with SnapshotReader(tmp_path / "old.alf") as state:
        assert merkle.state_digest(state) == expected
        with pytest.raises(BodyAbsent):
            state.body(archive_layout.ARTIFACTS + LARGE)
