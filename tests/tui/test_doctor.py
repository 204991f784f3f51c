"""The doctor screen: findings, the worst first, and their fixes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lifeboat_core.documents.doctor_documents import Finding
from lifeboat_core.errors import Busy, ExchangeError
from lifeboat_daemon.control.command_runner import CommandAnswer
from lifeboat_tui.link import LinkStage, LinkStatus
from lifeboat_tui.link.recorded_link import RecordedLink
from lifeboat_tui.screens.doctor_screen import CHECKING, DoctorScreen
from lifeboat_tui.screens.finding_fixes import find_fix
from lifeboat_tui.screens.restore.restore_wizard import RestoreWizard
from support.tui.pilots import SIZES, dashboard, notes, press, recorded, settled, text_of

pytestmark = pytest.mark.anyio


def _finding(level: str, subject: str, fix: str | None = None, **more: str) -> dict[str, Any]:
    return {
        "check": "copies",
        "title": "A copy elsewhere",
        "level": level,
        "subject": subject,
        "result": f"{subject} was looked at",
        "fix": fix,
    } | more


def _found(*findings: dict[str, Any]) -> dict[str, Any]:
    return {"ok": all(one["level"] != "error" for one in findings), "findings": list(findings)}


def _finding_that(*findings: dict[str, Any]) -> RecordedLink:
    link = recorded()
    link.answers(["doctor"], _found(*findings), status=1)
    return link


def _open(link: RecordedLink, **options: Any) -> Any:
    return dashboard(link, screen="doctor", **options)


@pytest.mark.parametrize("size", SIZES)
async def test_findings_stand_with_the_worst_first(size: tuple[int, int]) -> None:
    link = _finding_that(_finding("ok", "ada"), _finding("warning", "bea"), _finding("error", "cid"))
    async with _open(link, size=size) as pilot:
        said = text_of(pilot)
        assert "1 of 3 checks failed" in said
        words = ("ERRORS (1)", "✖ error", "WARNINGS (1)", "▲ warning", "OK")
        places = [said.index(word) for word in words]
        assert places == sorted(places)
        assert "cid was looked at" in said


async def test_when_nothing_is_broken_it_says_so() -> None:
    async with _open(_finding_that(_finding("ok", "ada"))) as pilot:
        assert "No problems found (1 check)" in text_of(pilot)
    async with _open(_finding_that(_finding("warning", "ada"))) as pilot:
        assert "No check failed; 1 of 1 check gave a warning" in text_of(pilot)


async def test_a_level_that_nobody_knows_is_not_lost() -> None:
    async with _open(_finding_that(_finding("grave", "ada"), _finding("ok", "bea"))) as pilot:
        assert "OTHERS (1)" in text_of(pilot) and "grave" in text_of(pilot)


async def test_y_copies_what_helps_and_the_check_itself_where_nothing_has_to() -> None:
    link = _finding_that(_finding("error", "ada", "lifeboat sync ada"), _finding("ok", "bea"))
    async with _open(link) as pilot:
        await press(pilot, "y")
        assert pilot.app.clipboard == "lifeboat sync ada"
        await press(pilot, "down", "y")
        assert pilot.app.clipboard == "lifeboat doctor"


async def test_enter_goes_to_the_place_where_it_is_put_right() -> None:
    async with _open(_finding_that(_finding("error", "ada", "lifeboat restore ada --at 14 takes it back"))) as pilot:
        assert "Press enter to open the restore" in text_of(pilot)
        await press(pilot, "enter")
        assert isinstance(pilot.app.screen, RestoreWizard)


async def test_enter_starts_the_service_that_does_not_run() -> None:
    link = _finding_that(_finding("warning", "daemon", "lifeboat daemon start"))
    link.answers(["daemon", "start"], {"running": True})
    async with _open(link) as pilot:
        link.connection = LinkStatus(LinkStage.DOWN, "", "lifeboat daemon start", "2026-11-22T14:02:00Z")
        await press(pilot, "enter")
        await settled(pilot)
        assert [words for words, _ in link.asked].count(("daemon", "start")) == 1


async def test_enter_starts_no_second_service() -> None:
    link = _finding_that(_finding("warning", "daemon", "lifeboat daemon start"))
    async with _open(link) as pilot:
        await press(pilot, "enter")
        await settled(pilot)
        assert "the daemon is already running" in notes(pilot)[-1]
        assert ("daemon", "start") not in [words for words, _ in link.asked]


async def test_what_only_a_shell_does_is_said_to_be() -> None:
    link = _finding_that(_finding("error", "ada", "sudo chown -R 1000 /srv/ada"), _finding("ok", "bea"))
    async with _open(link) as pilot:
        await press(pilot, "enter")
        assert "a shell command; press y to copy" in notes(pilot)[-1]
        await press(pilot, "down", "enter")
        assert "this result needs no fix" in notes(pilot)[-1]


@pytest.mark.parametrize(
    ("fix", "screen", "agent"),
    [
        ("lifeboat keys init", "keys", None),
        ("lifeboat config set vault.max_size 20GB", "settings", None),
        ("lifeboat remote add NAME URL", "remotes", None),
        ("lifeboat doctor --remote home", "remotes", None),
        ("lifeboat agents adopt ada", "remotes", None),
        ("lifeboat agents discover", "setup", None),
        ("lifeboat agents accept ada", "dashboard", None),
        ("lifeboat receipts show 7", "receipts", None),
        ("lifeboat purge 'my agent' --kept-out", "purge", "my agent"),
        (
            "lifeboat restore ada --at SEQ (choose a sequence SEQ without damage: lifeboat verify ada --at SEQ)",
            "restore",
            "ada",
        ),
    ],
)
async def test_what_helps_has_its_place(fix: str, screen: str, agent: str | None) -> None:
    place = find_fix(Finding(fix=fix))
    assert place is not None and (place.screen, place.agent) == (screen, agent)


@pytest.mark.parametrize(
    "fix",
    [None, "", "set it right, or lifeboat doctor --trust-clock", "lifeboat restore 'x", "lifeboat agents cut ada x"],
)
async def test_what_has_no_place_has_none(fix: str | None) -> None:
    assert find_fix(Finding(fix=fix)) is None


class _Slow(RecordedLink):
    """Link whose doctor runs until the test releases it."""

    def __init__(self, link: RecordedLink) -> None:
        self.__dict__ = link.__dict__
        self.go = asyncio.Event()

    async def run(self, *words: str, **more: Any) -> CommandAnswer:
        if words == ("doctor",):
            await self.go.wait()
        return await super().run(*words, **more)


async def test_while_it_checks_it_says_so_and_x_stops_it() -> None:
    link = _Slow(_finding_that(_finding("ok", "ada")))
    async with _open(link) as pilot:
        assert CHECKING in text_of(pilot)
        await pilot.press("r")  # no event reports the end of a check
        assert "the checks are running" in notes(pilot)[-1]
        await press(pilot, "x")
        assert notes(pilot)[-1] == "Stopped." and CHECKING not in text_of(pilot)
        assert "No check has run yet. Press r to run all checks." in text_of(pilot)
        link.go.set()
        await press(pilot, "r")
        assert "No problems" in text_of(pilot)
        await press(pilot, "x")
        assert "no check is running" in notes(pilot)[-1]


async def test_what_was_found_stays_when_the_next_check_fails() -> None:
    link = _finding_that(_finding("warning", "ada"))
    async with _open(link) as pilot:
        link.fails(["doctor"], Busy("another process has the vault"))
        await press(pilot, "r")
        assert "another process has the vault" in text_of(pilot) and "ada was looked at" in text_of(pilot)


async def test_the_cursor_stays_on_a_finding_that_is_found_again() -> None:
    link = _finding_that(_finding("warning", "ada"), _finding("warning", "bea"))
    async with _open(link) as pilot:
        await press(pilot, "down")
        again = (_finding("error", "new"), _finding("warning", "ada"), _finding("warning", "bea"))
        link.answers(["doctor"], _found(*again))
        await press(pilot, "r")
        screen = pilot.app.screen
        assert isinstance(screen, DoctorScreen) and screen.finding is not None and screen.finding.subject == "bea"


# The support report -------------------------------------------------------------------------------------------------


def _reporting() -> RecordedLink:
    link = _finding_that(_finding("ok", "ada"))
    parts = [{"name": "versions.json", "what": "versions of Lifeboat"}]
    link.answers(["doctor", "--bundle"], {"path": "/srv/ada/report.zip", "bytes": 4000, "parts": parts})
    return link


def _bundles(link: RecordedLink) -> list[str]:
    return [words[2] for words, _ in link.asked if words[:2] == ("doctor", "--bundle")]


async def test_b_writes_a_report_and_says_what_is_in_it() -> None:
    link = _reporting()
    async with _open(link) as pilot:
        await press(pilot, "b")
        assert "The report contains no content, no file or agent names" in text_of(pilot)
        await press(pilot, "enter")
        await settled(pilot)
        said = text_of(pilot)
        assert "Report written" in said and "versions of Lifeboat" in said and "unzip -p" in said
        await press(pilot, "escape")
        assert isinstance(pilot.app.screen, DoctorScreen)
    assert len(_bundles(link)) == 1 and _bundles(link)[0].endswith("lifeboat-report-2026-11-20.zip")
    assert "~" not in _bundles(link)[0]


async def test_a_file_that_is_there_is_not_replaced_and_another_name_is_asked_for() -> None:
    link = _reporting()
    link.fails(["doctor", "--bundle"], ExchangeError.FILE_EXISTS("/srv/ada/report.zip would be replaced"))
    async with _open(link) as pilot:
        await press(pilot, "b", "enter")
        await settled(pilot)
        assert "type another name" in text_of(pilot)
        await press(pilot, "escape")
        assert isinstance(pilot.app.screen, DoctorScreen)
    assert len(_bundles(link)) == 1


async def test_no_name_is_no_file() -> None:
    link = _reporting()
    async with _open(link) as pilot:
        await press(pilot, "b", "ctrl+u", "enter")
        assert "type the path of a file" in text_of(pilot)
        await press(pilot, "escape")
    assert _bundles(link) == []


async def test_a_dashboard_that_only_looks_writes_no_report() -> None:
    link = _reporting()
    async with _open(link, readonly=True) as pilot:
        await press(pilot, "b")
        assert "--readonly" in notes(pilot)[-1]
    assert _bundles(link) == []
