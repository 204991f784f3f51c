"""Open the source of a conversion as a state: an archive, an agent on this machine, a file or running instance of
another system."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.snapshot import SnapshotReader
from lifeboat_alf.states.agent_state import State
from lifeboat_core.agents import agent as agents
from lifeboat_core.errors import ExchangeError
from lifeboat_core.exchange import encrypted_archives, foreign_state, instance_notes
from lifeboat_core.exchange.encrypted_archives import SUFFIX, Archive
from lifeboat_core.home.context import Context
from lifeboat_core.processes.progress import Tell
from lifeboat_core.restore import wanted_contents
from lifeboat_formats.interchange import format_registry
from lifeboat_formats.interchange.contract import ConversionContext, Format, FormatReading, Options
from lifeboat_keys.errors import NoAgentKey

ALF = "alf"
_AGENT = "agent:"
_COMMAND = "stdio:"
_ZIP = b"PK\x03\x04"


class SourceKind(Enum):
    FILE = "a file"
    AGENT = "an agent on this machine"
    ADDRESS = "a running instance"


@dataclass(frozen=True, slots=True)
class ConversionSource:
    """`text` is the source as typed; `name` that of an agent, without the prefix."""

    kind: SourceKind
    text: str

    @classmethod
    def of(cls, text: str) -> ConversionSource:
        if text.startswith(_AGENT):
            return cls(SourceKind.AGENT, text)
        return cls(SourceKind.ADDRESS if is_address(text) else SourceKind.FILE, text)

    @property
    def name(self) -> str:
        return self.text.removeprefix(_AGENT) if self.kind is SourceKind.AGENT else self.text


def is_address(text: str) -> bool:
    """Return whether a source or a target is a running instance and not a file."""
    return "://" in text or text.startswith(_COMMAND)


@dataclass(slots=True)
class OpenedSource:
    """A source as a state. `format` is None for the Agent Life Format. `reading` has the fates of what a source of
    another system had. `archive` is the file it was read from; `keys` are those that travel with an agent."""

    state: State
    agent_name: str
    format: Format | None = None
    reading: FormatReading | None = None
    archive: Archive | None = None
    keys: JsonObject | None = None
    warnings: list[str] = field(default_factory=list)

    @property
    def format_name(self) -> str:
        return ALF if self.format is None else self.format.name


@dataclass(frozen=True, slots=True)
class SourceReadOptions:
    """How to read a source. `named` is the format that the user names, None: recognise it. `options` returns the
    options for reading a format. `signed`: this machine signs a state of another system. `lasting`: what is learned of
    an instance is stored."""

    around: ConversionContext
    options: Callable[[Format], Options]
    tell: Tell
    named: str | None = None
    passphrase: str | None = field(default=None, repr=False)
    signed: bool = False
    lasting: bool = True


@contextmanager
def open_source(
    context: Context, source: ConversionSource, how: SourceReadOptions, scratch: Path
) -> Iterator[OpenedSource]:
    """Open a source as a state. `scratch` is an empty folder of this conversion.

    Raises SourceRefused, UnknownFormat, InstanceFailed, ExchangeError, UnknownAgent, and what `open_archive` does.
    """
    if source.kind is SourceKind.AGENT:
        way = _agent(context, source, how)
    elif source.kind is SourceKind.ADDRESS:
        way = _instance(context, source, how, scratch)
    else:
        way = _file(context, Path(source.text), how, scratch)
    with way as found:
        yield found


@contextmanager
def _agent(context: Context, source: ConversionSource, how: SourceReadOptions) -> Iterator[OpenedSource]:
    """Open an agent's newest state, with the keys that let its owner open its credentials elsewhere."""
    if how.named not in (None, ALF):
        raise ExchangeError(f"{source.text} is an agent on this machine, so its format cannot be {how.named}")
    agent = agents.find_agent(context, source.name)
    with context.vault(agent.id) as vault:
        if vault.head() is None:
            raise ExchangeError.NOTHING_TO_EXPORT(
                f"the agent {agent.name} has not been captured yet", fix="lifeboat sync"
            )
        try:
            keys = context.keys().export_agent(agent.id)
        except NoAgentKey:
            keys = None
        yield OpenedSource(vault.state(), agent.name, keys=keys)


@contextmanager
def _instance(
    context: Context, source: ConversionSource, how: SourceReadOptions, scratch: Path
) -> Iterator[OpenedSource]:
    chosen = (
        format_registry.load_format(how.named) if how.named is not None else format_registry.detect_format(source.text)
    )
    with instance_notes.open_instance_notes(context, chosen.name, source.text, lasting=how.lasting) as notes:
        around = replace(how.around, notes=notes)
        with _read(context, chosen, source.text, replace(how, around=around), scratch) as found:
            yield found


@contextmanager
def _file(context: Context, path: Path, how: SourceReadOptions, scratch: Path) -> Iterator[OpenedSource]:
    refuse_irregular_file(path)
    with encrypted_archives.open_archive(context, path, how.passphrase) as archive:
        if is_zip_archive(archive) and how.named in (None, ALF):
            with _archive(archive) as found:
                yield found
            return
        if how.named == ALF:
            raise ExchangeError(f"{path} is not an ALF archive", fix="the same command without --from")
        plain = decrypt_archive(context, archive, scratch) if archive.is_encrypted else path
        chosen = (
            format_registry.load_format(how.named)
            if how.named is not None
            else format_registry.detect_format(str(plain))
        )
        with _read(context, chosen, str(plain), how, scratch) as found:
            found.archive = archive
            yield found


def refuse_irregular_file(path: Path) -> None:
    """Raise ExchangeError for anything but a regular file: files are read more than once, and a pipe would block
    forever."""
    if path.is_dir():
        fix = f"lifeboat agents add {path} --runtime RUNTIME, then give agent:NAME instead of the folder"
        raise ExchangeError(f"{path} is a folder, not a file", fix=fix)
    if path.exists() and not path.is_file():
        raise ExchangeError(f"{path} is not a regular file")


def is_zip_archive(archive: Archive) -> bool:
    """Return whether an opened file can be an archive of ours."""
    start = archive.stream.read(len(_ZIP))
    archive.stream.seek(0)
    return start == _ZIP


@contextmanager
def _archive(archive: Archive) -> Iterator[OpenedSource]:
    if archive.is_delta:
        raise ExchangeError(
            f"{archive.path} is a delta; apply it to a snapshot first", fix="lifeboat alf apply SNAPSHOT DELTA -o NEW"
        )
    with SnapshotReader(archive.stream) as reader:
        named = wanted_contents.read_agent_name(reader)
        yield OpenedSource(reader, named, archive=archive, keys=reader.keys, warnings=list(reader.warnings))


def decrypt_archive(context: Context, archive: Archive, scratch: Path) -> Path:
    """Decrypt a file under a name that formats recognise, into a private folder that is removed with the conversion."""
    name = archive.path.name
    plain = scratch / (name[: -len(SUFFIX)] if name.lower().endswith(SUFFIX) else name)
    with plain.open("xb") as stream:
        plain.chmod(0o600)
        shutil.copyfileobj(archive.stream, stream)
    return plain


@contextmanager
def _read(
    context: Context, chosen: Format, source: str, how: SourceReadOptions, scratch: Path
) -> Iterator[OpenedSource]:
    folder = scratch / "vault"
    with chosen.read(source, how.options(chosen), how.around) as reading:
        filling = foreign_state.fill_foreign_state(context, reading, chosen.name, folder, how.tell, signed=how.signed)
        with filling as state:
            yield OpenedSource(state, reading.agent_name, chosen, reading)
