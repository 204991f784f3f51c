"""Key screen: where the key that opens the credentials is stored, which machines have it, what is sealed to it, and its
24 words."""

from __future__ import annotations

from pathlib import Path

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.documents import decode_document
from lifeboat_core.documents.key_status_documents import KeyStatus, Machine, Rotation
from lifeboat_core.errors import OtherRelease
from lifeboat_core.texts.human_text import count_text
from lifeboat_daemon.control.command_runner import CommandAnswer
from lifeboat_tui.cell_text import make_plain, protect_dashed_name
from lifeboat_tui.screens.command_screen import LOCKED, CommandScreen
from lifeboat_tui.screens.keys.key_lines import (
    COLUMNS,
    MACHINE,
    NO_KEY,
    build_key_rows,
    describe_key,
    describe_key_row,
    describe_rotation,
)
from lifeboat_tui.screens.keys.key_replacement import (
    CHOICES,
    FOLLOW,
    LOST,
    WORDS_FILE,
    KeyReplacement,
    find_file_problem,
)
from lifeboat_tui.screens.keys.recovery_words_dialogs import (
    SHOWN_FOR,
    WORDS,
    ProveWordsDialog,
    RecoveryWordsScreen,
    extract_recovery_words,
)
from lifeboat_tui.screens.lifeboat_screen import FILTER, attempted
from lifeboat_tui.user_actions import UserAction
from lifeboat_tui.widgets.command_progress import OutcomeScreen
from lifeboat_tui.widgets.filtered_table import FilteredTable
from lifeboat_tui.widgets.question_dialogs import ChoiceDialog, ConfirmDialog, TextDialog, require_text
from lifeboat_tui.widgets.row_table import RowTable

FOR_A_MOMENT = "2m"
"""How long a locked key is opened for one operation. It is locked again right after the operation."""
SPANS = (("1h", "for an hour"), ("8h", "for eight hours"), ("", "until I lock the key"))
DEMO_HOME = "/srv/ada"
LOOKED_AT = "not possible, because the dashboard runs with --readonly"
NEEDS_A_KEY = frozenset({"test", "unlock", "lock", "words", "prove", "kit", "rotate", "lost"})


