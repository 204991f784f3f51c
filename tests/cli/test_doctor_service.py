"""The doctor on the service, versions and permissions."""

from __future__ import annotations

import os
import shutil
import sys
from importlib import metadata
from pathlib import Path

import pytest

from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_cli.doctor import check_permissions as permissions
from lifeboat_cli.doctor import check_service as service
from lifeboat_cli.doctor import check_versions as versions
from lifeboat_core.errors import ServiceError
from lifeboat_core.home.context import Context
from lifeboat_core.processes.installed_release import read_release
from lifeboat_daemon import units
from lifeboat_daemon.service import daemon_lifecycle
from lifeboat_daemon.service.daemon_lifecycle import DaemonState
from lifeboat_daemon.units import systemd
from support.daemon.fake_systemctl import FakeSystemctl


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSystemctl:
    made = FakeSystemctl(tmp_path / "bin")
    monkeypatch.setenv("PATH", made.path)
    monkeypatch.setattr(systemd, "_PACKAGED", ())
    monkeypatch.setattr(systemd, "_LINGER", tmp_path / "nowhere" / "linger")
    return made


@pytest.fixture
def context(fake: FakeSystemctl) -> Context:
    return Context.open()


def found(context: Context, module: object = service) -> list[tuple[str, DoctorLevel, str | None]]:
    return [(each.subject, each.level, each.fix) for each in module.check(context)]  # type: ignore[attr-defined]


def standing(monkeypatch: pytest.MonkeyPatch, value: DaemonState) -> None:
    monkeypatch.setattr(daemon_lifecycle, "inspect_daemon", lambda context: value)


# The service ----------------------------------------------------------------------------------------------------


def test_a_service_that_is_not_installed_is_advised(context: Context) -> None:
    assert found(context) == [
        ("daemon", DoctorLevel.OK, "lifeboat daemon start"),
        ("service", DoctorLevel.WARNING, "lifeboat service install"),
    ]


def test_where_there_is_no_service_manager_none_is_advised(context: Context, fake: FakeSystemctl) -> None:
    fake.be("absent")
    assert found(context)[1] == ("service", DoctorLevel.OK, None)


def test_an_installed_service_is_fine(context: Context) -> None:
    units.find_manager(context).install(start=True)
    assert found(context)[1] == ("service (systemd)", DoctorLevel.OK, None)


@pytest.mark.parametrize(
    ("old", "new", "level"),
    [(sys.executable, "/gone/python", DoctorLevel.ERROR), ("WatchdogSec=180", "WatchdogSec=1", DoctorLevel.WARNING)],
)
def test_a_unit_that_starts_what_is_gone_or_is_out_of_date_is_found(
    context: Context, old: str, new: str, level: DoctorLevel
) -> None:
    units.find_manager(context).install(start=True)
    path = units.find_manager(context).path
    path.write_text(path.read_text().replace(old, new))
    assert found(context)[1] == ("service (systemd)", level, "lifeboat service install")


def test_a_service_that_is_not_enabled_or_does_not_run_is_found(context: Context, fake: FakeSystemctl) -> None:
    units.find_manager(context).install(start=True)
    (fake.folder / "active").unlink()
    assert found(context)[1] == ("service (systemd)", DoctorLevel.WARNING, "lifeboat daemon start")
    (fake.folder / "enabled").unlink()
    assert found(context)[1] == ("service (systemd)", DoctorLevel.WARNING, "lifeboat service install")


