"""Power and network: what is seen in the system's files and on its bus, and what waits because of it."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from lifeboat_cli.doctor import DoctorLevel
from lifeboat_cli.doctor import check_conditions as doctor_check
from lifeboat_core.home.context import Context
from lifeboat_core.machine import power_and_network
from lifeboat_core.machine.power_and_network import MachineConditions, find_deferral_reason, read_conditions
from lifeboat_core.settings import config_file
from support.core.fake_bus import FakeBus, Property
from support.patience import patience
from support.short_folders import short

__all__ = ["short"]

MB = 1 << 20
NETWORK = "org.freedesktop.NetworkManager"
PROFILES = "net.hadess.PowerProfiles"
NEW_PROFILES = "org.freedesktop.UPower.PowerProfiles"

needs_bus = pytest.mark.skipif(shutil.which("dbus-daemon") is None, reason="dbus-daemon is not installed")


@pytest.fixture
def root(short: Path) -> Path:
    """The root of a system that has nothing."""
    (short / "root").mkdir()
    return short / "root"


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return Context.open({"LIFEBOAT_HOME": str(tmp_path / "home")})


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait long enough for a service that answers."""
    monkeypatch.setattr(power_and_network, "_PATIENCE", patience())


def write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(f"{text}\n")


def supply(root: Path, name: str, **files: str) -> None:
    for file, text in files.items():
        write(root, f"sys/class/power_supply/{name}/{file}", text)


def seen(context: Context, root: Path, properties: Mapping[str, Mapping[str, Property] | None]) -> MachineConditions:
    """What is seen with services on the bus."""
    with FakeBus(root, properties) as bus:
        environment = {**context.environment, "DBUS_SYSTEM_BUS_ADDRESS": bus.address}
        return read_conditions(replace(context, environment=environment), root)


def test_of_a_system_that_tells_nothing_nothing_is_known_and_nothing_waits(context: Context, root: Path) -> None:
    found = read_conditions(context, root)
    assert found == MachineConditions(None, None, None, None)
    assert find_deferral_reason(found, 1000 * MB, 5 * MB) is None


# Power ------------------------------------------------------------------------------------------------------------


def test_a_battery_that_is_used_up_is_seen_until_the_mains_are_there(context: Context, root: Path) -> None:
    supply(root, "BAT0", type="Battery", status="Discharging")
    supply(root, "AC", type="Mains", online="0")
    assert read_conditions(context, root).on_battery is True
    supply(root, "ucsi-source-psy-1", type="USB", online="1")
    assert read_conditions(context, root).on_battery is False


@pytest.mark.parametrize("status", ["Full", "Charging", "Not charging"])
def test_a_battery_that_is_not_used_up_is_not_what_the_machine_runs_on(
    context: Context, root: Path, status: str
) -> None:
    supply(root, "BAT0", type="Battery", status=status)
    assert read_conditions(context, root).on_battery is False


def test_the_battery_of_a_mouse_is_not_that_of_the_machine(context: Context, root: Path) -> None:
    supply(root, "hidpp_battery_0", type="Battery", scope="Device", status="Discharging")
    assert read_conditions(context, root).on_battery is None


@pytest.mark.parametrize(("profile", "saver"), [("low-power", True), ("balanced", False), ("performance", False)])
def test_the_profile_of_the_platform_says_whether_power_is_saved(
    context: Context, root: Path, profile: str, saver: bool
) -> None:
    write(root, "sys/firmware/acpi/platform_profile", profile)
    assert read_conditions(context, root).saver is saver


@needs_bus
@pytest.mark.parametrize("service", [PROFILES, NEW_PROFILES])
@pytest.mark.parametrize(("profile", "saver"), [("power-saver", True), ("balanced", False)])
def test_so_does_the_profile_of_the_desktop(
    context: Context, root: Path, service: str, profile: str, saver: bool
) -> None:
    write(root, "sys/firmware/acpi/platform_profile", "balanced")
    assert seen(context, root, {service: {"ActiveProfile": ("s", profile)}}).saver is saver


# Network ----------------------------------------------------------------------------------------------------------

