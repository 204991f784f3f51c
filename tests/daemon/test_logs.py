"""The log of the service contains numbers and its own words only, for any input, and its failure never ends the
service."""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import stat
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_core.errors import Busy
from lifeboat_core.home.lifeboat_home import Home
from lifeboat_daemon.service import event_log, event_log_reader
from lifeboat_daemon.service.event_log import EventLog, LogWord, open_log, safe_field
from support import preloaded
from support.patience import patience
from support.preloaded import inline

AGENT = "01a202a1-d4e1-79a8-8ed1-4e01374c864d"
CANARIES = (
    "sk-ant-api03-CANARY-0123456789",
    "/srv/ada/notes/divorce-of-mira.md",
    "https://ping.example.com/CANARY",
    "Buy ink for the plotter",
    "MEMORY.md",
    "ada@example.com",
    "CANARY\n{}",
)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home").open(SystemFiles())


@pytest.fixture
def log(home: Home) -> Iterator[EventLog]:
    with open_log(home, foreground=False) as opened:
        yield opened


def lines(home: Home) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (home.logs_folder / event_log.NAME).read_text().splitlines()]


# Lines ----------------------------------------------------------------------------------------------------------


def test_an_event_is_a_line_of_json_with_time_level_and_kind(home: Home, log: EventLog) -> None:
    log.event("captured", agent=AGENT, sequence=7, seconds=0.25, reason="change", nothing=None)
    (line,) = lines(home)
    assert datetime.fromisoformat(line.pop("time")).tzinfo is not None
    assert line == {
        "level": "info",
        "kind": "captured",
        "agent": AGENT,
        "sequence": 7,
        "seconds": 0.25,
        "reason": "change",
    }


def test_the_log_is_for_its_owner_alone(home: Home, log: EventLog) -> None:
    path = home.logs_folder / event_log.NAME
    path.write_text("")
    path.chmod(0o644)
    log.event("started")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(home.logs_folder.stat().st_mode) == 0o700


def test_a_link_in_its_place_is_not_followed(home: Home, tmp_path: Path) -> None:
    (home.logs_folder / event_log.NAME).symlink_to(tmp_path / "elsewhere")
    with open_log(home, foreground=False) as log:
        log.event("started")
    assert not (tmp_path / "elsewhere").exists()


def test_it_keeps_five_files_of_a_megabyte(home: Home, log: EventLog, monkeypatch: pytest.MonkeyPatch) -> None:
    log._handlers[0].maxBytes = 2000  # type: ignore[attr-defined]
    for number in range(300):
        log.event("captured", sequence=number)
    names = sorted(path.name for path in home.logs_folder.iterdir())
    assert names == ["daemon.log", *(f"daemon.log.{number}" for number in range(1, 5))]
    assert all(path.stat().st_size <= 2000 for path in home.logs_folder.iterdir())
    numbers = [event["sequence"] for event in event_log_reader.read_events(home)]
    assert numbers == list(range(numbers[0], 300)) and len(numbers) > 80


def test_a_file_that_cannot_be_renamed_grows_on(home: Home, log: EventLog, monkeypatch: pytest.MonkeyPatch) -> None:
    log._handlers[0].maxBytes = 300  # type: ignore[attr-defined]

    def refused(source: str, target: str) -> None:
        raise PermissionError(errno.EACCES, "somebody reads it")

    monkeypatch.setattr(os, "replace", refused)
    for number in range(20):
        log.event("captured", sequence=number)
    assert [line["sequence"] for line in lines(home)] == list(range(20))
    assert [path.name for path in home.logs_folder.iterdir()] == ["daemon.log"]


def test_a_log_that_is_removed_or_renamed_is_begun_anew(home: Home, log: EventLog) -> None:
    path = home.logs_folder / event_log.NAME
    log.event("started")
    path.unlink()
    log.event("captured")
    path.rename(path.with_name("saved"))
    log.event("stopped")
    assert [line["kind"] for line in lines(home)] == ["stopped"]


def test_a_folder_that_is_removed_comes_back(home: Home, log: EventLog) -> None:
    home.logs_folder.rmdir()
    log.event("started")
    assert [line["kind"] for line in lines(home)] == ["started"]


def test_a_line_that_a_crash_cut_off_is_ended_first(home: Home) -> None:
    (home.logs_folder / event_log.NAME).write_text('{"kind":"capt')
    with open_log(home, foreground=False) as log:
        log.event("started")
    assert [event["kind"] for event in event_log_reader.read_events(home)] == ["started"]


