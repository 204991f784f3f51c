"""The service for systemd, launchd and the task scheduler."""

from __future__ import annotations

import plistlib
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

import pytest

from lifeboat_core.errors import ServiceError
from lifeboat_core.home.context import Context
from lifeboat_daemon import units
from lifeboat_daemon.units import launchd, service_unit, systemd, task_scheduler
from lifeboat_daemon.units.service_unit import UnitProgram
from lifeboat_daemon.units.systemd import Systemd
from support.alf.raising import raises_code
from support.daemon.fake_systemctl import FakeSystemctl
from support.patience import patience

USUAL = UnitProgram(("/opt/lifeboat/bin/python", "-P", "-m", "lifeboat_daemon.service", "--wait"), {})
ODD = {"LIFEBOAT_HOME": '/srv/ada/my boat/%h $HOME "x" \\n', "PATH": "/usr/bin:/bin"}


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSystemctl:
    monkeypatch.setattr(systemd, "_PACKAGED", ())
    return FakeSystemctl(tmp_path / "bin")


def context_of(fake: FakeSystemctl, tmp_path: Path, **more: str) -> Context:
    around = {"HOME": str(tmp_path), "PATH": fake.path, "LIFEBOAT_HOME": str(tmp_path / "boat"), **more}
    return Context.open(around)


@pytest.fixture
def context(fake: FakeSystemctl, tmp_path: Path) -> Context:
    return context_of(fake, tmp_path)


# systemd --------------------------------------------------------------------------------------------------------