def test_the_service_of_another_home_is_found(
    context: Context, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    units.find_manager(context).install(start=True)
    monkeypatch.setenv("LIFEBOAT_HOME", str(tmp_path / "other"))
    fix = "lifeboat service uninstall --force"
    assert found(Context.open())[1] == ("service (systemd)", DoctorLevel.WARNING, fix)


def test_a_daemon_that_runs_and_one_that_does_not_answer_are_told_apart(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    standing(monkeypatch, DaemonState(True, 4242, read_release(), "2026-11-22T09:00:00Z", 60))
    assert found(context)[0] == ("daemon", DoctorLevel.OK, None)
    standing(monkeypatch, DaemonState(True, 4242, problem=ServiceError.DOES_NOT_ANSWER("no answer")))
    assert found(context)[0] == ("daemon", DoctorLevel.ERROR, "lifeboat daemon restart")


def test_a_passphrase_that_a_service_cannot_know_is_found(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    units.find_manager(context).install(start=True)
    monkeypatch.setenv("LIFEBOAT_PASSPHRASE", "of the harbour")
    *_, last = service.check(Context.open())
    assert last.level is DoctorLevel.WARNING and "of the harbour" not in f"{last.result}{last.fix}"


# Versions -------------------------------------------------------------------------------------------------------


def test_what_is_installed_is_what_this_release_is_made_for(context: Context) -> None:
    assert {level for _, level, _ in found(context, versions)} == {DoctorLevel.OK}
    assert len(dict(versions.read_required_libraries())) > 15 and dict(versions.read_required_libraries())["watchdog"]


def test_a_daemon_of_another_release_is_found(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    standing(monkeypatch, DaemonState(True, 4242, "0.0.1"))
    assert found(context, versions)[0] == ("Lifeboat", DoctorLevel.WARNING, "lifeboat daemon restart")


def test_a_library_that_is_missing_or_too_new_is_named(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name == "pynacl":
            raise metadata.PackageNotFoundError(name)
        return "99.0" if name == "watchdog" else metadata.version(name)

    monkeypatch.setattr(versions, "version", version)
    wrong = {subject: level for subject, level, _ in found(context, versions) if level is not DoctorLevel.OK}
    assert wrong == {"pynacl": DoctorLevel.ERROR, "watchdog": DoctorLevel.WARNING}


@pytest.mark.parametrize(
    ("version", "wanted", "fits"),
    [
        ("7.1.0", ">=7.1,<8", True),
        ("7.1", "<8,>=7.1.0", True),
        ("8.0", ">=7.1,<8", False),
        ("7.0.9", ">=7.1", False),
        ("7.10", ">=7.9", True),
        ("1.0rc1", ">=1.0", True),
        ("3", "", True),
        ("odd", ">=odd", True),
    ],
)
def test_a_version_is_held_against_a_range(version: str, wanted: str, fits: bool) -> None:
    assert versions.is_version_in_range(version, wanted) is fits


# Permissions ----------------------------------------------------------------------------------------------------

posix = pytest.mark.skipif(os.name != "posix", reason="rights are POSIX")


def worst(context: Context) -> list[DoctorFinding]:
    return [each for each in permissions.check(context) if each.level is not DoctorLevel.OK]


@posix
def test_a_new_home_is_its_owners_alone(context: Context) -> None:
    assert worst(context) == [] and len(list(permissions.check(context))) == 1


@posix
def test_folders_and_private_files_that_others_can_use_are_named_with_the_command(context: Context) -> None:
    home = context.home
    for path in (home.keys_folder / "device.key", home.logs_folder / "daemon.log", home.folder / "private.toml"):
        path.write_text("")
        path.chmod(0o644)
    home.state_folder.chmod(0o755)
    assert {each.fix for each in worst(context)} == {
        f"chmod 600 {home.keys_folder / 'device.key'}",
        f"chmod 600 {home.logs_folder / 'daemon.log'}",
        f"chmod 600 {home.folder / 'private.toml'}",
        f"chmod 700 {home.state_folder}",
    }


@posix
def test_what_a_person_writes_with_an_editor_is_no_finding(context: Context) -> None:
    context.home.config_file.write_text("")
    context.home.config_file.chmod(0o644)
    assert worst(context) == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_files_of_another_user_are_counted(context: Context) -> None:
    path = context.home.state_folder / "by-sudo"
    path.write_text("")
    os.chown(path, 1, 1)
    (finding,) = worst(context)
    assert finding.fix == f"sudo chown -R 0 {context.home.folder}" and "1 file" in finding.result


@posix
def test_a_socket_that_others_can_open_is_found(context: Context, tmp_path: Path) -> None:
    path = context.home.run_folder / "control.sock"
    path.write_text("")
    path.chmod(0o666)
    assert "lifeboat daemon restart" in {each.fix for each in worst(context)}
    shutil.rmtree(context.home.run_folder)
    assert worst(context) == []
