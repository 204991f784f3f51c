"""Replacement of the key in force: its kind, its effect, and its command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

PLAIN, COMPROMISED, LOST, FOLLOW = "plain", "compromised", "lost", "follow"
CHOICES = (
    (PLAIN, "In good order: nobody else has the key, it just shall be another one"),
    (COMPROMISED, "Others may have the key: seal everything anew, trust it no more"),
    (LOST, "A machine was lost with the key: it is refused from then on"),
    (FOLLOW, "Another machine of yours has a new key: take it here by its words"),
)
PHRASE = "replace the key"
SAFE = "No history is rewritten. The words of the old key open nothing new; with the new words everything opens."
STOLEN = (
    "What was sealed so far is sealed anew, and what the old key signs is refused. Old copies stay open to whoever "
    "has the old key: afterwards it says which credentials their issuers have to replace."
)
WORDS_FILE = (
    "The 24 words of the new key are written there before the new key counts. It has to be a new file, which only you "
    "can read; best on a stick. Afterwards w shows them, p proves them, and the file can go."
)


@dataclass(frozen=True, slots=True)
class KeyReplacement:
    """Chosen replacement. `machine` is the id of a lost machine and `name` its name; `words_to` is the file for the new
    words; `needs_passphrase`: the new key is wrapped with a passphrase, which comes on standard input."""

    kind: str
    machine: str | None = None
    name: str = ""
    words_to: str = ""
    needs_passphrase: bool = False

    def words(self) -> tuple[str, ...]:
        """Return the words of the command."""
        words = ["keys", "rotate"]
        if self.kind == COMPROMISED:
            words.append("--compromised")
        if self.kind == LOST and self.machine is not None:
            words += ["--lost", self.machine]
        words += ["--words-from", "-"] if self.kind == FOLLOW else ["--words-to", self.words_to, "--no-prove"]
        words.append("--yes")
        return (*words, "--passphrase-stdin") if self.needs_passphrase else tuple(words)

    def lines(self, key_id: str) -> Sequence[str]:
        """Return the effect of the replacement, for the last question."""
        first = f"The key {key_id} gives way to another one."
        if self.kind == FOLLOW:
            return [first, "The new one is that of the words which you typed; another machine of yours has it already."]
        does = STOLEN if self.kind in (COMPROMISED, LOST) else SAFE
        lost = [f"{self.name} is refused from then on, and what it signs; its tokens are revoked."]
        return [first, does, *(lost if self.kind == LOST else ()), f"The new words go to {self.words_to}."]

    @property
    def phrase(self) -> str:
        """Return the phrase that the user has to type."""
        return self.name if self.kind == LOST and self.name else PHRASE


def find_file_problem(text: str) -> str | None:
    """Return what is wrong with a file name, or None. The command itself checks that the file is new."""
    text = text.strip()
    if not text:
        return "type the name of a new file"
    if text == "-":
        return "the words need a file"
    if not PurePath(text).is_absolute():
        return "give the whole path, beginning with / (or a drive)"
    return None
