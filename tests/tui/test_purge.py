"""The purge wizard, driven by keys: each step, each key, its failures, and what is never shown."""

from __future__ import annotations

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Button, Input, RadioSet

from lifeboat_core.errors import Busy
from lifeboat_tui.link.recorded_link import RecordedLink
from lifeboat_tui.screens.dashboard_screen import DashboardScreen
from lifeboat_tui.screens.purge.purge_wizard import PurgeWizard
from support.tui.pilots import SIZES, dashboard, notes, press, recorded, settled, text_of
from support.tui.purging import (
    ADA,
    CANARY,
    IDS,
    LOOK,
    PURGE,
    RECEIPT,
    TOKEN,
    SlowLink,
    asked,
    confirm,
    destroy,
    done,
    fill,
    link,
    plan,
    preview,
    shown,
)

pytestmark = pytest.mark.anyio


def run(made: RecordedLink | None = None, **options: object):  # type: ignore[no-untyped-def]
    return dashboard(made or link(), screen="purge", agent="ada", **options)


def screen(pilot: Pilot[None]) -> PurgeWizard:
    found = pilot.app.screen
    assert isinstance(found, PurgeWizard)
    return found


# Search -------------------------------------------------------------------------------------------------------------


async def test_the_first_thing_said_is_that_a_leaked_key_is_to_be_revoked() -> None:
    async with run() as pilot:
        said = text_of(pilot)
        assert "revoke it first at the service that issued it" in said and "1 Search" in said
        assert isinstance(pilot.app.focused, Input), "one can type at once"


async def test_without_a_text_nothing_is_looked_for() -> None:
    made = link()
    async with run(made) as pilot:
        await press(pilot, "enter")
        assert "first type the text to purge" in notes(pilot)[-1] and asked(made, *LOOK) == []


async def test_the_text_goes_by_standard_input_and_leaves_its_field() -> None:
    made = link()
    async with run(made) as pilot:
        await preview(pilot)
        assert asked(made, *LOOK) == [((*LOOK, "--text-stdin"), f"{CANARY}\n")]
        assert screen(pilot).query_one("#text", Input).value == ""


async def test_a_pasted_text_of_several_lines_is_looked_for_whole() -> None:
    made = link()
    async with run(made) as pilot:
        screen(pilot).query_one("#text", Input).post_message(events.Paste("-----BEGIN KEY-----\rabc\r\n"))
        await press(pilot, "enter")
        assert asked(made, *LOOK)[0][1] == "-----BEGIN KEY-----\nabc\n"


async def test_what_is_typed_hidden_cannot_be_copied_out() -> None:
    async with run() as pilot:
        await fill(pilot, "text", CANARY)
        await press(pilot, "ctrl+a", "ctrl+c", "ctrl+x")
        assert CANARY not in pilot.app.clipboard


async def test_every_choice_stands_in_the_command() -> None:
    made = link()
    async with run(made) as pilot:
        screen(pilot).query_one("#what", RadioSet).focus()
        await press(pilot, "down", "enter")
        for name in ("memory", "only", "derived", "workspace", "keep_print"):
            screen(pilot).query_one(f"#{name}").focus()
            await press(pilot, "space")
        screen(pilot).query_one("#reason", RadioSet).focus()
        await press(pilot, "down", "enter")
        await preview(pilot)
        options = ("--pattern-stdin", "--memory", "--only", "--derived", "--workspace", "--keep-print")
        assert asked(made, *LOOK)[0][0] == (*LOOK, *options, "--reason", "security_incident")


async def test_memories_that_were_handed_over_are_looked_for_by_id() -> None:
    made = link()
    async with run(made) as pilot:
        pilot.app.push_screen(PurgeWizard(ADA, records=("r1", "r2")))
        await settled(pilot)
        assert not screen(pilot).query_one("#memory").display or screen(pilot).query_one("#memory").has_class("gone")
        await press(pilot, "enter")
        assert asked(made, *LOOK) == [((*LOOK, "--record", "r1", "--record", "r2"), "")]


async def test_y_copies_the_command_without_the_text() -> None:
    async with run() as pilot:
        await preview(pilot)
        await press(pilot, "y")
        assert pilot.app.clipboard == "lifeboat purge ada --dry-run --text-stdin"
        await press(pilot, "ctrl+n", "y")
        assert pilot.app.clipboard == "lifeboat purge ada --yes --text-stdin"


