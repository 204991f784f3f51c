"""`lifeboat alf purge`: the text or pattern to find, the purge, and the output."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_cli.terminal.command_session import CommandSession
from lifeboat_cli.terminal.output import CommandOutput
from lifeboat_core.texts.human_text import count_text, path_text

if TYPE_CHECKING:
    from lifeboat_alf.purging.file_purge import FilePurgeResult
    from lifeboat_alf.purging.purge_items import PurgeOptions
    from lifeboat_alf.purging.purge_terms import PurgeTerms
    from lifeboat_core.exchange import Archive, ArchiveEncryption

    Seal = Callable[[Sequence[Archive], CommandOutput], ArchiveEncryption | None]

_LARGEST = 1 << 20
"""Characters of the text to find."""


@dataclass(frozen=True, slots=True)
class AlfPurgeTerms:
    """What to find: `text` from the command line, or a text or pattern on standard input."""

    text: str | None
    is_on_stdin: bool
    is_pattern: bool


@dataclass(frozen=True, slots=True)
class AlfPurgeOrder:
    """A purge of one file. `target` is the file to write, None for a dry run."""

    file: Path
    records: tuple[str, ...]
    wanted: PurgeTerms
    options: PurgeOptions
    reason: str
    requested_by: str | None
    target: Path | None
    force: bool


def run_alf_purge(session: CommandSession, order: AlfPurgeOrder, passphrase: str | None, seal: Seal) -> FilePurgeResult:
    """Purge a file. `passphrase` opens it, `seal` chooses the encryption of the new one."""
    from lifeboat_alf.purging.file_purge import FilePurgeRequest, purge_file
    from lifeboat_core.exchange import create_archive, open_archive
    from lifeboat_core.purge.memory_pieces import pieces_of

    with ExitStack() as stack:
        archive = stack.enter_context(open_archive(session.context, order.file, passphrase))
        stream = None
        if order.target is not None:
            encryption = seal([archive], session.output)
            stream = stack.enter_context(create_archive(session.context, order.target, encryption, force=order.force))
        request = FilePurgeRequest(
            session.context.clock.now(),
            order.wanted,
            order.options,
            order.reason,
            order.requested_by,
            pieces_of(session.context),
        )
        return purge_file(archive.stream, order.records, stream, request)


def check_terms(
    records: tuple[str, ...], *, text_stdin: bool, text: str | None, pattern_stdin: bool, passage: bool
) -> AlfPurgeTerms:
    """Check that the options are compatible, without reading anything. Raises UsageError."""
    given = sum((text_stdin, text is not None, pattern_stdin))
    if given > 1:
        raise click.UsageError("use only one of --text-stdin, --text and --pattern-stdin")
    if not given and not records:
        raise click.UsageError("Choose what to purge: --record ID, --text-stdin or --pattern-stdin")
    if passage and not given:
        raise click.UsageError("--passage removes a text and needs --text-stdin, --text or --pattern-stdin")
    if text is not None:
        click.echo("warning: the text is now in the shell's history; next time use --text-stdin", err=True)
    return AlfPurgeTerms(text, text_stdin or pattern_stdin, pattern_stdin)


def read_purge_target(terms: AlfPurgeTerms) -> PurgeTerms:
    """Read what to find. Raises UsageError for an empty text, PurgeError for an invalid pattern."""
    from lifeboat_alf.purging.bounded_patterns import compile_pattern
    from lifeboat_alf.purging.purge_terms import PurgeTerms

    text = _from_stdin() if terms.is_on_stdin else terms.text
    if text is None:
        return PurgeTerms()
    if not text.strip():
        raise click.UsageError("The text to purge is empty and would match everything.")
    return PurgeTerms(patterns=(compile_pattern(text),)) if terms.is_pattern else PurgeTerms(texts=(text,))


def _from_stdin() -> str:
    """Read the rest of standard input without the line break at its end, prompting on a terminal."""
    if sys.stdin is None:
        raise click.UsageError("--text-stdin needs a text on standard input")
    if sys.stdin.isatty():
        return str(click.prompt("Text to purge (input is hidden)", hide_input=True, err=True))
    try:
        text = sys.stdin.read(_LARGEST + 1)
    except UnicodeDecodeError:
        raise click.UsageError("the text on standard input is not UTF-8") from None
    if len(text) > _LARGEST:
        raise click.UsageError(f"the text to purge is longer than {_LARGEST} characters, the limit of one purge")
    return text.removeprefix("\ufeff").removesuffix("\n").removesuffix("\r")


def describe_planned_purge(purged: FilePurgeResult) -> JsonObject:
    """Return the document of a dry run: the audit record as it would be, and what would be removed from where."""
    return {
        **purged.audit,
        "partitions": [{"file": file, "records": count} for file, count in purged.counts.items()],
        "files": [{"path": path, "matches": count} for path, count in purged.files.items()],
        "hits": [hit._asdict() for hit in purged.hits],
        "warnings": purged.warnings,
    }


def print_purged(output: CommandOutput, purged: FilePurgeResult, target: Path | None, *, dry_run: bool) -> None:
    """Print what was removed, or would be, for people."""
    output.line(_headline(purged, target, dry_run=dry_run), style="bold")
    if purged.counts:
        output.table(("partition", "memories"), [(file, str(count)) for file, count in purged.counts.items()])
    if purged.files:
        output.table(("file", "matches"), [(path_text(path), str(count)) for path, count in purged.files.items()])
    if dry_run and purged.hits:
        rows = [(path_text(hit.where), "" if hit.line is None else str(hit.line), hit.masked) for hit in purged.hits]
        output.table(("where", "line", "match"), rows)
    if not dry_run:
        audit = purged.audit
        output.line(f"{audit['purge_id']}: {audit['reason']}, requested by {audit['requested_by']}")


def _headline(purged: FilePurgeResult, target: Path | None, *, dry_run: bool) -> str:
    number = len(purged.audit["record_ids"])
    if not (number or purged.hits or purged.files):
        return "Nothing in the archive matches."
    gone = count_text(number, "memory") if number else "the matching text"
    return f"Would purge {gone}." if dry_run else f"Wrote {target} without {gone}."
