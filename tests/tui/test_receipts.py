"""The receipts screen, driven by keys."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from lifeboat_core.errors import DaemonError
from lifeboat_tui.link.recorded_link import RecordedLink
from support.tui.pilots import SIZES, dashboard, notes, press, recorded, text_of
from support.tui.purging import ADA, RECEIPT, TOKEN, asked, fill, link, shown

pytestmark = pytest.mark.anyio
OTHER = "01a1f95a-7f20-709c-83ec-44fdd97a0002"
POSITION = {"name": "desk", "kind": "home", "vault_id": "v", "signer": "device", "leaves": 4, "objects": 4}
AUDIT = {
    "audit": {"purge_id": RECEIPT, "agent_id": ADA, "requested_by": "mira", "record_ids": ["r1"]},
    "redaction": {"id": RECEIPT, "digest": "ab" * 32},
    "positions": [{**POSITION, "remaining": 0, "audit": {"number": 7, "hash": "cd" * 32}}],
    "holds": True,
    "findings": [{"subject": "home", "level": "holds", "message": "row 7"}],
}


def listed(receipt: str = RECEIPT, **more: object) -> dict[str, object]:
    vaults = [{"name": "office", "kind": "endpoint", "state": "waiting", "applies_at": "2026-11-21T15:00:00Z"}]
    row = {"id": receipt, "agent_id": ADA, "agent": "ada", "records": 2, "requested_at": "2026-11-20T14:00:00Z"}
    return {**row, "done": False, "vaults": vaults, **more}


def two() -> RecordedLink:
    """Return a link with two purges, the older one complete, and an unreadable receipt."""
    made = link()
    old = listed(OTHER, vaults=[], done=True, requested_at="2026-11-18T14:00:00Z", scope="full_agent")
    damaged = [{"id": "0198c0de", "message": "it is not a JSON"}]
    made.answers(("receipts", "list"), {"receipts": [old, listed()], "damaged": damaged})
    made.answers(("receipts", "show", OTHER), shown(office="done"))
    made.answers(("receipts", "show", RECEIPT, "--audit"), AUDIT)
    return made


def run(made: RecordedLink | None = None, **options: object):  # type: ignore[no-untyped-def]
    return dashboard(made or two(), screen="receipts", **options)


def detail(pilot: Pilot[None]) -> str:
    return str(pilot.app.screen.query_one("#detail").render())


async def test_where_nothing_was_purged_it_is_said_how_to() -> None:
    made = recorded()
    made.answers(("receipts", "list"), {"receipts": [], "damaged": []})
    async with run(made) as pilot:
        assert "No purge has run yet." in text_of(pilot)
        await press(pilot, "e")
        assert "select a receipt first" in notes(pilot)[-1]


@pytest.mark.parametrize("size", SIZES)
async def test_every_purge_is_told_with_where_it_stands(size: tuple[int, int]) -> None:
    async with run(size=size) as pilot:
        said = text_of(pilot)
        assert "damaged" in said and "office waiting" in said and "done" in said


async def test_the_detail_follows_the_cursor() -> None:
    async with run() as pilot:
        assert "cannot be read" in detail(pilot)
        await press(pilot, "down")
        assert "office: waiting until 2026-11-21 15:00" in detail(pilot) and "The receipt is valid" in detail(pilot)
        await press(pilot, "y")
        assert pilot.app.clipboard == f"lifeboat receipts show {RECEIPT}"
        await press(pilot, "down")
        assert "office: done" in detail(pilot)


async def test_a_receipt_that_does_not_hold_says_what_is_wrong() -> None:
    made = two()
    wrong = [{"subject": "office", "level": "wrong", "message": "another endpoint signed it"}]
    made.answers(("receipts", "show", RECEIPT), shown(holds=False, findings=wrong), status=3)
    async with run(made) as pilot:
        await press(pilot, "down")
        assert "office: another endpoint signed it" in detail(pilot)
        assert "The receipt is not valid: a check failed." in detail(pilot)


async def test_a_receipt_that_is_gone_meanwhile_is_an_error_and_no_traceback() -> None:
    made = two()
    made.fails(("receipts", "show", RECEIPT), DaemonError.UNKNOWN_RECEIPT("there is no such receipt"))
    async with run(made) as pilot:
        await press(pilot, "down")
        assert "there is no such receipt" in detail(pilot)


async def test_a_shows_what_an_auditor_wants_and_takes_it_back() -> None:
    async with run() as pilot:
        await press(pilot, "down", "a")
        assert "ab" * 32 in detail(pilot) and "cd" * 32 in detail(pilot)
        await press(pilot, "y")
        assert pilot.app.clipboard.endswith("--audit")
        await press(pilot, "a")
        assert "cd" * 32 not in detail(pilot)


async def test_t_confirms_it_by_the_second_token_on_standard_input() -> None:
    made = two()
    async with run(made) as pilot:
        await press(pilot, "down", "t")
        await fill(pilot, "answer", TOKEN)
        await press(pilot, "enter")
        assert asked(made, "receipts", "confirm") == [
            (("receipts", "confirm", RECEIPT, "--remote", "office", "--token-stdin"), f"{TOKEN}\n")
        ]
        assert "office: done" in notes(pilot)[-1]


async def test_v_checks_a_file_whoever_made_it() -> None:
    made = two()
    wrong = [{"subject": "receipt", "level": "wrong", "message": "its signature is of another text"}]
    made.answers(("receipts", "verify"), {"holds": False, "proven": False, "findings": wrong}, status=3)
    async with run(made) as pilot:
        await press(pilot, "V")
        await fill(pilot, "answer", "/srv/ada/receipt.json")
        await press(pilot, "enter")
        assert asked(made, "receipts", "verify")[0][0][-1] == "/srv/ada/receipt.json"
        assert "its signature is of another text" in detail(pilot)
        assert "The receipt is not valid: a check failed." in detail(pilot)
        assert notes(pilot)[-1] == "The receipt is not valid."


async def test_a_dashboard_that_only_looks_exports_and_confirms_nothing() -> None:
    made = two()
    async with run(made, readonly=True) as pilot:
        await press(pilot, "down", "e", "t", "x")
        assert all("--readonly" in note for note in notes(pilot)) and len(notes(pilot)) == 3


async def test_a_filter_narrows_the_list() -> None:
    async with run() as pilot:
        await press(pilot, "slash", *"whole")
        assert len(pilot.app.screen.query_one("#list").table.rows) == 1  # type: ignore[attr-defined]
