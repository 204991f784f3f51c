"""The restore wizard on invented answers, driven by keys."""

from __future__ import annotations

import asyncio

import pytest
from textual.pilot import Pilot
from textual.widgets import Button

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.errors import Busy, CommandLost, DiskFull, MovedElsewhere, NetworkUnreachable, RestoreError
from lifeboat_daemon.control.command_runner import CommandAnswer, CommandProgress
from lifeboat_keys.errors import KeyLocked, SignedByAnother
from lifeboat_tui.link import Tell
from lifeboat_tui.link.recorded_link import RecordedLink
from lifeboat_tui.screens.restore.restore_wizard import PREVIEW, RUN, WHAT, RestoreWizard
from support.tui.pilots import notes, press, settled, text_of, until
from support.tui.restore_home import (
    ADA,
    DONE,
    DRY,
    HOME,
    LOGGED,
    OTHER,
    PLAN,
    RUN_IT,
    STATUS,
    UNDO,
    UNDONE,
    commands,
    machine,
    say,
    screen,
    wizard,
)

pytestmark = pytest.mark.anyio
# The point --------------------------------------------------------------------------------------------------------


async def test_a_moment_that_is_chosen_goes_to_the_preview_and_nothing_is_written() -> None:
    link = machine()
    async with wizard(link) as pilot:
        await press(pilot, "down", "down", "enter", "ctrl+n")
        assert screen(pilot).step == PREVIEW
        assert commands(link, "restore") == [(*DRY, "--at", "12")]


async def test_what_was_read_back_and_what_has_a_name_stand_out() -> None:
    async with wizard(machine()) as pilot:
        await press(pilot, "down", "down")
        said = text_of(pilot)
        assert "before the storm" in said and "Verified on this machine, in stick" in said


async def test_what_is_held_offers_the_sequence_before_it_first() -> None:
    link = machine()
    held = STATUS["agents"][0] | {"state": "held", "held": {"reason": "6 of 8 memories went", "previous": 13}}
    link.answers(("status",), STATUS | {"agents": [held]})
    async with wizard(link) as pilot:
        assert "6 of 8 memories went" in text_of(pilot)
        await press(pilot, "enter")
        assert screen(pilot).wanted.at == "13"


async def test_a_time_is_typed_instead() -> None:
    link = machine()
    async with wizard(link) as pilot:
        await press(pilot, "t")
        await say(pilot, "2026-11-20T11:30")
        await press(pilot, "ctrl+n")
        assert commands(link, "restore") == [(*DRY, "--at", "2026-11-20T11:30")]


@pytest.mark.parametrize(("downs", "name"), [(1, "stick"), (2, "aside")])
async def test_it_comes_from_a_second_copy_or_from_a_history_that_gave_way(downs: int, name: str) -> None:
    link = machine()
    async with wizard(link) as pilot:
        await press(pilot, "f", *["down"] * downs, "enter")
        await settled(pilot)
        assert name in text_of(pilot)
        await press(pilot, "enter", "ctrl+n")
        assert commands(link, "restore") == [(*DRY, "--from", name)]


async def test_an_agent_that_was_never_captured_is_told_what_to_do() -> None:
    link = machine()
    link.answers(("timeline", ADA), {"entries": []})
    async with wizard(link) as pilot:
        assert "This machine has no captured state of this agent" in text_of(pilot)


async def test_a_timeline_that_fails_is_said() -> None:
    link = machine()
    link.fails(("timeline", ADA), Busy("another command works on it"))
    async with wizard(link) as pilot:
        assert "another command works on it" in text_of(pilot)


# The options ------------------------------------------------------------------------------------------------------


async def _to_what(pilot: Pilot[None], option: str) -> None:
    """Open the second step with the cursor on an option."""
    await press(pilot, "enter")
    screen(pilot).what.table.select(option)
    await settled(pilot)


