"""Aimem as a format."""

from __future__ import annotations

from contextlib import AbstractContextManager

from lifeboat_adapters.interchange.base import BaseFormat
from lifeboat_adapters.interchange.contract import Options, Reading, Surroundings
from lifeboat_adapters.interchange.errors import SourceRefused


class AimemFormat(BaseFormat):
    """`contract.Format`."""

    name = "aimem"
    title = "Aimem"

    def recognises(self, source: str, head: bytes) -> bool:
        return False

    def read(self, source: str, options: Options, around: Surroundings) -> AbstractContextManager[Reading]:
        raise SourceRefused(f"{source} cannot be read")


FORMAT = AimemFormat()
