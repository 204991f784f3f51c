"""Replacement of the key in force: its kind, its effect, and its command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

PLAIN, COMPROMISED, LOST, FOLLOW = "plain", "compromised", "lost", "follow"
CHOICES = (
    (PLAIN, "Routine: no other person has the key"),
    (COMPROMISED, "Another person may have the key: encrypt all credentials again and refuse the old key"),
    (LOST, "A machine with the key was lost: refuse that machine and replace the key"),
    (FOLLOW, "You replaced the key on another machine: enter the new words here"),
)
PHRASE = "replace the key"
SAFE = (
    "The stored history is not rewritten. The new words open all copies; the old words open only copies from "
    "before the replacement."
)
STOLEN = (
    "All credentials are encrypted again, and new signatures by the old key are refused. Anyone with "
    "the old key can still decrypt old copies. Afterwards a list shows which credentials the issuing "
    "services should replace."
)
WORDS_FILE = (
    "The 24 words of the new key are written to this file before the key is replaced. Choose a new file that only "
    "you can read, preferably on a USB stick. Afterwards press p to prove that you have the words, and delete the "
    "file."
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
                "The words that you typed become your key here. Another machine of yours uses this key already.",
            ]
        does = STOLEN if self.kind in (COMPROMISED, LOST) else SAFE
        lost = [f"The machine {self.name} and its signatures will be refused, and its tokens will be revoked."]
        return [
            first,
            does,
            *(lost if self.kind == LOST else ()),
            f"The 24 words of the new key will be written to {self.words_to}.",
        ]

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
        return "type the path of a file for the words (- is not possible here)"
    if not PurePath(text).is_absolute():
        return "type an absolute path, which begins with /"
    return None