@pytest.mark.parametrize(
    ("option", "word"),
    [
        ("with_credentials", "--without-credentials"),
        ("with_cron", "--with-cron"),
        ("with_sessions", "--with-sessions"),
        ("finish", "--finish"),
    ],
)
async def test_what_comes_along_is_switched_with_enter(option: str, word: str) -> None:
    link = machine()
    async with wizard(link) as pilot:
        await _to_what(pilot, option)
        await press(pilot, "enter", "ctrl+n")
        assert commands(link, "restore")[-1][-1] == word


async def test_another_folder_can_be_adopted_and_in_place_cannot() -> None:
    link = machine()
    async with wizard(link) as pilot:
        await _to_what(pilot, "adopt")
        await press(pilot, "enter")
        assert any("possible only for a restore into another folder" in note for note in notes(pilot))
        screen(pilot).what.table.select("to")
        await press(pilot, "enter", "down", "enter")
        await say(pilot, "/srv/copy")
        screen(pilot).what.table.select("adopt")
        await press(pilot, "enter", "ctrl+n")
        assert commands(link, "restore")[-1][-3:] == ("--to", "/srv/copy", "--adopt")


async def test_another_runtime_gets_its_own_folder() -> None:
    link = machine()
    async with wizard(link) as pilot:
        await _to_what(pilot, "runtime")
        await press(pilot, "enter", "down", "enter")
        await say(pilot, OTHER)
        await press(pilot, "ctrl+n")
        assert commands(link, "restore")[-1][-4:] == ("--to", OTHER, "--runtime", "zeroclaw")


async def test_another_runtime_without_a_folder_is_not_taken() -> None:
    async with wizard(machine()) as pilot:
        await _to_what(pilot, "runtime")
        await press(pilot, "enter", "down", "enter", "escape")
        assert screen(pilot).wanted.runtime is None


async def test_files_are_marked_in_a_list_with_a_filter() -> None:
    link = machine()
    async with wizard(link) as pilot:
        await _to_what(pilot, "paths")
        await press(pilot, "enter", "enter")
        await until(pilot, lambda: pilot.app.screen.query("#files"))
        await press(pilot, "slash", *"skill", "enter", "space", "enter")
        assert screen(pilot).wanted.paths == ("skills/inbox/SKILL.md",)


async def test_patterns_are_typed() -> None:
    async with wizard(machine()) as pilot:
        await _to_what(pilot, "paths")
        await press(pilot, "enter", "down", "enter")
        await say(pilot, "*.md 'my notes'")
        assert screen(pilot).wanted.paths == ("*.md", "my notes")


# Preview ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 50)])
async def test_the_preview_says_what_happens_to_each_file_at_every_size(size: tuple[int, int]) -> None:
    async with wizard(machine(), at="12", size=size) as pilot:
        said = text_of(pilot)
        for text in ("REMOVE", "OVERWRITE", "CREATE", "18 files", "Other files", "captured first", "Restore", "Cancel"):
            assert text in said or text.lower() in said
        assert said.index("REMOVE") < said.index("OVERWRITE") < said.index("CREATE")
        assert "Shell command: lifeboat restore ada --at 12" in said


async def test_opened_with_a_moment_and_paths_it_begins_at_the_preview() -> None:
    link = machine()
    async with wizard(link, at="12", paths=("MEMORY.md",)) as pilot:
        assert screen(pilot).step == PREVIEW
        assert commands(link, "restore") == [(*DRY, "--at", "12", "--path", "MEMORY.md")]
        await press(pilot, "escape")
        assert screen(pilot).step == WHAT and "only MEMORY.md" in text_of(pilot)


async def test_without_a_moment_what_was_previewed_is_what_is_restored() -> None:
    link = machine()
    async with wizard(link, paths=("MEMORY.md",)) as pilot:
        await press(pilot, "R")
        assert commands(link, *RUN_IT) == [(*RUN_IT, "--at", "12", "--path", "MEMORY.md")]