# Preview ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
async def test_the_preview_says_what_goes_where_and_what_is_not_reached(size: tuple[int, int]) -> None:
    async with run(size=size) as pilot:
        await preview(pilot)
        said = " ".join(text_of(pilot).split())
        assert "1 memory and matching passages in 1 file (4 versions in 3 states) will be purged" in said
        assert "MEMORY.md" in said and "····Xq" in said
        remarks = str(screen(pilot).query_one("#remarks-text").render())
        for part in (
            "Remote office: the purge is applied after 24 hours, or immediately with the endpoint's token",
            "The purge cannot reach laptop-2: it is off",
            "bookkeeper (2 places)",
            "If the text is removed, photo.bin can no longer be read",
            "Press w to remove it there too",
            "A purge cannot reach exported files",
        ):
            assert part in remarks, part


async def test_a_wide_preview_has_versions_and_kept_states() -> None:
    async with run(size=(200, 50)) as pilot:
        await preview(pilot)
        line = next(line for line in text_of(pilot).splitlines() if "····Xq" in line and "MEMORY.md" in line)
        assert line.split()[-5:-1] == ["3", "4", "to", "9"]


async def test_w_has_the_live_files_cut_too_and_looks_again() -> None:
    made = link()
    async with run(made) as pilot:
        await preview(pilot)
        await press(pilot, "w")
        assert asked(made, *LOOK)[-1] == ((*LOOK, "--text-stdin", "--workspace"), f"{CANARY}\n")
        assert "The text is also removed from these files in the workspace: MEMORY.md (1 place)" in text_of(pilot)


async def test_of_a_text_that_can_be_guessed_the_preview_says_what_comes_back_and_p_keeps_a_print() -> None:
    made = link()
    made.answers(LOOK, plan(guessable=True))
    async with run(made, size=(200, 50)) as pilot:
        await preview(pilot)
        assert "captured again when a file that contains it changes" in text_of(pilot)
        await press(pilot, "p")
        assert asked(made, *LOOK)[-1][0] == (*LOOK, "--text-stdin", "--keep-print")
        assert "A fingerprint (hash) of the text will be kept" in text_of(pilot)
        await press(pilot, "ctrl+n")
        await fill(pilot, "phrase", "purge 4")
        await press(pilot, "enter")
        assert asked(made, *PURGE)[0][0] == (*PURGE, "--text-stdin", "--keep-print")


async def test_p_takes_the_print_back() -> None:
    made = link()
    made.answers(LOOK, plan(guessable=True))
    async with run(made) as pilot:
        await preview(pilot)
        await press(pilot, "p", "p")
        assert asked(made, *LOOK)[-1][0] == (*LOOK, "--text-stdin")


async def test_of_a_text_that_cannot_be_guessed_there_is_no_print_to_choose() -> None:
    made = link()
    async with run(made) as pilot:
        await preview(pilot)
        await press(pilot, "p")
        assert "the text is too long to be guessed" in notes(pilot)[-1] and len(asked(made, *LOOK)) == 1


async def test_where_nothing_is_found_nothing_can_be_destroyed() -> None:
    made = link()
    made.answers(LOOK, plan(versions=0, records=0, files={}, hits=[], beside=[], live=[], elsewhere={}))
    async with run(made) as pilot:
        await preview(pilot)
        assert "No sequence of ada contains the text" in text_of(pilot)
        await press(pilot, "ctrl+n")
        assert "there is nothing to purge" in notes(pilot)[-1] and "Type" not in text_of(pilot)


async def test_what_lies_in_live_files_alone_can_be_purged_for_it_is_captured_first() -> None:
    made = link()
    live = [{"place": "workspace", "where": "MEMORY.md", "line": 3, "match": "····Xq"}]
    made.answers(LOOK, plan(versions=0, records=0, files={}, hits=[], beside=live, live=[]))
    async with run(made) as pilot:
        await preview(pilot)
        assert "not captured yet. The purge captures these files first" in " ".join(text_of(pilot).split())
        await press(pilot, "ctrl+n")
        assert "Type  purge 0" in text_of(pilot)


async def test_a_look_that_fails_says_why_and_the_text_is_typed_anew() -> None:
    made = link()
    made.fails(LOOK, Busy("another program is at work with ada"))
    async with run(made) as pilot:
        await preview(pilot)
        said = text_of(pilot)
        assert "another program is at work with ada" in said and "What to purge" in said
        assert CANARY not in repr(vars(screen(pilot)))


