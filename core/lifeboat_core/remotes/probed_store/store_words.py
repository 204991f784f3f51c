"""How messages name a store and what is in it. Light: the kinds of remotes import it."""

from __future__ import annotations

from typing import NamedTuple


class StoreWords(NamedTuple):
    """How messages name things: `place` is what the address leads to, `unit` one thing in it, `store` what answers,
    `part` the part of the address below which everything is."""

    place: str
    unit: str
    store: str
    part: str

    @property
    def one(self) -> str:
        return f"{'an' if self.unit[0] in 'aeio' else 'a'} {self.unit}"
