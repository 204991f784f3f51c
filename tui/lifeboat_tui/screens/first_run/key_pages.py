"""First-run pages that create the key or recover it from its words."""

from __future__ import annotations

import contextlib

from textual import on
from textual.app import ComposeResult
from textual.widgets import Input, Static

from lifeboat_alf.errors import LifeboatError
from lifeboat_core.documents.key_status_documents import KeyStatus
from lifeboat_tui.link import Tell
from lifeboat_tui.screens.first_run.first_run_page import OPEN_FOR, FirstRunChoices, FirstRunPage, MissingInput
from lifeboat_tui.widgets.hidden_input import HiddenInput, join_lines
from lifeboat_tui.widgets.text_toggles import TextCheckbox

PLACES = {
    "keyring": "the desktop keyring",
    "passphrase": "a file encrypted with a passphrase",
    "command": "the command of the setting key_command, which prints the key",
    "key_file": "the file that the variable LIFEBOAT_KEY_FILE names",
    "file": "a file that only its permissions protect",
}
SHORTEST = 8
"""Minimum length of a passphrase."""
WORDS = 24


class CreateKeyPage(FirstRunPage):
    """Page that says where the key is stored. It asks for a passphrase where only the file mode would protect the
    key."""

    STEP = "Key"

    def __init__(self, known: FirstRunChoices) -> None:
        super().__init__(known)
        self._key = KeyStatus()

    def compose(self) -> ComposeResult:
        yield from super().compose()
        yield Static(
            "Passphrase, twice (optional). You need it only to restore credentials.",
            classes="label of-passphrase",
            markup=False,
        )
        yield HiddenInput(f"at least {SHORTEST} characters", id="passphrase")
        yield HiddenInput("repeat the passphrase", id="again", classes="of-passphrase")

    def twin(self) -> tuple[str, ...]:
        return ("keys", "status")

    async def begin(self) -> None:
        self._key = await self.fetch(KeyStatus, "keys", "status")
        self.show(["passphrase"], shown=self._key.key_id is None or self._key.store == "file")
        self.say(*_about(self._key))

    async def go_on(self, tell: Tell) -> bool:
        passphrase, again = (self.query_one(name, Input).value for name in ("#passphrase", "#again"))
        if passphrase != again:
            raise MissingInput("the two passphrases differ")
        if passphrase and len(passphrase) < SHORTEST:
            raise MissingInput(f"a passphrase needs at least {SHORTEST} characters")
        if self._key.state == "error":
            raise MissingInput(self._key.note)
        await self._make(passphrase)
        self.leave()
        return True

    async def _make(self, passphrase: str) -> None:
        """Create the key if there is none, and wrap it if a passphrase was given."""
        wrap = ("--store", "passphrase", "--passphrase-stdin") if passphrase else ()
        if self._key.key_id is None:
            words = ("keys", "init", "--words-to", "-", "--no-prove")
            await self.ask_text(*words, *wrap, text=_line(passphrase))
        elif passphrase:
            await self.ask("keys", "init", *wrap, text=_line(passphrase))
        if passphrase:
            with contextlib.suppress(LifeboatError):  # on systems without a key store the words page asks for it
                await self.ask("keys", "unlock", "--for", OPEN_FOR, "--passphrase-stdin", text=_line(passphrase))


def _line(passphrase: str) -> str:
    return f"{passphrase}\n" if passphrase else ""


def _about(key: KeyStatus) -> list[str]:
    what = "Your key decrypts the credentials of your agents. A restore needs the key; a capture does not."
    if key.key_id is None:
        found = (
            key.note
            if key.state == "error"
            else "You have no key yet. Press Continue to create a key in the safest store of this machine."
        )
        return [what, found]
    lies = f"Your key is {key.key_id}. It is stored in: {PLACES.get(key.store, key.store)}."
    return [what, lies] if key.state == "ok" else [what, lies, key.note]


class RecoverKeyPage(FirstRunPage):
    """Page that recovers the key of this home from its words when the key is missing."""

    STEP = "Key"
    YES = "Recover the key"
    NEEDED = True

    def __init__(self, known: FirstRunChoices) -> None:
        super().__init__(known)
        self._is_here = False

    def compose(self) -> ComposeResult:
        yield from super().compose()
        yield HiddenInput("the 24 words in order", id="words", pasted=join_lines, takes_words=True)
        yield Static("", id="count", classes="label", markup=False)
        yield TextCheckbox("Show what I type", id="visible", compact=True)

    def twin(self) -> tuple[str, ...]:
        return ("keys", "recover")

    async def begin(self) -> None:
        key = await self.fetch(KeyStatus, "keys", "status")
        self._is_here = key.key_id is not None and (key.state == "ok" or key.store in ("passphrase", "keyring"))
        self.show(["words", "count", "visible"], shown=not self._is_here)
        self.YES = "Continue" if self._is_here else "Recover the key"
        if self._is_here:
            self.say(f"Your key {key.key_id} is on this machine.", *([key.note] if key.state != "ok" else []))
        else:
            self.say(
                "Recover your key from its 24 words. Type or paste them in order, with or without numbers.",
                "Your recovery kit contains the words. Lifeboat does not send them anywhere.",
            )

    @on(Input.Changed, "#words")
    def _count(self, event: Input.Changed) -> None:
        count = len([word for word in event.value.replace(",", " ").split() if not word.rstrip(".):").isdigit()])
        self.query_one("#count", Static).update(f"{count} of {WORDS} words" if count else "")

    @on(TextCheckbox.Changed, "#visible")
    def _visible(self, event: TextCheckbox.Changed) -> None:
        self.query_one("#words", Input).password = not event.value

    def leave(self) -> None:
        self.query_one("#words", Input).value = ""

    async def go_on(self, tell: Tell) -> bool:
        if self._is_here:
            return True
        words = self.value("words")
        if not words:
            raise MissingInput("type the 24 words first")
        await self.ask("keys", "recover", "--words-from", "-", text=f"{words}\n")
        self.leave()
        return True