async def test_esc_goes_back_and_the_text_is_dropped() -> None:
    async with run() as pilot:
        await preview(pilot)
        assert screen(pilot)._text == CANARY
        await press(pilot, "escape")
        assert "What to purge" in text_of(pilot) and screen(pilot)._text == ""
        await press(pilot, "escape")
        assert isinstance(pilot.app.screen, DashboardScreen)


async def test_a_look_can_be_stopped() -> None:
    made = SlowLink(link(), LOOK)
    async with run(made) as pilot:
        await fill(pilot, "text", CANARY)
        await pilot.press("enter")
        await made.begun.wait()
        await pilot.pause()
        await press(pilot, "c")
        assert "The command was stopped before it changed anything" in notes(pilot)[-1] and "What to purge" in text_of(
            pilot
        )


# Confirm ------------------------------------------------------------------------------------------------------------


async def test_cancel_has_the_focus_and_nothing_but_the_words_lets_it_happen() -> None:
    made = link()
    async with run(made) as pilot:
        await preview(pilot)
        await press(pilot, "ctrl+n")
        focused = pilot.app.focused
        assert isinstance(focused, Button) and focused.id == "cancel"
        await press(pilot, "D", "ctrl+n")
        assert "type  purge 4  first" in notes(pilot)[-1]
        await fill(pilot, "phrase", "purge 5")
        await press(pilot, "enter")
        assert asked(made, *PURGE) == []


async def test_enter_after_the_words_destroys() -> None:
    made = link()
    async with run(made) as pilot:
        await confirm(pilot)
        assert asked(made, *PURGE) == []
        await press(pilot, "enter")
        assert asked(made, *PURGE) == [((*PURGE, "--text-stdin"), f"{CANARY}\n")]


async def test_of_a_whole_agent_its_name_is_typed() -> None:
    made = link()
    whole = {"scope": "full_agent", "versions": 0, "histories": ["own"], "hits": [], "elsewhere": {}}
    made.answers((*LOOK, "--all"), plan(**whole))
    made.answers((*PURGE, "--all"), done(**whole))
    async with run(made) as pilot:
        screen(pilot).query_one("#what", RadioSet).focus()
        await press(pilot, "down", "down", "down", "enter", "ctrl+n")
        assert "All data of ada will be purged" in text_of(pilot)
        await press(pilot, "ctrl+n")
        await fill(pilot, "phrase", "purge ada")
        await press(pilot, "enter")
        assert asked(made, *PURGE) == [((*PURGE, "--all"), "")]
        assert "ada was purged from this machine" in text_of(pilot)


async def test_a_dashboard_that_only_looks_shows_all_but_destroys_nothing() -> None:
    made = link()
    async with run(made, readonly=True) as pilot:
        await confirm(pilot)
        await press(pilot, "enter")
        await press(pilot, "ctrl+n")
        assert asked(made, *PURGE) == [] and "--readonly" in notes(pilot)[-1]


# Proof --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
async def test_the_proof_says_how_it_stands_everywhere(size: tuple[int, int]) -> None:
    async with run(size=size) as pilot:
        await destroy(pilot)
        said = str(screen(pilot).query_one("#proof-text").render())
        for part in (
            "Purged: 1 memory and matching passages in 1 file (4 versions in 3 states).",
            "Searched again in 60 versions and 1 place in the workspace: 0 matches found.",
            "desk: done; signed: 4 objects destroyed, 0 left",
            "office: waiting until 2026-11-21 15:00",
            "The purge did not reach laptop-2",
            "The receipt is valid: all signatures and positions in the logs of the vaults are correct.",
            "1 undo folder emptied",
        ):
            assert part in said, part
        assert "Purged" in text_of(pilot)


async def test_what_was_written_since_the_preview_is_said() -> None:
    made = link()
    made.answers(PURGE, done(versions=6))
    async with run(made) as pilot:
        await destroy(pilot)
        assert "The purge destroyed 2 versions more than the preview showed" in text_of(pilot)


async def test_what_still_holds_it_afterwards_is_an_error() -> None:
    made = link()
    made.answers(PURGE, done(searched={"bodies": 60, "hits": 2}), status=1)
    async with run(made) as pilot:
        await destroy(pilot)
        assert "still finds the text in 2 places. Start the purge again." in text_of(pilot)


