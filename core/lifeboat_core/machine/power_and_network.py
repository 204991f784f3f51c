"""Power and network as they are now, for deferring large transfers and heavy work. For workers; the daemon asks only
`is_online`, which is cheap.

Only what the system already knows is read: files and, on Linux, two services on its bus, which are asked only if they
run, within a second together. No request leaves the machine. What is unknown is None, and defers nothing. Metered
networks and power saving are known on Linux only.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lifeboat_alf.common.size_texts import size_text
from lifeboat_core.home.context import Context

ROOT = Path("/")
NO_NETWORK = "this machine has no network connection"
METERED = "the network is metered"
SAVING = "the machine is saving battery power"

_PATIENCE = 1.0
"""Seconds for all questions on the bus."""
_NETWORK_MANAGER = ("org.freedesktop.NetworkManager", "/org/freedesktop/NetworkManager")
_PROFILES = (
    ("org.freedesktop.UPower.PowerProfiles", "/org/freedesktop/UPower/PowerProfiles"),
    ("net.hadess.PowerProfiles", "/net/hadess/PowerProfiles"),
)
_IS_METERED = {1: True, 2: False, 3: True, 4: False}
"""NetworkManager's words: yes, no, guessed yes, guessed no. 0 is unknown."""
_ROUTE_UP, _ROUTE_REJECTED = 0x1, 0x200


@dataclass(frozen=True, slots=True)
class MachineConditions:
    """`saver`: the system was told to save power; `metered`: the network costs by volume; `online`: there is a route
    out of the machine. None if unknown."""

    on_battery: bool | None = None
    saver: bool | None = None
    metered: bool | None = None
    online: bool | None = None

    @property
    def saves_battery(self) -> bool:
        """Whether the battery is being saved. Power saving on mains power does not count."""
        return bool(self.saver) and self.on_battery is not False


def read_conditions(context: Context, root: Path = ROOT) -> MachineConditions:
    """Return the conditions now. Never raises, and takes a second or two at most. `root` is where the system's files
    are."""
    with _bus(context, root) as bus:
        return MachineConditions(
            on_battery=_on_battery(root),
            saver=_saver(root, bus),
            metered=_metered(context, bus),
            online=is_online(root),
        )


def find_deferral_reason(conditions: MachineConditions, bytes: int, limit: int) -> str | None:
    """Return for people why a transfer of so many bytes waits; None when it does not.

    `limit` is the setting `defer.above`: smaller transfers are made on a metered network and a saved battery too.
    """
    if conditions.online is False:
        return NO_NETWORK
    if bytes > limit:
        for applies, condition in ((conditions.metered, METERED), (conditions.saves_battery, SAVING)):
            if applies:
                return (
                    f"{condition}, and the transfer of {size_text(bytes)} exceeds the setting defer.above "
                    f"({size_text(limit)})"
                )
    return None


# Power ------------------------------------------------------------------------------------------------------------


def _on_battery(root: Path) -> bool | None:
    if sys.platform == "linux":
        return _supplies(root / "sys/class/power_supply")
    with contextlib.suppress(Exception):  # a system without this folder, or with another layout
        import psutil

        battery = psutil.sensors_battery()
        return None if battery is None or battery.power_plugged is None else not battery.power_plugged
    return None


def _supplies(folder: Path) -> bool | None:
    """Return whether a battery of this machine is discharging. The battery of a mouse does not count."""
    supplies = [_supply(each) for each in _entries(folder)]
    own = [(kind, state) for kind, scope, state in supplies if scope != "Device"]
    if any(kind != "Battery" and state == "1" for kind, state in own):
        return False
    batteries = [state for kind, state in own if kind == "Battery"]
    return "Discharging" in batteries if batteries else None


def _supply(folder: Path) -> tuple[str, str, str]:
    kind = _text(folder / "type")
    return kind, _text(folder / "scope"), _text(folder / ("status" if kind == "Battery" else "online"))


def _saver(root: Path, bus: _SystemBus) -> bool | None:
    profile = _text(root / "sys/firmware/acpi/platform_profile")
    if profile == "low-power":
        return True
    for name, path in _PROFILES:
        active = bus.get(name, path, "ActiveProfile")
        if isinstance(active, str):
            return active == "power-saver"
    return False if profile else None


# Network ----------------------------------------------------------------------------------------------------------