async def test_enter_shows_the_difference_of_the_file() -> None:
    link = machine()
    async with wizard(link, at="12") as pilot:
        await press(pilot, "down", "enter")
        assert commands(link, "diff")[0][:4] == ("diff", ADA, "workspace", "12")
        assert any("MEMORY.md" in word for word in commands(link, "diff")[0])


async def test_credentials_are_included_and_left_out_with_one_key() -> None:
    link = machine()
    async with wizard(link, at="12") as pilot:
        await press(pilot, "i", "i")
        assert [command[3:] for command in commands(link, *DRY)] == [
            ("--at", "12"),
            ("--at", "12", "--with-credentials"),
            ("--at", "12", "--without-credentials"),
        ]


async def test_the_preview_says_whether_credentials_go_back_without_a_decision() -> None:
    link = machine()
    token = {"label": "openclaw.json: apiKey", "outcome": "injected"}
    link.answers(DRY, PLAN | {"with_credentials": True, "credentials": [token]})
    async with wizard(link, at="12") as pilot:
        assert "1 will be restored (press i to restore none)" in " ".join(text_of(pilot).split())
        await press(pilot, "i")
        assert commands(link, *DRY)[-1][3:] == ("--at", "12", "--without-credentials")


async def test_a_plan_without_credentials_offers_no_key_to_leave_them_out() -> None:
    link = machine()
    link.answers(DRY, PLAN | {"with_credentials": True})
    async with wizard(link, at="12") as pilot:
        shown = " ".join(text_of(pilot).split())
        assert "Credentials none stored" in shown and "leave them out" not in shown


async def test_warnings_missing_things_and_hazards_are_said_before() -> None:
    link = machine()
    link.answers(DRY, PLAN | {
        "warnings": [
            "the content of video.mp4 (5000000 bytes) is not stored, only its metadata",
            "gateway (pid 4121) is using the database; Lifeboat writes nothing to it while the runtime runs",
        ],
        "running": "gateway (pid 4121)",
        "capabilities_missing": [{"name": "browser", "host_requirements": "chromium"}],
        "absent": [{"filename": "video.mp4", "size": 5000000}],
        "databases": [{"path": "memory.db", "changes": 3, "rows": {"add": 3}}],
    })  # fmt: skip
    async with wizard(link, at="12", size=(120, 50)) as pilot:
        said = text_of(pilot)
        assert "gateway (pid 4121) is running. Stop it" in said
        assert (
            "because a requirement is missing on this machine: chromium" in said
            and "video.mp4" in said
            and "3 to add" in said
        )


async def test_nothing_to_do_is_said_and_not_done() -> None:
    link = machine()
    link.answers(DRY, PLAN | {"files": {"same": 20}, "items": []})
    async with wizard(link, at="12") as pilot:
        await press(pilot, "R")
        assert "there is nothing to restore" in text_of(pilot) and commands(link, *RUN_IT) == []


async def test_a_capture_meanwhile_makes_a_fresh_preview() -> None:
    link = machine()
    async with wizard(link, at="12") as pilot:
        link.happens({"event": "capture", "agent": ADA})
        await until(pilot, lambda: len(commands(link, *DRY)) == 2)


async def test_a_second_copy_that_is_away_is_said_with_what_helps() -> None:
    link = machine()
    link.fails(DRY, NetworkUnreachable("stick is not there"))
    async with wizard(link, at="12", remote="stick") as pilot:
        assert "stick is not there" in text_of(pilot) and "Press R to try again" in text_of(pilot)
        await press(pilot, "R")
        assert commands(link, *RUN_IT) == []