class KeysScreen(CommandScreen):
    NAME = "Keys"
    ACTS = (
        UserAction("test", "t", "test", "Test whether the key can be used now", footer=True),
        UserAction(
            "unlock",
            "U",
            "unlock",
            "Type the passphrase of the key to unlock the key for some time",
            footer=True,
            writes=True,
        ),
        UserAction("lock", "L", "lock", "Lock the key, so that every use needs its passphrase", writes=True),
        UserAction("words", "w", "words", f"Show the 24 words of your key for {SHOWN_FOR:.0f} seconds", footer=True),
        UserAction("prove", "p", "prove", "Prove that you have the 24 words: type three of them", footer=True),
        UserAction(
            "kit",
            "K",
            "recovery kit",
            "Write the recovery kit: a page to print, with your words and all data that a new machine needs",
            writes=True,
        ),
        UserAction("rotate", "o", "replace", "Replace your key with a new one", footer=True, writes=True),
        UserAction("rename", "m", "rename machine", "Rename the machine under the cursor", writes=True),
        UserAction(
            "lost",
            "x",
            "machine lost",
            "Refuse the lost machine under the cursor, and replace the key",
            writes=True,
        ),
        FILTER,
    )
    HELP = """
One key decrypts the credentials of all your agents and your encrypted (sealed) remotes. The key consists of 24 words.
With the words you can restore everything on a new machine, but anyone else who has them can use your key too. Keep the
words on paper, and prove from time to time that you have them.

The table lists the machines that have the key, the agents whose credentials are encrypted for it, and your former keys.
The words are shown only after you type a phrase, and only for a short time.
"""
    CSS = """
    KeysScreen #summary { height: auto; max-height: 7; padding: 0 1; }
    KeysScreen #holders { height: 1fr; min-height: 6; }
    KeysScreen #detail { height: 6; border: round $secondary; padding: 0 1; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._status: KeyStatus | None = None

    # What is shown ----------------------------------------------------------------------------------------------

    def body(self) -> ComposeResult:
        yield Static("", id="summary", markup=False)
        yield FilteredTable(COLUMNS, title="Key", empty=NO_KEY, glyphs=self.glyphs, id="holders")
        with VerticalScroll(id="detail", can_focus=False):
            yield Static("", id="detail-text", markup=False)

    def twin(self) -> tuple[str, ...]:
        return ("keys", "status")

    async def load(self) -> None:
        self._status = await self.fetch(KeyStatus, "keys", "status")
        self._show()

    def handle_event(self, event: JsonObject) -> None:
        if event.get("event") == "tick":
            self._show()
        elif event.get("event") in ("agent", "gone", "notice"):
            self.look_again()

    def _show(self) -> None:
        if self._status is None or not self.is_mounted:
            return
        now = self.link.now()
        said = "\n".join(make_plain(line) for line in describe_key(self._status, self.glyphs, now))
        self.query_one("#summary", Static).update(said)
        self.table.show(build_key_rows(self._status, self.glyphs, now), flash=True)
        self._show_detail()

    @on(RowTable.Moved, "#holders-table")
    def _show_detail(self) -> None:
        row = self.table.current
        if self._status is None:
            return
        lines = [] if row is None else describe_key_row(self._status, row.key, self.link.now())
        self.query_one("#detail-text", Static).update("\n".join(make_plain(line) for line in lines))
        self.refresh_bars()

    @property
    def machine(self) -> Machine | None:
        """Return the machine under the cursor."""
        row = self.table.current if self.is_mounted else None
        machines = () if self._status is None or row is None else self._status.machines
        return next((one for one in machines if row is not None and row.key == f"{MACHINE}{one.id}"), None)

    @property
    def _is_wrapped(self) -> bool:
        return self._status is not None and self._status.store == "passphrase"

    # Actions ----------------------------------------------------------------------------------------------------

    def why_not(self, act: str) -> str | None:
        if act in ("words", "kit", "prove") and self.lifeboat.is_readonly:
            return LOOKED_AT
        if act in NEEDS_A_KEY and (self._status is None or self._status.key_id is None):
            return "you have no key yet"
        if act in ("rename", "lost") and self.machine is None:
            return "select a machine first"
        if act == "lost" and self.machine is not None and self.machine.here:
            return "this machine cannot be marked as lost; use another machine for that"
        if act == "lost" and self.machine is not None and self.machine.revoked_at:
            return "this machine is already marked as lost"
        return None

    @attempted
    async def do_test(self) -> None:
        status = await self.fetch(KeyStatus, "keys", "status")
        if status.state == "ok":
            self.tell_user(f"The key is usable: {status.note}" if status.note else "The key is usable.")
        else:
            helps = "press U to unlock the key" if status.state == "needs_key" else "press 8 to open the doctor"
            self.tell_user(f"The key is not usable: {status.note}; {helps}", severity="warning")

    @attempted
    async def do_unlock(self) -> None:
        words = ["keys", "unlock"]
        if self._is_wrapped:
            span = await self.answer(ChoiceDialog("Unlock the key for how long?", SPANS, here=SPANS[1][0]))
            typed = None if span is None else await self.ask_passphrase()
            if typed is None:
                return
            words += [*(["--for", span] if span else []), "--passphrase-stdin"]
            said = await self.ask(*words, text=typed)
        else:
            said = await self.carry_out("Testing the key", *words)
        self._tell_state(said)

    @attempted
    async def do_lock(self) -> None:
        self._tell_state(await self.ask("keys", "lock"))

    def _tell_state(self, said: CommandAnswer) -> None:
        status = decode_document(KeyStatus, said.document)
        self.tell_user("; ".join([status.note or f"key: {status.state}", *said.notes]))
        self.lifeboat.ask_status()

    # The recovery words -----------------------------------------------------------------------------------------

    @attempted
    async def do_words(self) -> None:
        question = ConfirmDialog(
            "Show the 24 recovery words?",
            [
                "Anyone who sees the words can use your key. Make sure that no other person and no camera can see "
                "the screen.",
                f"Press any key to hide the words; they disappear after {SHOWN_FOR:.0f} seconds.",
            ],
            yes="Show them",
            phrase="reveal",
        )
        if not await self.answer(question) or not await self._open_for_a_moment():
            return
        try:
            words = extract_recovery_words((await self.link.run_text("keys", "export-kit", "-o", "-")).text)
        finally:
            await self._close_again()
        if not words:
            raise OtherRelease("the recovery kit does not contain the 24 words")
        await self.answer(RecoveryWordsScreen(words))
        words.clear()

    async def _open_for_a_moment(self) -> bool:
        """Open a locked key for the next operation. Returns True if the key is open. Raises LifeboatError."""
        self._was_locked = False
        status = await self.fetch(KeyStatus, "keys", "status")
        if status.state != "needs_key":
            return True
        words = ["keys", "unlock", "--for", FOR_A_MOMENT]
        passphrase = ""
        if status.store == "passphrase":
            typed = await self.ask_passphrase()
            if typed is None:
                return False
            words, passphrase = [*words, "--passphrase-stdin"], typed
        await self.ask(*words, text=passphrase)
        self._was_locked = True
        return True

    async def _close_again(self) -> None:
        if self._was_locked:
            self._was_locked = False
            await self.ask("keys", "lock")

    _was_locked = False

    @attempted
    async def do_prove(self) -> None:
        """Ask until three words are right or the user cancels. The message does not say which word was wrong."""
        problem = ""
        if not await self._open_for_a_moment():
            return
        try:
            while (lines := await self.answer(ProveWordsDialog(problem))) is not None:
                try:
                    await self.ask("keys", "prove", "--answers-stdin", text=lines)
                except LifeboatError as error:
                    if error.code == LOCKED:
                        raise
                    problem = f"{error.message}. Type these three other words:"
                    continue
                self.tell_user("The words that you typed are correct: you have the words of your key.")
                self.lifeboat.ask_status()
                return
        finally:
            await self._close_again()

    @attempted
    async def do_kit(self) -> None:
        file = await self.answer(
            TextDialog(
                "To which file should the recovery kit be written?",
                [
                    "The recovery kit is one page with your 24 words, a QR code and the data that a new machine needs.",
                    "The kit contains your key: print the page, keep the paper in a safe place, and delete the file.",
                ],
                value=self._file("lifeboat-kit.txt"),
                yes="Write it",
                problem=find_file_problem,
            )
        )
        if file is None or not await self._open_for_a_moment():
            return
        try:
            await self.ask("keys", "export-kit", "-o", file.strip())
        finally:
            await self._close_again()
        self.tell_user(
            f"Wrote the recovery kit to {file.strip()}. The file contains your key: print it, then delete it."
        )

    def _file(self, name: str) -> str:
        """Return a proposal for a file in the user's home directory."""
        return f"{DEMO_HOME}/{name}" if self.link.is_demo else str(Path.home() / name)

    # Replacing the key ------------------------------------------------------------------------------------------

    @attempted
    async def do_lost(self) -> None:
        machine = self.machine
        assert machine is not None
        await self._rotate(LOST, machine)

    @attempted
    async def do_rotate(self) -> None:
        kind = await self.answer(ChoiceDialog("Why do you want to replace the key?", CHOICES))
        if kind is None:
            return
        machine = None
        if kind == LOST:
            machine = await self._which_machine()
            if machine is None:
                return
        await self._rotate(kind, machine)

    async def _which_machine(self) -> Machine | None:
        assert self._status is not None
        others = [one for one in self._status.machines if not one.here and not one.revoked_at]
        if not others:
            self.tell_user("No other machine has your key.", severity="warning")
            return None
        chosen = await self.answer(
            ChoiceDialog("Which machine was lost?", [(one.id, f"{one.name} ({one.id})") for one in others])
        )
        return next((one for one in others if one.id == chosen), None)

    async def _rotate(self, kind: str, machine: Machine | None) -> None:
        """Ask for the details, explain the effect, have the phrase typed, rotate the key, and show what remains to
        do."""
        assert self._status is not None and self._status.key_id is not None
        given = await self._ask_new_words(kind)
        if given is None:
            return
        words_to, secret = given
        passphrase = await self.ask_passphrase() if self._is_wrapped else ""
        if passphrase is None:
            return
        wanted = KeyReplacement(
            kind,
            None if machine is None else machine.id,
            "" if machine is None else machine.name,
            words_to,
            self._is_wrapped,
        )
        question = ConfirmDialog(
            "Replace your key?", wanted.lines(self._status.key_id), yes="Replace it", phrase=wanted.phrase
        )
        if await self.answer(question):
            said = await self.carry_out("Replacing the key", *wanted.words(), text=f"{passphrase}{secret}")
            done = decode_document(Rotation, said.document)
            self.lifeboat.ask_status()
            await self.answer(OutcomeScreen("Your key was replaced", [*describe_rotation(done), *said.notes]))

    async def _ask_new_words(self, kind: str) -> tuple[str, str] | None:
        """Ask for the file for the new words, or for the words themselves as a line for standard input. Returns None if
        the user cancels."""
        if kind != FOLLOW:
            file = await self.answer(
                TextDialog(
                    "To which file should the new words be written?",
                    [WORDS_FILE],
                    value=self._file("lifeboat-words.txt"),
                    problem=find_file_problem,
                )
            )
            return None if file is None else (file.strip(), "")
        typed = await self.answer(
            TextDialog(
                "The 24 words of the new key",
                ["Type the words in order, separated by spaces. The screen does not show them."],
                secret=True,
                yes="Continue",
                problem=_words_problem,
            )
        )
        return None if typed is None else ("", f"{typed.strip()}\n")

    # Machines ---------------------------------------------------------------------------------------------------

    @attempted
    async def do_rename(self) -> None:
        machine = self.machine
        assert machine is not None
        name = await self.answer(
            TextDialog(f"New name for {machine.name}", value=machine.name, problem=require_text("type a name"))
        )
        if name is not None and name.strip() != machine.name:
            await self.ask("keys", "rename-machine", machine.id, *protect_dashed_name(name.strip()))
            self.tell_user(f"Renamed the machine {machine.id} to {name.strip()}.")


def _words_problem(text: str) -> str | None:
    count = len(text.split())
    return None if count == WORDS else f"you typed {count_text(count, 'word')}; a key has {WORDS}"