def _metered(context: Context, bus: _SystemBus) -> bool | None:
    decided = _setting(context, "network.metered")
    if decided in ("yes", "no"):
        return decided == "yes"
    found = bus.get(*_NETWORK_MANAGER, "Metered")
    return _IS_METERED.get(found) if isinstance(found, int) else None


def _setting(context: Context, name: str) -> str:
    try:
        return str(context.setting(name))
    except Exception:  # problems of the settings are reported elsewhere
        return "auto"


def is_online(root: Path = ROOT) -> bool | None:
    """Return whether there is a route out of this machine, None if unknown: a default route, or an interface that is
    up, since a machine with its own rules may have no default route. Reads only the system's files."""
    if sys.platform != "linux":
        return _any_interface()
    found = [_default_route_4(root / "proc/net/route"), _default_route_6(root / "proc/net/ipv6_route")]
    found.append(_carrier(root / "sys/class/net"))
    return None if all(each is None for each in found) else any(found)


def _default_route_4(table: Path) -> bool | None:
    lines = _lines(table)
    if lines is None:
        return None
    fields = [line.split() for line in lines[1:]]
    return any(
        len(each) > 7 and each[1] == each[7] == "00000000" and _is_open(each[3]) and each[0] != "lo" for each in fields
    )


def _default_route_6(table: Path) -> bool | None:
    lines = _lines(table)
    if lines is None:
        return None
    fields = [line.split() for line in lines]
    return any(
        len(each) > 9 and set(each[0]) == {"0"} and each[1] == "00" and _is_open(each[8]) and each[9] != "lo"
        for each in fields
    )


def _is_open(flags: str) -> bool:
    with contextlib.suppress(ValueError):
        return int(flags, 16) & (_ROUTE_UP | _ROUTE_REJECTED) == _ROUTE_UP
    return False


def _carrier(folder: Path) -> bool | None:
    names = [each for each in _entries(folder) if each.name != "lo"]
    if not folder.is_dir():
        return None
    return any(_text(each / "operstate") == "up" for each in names)


def _any_interface() -> bool | None:
    with contextlib.suppress(Exception):
        import psutil

        return any(found.isup and not name.startswith("lo") for name, found in psutil.net_if_stats().items())
    return None


# Files ------------------------------------------------------------------------------------------------------------


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _lines(path: Path) -> list[str] | None:
    try:
        return path.read_text(errors="replace").splitlines()
    except OSError:
        return None


def _text(path: Path) -> str:
    return "\n".join(_lines(path) or ()).strip()


# The system's bus -------------------------------------------------------------------------------------------------


class _SystemBus:
    """Properties of running services, read within one deadline. `connection` is jeepney's, None without a bus."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._deadline = time.monotonic() + _PATIENCE

    def get(self, service: str, path: str, name: str) -> Any:
        """Return a property of the object's interface with the name of the service; None if it cannot be read."""
        left = self._deadline - time.monotonic()
        if self._connection is None or left <= 0:
            return None
        try:
            from jeepney import DBusAddress, MessageFlag, MessageType, Properties

            message = Properties(DBusAddress(path, service, service)).get(name)
            message.header.flags |= MessageFlag.no_auto_start
            answer = self._connection.send_and_get_reply(message, timeout=left)
            return answer.body[0][1] if answer.header.message_type is MessageType.method_return else None
        except Exception:  # a service may answer anything
            return None


@contextlib.contextmanager
def _bus(context: Context, root: Path) -> Iterator[_SystemBus]:
    connection = _connect(context, root) if sys.platform == "linux" else None
    try:
        yield _SystemBus(connection)
    finally:
        if connection is not None:
            with contextlib.suppress(Exception):
                connection.close()


def _connect(context: Context, root: Path) -> Any:
    """Return a connection; None without a bus, if it does not answer, or if jeepney is not installed."""
    socket = root / "run/dbus/system_bus_socket"
    address = context.environment.get("DBUS_SYSTEM_BUS_ADDRESS") or (
        f"unix:path={socket}" if os.path.exists(socket) else None
    )
    if address is None:
        return None
    try:
        from jeepney.io.blocking import open_dbus_connection

        return open_dbus_connection(address, auth_timeout=_PATIENCE)
    except Exception:  # no bus, a silent bus, no jeepney: the result is the same
        return None