async def test_a_locked_key_is_unlocked_here_and_its_passphrase_is_nowhere_to_be_seen() -> None:
    link = machine()
    link.fails((*DRY, "--at", "12", "--with-credentials"), KeyLocked("it is encrypted with a passphrase"))
    async with wizard(link, at="12") as pilot:
        await press(pilot, "i")
        assert "Press U to unlock your key" in text_of(pilot)
        await press(pilot, "U")
        link.answers((*DRY, "--at", "12", "--with-credentials"), PLAN)
        await say(pilot, "canary of the passphrase")
        assert [text for words, text in link.asked if words[:2] == ("keys", "unlock")] == ["canary of the passphrase\n"]
        assert "canary" not in text_of(pilot) and "OVERWRITE" in text_of(pilot)
        assert "canary" not in "".join(word for words, _ in link.asked for word in words)


UNSIGNED = PLAN | {"signature": "unsigned", "executable": ["hooks/start.sh: a script"], "seen": "c0de"}


async def test_what_nobody_signed_is_accepted_by_a_typed_word_only() -> None:
    link = machine()
    link.answers(DRY, UNSIGNED)
    async with wizard(link, at="12") as pilot:
        assert "a program on this machine could run: hooks/start.sh" in text_of(pilot)
        await press(pilot, "R")
        assert "a program on this machine could run: hooks/start.sh" in text_of(pilot)
        assert pilot.app.screen.query_one("#yes", Button).disabled
        assert pilot.app.focused is pilot.app.screen.query_one("#cancel")
        await press(pilot, "escape")
        assert commands(link, *RUN_IT) == []
        await press(pilot, "R")
        await say(pilot, "restore unsigned")
        await until(pilot, lambda: commands(link, *RUN_IT))
        assert commands(link, *RUN_IT) == [(*RUN_IT, "--at", "12", "--accept-unsigned", "--seen", "c0de")]


async def test_what_another_signed_has_no_preview_until_it_is_accepted() -> None:
    link = machine()
    link.fails(DRY, SignedByAnother("another key signed it"))
    link.answers((*DRY, "--at", "12", "--accept-unsigned"), UNSIGNED | {"signature": "another"})
    async with wizard(link, at="12") as pilot:
        assert "another key signed it" in text_of(pilot)
        await press(pilot, "A")
        await say(pilot, "restore unsigned")
        assert "OVERWRITE" in text_of(pilot)
        await press(pilot, "R")
        assert "a program on this machine could run: hooks/start.sh" in text_of(pilot)
        assert commands(link, *RUN_IT) == []
        await say(pilot, "restore unsigned")
        await until(pilot, lambda: commands(link, *RUN_IT))


async def test_a_state_that_changed_after_it_was_accepted_is_asked_for_again() -> None:
    link = machine()
    link.answers(DRY, UNSIGNED)
    async with wizard(link, at="12") as pilot:
        await press(pilot, "A")
        link.answers(
            (*DRY, "--at", "12", "--accept-unsigned"), UNSIGNED | {"executable": ["x.sh: a script"], "seen": "d"}
        )
        await say(pilot, "restore unsigned")
        await press(pilot, "R")
        assert "a program on this machine could run: x.sh" in text_of(pilot)
        assert commands(link, *RUN_IT) == []


# Run --------------------------------------------------------------------------------------------------------------


async def test_a_restore_tells_what_was_done_and_what_is_left_to_do() -> None:
    link = machine()
    async with wizard(link, at="12") as pilot:
        await press(pilot, "R")
        said = text_of(pilot)
        assert screen(pilot).step == RUN
        for text in (
            "Restored sequence 12 of ada",
            "sequence 15",
            "make another",
            "openclaw gateway start",
            "press u, or run",
        ):
            assert text in said
        await press(pilot, "y")
        assert pilot.app.clipboard == "openclaw gateway start"


async def test_the_receipt_says_what_became_of_each_thing() -> None:
    async with wizard(machine(), at="12") as pilot:
        await press(pilot, "e")
        assert any("available only in the step Run" in note for note in notes(pilot))
        await press(pilot, "R", "e")
        said = text_of(pilot)
        assert "20 accepted, 2 omitted" in said and "omitted, vector (2): it is made again" in said
        await press(pilot, "escape")
        assert pilot.app.screen is screen(pilot)


