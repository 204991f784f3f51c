"""What is searched for, and where it stands in bytes, however a file spells it.

A text is found as it is, without its outer white space, in either normal form of Unicode, with either line end, in
UTF-16, and escaped in JSON in every way JSON allows, also in JSON that stands in a string of JSON. Patterns see decoded
text and the text of its escapes. Case counts.

Matches that lie inside an id, a time or a vector are none: no memory is kept there, and six digits stand in many of them.
"""

from __future__ import annotations

import re
import time
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from lifeboat_alf import codec, layout
from lifeboat_alf.errors import PurgeError
from lifeboat_alf.passages import Span, is_json
from lifeboat_alf.purging import views
from lifeboat_alf.purging.patterns import checked, finder

__all__ = ["Span", "Wanted"]


@dataclass(frozen=True)
class Wanted:
    """Texts and patterns. Raises PurgeError for a text of nothing but white space, and for a pattern that may take for
    ever or finds the empty text."""

    texts: tuple[str, ...] = ()
    patterns: tuple[re.Pattern[str], ...] = ()

    def __post_init__(self) -> None:
        if any(not text.strip() for text in self.texts):
            raise PurgeError("the text to look for is empty")
        for pattern in self.patterns:
            checked(pattern)

    def __bool__(self) -> bool:
        return bool(self.texts or self.patterns)

    def spans(self, path: str, body: bytes) -> list[Span]:
        """Where matches stand in the bytes of a file (or of a record's line), in order and joined where they touch."""
        raise NotImplementedError