async def test_a_second_token_is_used_after_the_purge_by_standard_input_and_not_kept() -> None:
    made = link()
    async with run(made) as pilot:
        await confirm(pilot)
        await fill(pilot, "token-0", TOKEN)
        assert TOKEN not in text_of(pilot)
        screen(pilot).query_one("#go", Button).focus()
        await press(pilot, "D")
        (one,) = asked(made, "receipts", "confirm")
        assert one == (("receipts", "confirm", RECEIPT, "--remote", "office", "--token-stdin"), f"{TOKEN}\n")
        assert "office: done" in text_of(pilot)
        assert all(field.value != TOKEN for field in screen(pilot).query(Input))


async def test_t_confirms_it_where_it_waits() -> None:
    made = link()
    async with run(made) as pilot:
        await destroy(pilot)
        await press(pilot, "t")
        await fill(pilot, "answer", TOKEN)
        made.answers(("receipts", "show", RECEIPT), shown(office="done"))
        await press(pilot, "enter")
        assert asked(made, "receipts", "confirm")[0][1] == f"{TOKEN}\n"
        assert "office: done" in text_of(pilot)
        await press(pilot, "t")
        assert "no remote waits for a token" in notes(pilot)[-1]


async def test_e_exports_the_receipt_and_y_copies_what_shows_it() -> None:
    made = link()
    async with run(made) as pilot:
        await destroy(pilot)
        await press(pilot, "y")
        assert pilot.app.clipboard == f"lifeboat receipts show {RECEIPT}"
        await press(pilot, "e", "enter")
        assert asked(made, "receipts", "export")[0][0][-1].endswith(".json")
        assert "/srv/ada/receipt.json" in notes(pilot)[-1]


async def test_x_cuts_what_lies_in_live_files_once_its_word_is_typed() -> None:
    made = link()
    kept = ("purge", ADA, "--kept-out")
    made.answers((*kept, "--dry-run"), plan())
    made.answers((*kept, "--yes"), plan(workspace=["MEMORY.md"]))
    async with run(made) as pilot:
        await destroy(pilot)
        await press(pilot, "x")
        assert "MEMORY.md: 1 place" in text_of(pilot)
        await fill(pilot, "phrase", "cut")
        await press(pilot, "enter")
        assert asked(made, *kept)[-1][0] == (
            *kept,
            "--yes",
        ) and "Purged text was removed from 1 file of the workspace." in notes(pilot)


LEFT = ("purge", ADA, "--let-in")


async def test_i_lets_files_in_once_it_was_said_what_that_means() -> None:
    made = link()
    made.answers((*LEFT, "--dry-run"), plan(let_in=["artifacts/notes.zip"]))
    made.answers(LEFT, plan(let_in=["artifacts/notes.zip"]))
    async with run(made) as pilot:
        await destroy(pilot)
        await press(pilot, "i")
        said = text_of(pilot)
        assert "notes.zip" in said and "may still contain the purged text" in said
        assert asked(made, *LEFT)[-1][0] == (*LEFT, "--dry-run")
        await press(pilot, "right", "enter")
        assert asked(made, *LEFT)[-1][
            0
        ] == LEFT and "Captures include 1 file again that a purge had excluded." in notes(pilot)


async def test_a_no_lets_no_file_in() -> None:
    made = link()
    made.answers((*LEFT, "--dry-run"), plan(let_in=["artifacts/notes.zip"]))
    async with run(made) as pilot:
        await destroy(pilot)
        await press(pilot, "i", "escape")
        assert [words for words, _ in asked(made, *LEFT)] == [(*LEFT, "--dry-run")]


async def test_where_no_file_is_left_out_i_says_so() -> None:
    made = link()
    made.answers((*LEFT, "--dry-run"), plan(let_in=[]))
    async with run(made) as pilot:
        await destroy(pilot)
        await press(pilot, "i")
        assert notes(pilot)[-1] == "No purge excludes a file from captures."


async def test_the_demonstration_offers_a_print_and_answers_for_files_that_were_left_out() -> None:
    made = recorded(is_demo=True)
    async with run(made) as pilot:
        await preview(pilot)
        assert "so Lifeboat keeps none" in text_of(pilot)
        await press(pilot, "p")
        assert "A fingerprint (hash) of the text will be kept" in text_of(pilot)
    assert (await made.run("purge", ADA, "--let-in", "--dry-run")).document["let_in"] == []
    assert (await made.run("purge", ADA, "--let-in")).document["let_in"] == []