async def test_r_does_not_begin_it_and_neither_does_enter_on_what_has_the_focus() -> None:
    link = machine()
    async with wizard(link, at="12") as pilot:
        await press(pilot, "r", "tab", "enter")
        assert commands(link, *RUN_IT) == []


async def test_what_was_restored_is_taken_back_with_u() -> None:
    link = machine()
    async with wizard(link, at="12") as pilot:
        await press(pilot, "R", "u", "enter")
        assert commands(link, *UNDO) == []
        await press(pilot, "u", "right", "enter")
        await until(pilot, lambda: "was undone" in text_of(pilot))
        assert commands(link, *UNDO) == [UNDO]


async def test_files_that_changed_since_are_moved_aside_only_when_asked() -> None:
    link = machine()
    link.fails(UNDO, RestoreError.TARGET_CHANGED("MEMORY.md was changed since the restore"))
    link.answers((*UNDO, "--force"), UNDONE)
    async with wizard(link, at="12") as pilot:
        await press(pilot, "R", "u", "right", "enter")
        await until(pilot, lambda: "Undo the restore anyway?" in text_of(pilot))
        await press(pilot, "right", "enter")
        await until(pilot, lambda: "was undone" in text_of(pilot))


@pytest.mark.parametrize(
    ("error", "helps"),
    [
        (RestoreError.TARGET_CHANGED("MEMORY.md is another file now"), "the current files"),
        (Busy("lifeboat sync (pid 77) works on ada"), "press R to try again"),
        (
            RestoreError.RUNTIME_RUNNING("the gateway (pid 4121) is at work on it; nothing was changed"),
            "Stop the runtime",
        ),
        (DiskFull("no room in /srv"), "Free some disk space"),
    ],
)
async def test_what_keeps_it_from_being_done_goes_back_to_a_fresh_preview(error: LifeboatError, helps: str) -> None:
    link = machine()
    link.fails(RUN_IT, error)
    async with wizard(link, at="12") as pilot:
        await press(pilot, "R")
        await until(pilot, lambda: screen(pilot).step == PREVIEW)
        await settled(pilot)
        said = " ".join(text_of(pilot).split())
        assert error.message in said and helps in said and len(commands(link, *DRY)) == 2


async def test_an_agent_that_lives_elsewhere_is_taken_over_by_typing_the_machine() -> None:
    link = machine()
    async with wizard(link, remote="stick") as pilot:
        await _to_what(pilot, "to")
        await press(pilot, "enter", "down", "enter")
        await say(pilot, "/srv/copy")
        screen(pilot).what.table.select("adopt")
        await press(pilot, "enter", "ctrl+n")
        link.fails(RUN_IT, MovedElsewhere("laptop-2 wrote it an hour ago"))
        await press(pilot, "R")
        await until(pilot, lambda: "Make this machine the writer of the agent?" in text_of(pilot))
        taken = (*RUN_IT, "--from", "stick", "--to", "/srv/copy", "--adopt", "--take-over", "laptop-2")
        link.answers(taken, DONE)
        await say(pilot, "laptop-2")
        await until(pilot, lambda: "Restored sequence 12 of ada" in text_of(pilot))
        assert taken in commands(link, *RUN_IT)


class Waiting(RecordedLink):
    """Link whose restore runs until it is stopped."""

    async def run(self, *words: str, text: str = "", tell: Tell | None = None) -> CommandAnswer:
        if "--yes" in words:
            self.asked.append((words, text))
            if tell is not None:
                tell(CommandProgress("Writing files", 3, 12, 1.5, 6.0))
            await asyncio.Event().wait()
        return await super().run(*words, text=text, tell=tell)


async def _begin(pilot: Pilot[None], link: RecordedLink) -> None:
    await pilot.press("R")
    await until(pilot, lambda: commands(link, *RUN_IT))