def settings_of(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        name, sign, value = line.partition("=")
        if sign and not line.startswith("#"):
            found.setdefault(name, []).append(value)
    return found


def test_the_unit_is_watched_restarted_and_held_within_limits() -> None:
    found = settings_of(systemd.render_unit(USUAL))
    wanted = {
        "Type": "notify",
        "WatchdogSec": "180",
        "Restart": "on-failure",
        "RestartPreventExitStatus": "2 3",
        "StartLimitIntervalSec": "0",
        "MemoryMax": "512M",
        "LimitCORE": "0",
        "NoNewPrivileges": "yes",
        "UMask": "0077",
        "WantedBy": "default.target",
        "ExecStart": "/opt/lifeboat/bin/python -P -m lifeboat_daemon.service --wait",
    }
    assert {name: found[name] for name in wanted} == {name: [value] for name, value in wanted.items()}


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
@pytest.mark.parametrize("variables", [{}, ODD])
def test_systemd_itself_finds_nothing_wrong_with_it(tmp_path: Path, variables: Mapping[str, str]) -> None:
    run_folder = tmp_path / "run"
    run_folder.mkdir(mode=0o700)
    path = tmp_path / "lifeboat.service"
    path.write_text(systemd.render_unit(UnitProgram((sys.executable, *USUAL.command[1:]), variables)))
    around = {"XDG_RUNTIME_DIR": str(run_folder), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    command = ["systemd-analyze", "verify", "--user", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, env=around, timeout=patience(), check=False)
    if "initialize manager" in done.stderr:
        pytest.skip(f"systemd-analyze does not work here: {done.stderr.strip()}")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("value", [*ODD.values(), "", "%%", "a\\", "ä ö"])
def test_what_is_written_into_a_unit_is_read_back_from_it(value: str) -> None:
    program = UnitProgram((f"/opt/{value}/python", "-P", value), {"LIFEBOAT_HOME": value})
    assert systemd._program_of(systemd.render_unit(program)) == program


def test_a_value_that_would_begin_a_line_of_its_own_is_refused() -> None:
    with raises_code(ServiceError.UNIT):
        systemd.render_unit(UnitProgram(("/bin/true",), {"LIFEBOAT_HOME": "/x\nExecStartPre=/bin/evil"}))


def test_it_is_written_enabled_and_started_once(context: Context, fake: FakeSystemctl) -> None:
    done = units.find_manager(context).install(start=True)
    assert fake.asked() == ["daemon-reload", "enable lifeboat.service", "start lifeboat.service"]
    path = Systemd(context).path
    assert str(path) in done[0] and path == context.user_home / ".config/systemd/user/lifeboat.service"
    state = units.inspect_unit(context)
    assert (state.installed, state.ours, state.current, state.enabled, state.running) == (True,) * 5
    assert state.pid == 4242 and state.program == sys.executable and state.program_found
    before = path.stat().st_mtime_ns
    assert "is up to date" in units.find_manager(context).install(start=True)[0]
    assert path.stat().st_mtime_ns == before and fake.asked()[-1] == "start lifeboat.service"


def test_it_may_wait_for_the_next_login(context: Context, fake: FakeSystemctl) -> None:
    units.find_manager(context).install(start=False)
    assert fake.has("enabled") and not fake.has("active")


def test_after_an_upgrade_it_is_written_anew_and_restarted(context: Context, fake: FakeSystemctl) -> None:
    units.find_manager(context).install(start=True)
    path = Systemd(context).path
    path.write_text(path.read_text().replace("WatchdogSec=180", "WatchdogSec=9"))
    assert units.inspect_unit(context).current is False
    units.find_manager(context).install(start=True)
    assert fake.asked()[-1] == "restart lifeboat.service" and "WatchdogSec=180" in path.read_text()


def test_an_interpreter_that_moved_is_seen(context: Context) -> None:
    units.find_manager(context).install(start=True)
    path = Systemd(context).path
    path.write_text(path.read_text().replace(sys.executable, "/nowhere/bin/python"))
    state = units.inspect_unit(context)
    assert (state.program, state.program_found, state.current) == ("/nowhere/bin/python", False, False)


def test_variables_that_say_where_things_are_go_into_the_unit_and_secrets_do_not(
    fake: FakeSystemctl, tmp_path: Path
) -> None:
    secret = "harbour-passphrase-CANARY"
    context = context_of(fake, tmp_path, OPENCLAW_STATE_DIR="/srv/claw", LIFEBOAT_PASSPHRASE=secret, EDITOR="vi")
    text = units.find_manager(context).text()
    assert 'Environment="OPENCLAW_STATE_DIR=/srv/claw"' in text
    assert f'Environment="LIFEBOAT_HOME={context.home.folder}"' in text
    assert secret not in text and "EDITOR" not in text


def test_other_variables_of_today_do_not_make_a_unit_out_of_date(
    context: Context, fake: FakeSystemctl, tmp_path: Path
) -> None:
    units.find_manager(context).install(start=True)
    assert units.inspect_unit(context_of(fake, tmp_path, OPENCLAW_PROFILE="other")).current


def test_it_is_removed_and_removing_it_again_says_so(context: Context, fake: FakeSystemctl) -> None:
    units.find_manager(context).install(start=True)
    assert len(units.find_manager(context).uninstall()) == 2
    assert not Systemd(context).path.exists() and not fake.has("enabled") and not fake.has("active")
    assert units.find_manager(context).uninstall() == ["No service is installed."]


def test_the_service_of_another_home_is_not_taken(context: Context, fake: FakeSystemctl, tmp_path: Path) -> None:
    units.find_manager(context).install(start=True)
    other = context_of(fake, tmp_path, LIFEBOAT_HOME=str(tmp_path / "other"))
    assert units.inspect_unit(other).ours is False
    before = Systemd(context).path.read_text()
    with raises_code(ServiceError.UNIT, match="boat"):
        units.find_manager(other).install(start=True)
    assert Systemd(context).path.read_text() == before


def test_without_a_service_manager_the_way_to_go_on_is_said_and_nothing_is_written(
    context: Context, fake: FakeSystemctl
) -> None:
    fake.be("absent")
    with raises_code(ServiceError.UNIT, match="No medium found") as caught:
        units.find_manager(context).install(start=True)
    assert caught.value.fix == "lifeboat daemon start" and not Systemd(context).path.exists()
    assert "No medium found" in str(units.inspect_unit(context).problem)


def test_without_systemd_at_all_the_same(tmp_path: Path) -> None:
    context = Context.open({"HOME": str(tmp_path), "PATH": str(tmp_path), "LIFEBOAT_HOME": str(tmp_path / "boat")})
    with raises_code(ServiceError.UNIT, match="systemctl is not installed"):
        units.find_manager(context).install(start=True)


def test_a_service_manager_that_does_not_answer_has_a_time_limit(
    context: Context, fake: FakeSystemctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.be("slow")
    monkeypatch.setattr(systemd, "PATIENCE", 0.2)
    assert "did not answer" in str(units.inspect_unit(context).problem)


def test_a_start_that_fails_says_what_systemd_said(context: Context, fake: FakeSystemctl) -> None:
    fake.be("refuses-start")
    with raises_code(ServiceError.UNIT, match="Job for lifeboat"):
        units.find_manager(context).install(start=True)


def test_a_unit_without_a_manager_is_removed_all_the_same(context: Context, fake: FakeSystemctl) -> None:
    units.find_manager(context).install(start=True)
    fake.be("absent")
    units.find_manager(context).uninstall()
    assert not Systemd(context).path.exists()


def test_a_unit_of_a_package_is_used_as_it_is(
    fake: FakeSystemctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "usr"
    package.mkdir()
    (package / "lifeboat.service").write_text(systemd.render_unit(USUAL))
    monkeypatch.setattr(systemd, "_PACKAGED", (str(package),))
    usual = Context.open({"HOME": str(tmp_path), "PATH": fake.path, "XDG_DATA_HOME": str(tmp_path / "data")})
    assert "lifeboat.service exists already and is used." in units.find_manager(usual).install(start=True)[0]
    assert fake.has("active") and not Systemd(usual).path.exists()
    assert units.inspect_unit(usual).path == package / "lifeboat.service"


def test_whether_it_runs_without_a_login_is_seen(
    context: Context, fake: FakeSystemctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    units.find_manager(context).install(start=True)
    linger = tmp_path / "systemd" / "linger"
    linger.mkdir(parents=True)
    monkeypatch.setattr(systemd, "_LINGER", linger)
    ada = context_of(fake, tmp_path, USER="ada")
    assert units.inspect_unit(ada).lingering is False
    (linger / "ada").touch()
    assert units.inspect_unit(ada).lingering is True


# launchd --------------------------------------------------------------------------------------------------------


def test_the_launch_agent_is_a_property_list_that_is_kept_alive_in_the_background() -> None:
    found = plistlib.loads(launchd.render_agent_plist(UnitProgram(USUAL.command, ODD)))
    assert found["ProgramArguments"] == list(USUAL.command) and found["EnvironmentVariables"] == ODD
    assert found["KeepAlive"] == {"SuccessfulExit": False} and found["RunAtLoad"] is True
    assert (found["ProcessType"], found["LowPriorityIO"], found["Umask"]) == ("Background", True, 0o077)
    assert found["HardResourceLimits"] == {"Core": 0}


def test_launchd_is_told_of_it_and_of_its_end(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []
    loaded: set[str] = set()

    def tool(_: Context, command: tuple[str, ...], **__: object) -> service_unit.ToolResult:
        verb = command[1]
        asked.append(command[1:])
        if verb == "bootstrap":
            loaded.add("it")
        if verb == "bootout":
            loaded.discard("it")
        if verb in ("kickstart", "print") and not loaded:
            return service_unit.ToolResult(113, "", "Could not find service")
        return service_unit.ToolResult(0, "\tstate = running\n\tpid = 4242\n", "")

    monkeypatch.setattr(launchd, "run_tool", tool)
    manager = units.find_manager(context, "darwin")
    manager.install(start=True)
    assert manager.path == context.user_home / "Library/LaunchAgents/agent-lifeboat.service.plist"
    state = manager.state()
    assert (state.manager, state.ours, state.current, state.running, state.pid) == ("launchd", True, True, True, 4242)
    assert [each[0] for each in asked if each[0] != "print"] == ["kickstart", "bootstrap"]
    manager.uninstall()
    assert not manager.state().installed and asked[-1][0] == "bootout"


def test_launchd_that_is_not_done_with_the_former_one_is_asked_again(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter([113, 37, 37, 0])
    asked: list[str] = []

    def tool(_: Context, command: tuple[str, ...], **__: object) -> service_unit.ToolResult:
        asked.append(command[1])
        return service_unit.ToolResult(next(answers), "", "Operation already in progress")

    monkeypatch.setattr(launchd, "run_tool", tool)
    monkeypatch.setattr(launchd, "_PAUSES", (0.0, 0.0))
    units.find_manager(context, "darwin").start()
    assert asked == ["kickstart", "bootstrap", "bootstrap", "bootstrap"]
    answers = iter([113, 5, 5, 5])
    with raises_code(ServiceError.UNIT, match="already in progress"):
        units.find_manager(context, "darwin").start()


def test_a_damaged_property_list_is_none(context: Context) -> None:
    manager = units.find_manager(context, "darwin")
    manager.path.parent.mkdir(parents=True)
    manager.path.write_text("<plist><dict>")
    assert not manager.state().installed


# The task scheduler -----------------------------------------------------------------------------------------------

WINDOWS = UnitProgram(("C:\\Program Files\\Python\\python.exe", *USUAL.command[1:]), {})
_TASK = {"t": "http://schemas.microsoft.com/windows/2004/02/mit/task"}


def task_of(program: UnitProgram) -> ElementTree.Element:
    text = task_scheduler.render_task(program, "HARBOUR\\ada").decode("utf-16")
    return ElementTree.fromstring(text.partition("?>")[2])


def test_the_task_runs_at_logon_for_ever_on_battery_and_again_after_a_failure() -> None:
    task = task_of(WINDOWS)
    settings = {each.tag.partition("}")[2]: each.text for each in task.iterfind("t:Settings/*", _TASK)}
    assert settings["ExecutionTimeLimit"] == "PT0S" and settings["MultipleInstancesPolicy"] == "IgnoreNew"
    assert settings["DisallowStartIfOnBatteries"] == settings["StopIfGoingOnBatteries"] == "false"
    assert task.findtext("t:Settings/t:RestartOnFailure/t:Interval", namespaces=_TASK) == "PT1M"
    assert task.findtext("t:Triggers/t:LogonTrigger/t:UserId", namespaces=_TASK) == "HARBOUR\\ada"
    assert task.findtext("t:Principals/t:Principal/t:RunLevel", namespaces=_TASK) == "LeastPrivilege"
    assert task.findtext("t:Actions/t:Exec/t:Command", namespaces=_TASK) == "C:\\Program Files\\Python\\pythonw.exe"
    arguments = task.findtext("t:Actions/t:Exec/t:Arguments", namespaces=_TASK)
    assert arguments == "-P -m lifeboat_daemon.service --wait"


def test_a_task_whose_home_is_elsewhere_sets_the_variable_in_a_line_of_python(tmp_path: Path) -> None:
    home = "D:\\boats of ada\\new"
    interpreter, *arguments = task_scheduler._command(
        UnitProgram(WINDOWS.command, {"LIFEBOAT_HOME": home, "PATH": "x"})
    )
    assert interpreter.endswith("pythonw.exe") and arguments[-1] == "--wait"
    line = arguments[arguments.index("-c") + 1]
    shown = line.partition("; runpy")[0].replace("runpy", "json") + "; print(os.environ['LIFEBOAT_HOME'])"
    done = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == home
    assert task_scheduler._home_in(subprocess.list2cmdline(arguments)) == home


def test_the_task_scheduler_is_asked_with_its_document(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: dict[str, str] = {}

    def tool(_: Context, command: tuple[str, ...], **__: object) -> service_unit.ToolResult:
        if "/Create" in command:
            kept["xml"] = Path(command[command.index("/XML") + 1]).read_bytes().decode("utf-16")
        if "/Delete" in command:
            kept.clear()
            return service_unit.ToolResult(0, "SUCCESS", "")
        return (
            service_unit.ToolResult(0, kept["xml"], "")
            if kept
            else service_unit.ToolResult(1, "", "ERROR: The system cannot find the file.")
        )

    monkeypatch.setattr(task_scheduler, "run_tool", tool)
    manager = units.find_manager(context, "win32")
    assert not manager.state().installed
    manager.install(start=True)
    state = manager.state()
    assert (state.manager, state.installed, state.ours, state.current) == ("task_scheduler", True, True, True)
    manager.uninstall()
    assert not manager.state().installed and manager.uninstall() == ["No service is installed."]