async def test_o_goes_on_with_another_agent_and_asks_for_the_text_again() -> None:
    async with run() as pilot:
        await destroy(pilot)
        await press(pilot, "o")
        assert screen(pilot)._agent_id == IDS["bookkeeper"] and screen(pilot)._text == ""
        assert "bookkeeper › purge › search" in text_of(pilot)


async def test_while_it_runs_nothing_leaves_it_and_stopping_says_what_became_of_it() -> None:
    made = SlowLink(link(), PURGE)
    async with run(made) as pilot:
        await confirm(pilot)
        await press(pilot, "enter")
        await pilot.press("enter")
        await made.begun.wait()
        await pilot.pause()
        await pilot.press("escape", "1", "q")
        await pilot.pause()
        assert "the purge is running; press c to stop it" in notes(pilot)[-1] and isinstance(
            pilot.app.screen, PurgeWizard
        )
        made.answers(("receipts", "list"), {"receipts": [{"id": RECEIPT}], "damaged": []})
        receipt = shown()
        del receipt["receipt"]["vaults"][1]
        made.answers(("receipts", "show", RECEIPT), receipt)
        await press(pilot, "c")
        said = text_of(pilot)
        assert "the next command or the daemon completes the purge" in said
        assert "is now complete on this machine" in said
        assert "Remote office: not reached yet; the purge is sent at the next contact" in said


async def test_a_purge_that_was_stopped_before_it_began_says_so() -> None:
    made = SlowLink(link(), PURGE)
    async with run(made) as pilot:
        await confirm(pilot)
        await press(pilot, "enter")
        await pilot.press("enter")
        await made.begun.wait()
        await pilot.pause()
        await press(pilot, "c")
        assert "Nothing was purged" in text_of(pilot)


async def test_a_purge_that_fails_is_looked_into() -> None:
    made = link()
    made.fails(PURGE, Busy("another program is at work with ada"))
    async with run(made) as pilot:
        await destroy(pilot)
        said = " ".join(text_of(pilot).split())
        assert "another program is at work with ada" in said and "Nothing was purged" in said
        assert CANARY not in repr(vars(screen(pilot)))


async def test_what_cannot_be_finished_now_is_not_called_nothing() -> None:
    made = link()
    made.fails(PURGE, Busy("another program is at work with ada"))
    async with run(made) as pilot:
        await confirm(pilot)
        made.answers(("receipts", "list"), {"receipts": []}, notes=("An interrupted purge could not be finished yet",))
        await press(pilot, "enter", "enter")
        assert "could not be finished yet" in text_of(pilot) and "Nothing was purged" not in text_of(pilot)


async def test_what_is_looked_for_stands_nowhere_that_can_be_seen() -> None:
    made = link()
    pictures: list[str] = []
    async with run(made) as pilot:

        def look() -> None:
            pictures.append(pilot.app.export_screenshot(simplify=False) + text_of(pilot) + " ".join(notes(pilot)))

        await fill(pilot, "text", CANARY)
        look()
        await press(pilot, "enter")
        look()
        await press(pilot, "question_mark")
        look()
        await press(pilot, "escape", "y", "ctrl+n")
        look()
        await fill(pilot, "token-0", TOKEN)
        await fill(pilot, "phrase", "purge 4")
        look()
        await press(pilot, "enter")
        look()
        everything = "".join(pictures) + repr([words for words, _ in made.asked]) + pilot.app.clipboard
        assert CANARY not in everything and TOKEN not in everything
        kept = [repr(vars(each)) for each in (screen(pilot), *screen(pilot).query("*"))]
        assert not any(CANARY in each or TOKEN in each for each in kept)


async def test_the_words_that_confirm_are_typed_although_cancel_has_the_focus() -> None:
    made = link()
    async with run(made) as pilot:
        await preview(pilot)
        await press(pilot, "ctrl+n")
        assert screen(pilot).focused is screen(pilot).query_one("#cancel")
        await press(pilot, *"purge", "space", "4")
        assert screen(pilot).query_one("#phrase", Input).value == "purge 4"
        assert not screen(pilot).query_one("#go", Button).disabled
