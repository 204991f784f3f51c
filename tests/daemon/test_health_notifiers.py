"""Notifiers: an ntfy topic, a desktop, a ping, and the doctor's check of them."""

from __future__ import annotations

import asyncio
import base64
import os
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from lifeboat_cli.doctor import DoctorLevel
from lifeboat_cli.doctor import check_notifiers as doctor
from lifeboat_core.errors import BadRequest, NetworkUnreachable
from lifeboat_core.home.context import Context
from lifeboat_core.machine import power_and_network
from lifeboat_core.machine.power_and_network import MachineConditions
from lifeboat_core.network import http_requests
from lifeboat_core.settings import config_file
from lifeboat_daemon.notices import dead_man_ping, notifiers
from lifeboat_daemon.notices.notice_rules import AGE, OFFER, UserNotice
from lifeboat_daemon.notices.notifiers import desktop, ntfy
from lifeboat_daemon.work.operations import notify as notify_operation
from lifeboat_daemon.work.operations import ping as ping_operation
from lifeboat_daemon.work.worker_loop import RunningJob
from support.core.protected import Protected
from support.paths import ROOT
from support.talking_server import TalkingServer, status, talking_server

NOTICE = UserNotice("error", "ada: needs you", "the last capture failed", "lifeboat doctor", ("1",), ("ada",))
WAYS = {"desktop": desktop.NOTIFIER, "ntfy": ntfy.NOTIFIER}


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return Protected(tmp_path).context


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[TalkingServer]:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    patient = http_requests.retry_request
    monkeypatch.setattr(
        http_requests, "retry_request", lambda call, **more: patient(call, **{"wait": lambda _: None, **more})
    )
    with talking_server() as made:
        yield made


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> None:
    """Return the notifiers as an installed program finds them."""
    monkeypatch.setattr(notifiers, "load_notifiers", lambda: WAYS)


def put(context: Context, name: str, value: str) -> None:
    config_file.write_config(context.home, context.files, name, value)


