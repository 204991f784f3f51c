"""The contract of formats of other systems. In contrast to adapters, which watch files, a format converts once in
either direction.

A format reads a source (a file or the address of a running instance) as memory records, and writes a state of the Agent
Life Format. Everything that it cannot carry over gets a fate in the receipt. Formats are found by the entry point group
`lifeboat.formats`, under their names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, BinaryIO

from lifeboat_adapters.item_fates import ItemFate
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.states.agent_state import State
from lifeboat_formats.interchange.errors import NoInstance

Value = str | bool
Options = Mapping[str, Value]
"""Chosen values by `FormatOption.name`, for every option of the format and direction."""


class OptionKind(StrEnum):
    """The kind of value of an option."""

    FLAG = "flag"
    """False unless given."""
    TEXT = "text"
    CHOICE = "choice"
    FILE = "file"
    """The path of an existing file."""


@dataclass(frozen=True, slots=True)
class FormatOption:
    """A user option of a format, offered by commands as `--NAME`. `help` has at most 62 characters. `reads` and
    `writes` tell in which direction the option applies."""

    name: str
    help: str
    kind: OptionKind = OptionKind.FLAG
    choices: tuple[str, ...] = ()
    default: str = ""
    reads: bool = False
    writes: bool = False


@dataclass(frozen=True, slots=True)
class FormatNotice:
    """A remark about a whole source or target. `code` is for programs, `where` a line, a section or a name. Neither
    contains content."""

    code: str
    text: str
    where: str = ""


@dataclass(frozen=True, slots=True)
class FormatFinding:
    """The result of a check. `code` is the format's own; `line` counts from 1, None without lines."""

    code: str
    text: str
    is_error: bool
    line: int | None = None
    where: str = ""

    def to_json(self) -> JsonObject:
        severity = "error" if self.is_error else "warning"
        return {"code": self.code, "text": self.text, "severity": severity, "line": self.line, "where": self.where}


@dataclass(slots=True)
class FormatReading:
    """A source as memories.

    `records` are whole records of the Agent Life Format without `agent_id`. Each has `temporal.created_at` and an `id`
    that is the same for the same source. They can be iterated once, in their final order. `entries` are documents
    (`identity.json`, `principals.json`; without ids of the agent) and raw files by archive path. `fates` and `notices`
    grow while the records are read and are complete afterwards: they account for every object in the source. `agent_id`
    is the agent's own id if the source knows it.
    """

    agent_name: str
    records: Iterable[JsonObject]
    entries: Mapping[str, bytes] = field(default_factory=dict)
    fates: list[ItemFate] = field(default_factory=list)
    notices: list[FormatNotice] = field(default_factory=list)
    agent_id: str | None = None


@dataclass(slots=True)
class FormatWriteResult:
    """The result of writing a state, with a fate for everything that could have been lost. `figures` are named counts
    and ratios for the receipt; `signature` is the suffix and content of a file to store beside the target."""

    fates: list[ItemFate] = field(default_factory=list)
    notices: list[FormatNotice] = field(default_factory=list)
    figures: dict[str, int | float] = field(default_factory=dict)
    signature: tuple[str, bytes] | None = None


@dataclass(frozen=True, slots=True)
class WriterIdentity:
    """The writing installation. `producer` is its public name (lower-case ASCII); `sign` makes Ed25519 signatures for
    the key `public`, None if nothing is signed."""

    producer: str = ""
    sign: Any = None
    public: bytes = b""


@dataclass(slots=True)
class ConversionContext:
    """What a conversion may use besides its source: the time `now`, the writing identity, and `notes` that persist
    between conversions with the same instance."""

    now: str
    identity: WriterIdentity = field(default_factory=WriterIdentity)
    notes: MutableMapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MappingRow:
    """A row of a mapping table in the documentation: the foreign element, its form in the Agent Life Format, and a
    note."""

    theirs: str
    ours: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class MappingTable:
    """A table of `docs/interchange.md`, generated from the values that the code applies."""

    title: str
    rows: Sequence[MappingRow]


class Format:
    """A format of files that loses nothing and has no options, unless it says otherwise.

    Every format overrides `name`, `title`, `recognises` and `read`, and `write` for files or `send` for running
    instances. Methods raise InterchangeError where the user must act, and its subclass SourceRefused for a source that
    is damaged or of another format.
    """

    name = ""
    title = ""
    suffixes: tuple[str, ...] = ()
    """How its files end, the usual one first; () for a format of running instances."""
    options: tuple[FormatOption, ...] = ()

    def recognises(self, source: str, head: bytes) -> bool:
        """Return whether a source is of this format, by its name (or address) and its first 64 KiB."""
        raise NotImplementedError

    def read(self, source: str, options: Options, around: ConversionContext) -> AbstractContextManager[FormatReading]:
        """Open a source and give its memories out."""
        raise NotImplementedError

    def losses(self, state: State, options: Options) -> list[ItemFate]:
        """Return what `write` would not carry over unchanged. It only reads the state."""
        return []

    def write(self, state: State, target: BinaryIO, options: Options, around: ConversionContext) -> FormatWriteResult:
        """Write a state as a file, in pieces. Raises InterchangeError, before the first byte where possible."""
        raise NoInstance(f"{self.title} is a server, not a file format: give the address of a running server")

    def send(self, state: State, address: str, options: Options, around: ConversionContext) -> FormatWriteResult:
        """Write a state into a running instance. Raises NoInstance for a format of files."""
        raise NoInstance(f"{self.title} is a file format: give the path of a file, not the address {address}")

    def check(self, source: str, *, strict: bool) -> Iterable[FormatFinding]:
        """Return everything that is wrong with a source, in order."""
        return ()

    def mappings(self) -> Sequence[MappingTable]:
        """Return the mapping tables of the documentation."""
        return ()