ROUTES = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
DEFAULT_4 = f"{ROUTES}wlan0\t00000000\t010200C0\t0003\t0\t0\t600\t00000000\t0\t0\t0"
LOCAL_4 = f"{ROUTES}docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0"
REJECTED_4 = f"{ROUTES}*\t00000000\t00000000\t0200\t0\t0\t0\t00000000\t0\t0\t0"
_6 = "{0} 00 {0} 00 {1} 00000400 00000001 00000000 {2} {3}"
DEFAULT_6 = _6.format("0" * 32, "fe80" + "0" * 27 + "1", "00000003", "wlan0")
REJECTED_6 = _6.format("0" * 32, "0" * 32, "00200200", "lo")


@pytest.mark.parametrize(
    ("routes", "routes_6", "online"),
    [
        (DEFAULT_4, "", True),
        (LOCAL_4, DEFAULT_6, True),
        (LOCAL_4, REJECTED_6, False),
        (REJECTED_4, REJECTED_6, False),
        (ROUTES, "", False),
        ("garbage\nx 00000000 0 y 0 0 0 00000000", "0 00 z", False),
    ],
)
def test_a_default_route_is_a_way_out(context: Context, root: Path, routes: str, routes_6: str, online: bool) -> None:
    write(root, "proc/net/route", routes)
    write(root, "proc/net/ipv6_route", routes_6)
    assert read_conditions(context, root).online is online


def test_so_is_an_interface_that_is_up(context: Context, root: Path) -> None:
    write(root, "sys/class/net/lo/operstate", "up")
    write(root, "sys/class/net/docker0/operstate", "down")
    assert read_conditions(context, root).online is False
    write(root, "sys/class/net/eth0/operstate", "up")
    assert read_conditions(context, root).online is True


@needs_bus
@pytest.mark.parametrize(("said", "metered"), [(0, None), (1, True), (2, False), (3, True), (4, False), (99, None)])
def test_the_desktop_knows_whether_a_network_is_metered(
    context: Context, root: Path, said: int, metered: bool | None
) -> None:
    assert seen(context, root, {NETWORK: {"Metered": ("u", said)}}).metered is metered


@needs_bus
@pytest.mark.parametrize(("decided", "metered"), [("yes", True), ("no", False), ("auto", True)])
def test_the_setting_comes_before_what_the_desktop_says(
    context: Context, root: Path, decided: str, metered: bool
) -> None:
    config_file.write_config(context.home, context.files, "network.metered", decided)
    assert seen(context, root, {NETWORK: {"Metered": ("u", 1)}}).metered is metered


# Other systems ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("plugged", "on_battery"), [(True, False), (False, True), (None, None)])
def test_elsewhere_the_battery_and_the_interfaces_are_known(
    context: Context, root: Path, monkeypatch: pytest.MonkeyPatch, plugged: bool | None, on_battery: bool | None
) -> None:
    monkeypatch.setattr(power_and_network, "sys", SimpleNamespace(platform="darwin"))
    monkeypatch.setattr(psutil, "sensors_battery", lambda: SimpleNamespace(power_plugged=plugged), raising=False)
    interfaces = {"lo0": SimpleNamespace(isup=True), "en0": SimpleNamespace(isup=False)}
    monkeypatch.setattr(psutil, "net_if_stats", lambda: interfaces)
    assert read_conditions(context, root) == MachineConditions(on_battery, None, None, False)
    interfaces["en0"].isup = True
    assert read_conditions(context, root).online is True


