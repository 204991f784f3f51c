"""What a format of another system is, beside the adapter that watches its files: bytes in, memories out, and back.

A format reads a source (a file, or the address of a running instance) as memory records, and writes a state of the
Agent Life Format as its own kind. Whatever it cannot carry over is a fate of a receipt, never silence. Formats are
found by the entry point group `lifeboat.formats`, under their names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, BinaryIO, Protocol

from lifeboat_adapters.item_fates import ItemFate
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.states.agent_state import State

Value = str | bool
Options = Mapping[str, Value]
"""What was chosen, by `Option.name`; every option of the format and direction stands in it."""


class OptionKind(StrEnum):
    FLAG = "flag"
    """False unless given."""
    TEXT = "text"
    CHOICE = "choice"
    FILE = "file"
    """The path of a file that is there."""


@dataclass(frozen=True, slots=True)
class FormatOption:
    """A choice that a format leaves to its user, a command offers it as `--NAME`. `help` has at most 62 characters.
    `reads` and `writes` say in which direction it counts."""

    name: str
    help: str
    kind: OptionKind = OptionKind.FLAG
    choices: tuple[str, ...] = ()
    default: str = ""
    reads: bool = False
    writes: bool = False


@dataclass(frozen=True, slots=True)
class FormatNotice:
    """Something about a whole source or target that its user should know. `code` is for programs; `where` a line, a
    section or a name; neither holds content."""

    code: str
    text: str
    where: str = ""


@dataclass(frozen=True, slots=True)
class FormatFinding:
    """What a check found. `code` is the format's own word; `line` counts from 1, None where there are none."""

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

    `records` are whole records of the Agent Life Format but for `agent_id`, each with an `id` that the same source
    gives every time and `temporal.created_at`, read once, in the order in which they are to stand. `entries` are
    documents (`identity.json`, `principals.json`; without ids of the agent) and raw files by archive path. `fates` and
    `notices` grow while the records are read and are complete afterwards: their sum is the number of objects in the
    source. `agent_id` is the agent's own id where the source knows it.
    """

    agent_name: str
    records: Iterable[JsonObject]
    entries: Mapping[str, bytes] = field(default_factory=dict)
    fates: list[ItemFate] = field(default_factory=list)
    notices: list[FormatNotice] = field(default_factory=list)
    agent_id: str | None = None


@dataclass(slots=True)
class FormatWriteResult:
    """What became of a state: a fate for everything that could have been lost. `figures` are counts and ratios that
    the receipt shows by name; `signature` is what belongs into a file of its own beside the target, with that file's
    ending."""

    fates: list[ItemFate] = field(default_factory=list)
    notices: list[FormatNotice] = field(default_factory=list)
    figures: dict[str, int | float] = field(default_factory=dict)
    signature: tuple[str, bytes] | None = None


@dataclass(frozen=True, slots=True)
class WriterIdentity:
    """Who writes: `producer` names this installation to others (lower-case ASCII), `sign` makes an Ed25519 signature
    with `public` as its key, None where nothing is signed."""

    producer: str = ""
    sign: Any = None
    public: bytes = b""


@dataclass(slots=True)
class ConversionContext:
    """What a conversion may use beside its source: `now` (a timestamp), who writes, and `notes` that last from one
    conversion with the same instance of another system to the next."""

    now: str
    identity: WriterIdentity = field(default_factory=WriterIdentity)
    notes: MutableMapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MappingRow:
    """A row of a format's mapping table, as the documentation shows it: what stands there, what it is in the Agent
    Life Format, and what else is worth saying."""

    theirs: str
    ours: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class MappingTable:
    """A table of `docs/interchange.md`. It is made from the values that the code applies, never written twice."""

    title: str
    rows: Sequence[MappingRow]


class Format(Protocol):
    """A format. Everything raises `lifeboat_formats.interchange.errors.InterchangeError` where a person has to do
    something; a source that is no such format, or damaged, is `SourceRefused`."""

    name: str
    title: str
    suffixes: tuple[str, ...]
    """How its files end, the usual one first; () for one that is an instance, not a file."""
    options: tuple[FormatOption, ...]

    def recognises(self, source: str, head: bytes) -> bool:
        """Whether a source is of this format, by its name (or address) and its first 64 KiB."""
        ...

    def read(
        self, source: str, options: Options, around: ConversionContext
    ) -> AbstractContextManager[FormatReading]: ...

    def losses(self, state: State, options: Options) -> list[ItemFate]:
        """What `write` would not carry over as it is. Reads the state only."""
        ...

    def write(self, state: State, target: BinaryIO, options: Options, around: ConversionContext) -> FormatWriteResult:
        """Write a state as a file, in pieces. Raises InterchangeError before the first byte where it can be known."""
        ...

    def send(self, state: State, address: str, options: Options, around: ConversionContext) -> FormatWriteResult:
        """Write a state into a running instance. Raises NoInstance for a format of files."""
        ...

    def check(self, source: str, *, strict: bool) -> Iterable[FormatFinding]:
        """Everything that is wrong with a source, in its order."""
        ...

    def mappings(self) -> Sequence[MappingTable]: ...