async def test_it_says_how_far_it_is_and_nothing_else_is_done_meanwhile() -> None:
    link = machine(Waiting)
    async with wizard(link, at="12") as pilot:
        await _begin(pilot, link)
        await until(pilot, lambda: "3 of 12" in text_of(pilot))
        assert "25%" in text_of(pilot) and "0:06 left" in text_of(pilot)
        await pilot.press("1")
        await pilot.press("escape")
        await pilot.press("q")
        await pilot.pause()
        assert pilot.app.screen is screen(pilot) and screen(pilot).is_at_work
        assert any("press c to stop it" in note for note in notes(pilot))


@pytest.mark.parametrize(
    ("entries", "said"), [([], "stopped before it changed anything"), ([LOGGED], "The restore finished before")]
)
async def test_c_stops_it_and_says_what_has_become_of_it(entries: list[JsonObject], said: str) -> None:
    link = machine(Waiting)
    async with wizard(link, at="12") as pilot:
        await _begin(pilot, link)
        link.answers(("log", ADA), {"entries": entries})
        await pilot.press("c")
        await until(pilot, lambda: said in text_of(pilot))
        assert not screen(pilot).is_at_work


async def test_where_nobody_knows_how_it_ended_that_is_said() -> None:
    link = machine()
    link.fails(RUN_IT, CommandLost("the process that runs commands is gone"))
    async with wizard(link, at="12") as pilot:
        await press(pilot, "R")
        await until(pilot, lambda: "completes it or discards it" in text_of(pilot))
        await press(pilot, "escape")
        assert screen(pilot).step == PREVIEW and len(commands(link, *DRY)) == 2


# All steps --------------------------------------------------------------------------------------------------------


async def test_readonly_looks_up_to_the_last_step_and_does_not_take_it() -> None:
    link = machine()
    async with wizard(link, readonly=True) as pilot:
        await press(pilot, "enter", "ctrl+n", "R", "u")
        assert screen(pilot).step == PREVIEW and "OVERWRITE" in text_of(pilot)
        assert commands(link, *RUN_IT) == [] == commands(link, *UNDO)
        assert any("--readonly" in note for note in notes(pilot))


async def test_y_copies_the_command_of_each_step() -> None:
    async with wizard(machine()) as pilot:
        copied = []
        for key in ("enter", "ctrl+n", "R"):
            await press(pilot, "y")
            copied.append(pilot.app.clipboard)
            await press(pilot, key)
        assert copied == [
            "lifeboat timeline ada",
            "lifeboat restore ada --dry-run --at 14",
            "lifeboat restore ada --dry-run --at 14",
        ]


async def test_esc_goes_one_step_back_each_time_and_leaves_at_the_first() -> None:
    async with wizard(machine()) as pilot:
        await press(pilot, "enter", "ctrl+n", "escape", "escape")
        assert "Sequences" in text_of(pilot)
        await press(pilot, "escape")
        assert not any(isinstance(each, RestoreWizard) for each in pilot.app.screen_stack)


async def test_cancel_leaves_from_the_preview() -> None:
    link = machine()
    async with wizard(link, at="12") as pilot:
        await pilot.click("#cancel")
        await settled(pilot)
        assert (
            not any(isinstance(each, RestoreWizard) for each in pilot.app.screen_stack)
            and commands(link, *RUN_IT) == []
        )


async def test_answers_with_hardly_anything_in_them_are_shown() -> None:
    link = machine()
    link.answers(DRY, {"sequence": 1, "time": "2026-11-20T12:00:00Z", "to": HOME})
    async with wizard(link, at="1") as pilot:
        assert "This restore would change nothing" in text_of(pilot)


async def test_ten_thousand_files_are_shown_without_delay() -> None:
    link = machine()
    items = [{"name": f"notes/{number}.md", "action": "create", "size": number} for number in range(10_000)]
    link.answers(DRY, PLAN | {"items": items, "files": {"created": 10_000}})
    async with wizard(link, at="12") as pilot:
        await press(pilot, "slash", *"9999")
        assert "notes/9999.md" in text_of(pilot)
