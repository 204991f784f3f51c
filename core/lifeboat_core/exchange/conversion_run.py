"""Convert between formats (`lifeboat alf convert`), through the Agent Life Format.

A receipt says what became of everything, and the user is asked before anything is lost. A file appears completely or
not at all; for a running instance the receipt says what arrived.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, cast

from lifeboat_alf.snapshot import write_snapshot
from lifeboat_core.agents.locks import file_lock
from lifeboat_core.errors import ExchangeError
from lifeboat_core.exchange import conversion_options, conversion_source, encrypted_archives, instance_notes
from lifeboat_core.exchange.conversion_source import ALF, ConversionSource, OpenedSource, SourceReadOptions, is_address
from lifeboat_core.exchange.encrypted_archives import Archive, ArchiveEncryption
from lifeboat_core.exchange.new_file import create_file, refuse_existing
from lifeboat_core.home import home_key
from lifeboat_core.home.context import Context
from lifeboat_core.processes.progress import Tell, tell_nobody
from lifeboat_core.restore.scratch_folders import make_scratch_folder
from lifeboat_formats.interchange import format_registry
from lifeboat_formats.interchange.contract import (
    ConversionContext,
    Format,
    FormatWriteResult,
    Options,
    Value,
    WriterIdentity,
)
from lifeboat_formats.interchange.conversion_report import ConversionReport

PURPOSE = "convert"
_PRODUCER_LIMIT = 64


@dataclass(frozen=True, slots=True)
class ConversionOrder:
    """What to convert. `target` is a file or an address, None for a dry run without one. `named` is the format of the
    source if it should not be recognised, `given` the format options. `seal` returns how the new file is encrypted,
    given the file that was read."""

    source: ConversionSource
    to: str
    target: str | None = None
    named: str | None = None
    given: Mapping[str, Value] = field(default_factory=dict)
    producer: str | None = None
    passphrase: str | None = field(default=None, repr=False)
    seal: Callable[[Archive | None], ArchiveEncryption | None] = lambda archive: None
    dry_run: bool = False
    force: bool = False


Agree = Callable[[ConversionReport], None]
"""Receives a preview of what would be lost; raises to refuse it."""


def convert_source(
    context: Context, order: ConversionOrder, agree: Agree, tell: Tell = tell_nobody
) -> ConversionReport:
    """Convert, or with `dry_run` report what that would do.

    Raises UnknownFormat, SourceRefused, InstanceFailed, NoInstance, SecretsFound, ExchangeError.OPTION_REFUSED,
    ExchangeError.FILE_EXISTS, what `agree` raises, and what `open_source` does.
    """
    target = None if order.to == ALF else format_registry.load_format(order.to)
    _check(order, target)
    around = ConversionContext(context.now(), _identity(context, order.producer))
    is_signed = target is None and not order.dry_run
    if is_signed:
        context.keys().ensure()

    def options(chosen: Format) -> Options:
        conversion_options.refuse_other_options(order.given, chosen, target)
        return conversion_options.choose_reading_options(chosen, order.given)

    how = SourceReadOptions(
        around, options, tell, order.named, order.passphrase, signed=is_signed, lasting=not order.dry_run
    )
    with ExitStack() as stack:
        scratch = stack.enter_context(make_scratch_folder(context, PURPOSE))
        found = stack.enter_context(conversion_source.open_source(context, order.source, how, scratch))
        if found.format is None:
            conversion_options.refuse_other_options(order.given, None, target)
        return _ConversionRun(context, order, found, target, around, agree, tell).run()


def _check(order: ConversionOrder, target: Format | None) -> None:
    """Refuse what can be refused before anything is read."""
    if order.target is None or is_address(order.target):
        if order.target is not None and target is None:
            raise ExchangeError.OPTION_REFUSED(f"the target of an archive must be a file, not {order.target}")
        return
    if not order.dry_run:
        refuse_existing(Path(order.target), force=order.force)


def _identity(context: Context, producer: str | None) -> WriterIdentity:
    """Return this installation, and the user's key if there is one. The key is requested only for signing."""
    name = producer or f"alf-{context.home.read_id(context.files).replace('-', '')[:8]}"
    if not (name.isascii() and name.islower() and name.isprintable() and len(name) <= _PRODUCER_LIMIT) or " " in name:
        raise ExchangeError.OPTION_REFUSED("--producer must be lower-case ASCII without spaces, at most 64 characters")
    public = home_key.load_known_public(context)
    if public is None:
        return WriterIdentity(name)
    return WriterIdentity(name, lambda message: context.keys().user_key().sign(message), public.sign)