def test_threads_write_whole_lines(home: Home, log: EventLog) -> None:
    def write(number: int) -> None:
        for count in range(50):
            log.event("captured", sequence=number * 1000 + count)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(patience())
    assert len({line["sequence"] for line in lines(home)}) == 200


# Errors ---------------------------------------------------------------------------------------------------------


def test_a_full_disk_costs_lines_and_nothing_else(home: Home, log: EventLog, monkeypatch: pytest.MonkeyPatch) -> None:
    log.event("started")
    real = os.write

    def full(descriptor: int, data: Any) -> int:
        """Make a disk on which half of the text fits."""
        if len(data) > 20:
            return real(descriptor, bytes(data)[:20])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        log.event("captured", sequence=1)
        log.event("captured", sequence=2)
    log.event("captured", sequence=3)
    log.event("captured", sequence=4)
    told_of = [
        (event["kind"], event.get("sequence"), event.get("lost")) for event in event_log_reader.read_events(home)
    ]
    assert told_of == [("started", None, None), ("captured", 3, 2), ("captured", 4, None)]


def test_a_terminal_that_is_gone_costs_nothing(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w", buffering=1) as gone:
        monkeypatch.setattr(sys, "stderr", gone)
        with open_log(home, foreground=True) as log:
            log.event("started")
            log.event("stopped")
        monkeypatch.undo()
        with contextlib.suppress(BrokenPipeError):
            gone.close()
    assert [line["kind"] for line in lines(home)] == ["started", "stopped"]


def test_a_place_that_cannot_be_written_costs_nothing(home: Home) -> None:
    home.logs_folder.rmdir()
    home.logs_folder.write_text("a file in its place")
    with open_log(home, foreground=False) as log:
        log.event("started")
    assert home.logs_folder.read_text() == "a file in its place"


# Data that is never logged ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("canary", CANARIES)
def test_what_somebody_else_wrote_is_replaced_by_its_type(home: Home, log: EventLog, canary: str) -> None:
    class Own:
        def __repr__(self) -> str:
            return canary

    log.event(
        "captured",
        name=canary,
        reason=canary,
        code=canary,
        how=canary,
        path=Path(canary),
        data=canary.encode(),
        listed=[canary, {"kind": canary, canary: 1}],
        error=OSError(errno.ENOENT, canary, canary),
        own=Own(),
        late=Busy(canary),
    )
    log.event(canary, level=canary)
    text = (home.logs_folder / event_log.NAME).read_text()
    assert canary not in text and json.dumps(canary)[1:-1] not in text and "CANARY" not in text
    first, second = lines(home)
    assert first["error"] == "FileNotFoundError:ENOENT" and first["late"] == "busy" and first["own"] == "<Own>"
    assert (second["kind"], second["level"]) == ("<str>", "info")


@pytest.mark.parametrize("canary", CANARIES)
def test_an_exception_leaves_its_type_and_lines_of_ours(home: Home, log: EventLog, canary: str) -> None:
    try:
        Home(Path(canary)).agent_file(canary)
    except Exception as error:
        log.exception("unexpected", error, agent=canary)
    (line,) = lines(home)
    assert line["error"] == "unknown_agent" and line["agent"] == "<str>"
    assert (
        [place.rpartition(":")[0] for place in line["at"]]
        == ["lifeboat_core.home.lifeboat_home"] * len(line["at"])
        != []
    )
    assert canary not in (home.logs_folder / event_log.NAME).read_text()


def test_of_what_libraries_say_only_which_and_how_bad_is_kept(home: Home, log: EventLog) -> None:
    try:
        raise ValueError("CANARY")
    except ValueError:
        logging.getLogger("apscheduler.executors").exception("Job CANARY failed in %s", "/srv/ada/CANARY")
    logging.getLogger("watchdog").warning("CANARY")
    logging.getLogger("watchdog").info("CANARY")
    told_of = [{name: value for name, value in line.items() if name not in ("time", "at")} for line in lines(home)]
    assert told_of == [
        {"level": "error", "kind": "library", "library": "apscheduler", "error": "ValueError"},
        {"level": "warning", "kind": "library", "library": "watchdog"},
    ]


def test_after_it_is_closed_libraries_are_not_heard(home: Home) -> None:
    with open_log(home, foreground=False) as log:
        log.event("started")
    logging.getLogger("watchdog").warning("CANARY")
    assert len(lines(home)) == 1


class Mode(StrEnum):
    POLLING = "polling"


@pytest.mark.parametrize(
    "value",
    [1, 2.5, True, AGENT, "2026-11-22T09:00:00Z", "0.1.0", "1.2.0rc1", LogWord("was ended by SIGKILL")],
)
def test_numbers_ids_times_and_releases_are_told(value: object) -> None:
    assert safe_field(value) == value


def test_words_of_this_program_are_told() -> None:
    assert safe_field(Mode.POLLING) == "polling" and safe_field(CrashPoint.DAEMON_LOCKED) == "daemon.locked"
    assert safe_field("disk_full", "code") == "disk_full" and safe_field("disk_full", "name") == "<str>"
    assert safe_field(datetime(2026, 11, 22, tzinfo=UTC)).startswith("2026-11-22T00:00:00")  # type: ignore[attr-defined]
    assert safe_field({"captures": 3, "polling": [1, "x/y"]}) == {"captures": 3, "polling": [1, "<str>"]}


@given(st.text(), st.sampled_from(["reason", "name", "how", "code", ""]))
def test_no_text_with_a_slash_an_at_or_a_digit_is_told_in_a_plain_field(text: str, name: str) -> None:
    found = safe_field(text + "/@7", name)
    assert found == "<str>"


# Reading --------------------------------------------------------------------------------------------------------


def test_the_last_lines_are_given_oldest_first(home: Home, log: EventLog) -> None:
    for number in range(5):
        log.event("captured", sequence=number)
    assert [event["sequence"] for event in event_log_reader.read_last_events(home, 2)] == [3, 4]


def test_a_home_without_a_log_has_no_lines(home: Home) -> None:
    assert event_log_reader.read_last_events(home, 5) == [] and event_log_reader.count_events(home) == {}


def test_events_are_counted_by_level_and_kind(home: Home, log: EventLog) -> None:
    log.event("captured")
    log.event("captured")
    log.event("verify_failed", level="warning")
    assert event_log_reader.count_events(home) == {"info": {"captured": 2}, "warning": {"verify_failed": 1}}


def test_what_comes_is_followed_over_the_change_of_files(home: Home, log: EventLog) -> None:
    log.event("captured", sequence=0)
    log._handlers[0].maxBytes = 300  # type: ignore[attr-defined]
    numbers = iter(range(1, 41))
    stopped = False

    def pause() -> None:
        """Lines that are written between two reads may end one file and begin the next."""
        nonlocal stopped
        for _ in range(2):
            number = next(numbers, None)
            if number is None:
                raise StopIteration
            log.event("captured", sequence=number)

    seen = []
    try:
        for event in event_log_reader.follow_events(home, pause=pause):
            seen.append(event["sequence"])
    except RuntimeError:  # A StopIteration inside a generator.
        stopped = True
    assert stopped and seen == list(range(1, 41))


# Standard error ---------------------------------------------------------------------------------------------------

_PROGRAM = """
import os, sys
from pathlib import Path
from lifeboat_core.home.lifeboat_home import Home
from lifeboat_daemon.service.event_log import open_log
if sys.argv[2] == "journal":
    found = os.fstat(2)
    os.environ["JOURNAL_STREAM"] = f"{found.st_dev}:{found.st_ino}"
with open_log(Home(Path(sys.argv[1])), foreground=sys.argv[2] == "foreground") as log:
    log.event("captured", sequence=7)
    log.event("verify_failed", level="warning", code="vault_damaged")
"""


def said(home: Home, how: str) -> str:
    words = ("-c", str(home.folder), how)
    return preloaded.run(inline(_PROGRAM), words=words, capture_output=True, text=True, check=True).stderr


def test_in_the_foreground_people_read_it_too(home: Home) -> None:
    first, second = said(home, "foreground").splitlines()
    assert first.endswith("info    captured sequence=7")
    assert second.endswith("warning verify_failed code=vault_damaged")


def test_the_journal_gets_priorities(home: Home) -> None:
    assert said(home, "journal").splitlines() == [
        "<6>captured sequence=7",
        "<4>verify_failed code=vault_damaged",
    ]


def test_in_the_background_nothing_is_said(home: Home) -> None:
    assert said(home, "background") == ""
    assert len(lines(home)) == 2


@pytest.mark.parametrize("canary", CANARIES)
def test_what_a_thread_raises_by_mistake_is_in_the_log_without_its_text_and_nowhere_else(
    home: Home, log: EventLog, canary: str, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise FileNotFoundError(errno.ENOENT, canary, canary)

    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    assert [line["error"] for line in lines(home)] == ["FileNotFoundError:ENOENT"]
    assert canary not in (home.logs_folder / event_log.NAME).read_text() and capfd.readouterr().err == ""
