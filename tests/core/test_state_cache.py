"""Whatever stands in the small files of `state/`, the daemon goes on as if there were none."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from lifeboat_core.agents import offers
from lifeboat_core.health import sleep_ledger
from lifeboat_core.home.context import Context
from lifeboat_core.machine import clock_trust
from lifeboat_core.state import state_cache
from lifeboat_daemon.service import daemon_notes
from support.core.protected import START, SteadyClock

DEEP = b'{"unknown":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
GARBAGE: dict[str, bytes] = {
    "nothing": b"",
    "zeros": b"\0" * 1000,
    "no text": b'{"gaps": "\xff\xfe"}',
    "a list": b"[]",
    "too deep": DEEP,
    "no end": b'{"gaps": ' + b"[" * 100_000,
    "moments without an offset": b"""{
        "gaps": [["2026-11-19T10:00:00", "2026-11-19T11:00:00"]], "woke_at": "2026-11-19T10:00:00",
        "mark": {"wall": "2026-11-19T10:00:00", "since_boot": 1, "awake": 1, "boot": "x", "stopped": true},
        "wall": "2026-11-19T10:00:00", "since_boot": 1, "boot": "x", "discovered": "2026-11-19T10:00:00"}""",
    "the end of time": b"""{
        "gaps": [["9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"]], "woke_at": "9999-12-31T23:59:59Z",
        "mark": {"wall": "9999-12-31T23:59:59Z", "since_boot": -1e300, "awake": 1, "boot": "%b", "stopped": true},
        "wall": "9999-12-31T23:59:59Z", "since_boot": 0, "boot": "%b", "pinged": "9999-12-31T23:59:59Z"}""",
    "no moments": b"""{
        "scheduled": {"a": "soon"}, "discovered": "x", "told": {"a": {"since": "x", "said_at": {"error": "y"}}},
        "wall": "x", "since_boot": "nan", "boot": ""}""",
    "no paths": b"""{"watch_names": ["\\u0000"], "told": [], "offers":
        [{"runtime": "openclaw", "native_id": "main", "name": "Ada", "workspace": "/\\u0000"}]}""",
}


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return Context.open({"LIFEBOAT_HOME": str(tmp_path / "home")}, clock=SteadyClock())


def _awake(context: Context) -> None:
    assert sleep_ledger.count_awake_seconds(context, START - timedelta(hours=1)) == 3600
    assert sleep_ledger.find_wake_time(context) is None
    sleep_ledger.note_sleep(context, START - timedelta(hours=1), START)
    sleep_ledger.note_start(context)
    sleep_ledger.note_stop(context)


def _clock(context: Context) -> None:
    assert clock_trust.is_clock_trusted(context)
    clock_trust.note_clock(context)


def _notes(context: Context) -> None:
    assert daemon_notes.load_notes(context) == daemon_notes.DaemonNotes()
    daemon_notes.save_notes(context, daemon_notes.DaemonNotes(pinged=context.now()))


def _offers(context: Context) -> None:
    assert offers.load_last_discovery(context) == offers.DiscoveryResult() and offers.list_pending_offers(context) == []


USES: dict[str, Callable[[Context], None]] = {
    "awake.json": _awake,
    "clock.json": _clock,
    "service.json": _notes,
    "offers.json": _offers,
}


def _put(context: Context, name: str, what: str) -> None:
    data = GARBAGE[what].replace(b"%b", context.clock.boot_id().encode())
    (context.home.state_folder / name).write_bytes(data)


@pytest.mark.parametrize("what", GARBAGE)
@pytest.mark.parametrize("name", USES)
def test_garbage_counts_as_nothing(context: Context, name: str, what: str) -> None:
    _put(context, name, what)
    USES[name](context)


@pytest.mark.parametrize("name", USES)
def test_what_is_no_file_counts_as_nothing_and_is_not_waited_for(context: Context, name: str) -> None:
    path = context.home.state_folder / name
    os.mkfifo(path)
    USES[name](context)
    path.unlink()
    path.mkdir()
    USES[name](context)


def test_a_file_that_is_too_large_is_not_read_to_its_end(context: Context) -> None:
    path = context.home.state_folder / "service.json"
    path.write_bytes(b"{}")
    assert state_cache.read_cache(context.files, path, dict) == {}
    os.truncate(path, 10 * 1024**4)
    assert state_cache.read_cache(context.files, path, dict) is None