def test_every_notifier_has_its_entry_point() -> None:
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"][notifiers.GROUP]
    folder = Path(notifiers.__file__).parent
    assert points.keys() == {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert points == {name: f"lifeboat_daemon.notices.notifiers.{name}:NOTIFIER" for name in points}


# ntfy -----------------------------------------------------------------------------------------------------------


def told(context: Context, notice: UserNotice = NOTICE) -> dict[str, str | None]:
    return notifiers.send_notice(context, notice, {"ntfy": ntfy.NOTIFIER})


def test_a_topic_gets_title_priority_tags_text_and_what_helps(context: Context, server: TalkingServer) -> None:
    put(context, "ntfy.url", f"{server.address}/topic")
    assert told(context) == {"ntfy": None}
    (asked,) = server.asked
    assert (asked.method, asked.path) == ("POST", "/topic")
    assert asked.body.decode() == "the last capture failed\nTo fix it: lifeboat doctor"
    assert [asked.headers[name] for name in ("Title", "Priority", "Tags")] == ["ada: needs you", "4", "rotating_light"]


@pytest.mark.parametrize(("kind", "priority"), [("held", "4"), ("overdue", "3"), (AGE, "3"), ("ok", "2"), (OFFER, "2")])
def test_a_phone_rings_only_for_what_is_urgent(
    context: Context, server: TalkingServer, kind: str, priority: str
) -> None:
    put(context, "ntfy.url", server.address)
    told(context, UserNotice(kind, "title", "text"))
    assert (server.asked[0].headers["Priority"], server.asked[0].body) == (priority, b"text")


def test_a_name_in_any_script_arrives_and_none_adds_a_header(context: Context, server: TalkingServer) -> None:
    put(context, "ntfy.url", server.address)
    told(context, UserNotice("ok", "Žofie 🚣: all is well", "text"))
    title = server.asked[0].headers["Title"]
    assert title.startswith("=?UTF-8?B?") and base64.b64decode(title[10:-2]).decode() == "Žofie 🚣: all is well"
    told(context, UserNotice("ok", "ada\r\nAuthorization: x", "text"))
    assert (
        server.asked[1].headers["Title"] == "ada Authorization: x" and server.asked[1].headers["Authorization"] is None
    )


def test_nobody_is_told_who_did_not_ask_for_it(context: Context, server: TalkingServer) -> None:
    assert told(context) == {} and server.asked == []


def test_a_topic_that_fails_says_why_after_some_tries_and_says_no_address(
    context: Context, server: TalkingServer
) -> None:
    put(context, "ntfy.url", f"{server.address}/topic")
    server.replies = [status(503)]
    assert (
        told(context) == {"ntfy": "the server answered with HTTP status 503"}
        and len(server.asked) == http_requests.TRIES
    )
    put(context, "ntfy.url", "http://nobody.invalid/topic")
    why = told(context)["ntfy"]
    assert why and "invalid" not in why and "topic" not in why


def test_one_way_that_fails_stands_in_the_way_of_no_other(context: Context, server: TalkingServer) -> None:
    class Broken:
        def is_wanted(self, context: Context) -> bool:
            return True

        def problem(self, context: Context) -> str | None:
            return None

        def tell(self, context: Context, notice: UserNotice) -> None:
            raise NetworkUnreachable("it is broken")

    put(context, "ntfy.url", server.address)
    found = notifiers.send_notice(context, NOTICE, {"broken": Broken(), "ntfy": ntfy.NOTIFIER})
    assert found == {"broken": "it is broken", "ntfy": None}


@pytest.mark.usefixtures("ways")
def test_the_work_tells_every_notice_and_never_fails(context: Context, server: TalkingServer) -> None:
    put(context, "ntfy.url", server.address)
    put(context, "notify.desktop", "off")
    other = UserNotice("ok", "ada: all is well", "all is well again")
    answer = notify_operation.run(RunningJob(context, None, {"notices": [NOTICE.to_json(), other.to_json()]}))
    assert answer == {"told": [{"ntfy": None}, {"ntfy": None}]}
    assert [asked.headers["Title"] for asked in server.asked] == ["ada: needs you", "ada: all is well"]
    with pytest.raises(BadRequest):
        notify_operation.run(RunningJob(context, None, {"notices": [{"kind": 7}]}))


# The desktop ----------------------------------------------------------------------------------------------------


def desktop_package(monkeypatch: pytest.MonkeyPatch, *, takes: bool = True, hangs: bool = False) -> list[Any]:
    """A replacement of the optional package with the same behaviour: it raises nothing, and calls back after
    success."""
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "")  # It is restored, whatever a notifier does to it.
    shown: list[Any] = []

    class DesktopNotifier:
        def __init__(self, **fields: Any) -> None:
            pass

        async def send(self, title: str, message: str, *, urgency: str, on_dispatched: Any) -> None:
            if hangs:
                await asyncio.Event().wait()
            if takes:
                shown.append((title, message, urgency))
                on_dispatched()

    made = ModuleType("desktop_notifier")
    made.__dict__.update(
        DesktopNotifier=DesktopNotifier, Urgency=type("U", (), {"Critical": "critical", "Normal": "n"})
    )
    monkeypatch.setitem(sys.modules, "desktop_notifier", made)
    monkeypatch.setattr(desktop, "find_spec", lambda name: made)
    return shown


@pytest.fixture
def at_desktop(context: Context) -> Context:
    return replace(context, environment={**context.environment, "DBUS_SESSION_BUS_ADDRESS": "unix:path=/x"})


def on_desktop(context: Context) -> dict[str, str | None]:
    return notifiers.send_notice(context, NOTICE, {"desktop": desktop.NOTIFIER})


def test_a_desktop_shows_it(monkeypatch: pytest.MonkeyPatch, at_desktop: Context) -> None:
    shown = desktop_package(monkeypatch)
    assert on_desktop(at_desktop) == {"desktop": None}
    assert shown == [("ada: needs you", "the last capture failed\nlifeboat doctor", "critical")]


def test_without_a_desktop_nothing_is_tried(monkeypatch: pytest.MonkeyPatch, context: Context) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    shown = desktop_package(monkeypatch)
    assert on_desktop(context) == {"desktop": desktop.NO_SESSION} and shown == []


def test_a_bus_in_the_runtime_folder_is_a_desktop_too(
    monkeypatch: pytest.MonkeyPatch, context: Context, tmp_path: Path
) -> None:
    desktop_package(monkeypatch)
    (tmp_path / "bus").touch()
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS")
    around = {**context.environment, "XDG_RUNTIME_DIR": str(tmp_path)}
    assert on_desktop(replace(context, environment=around)) == {"desktop": None}
    assert os.environ["DBUS_SESSION_BUS_ADDRESS"] == f"unix:path={tmp_path / 'bus'}", "the package reads it there"