def test_a_system_that_knows_neither_is_no_reason_to_fail(
    context: Context, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise NotImplementedError

    monkeypatch.setattr(power_and_network, "sys", SimpleNamespace(platform="darwin"))
    monkeypatch.setattr(psutil, "sensors_battery", fail, raising=False)
    monkeypatch.setattr(psutil, "net_if_stats", fail)
    assert read_conditions(context, root) == MachineConditions()


# A bus that is no help --------------------------------------------------------------------------------------------


@needs_bus
@pytest.mark.parametrize(
    "properties",
    [
        {},
        {NETWORK: {}, PROFILES: {}},
        {NETWORK: {"Metered": ("s", "yes")}, PROFILES: {"ActiveProfile": ("u", 1)}},
    ],
)
def test_services_that_are_not_there_or_talk_nonsense_are_not_known(
    context: Context, root: Path, properties: Mapping[str, Mapping[str, Property] | None]
) -> None:
    assert seen(context, root, properties) == MachineConditions()


@needs_bus
def test_a_service_that_never_answers_is_waited_for_once(
    context: Context, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(power_and_network, "_PATIENCE", 0.1)
    assert seen(context, root, {NETWORK: None, PROFILES: None, NEW_PROFILES: None}) == MachineConditions()


@pytest.mark.parametrize("address", ["unix:path=/no/such/bus", "tcp:host=example.com", "nonsense", ""])
def test_a_bus_that_is_not_there_is_no_bus(context: Context, root: Path, address: str) -> None:
    environment = {**context.environment, "DBUS_SYSTEM_BUS_ADDRESS": address}
    assert read_conditions(replace(context, environment=environment), root) == MachineConditions()


def test_a_bus_that_does_not_speak_is_no_bus(context: Context, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(power_and_network, "_PATIENCE", 0.1)
    (root / "run/dbus").mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(root / "run/dbus/system_bus_socket"))
        silent.listen()
        assert read_conditions(context, root) == MachineConditions()


def test_settings_that_cannot_be_read_are_no_reason_to_fail(context: Context, root: Path) -> None:
    for file in (context.home.config_file, context.home.state_folder / "config.good.toml"):
        file.write_text("[")
    assert read_conditions(context, root) == MachineConditions()


# What waits -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "size", "words"),
    [
        (MachineConditions(online=False), 1, "this machine has no network connection"),
        (MachineConditions(online=False, metered=True), 9 * MB, "this machine has no network connection"),
        (
            MachineConditions(online=True, metered=True),
            9 * MB,
            "the network is metered, and the transfer of 9.0 MB exceeds",
        ),
        (
            MachineConditions(saver=True, on_battery=True),
            9 * MB,
            "the machine is saving battery power, and the transfer of 9.0 MB exceeds",
        ),
        (MachineConditions(saver=True), 9 * MB, "the machine is saving battery power"),
        (MachineConditions(metered=True, saver=True, on_battery=True), 5 * MB, None),
        (MachineConditions(saver=True, on_battery=False), 9 * MB, None),
        (MachineConditions(on_battery=True, saver=False, metered=False, online=True), 9 * MB, None),
        (MachineConditions(), 9 * MB, None),
    ],
)
def test_only_large_transfers_wait_and_it_is_said_why(found: MachineConditions, size: int, words: str | None) -> None:
    why = find_deferral_reason(found, size, 5 * MB)
    assert why is None if words is None else why is not None and why.startswith(words)


@pytest.mark.parametrize(
    ("found", "power", "network"),
    [
        (
            MachineConditions(),
            "no battery found, so no work is delayed",
            "network state unknown, not known to be metered, so no work is delayed",
        ),
        (
            MachineConditions(online=False),
            "no battery",
            "no network: pushes are delayed until the network is available, captures continue",
        ),
        (MachineConditions(metered=True, online=True), "no battery", "online, metered: transfers larger than 5.0 MB"),
        (MachineConditions(metered=False, online=True), "no battery", "online, not metered, so no work is delayed"),
        (
            MachineConditions(on_battery=True),
            "on battery: verifications of a whole agent are delayed",
            "network state unknown",
        ),
        (
            MachineConditions(on_battery=True, saver=True),
            "on battery, power saving: transfers larger than",
            "network state unknown",
        ),
        (
            MachineConditions(on_battery=False, saver=True),
            "on mains power, power saving, so no work is delayed",
            "network state unknown",
        ),
    ],
)
def test_the_doctor_says_what_is_seen_and_what_waits(
    context: Context, monkeypatch: pytest.MonkeyPatch, found: MachineConditions, power: str, network: str
) -> None:
    monkeypatch.setattr(power_and_network, "read_conditions", lambda _: found)
    first, second = doctor_check.check(context)
    assert first.result.startswith(power) and second.result.startswith(network)
    assert {first.level, second.level} == {DoctorLevel.OK}


def test_on_this_machine_it_says_something(context: Context) -> None:
    assert [finding.subject for finding in doctor_check.check(context)] == ["power", "network"]
