"""Compare-and-set for a head in a place that can only create files: one numbered file for each head.

The head with the largest number counts. A machine that replaces head N creates N+1, which fails if N+1 exists. So of
two machines that replace the same head, one fails. There is no lock, so nothing has to expire and no clock is compared.

Older heads are cleared in ascending order, and only after a larger number exists. A machine that slept could therefore
create a number that was cleared meanwhile. It notices that, because N was cleared before N+1 could be: after it created
N+1, head N must still be there, and N+1 must be the largest. Otherwise it counts as not written. It is then not removed
either, because another machine may already have built on it. Number 1 is emptied and never removed, so that it cannot
be created twice.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple, Protocol

from lifeboat_core.remotes.sealed.log_files import HeadMoved
from lifeboat_vault.errors import RemoteBusy, RemoteDamaged

_LOOKS = 20
"""How often a head is looked for that other machines keep replacing."""


class HeadPlace(Protocol):
    """The heads of one agent. Every method raises RemoteError."""

    def numbers(self) -> list[int]:
        """Return the numbers of all heads that were not cleared, sorted."""
        ...

    def read(self, number: int) -> bytes:
        """Return a head; b"" for one that was cleared."""
        ...

    def create(self, number: int, data: bytes) -> bool:
        """Create a whole head durably; return False if the number exists, also as an emptied head."""
        ...

    def clear(self, number: int) -> None:
        """Remove a head, but only empty number 1. That it is gone already is no error."""
        ...


class NumberedHead(NamedTuple):
    """A head with its number. `tag` identifies its bytes."""

    number: int
    data: bytes
    tag: str


class NumberedHeads:
    """The head of one agent at `place`. It belongs to one thread."""

    def __init__(self, place: HeadPlace) -> None:
        self._place = place
        self._known: NumberedHead | None = None

    def load(self) -> NumberedHead | None:
        """Return the head, None if there is none. Raises RemoteDamaged (it is empty), RemoteBusy."""
        before = 0
        for _ in range(_LOOKS):
            numbers = self._place.numbers()
            if not numbers:
                self._known = None
                return None
            if data := self._place.read(numbers[-1]):
                self._known = NumberedHead(numbers[-1], data, tag_of(data))
                return self._known
            # Another machine may have replaced and cleared it after it was listed. Otherwise it is listed again.
            if numbers[-1] == before:
                raise RemoteDamaged("the newest head of the agent is empty")
            before = numbers[-1]
        raise RemoteBusy("other machines keep replacing the head of the agent", retry_after=5.0)

    def replace(self, data: bytes, expected: str | None) -> str:
        """Replace the head with the tag `expected` (None: there is none yet), and return the new tag. Raises
        HeadMoved."""
        known = self._known
        if (None if known is None else known.tag) != expected or known is None:
            known = self.load()
        if (None if known is None else known.tag) != expected:
            raise _moved()
        base = 0 if known is None else known.number
        self._known = None
        if not self._place.create(base + 1, data):
            raise _moved()
        numbers = self._place.numbers()
        if numbers[-1:] != [base + 1] or (base and base not in numbers):
            raise _moved()
        for number in numbers[:-1]:
            self._place.clear(number)
        self._known = NumberedHead(base + 1, data, tag_of(data))
        return self._known.tag


def tag_of(data: bytes) -> str:
    """Return what identifies the bytes of a head."""
    return hashlib.sha256(data).hexdigest()


def _moved() -> HeadMoved:
    return HeadMoved("another machine wrote to the remote at the same time")