def test_without_the_package_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch, at_desktop: Context) -> None:
    monkeypatch.setattr(desktop, "find_spec", lambda name: None)
    assert on_desktop(at_desktop) == {"desktop": desktop.NO_PACKAGE}


def test_a_desktop_that_does_not_take_it_is_said(monkeypatch: pytest.MonkeyPatch, at_desktop: Context) -> None:
    desktop_package(monkeypatch, takes=False)
    assert on_desktop(at_desktop) == {"desktop": "the desktop did not show the notification"}


def test_a_desktop_that_hangs_is_left(monkeypatch: pytest.MonkeyPatch, at_desktop: Context) -> None:
    monkeypatch.setattr(desktop, "SECONDS", 0.05)
    desktop_package(monkeypatch, hangs=True)
    assert "within" in str(on_desktop(at_desktop)["desktop"])


def test_the_user_can_switch_it_off(monkeypatch: pytest.MonkeyPatch, at_desktop: Context) -> None:
    shown = desktop_package(monkeypatch)
    put(at_desktop, "notify.desktop", "off")
    assert on_desktop(at_desktop) == {} and shown == []


# The ping -------------------------------------------------------------------------------------------------------


def test_while_all_is_well_the_address_is_called_and_else_its_fail(
    context: Context, server: TalkingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(context, "ping.url", f"{server.address}/uuid?rid=1")
    assert dead_man_ping.send_ping(context, is_well=True) is None
    monkeypatch.setattr(power_and_network, "read_conditions", lambda context: MachineConditions())
    assert ping_operation.run(RunningJob(context, None, {"ok": False})) == {"reached": True, "why": None}
    assert [(asked.method, asked.path) for asked in server.asked] == [
        ("GET", "/uuid?rid=1"),
        ("GET", "/uuid/fail?rid=1"),
    ]


@pytest.mark.parametrize(
    ("address", "expected"),
    [("https://x/1", "https://x/1/fail"), ("https://x/1/", "https://x/1/fail"), ("https://x", "https://x/fail")],
)
def test_where_a_failure_is_told(address: str, expected: str) -> None:
    assert dead_man_ping.make_failure_address(address) == expected


def test_a_ping_nobody_takes_is_tried_three_times_and_calm(context: Context, server: TalkingServer) -> None:
    put(context, "ping.url", server.address)
    server.replies = [status(500)]
    pauses: list[float] = []
    assert (
        dead_man_ping.send_ping(context, is_well=True, wait=pauses.append) == "the server answered with HTTP status 500"
    )
    assert (len(server.asked), len(pauses)) == (3, 2)
    put(context, "ping.url", "http://nobody.invalid")
    answer = ping_operation.run(RunningJob(context, None, {"ok": True}))
    assert answer["reached"] is False and "invalid" not in answer["why"]


def test_without_a_network_nothing_is_tried(
    context: Context, server: TalkingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(context, "ping.url", server.address)
    monkeypatch.setattr(power_and_network, "read_conditions", lambda context: MachineConditions(online=False))
    answer = ping_operation.run(RunningJob(context, None, {"ok": True}))
    assert answer == {"reached": False, "why": power_and_network.NO_NETWORK} and server.asked == []


def test_without_an_address_nobody_is_called(context: Context, server: TalkingServer) -> None:
    assert dead_man_ping.send_ping(context, is_well=True) is None and server.asked == []


# The doctor -----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("ways")
def test_the_doctor_says_that_nobody_is_told(monkeypatch: pytest.MonkeyPatch, context: Context) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    desktop_package(monkeypatch)
    silent, found = doctor.check(context)
    assert (silent.level, silent.result) == (DoctorLevel.OK, desktop.NO_SESSION)
    assert found.level is DoctorLevel.WARNING and "ntfy.url" in (found.fix or "")


@pytest.mark.usefixtures("ways")
@pytest.mark.parametrize("name", ["ntfy.url", "ping.url"])
def test_the_doctor_is_content_with_one_way_and_sends_nothing(
    monkeypatch: pytest.MonkeyPatch, context: Context, server: TalkingServer, name: str
) -> None:
    monkeypatch.setattr(desktop, "find_spec", lambda name: None)
    put(context, name, f"{server.address}/topic")
    found = list(doctor.check(context))
    assert {each.level for each in found} == {DoctorLevel.OK} and server.asked == []
    assert not any("topic" in f"{each.result}{each.fix}" for each in found)
