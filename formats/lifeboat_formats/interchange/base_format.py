"""Defaults for formats: the answers of a format of files that loses nothing and has no options."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import BinaryIO

from lifeboat_adapters.item_fates import ItemFate
from lifeboat_alf.states.agent_state import State
from lifeboat_formats.interchange.contract import (
    ConversionContext,
    FormatFinding,
    FormatOption,
    FormatWriteResult,
    MappingTable,
    Options,
)
from lifeboat_formats.interchange.errors import NoInstance


class BaseFormat:
    """Defaults of `contract.Format`. A format itself defines name, title, recognises, read and mappings, and `write`
    for files or `send` for running instances."""

    name = ""
    title = ""
    suffixes: tuple[str, ...] = ()
    options: tuple[FormatOption, ...] = ()

    def losses(self, state: State, options: Options) -> list[ItemFate]:
        return []

    def write(self, state: State, target: BinaryIO, options: Options, around: ConversionContext) -> FormatWriteResult:
        raise NoInstance(f"{self.title} is no file: name the address of a running instance")

    def send(self, state: State, address: str, options: Options, around: ConversionContext) -> FormatWriteResult:
        raise NoInstance(f"{self.title} is written as a file, not sent to {address}")

    def check(self, source: str, *, strict: bool) -> Iterable[FormatFinding]:
        return ()

    def mappings(self) -> Sequence[MappingTable]:
        return ()