@dataclass(slots=True)
class _ConversionRun:
    context: Context
    order: ConversionOrder
    found: OpenedSource
    target: Format | None
    around: ConversionContext
    agree: Agree
    tell: Tell

    def run(self) -> ConversionReport:
        options = self._options()
        report = self._report(options)
        if report.loses and not self.order.dry_run:
            self.agree(report)
        self.tell(f"Writing {self.order.to}", 0, None)
        if self.target is None:
            self._write_archive(report)
        elif self.order.target is not None and is_address(self.order.target):
            self._send(self.target, self.order.target, options, report)
        elif self.target.suffixes or not self.order.dry_run:
            self._write(self.target, options, report)
        return report

    def _options(self) -> Options:
        if self.target is None:
            return {}
        return conversion_options.choose_writing_options(self.target, self.order.given, self.order.target or "")

    def _report(self, options: Options) -> ConversionReport:
        """Return the report before anything is written: what the source had, and what the target cannot hold."""
        found, state = self.found, self.found.state
        return ConversionReport(
            source=self.order.source.text,
            source_format=found.format_name,
            target=self.order.target,
            target_format=self.order.to,
            agent=state.sequence.agent_id,
            agent_name=found.agent_name,
            records=sum(1 for _ in state.records()),
            dry_run=self.order.dry_run,
            read=None if found.reading is None else found.reading.fates,
            written=None if self.target is None else self.target.losses(state, options),
            notices=[] if found.reading is None else list(found.reading.notices),
            warnings=list(found.warnings),
        )

    def _write_archive(self, report: ConversionReport) -> None:
        with self._locked(), ExitStack() as stack:
            stream = self._stream(stack, report)
            write_snapshot(self.found.state, stream, keys=self.found.keys)
        self._measure(report, stream)

    def _write(self, target: Format, options: Options, report: ConversionReport) -> None:
        with self._locked(), ExitStack() as beside, ExitStack() as stack:
            stream = self._stream(stack, report)
            written = target.write(self.found.state, stream, options, self.around)
            if written.signature is not None and not self.order.dry_run:
                report.signature = self._sign(beside, *written.signature)
        _take(report, written)
        self._measure(report, stream)

    def _sign(self, beside: ExitStack, ending: str, signature: bytes) -> str:
        """Write the signature; its file appears after the signed file is in place, and not at all if that fails."""
        path = Path(f"{self.order.target}{ending}")
        file = beside.enter_context(create_file(self.context.files, path, force=self.order.force))
        file.write(signature)
        return str(path)

    def _locked(self) -> AbstractContextManager[None]:
        """Lock the target, so that no other process converts into the same file."""
        if self.order.dry_run or self.order.target is None:
            return nullcontext()
        return file_lock(self.context, Path(self.order.target), "convert")

    def _stream(self, stack: ExitStack, report: ConversionReport) -> BinaryIO:
        """Open the file to write to; only count bytes in a dry run."""
        if self.order.dry_run or self.order.target is None:
            return cast(BinaryIO, _CountingSink())
        seal = self.order.seal(self.found.archive)
        path = Path(self.order.target)
        if seal is not None:
            report.encryption = seal.to_json(self.context.keys().public)
        return stack.enter_context(encrypted_archives.create_archive(self.context, path, seal, force=self.order.force))

    def _measure(self, report: ConversionReport, stream: BinaryIO) -> None:
        if isinstance(stream, _CountingSink):
            report.bytes = stream.count
        elif self.order.target is not None:
            report.bytes = Path(self.order.target).stat().st_size

    def _send(self, target: Format, address: str, options: Options, report: ConversionReport) -> None:
        if self.order.dry_run:
            return
        with instance_notes.open_instance_notes(self.context, target.name, address) as notes:
            _take(report, target.send(self.found.state, address, options, replace(self.around, notes=notes)))


def _take(report: ConversionReport, written: FormatWriteResult) -> None:
    report.written = written.fates
    report.notices += written.notices
    report.figures |= written.figures


class _CountingSink(io.RawIOBase):
    """Counts the bytes that a dry run would have written."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        self.count += size
        return size
