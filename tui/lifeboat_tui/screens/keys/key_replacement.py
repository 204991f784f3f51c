"""Replacement of the key in force: its kind, its effect, and its command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

PLAIN, COMPROMISED, LOST, FOLLOW = "plain", "compromised", "lost", "follow"
CHOICES = (
    (PLAIN, "Routine replacement: no one else has the key"),
    (COMPROMISED, "Key compromised: seal everything again and stop trusting it"),
    (LOST, "A machine with the key was lost: refuse it from now on"),
    (FOLLOW, "Another machine of yours replaced the key: enter its new words here"),
)
PHRASE = "replace the key"
SAFE = "History is not rewritten. The new words open everything; the old words only open copies that were made before."
STOLEN = (
    "All credentials are sealed again, and new signatures by the old key are refused. Anyone with the old key can "
    "still open old copies: afterwards a list shows which credentials their issuers have to replace."
)
WORDS_FILE = (
    "The 24 words of the new key are written to this file before the key is replaced. It must be a new file that only "
    "you can read, preferably on a stick. Afterwards prove the words with p and delete the file."
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
        first = f"The key {key_id} will be replaced."
        if self.kind == FOLLOW:
            return [
                first,
                "The new key is the one of the words that you typed; another machine of yours already uses it.",
            ]
        does = STOLEN if self.kind in (COMPROMISED, LOST) else SAFE
        lost = [f"{self.name} and its signatures will be refused, and its tokens revoked."]
        return [first, does, *(lost if self.kind == LOST else ()), f"The new words will be written to {self.words_to}."]

    @property
    def phrase(self) -> str:
        """Return the phrase that the user has to type."""
        return self.name if self.kind == LOST and self.name else PHRASE


def find_file_problem(text: str) -> str | None:
    """Return what is wrong with a file name, or None. The command itself checks that the file is new."""
    text = text.strip()
    if not text:
        return "type the path of a new file"
    if text == "-":
        return "type the path of a file for the words"
    if not PurePath(text).is_absolute():
        return "type the absolute path"
    return None
