"""`lifeboat alf`: work with files of the Agent Life Format. The agent need not be protected."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common.size_texts import size_text
from lifeboat_alf.states.agent_state import StateChanges
from lifeboat_cli.archives import encryption_options
from lifeboat_cli.terminal.command_session import CommandSession, session_command
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.lazy_group import LazyGroup
from lifeboat_cli.terminal.option_types import COUNT, RUNTIME
from lifeboat_cli.terminal.pager import pager_option
from lifeboat_core.texts.human_text import count_text, path_text, time_text

if TYPE_CHECKING:
    from lifeboat_alf.common.json_types import JsonObject
    from lifeboat_alf.snapshot import SnapshotReader
    from lifeboat_core.exchange import Archive

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
NEW_FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


_LAZY = {
    "import": "lifeboat_cli.archives.alf_import:import_file",
    "convert": "lifeboat_cli.archives.alf_convert:convert_file",
}


@click.group(cls=LazyGroup, lazy=_LAZY)
def alf() -> None:
    """Create, check, compare and convert files in the Agent Life Format (.alf)."""


@alf.command(
    short_help="Check an archive, or a file of another memory system.",
    epilog=format_examples("lifeboat alf validate juniper.alf", "lifeboat alf validate memory.aicf --strict"),
)
@click.argument("file", type=FILE)
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
@encryption_options.passphrase_option
@session_command
def validate(session: CommandSession, file: Path, strict: bool, passphrase_stdin: bool) -> int:
    """Check FILE against the rules of its format.

    For a snapshot or delta of the Agent Life Format, the command also checks the checksums and the list of contents
    inside FILE. A file of another memory system is checked against that system's format, and problems are reported
    with their codes and line numbers.
    """
    from lifeboat_core.exchange.file_check import check_file

    found = check_file(session.context, file, encryption_options.passphrase_from_stdin(passphrase_stdin), strict=strict)

    def text() -> None:
        is_ours = found.format_name == "alf"
        for severity, findings in (("error", found.errors), ("warning", found.warnings)):
            for finding in findings:
                code = "" if is_ours else f" ({finding.code})"
                session.output.line(f"{severity}: {finding}{code}")
        of = "" if is_ours else f" ({found.format_name})"
        session.output.line(f"{file}{of}: {'valid' if found.ok else 'not valid'}", style="bold")

    session.output.document(found.to_json(), text)
    return 0 if found.ok else 1


@alf.command(epilog=format_examples("lifeboat alf show juniper.alf"))
@click.argument("file", type=FILE)
@encryption_options.passphrase_option
@session_command
def show(session: CommandSession, file: Path, passphrase_stdin: bool) -> None:
    """Show the contents of an archive."""
    with _opened(session, passphrase_stdin, file) as (archive,):
        document = _describe(archive)

    def text() -> None:
        sealed = encryption_options.describe_encryption(document["encryption"])
        session.output.table(("field", "value"), _rows({**document, "encryption": sealed}))

    session.output.document(document, text)


def _rows(document: JsonObject) -> list[tuple[str, str]]:
    """Return the figures of a file for people. Nested documents are left to `--json`."""
    return [(key.replace("_", " "), _cell(key, value)) for key, value in document.items() if not _is_nested(value)]


def _is_nested(value: object) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and not (value and isinstance(value[0], str)))


def _cell(key: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(value)
    return time_text(value) if key.endswith(("_at", "_timestamp")) and value else str(value)


def _describe(archive: Archive) -> JsonObject:
    described = _describe_delta(archive) if archive.is_delta else _describe_snapshot(archive)
    return {**described, "encryption": archive.encryption_json()}


def _describe_delta(archive: Archive) -> JsonObject:
    from lifeboat_alf.deltas.delta_writer import DeltaReader

    with DeltaReader(archive.stream) as delta:
        return {"kind": "delta", "agent_id": delta.agent_id, "manifest": delta.manifest, **_sync(delta.manifest)}


def _describe_snapshot(archive: Archive) -> JsonObject:
    from lifeboat_alf.snapshot import SnapshotReader

    with SnapshotReader(archive.stream) as snapshot:
        manifest = snapshot.manifest
        memory = manifest.get("layers", {}).get("memory", {})
        return {
            "kind": "snapshot",
            "agent": manifest.get("agent", {}).get("name"),
            "agent_id": snapshot.sequence.agent_id,
            "runtime": manifest.get("agent", {}).get("source_runtime"),
            "sequence": snapshot.sequence.number,
            "created_at": manifest.get("created_at"),
            "records": memory.get("record_count", 0),
            "signed": snapshot.sequence.signature is not None,
            "warnings": list(snapshot.warnings),
            "manifest": manifest,
        }


def _sync(manifest: dict[str, object]) -> dict[str, object]:
    sync = manifest.get("sync")
    return dict(sync) if isinstance(sync, dict) else {}


@contextmanager
def _opened(session: CommandSession, passphrase_stdin: bool, *files: Path) -> Iterator[tuple[Archive, ...]]:
    """Open files for reading, encrypted or not, with one passphrase for all."""
    from lifeboat_core.exchange import open_archive

    passphrase = encryption_options.passphrase_from_stdin(passphrase_stdin)
    with ExitStack() as stack:
        yield tuple(stack.enter_context(open_archive(session.context, file, passphrase)) for file in files)


@alf.command("diff", epilog=format_examples("lifeboat alf diff monday.alf tuesday.alf"))
@click.argument("first", type=FILE)
@click.argument("second", type=FILE)
@encryption_options.passphrase_option
@pager_option
@session_command
def diff_files(session: CommandSession, first: Path, second: Path, passphrase_stdin: bool) -> None:
    """List the differences between two snapshots."""
    from lifeboat_alf.deltas.state_diff import diff_states

    with _opened(session, passphrase_stdin, first, second) as archives, _snapshots(*archives) as (before, after):
        changes = diff_states(before, after)
        document = _changes_document(changes)
        if before.keys != after.keys:  # It is not part of the signed state.
            operation = "remove" if after.keys is None else "put"
            document["entries"].append({"path": archive_layout.KEYS, "operation": operation})
    rows = [(change["operation"], path_text(change["path"])) for change in document["entries"]]
    rows += [(change["operation"], f"memory {change['id']}") for change in document["records"]]

    def text() -> None:
        if not rows:
            session.output.line("No difference.")
            return
        with session.output.pager():
            session.output.table(("operation", "what"), rows)

    session.output.document(document, text)


def _changes_document(changes: StateChanges) -> dict[str, list[dict[str, str]]]:
    return {
        "entries": [
            {"path": change.path, "operation": "remove" if change.entry is None else "put"}
            for change in changes.entries
        ],
        "records": [{"id": change.record.id, "operation": change.operation} for change in changes.records],
    }


@contextmanager
def _snapshots(*archives: Archive) -> Iterator[tuple[SnapshotReader, ...]]:
    from lifeboat_alf.snapshot import SnapshotReader

    for archive in archives:
        _refuse_delta(archive)
    with ExitStack() as stack:
        yield tuple(stack.enter_context(SnapshotReader(archive.stream)) for archive in archives)


def _refuse_delta(archive: Archive) -> None:
    if archive.is_delta:
        raise click.UsageError(
            f"{archive.path} is a delta: it contains only changes. To make a snapshot that "
            "contains them: lifeboat alf apply"
        )


@alf.command(
    short_help="Apply deltas to a snapshot.",
    epilog=format_examples("lifeboat alf apply monday.alf tuesday.alf-delta -o tuesday.alf"),
)
@click.argument("snapshot", type=FILE)
@click.argument("deltas", type=FILE, nargs=-1, required=True)
@click.option(
    "-o", "--output", "target", type=NEW_FILE, required=True, help="Write the resulting snapshot to this file."
)
@click.option("--force", is_flag=True, help="Replace the output file if it exists.")
@encryption_options.add_rewrite_options
@session_command
def apply(
    session: CommandSession,
    snapshot: Path,
    deltas: tuple[Path, ...],
    target: Path,
    force: bool,
    encrypt: bool | None,
    recipients: tuple[str, ...],
    passphrase_stdin: bool,
) -> int:
    """Apply deltas, in order, to a snapshot, and write the resulting snapshot.

    The signed digests of the snapshot and of each intermediate state are checked. Exit 1 if a credential in the
    result cannot be decrypted because no input file contains its key.
    """
    from lifeboat_alf.snapshot import write_snapshot
    from lifeboat_core.exchange import create_archive, open_archive
    from lifeboat_core.exchange.archive_stack import NEEDS_A_SNAPSHOT, open_stack

    passphrase = encryption_options.passphrase_from_stdin(passphrase_stdin)
    with ExitStack() as stack:
        archives = [
            stack.enter_context(open_archive(session.context, file, passphrase)) for file in (snapshot, *deltas)
        ]
        seal = encryption_options.choose_rewrite_encryption(encrypt, recipients, passphrase, archives, session.output)
        _refuse_delta(archives[0])
        made = stack.enter_context(open_stack(archives))
        with create_archive(session.context, target, seal, force=force) as stream:
            write_snapshot(made.state, stream, keys=made.keys)
        number, unopened = made.state.sequence.number, made.unopened
    document = {"path": str(target), "sequence": number, "unopened": unopened}

    def text() -> None:
        session.output.line(f"{target}: the snapshot of sequence {number} was written")
        for label in unopened:
            session.output.warn(
                f"The credential {label} cannot be decrypted, because none of these files contains its key."
            )
        if unopened:
            session.output.line(
                "A new snapshot contains the missing keys. Create one on the machine that protects "
                f"the agent: {NEEDS_A_SNAPSHOT}"
            )

    session.output.document(document, text)
    return 1 if unopened else 0


@alf.command(
    short_help="Write a copy of a snapshot without some memories or a text.",
    epilog=format_examples(
        "lifeboat alf purge juniper.alf --record ID --dry-run",
        "lifeboat alf purge juniper.alf --record ID -o without.alf",
        "lifeboat alf purge juniper.alf --text-stdin --passage -o without.alf < text",
    ),
)
@click.argument("file", type=FILE)
@click.option("--record", "records", metavar="ID", multiple=True, help="Purge the memory with this id (repeatable).")
@click.option(
    "--text-stdin", is_flag=True, help="Purge every memory and file that contains the text read from standard input."
)
@click.option(
    "--text",
    metavar="T",
    help="Purge every memory and file that contains this text. The shell's history keeps the text, so prefer "
    "--text-stdin.",
)
@click.option(
    "--pattern-stdin",
    is_flag=True,
    help="Purge every memory and file that matches the regular expression read from standard input.",
)
@click.option("-o", "--output", "target", type=NEW_FILE, help="Write the purged snapshot to this file.")
@click.option(
    "--passage", is_flag=True, help="Remove only the matching text, and keep the rest of each memory and file."
)
@click.option(
    "--only", is_flag=True, help="Purge only the memories given with --record, not their earlier and later versions."
)
@click.option("--derived", is_flag=True, help="Also purge memories that were derived only from purged memories.")
@click.option("--dry-run", is_flag=True, help="Show what would be purged; write nothing.")
@click.option(
    "--reason",
    type=click.Choice(["gdpr_article_17", "ccpa_deletion", "user_request", "security_incident"]),
    default="user_request",
    show_default=True,
    help="Reason for the purge, for the audit record.",
)
@click.option(
    "--requested-by", help="Id of the principal who requests the purge (default: the primary principal in FILE)."
)
@click.option("--force", is_flag=True, help="Replace the output file if it exists.")
@encryption_options.add_rewrite_options
@session_command
def purge(
    session: CommandSession,
    file: Path,
    records: tuple[str, ...],
    text_stdin: bool,
    text: str | None,
    pattern_stdin: bool,
    target: Path | None,
    passage: bool,
    only: bool,
    derived: bool,
    dry_run: bool,
    reason: str,
    requested_by: str | None,
    force: bool,
    encrypt: bool | None,
    recipients: tuple[str, ...],
    passphrase_stdin: bool,
) -> None:
    """Write a copy of the snapshot FILE without some memories, or without a text.

    The audit record is printed on standard output. FILE itself is not changed: delete FILE and its copies yourself.
    With --passphrase-stdin the first line of standard input is the passphrase, and the rest is the text.
    """
    from lifeboat_alf.purging.purge_items import PurgeOptions
    from lifeboat_cli.archives import alf_purge_terms

    if target is None and not dry_run:
        raise click.UsageError("Give the output file with -o, or use --dry-run.")
    terms = alf_purge_terms.check_terms(
        records, text_stdin=text_stdin, text=text, pattern_stdin=pattern_stdin, passage=passage
    )
    passphrase = encryption_options.passphrase_from_stdin(passphrase_stdin)
    wanted = alf_purge_terms.read_purge_target(terms)
    options = PurgeOptions(only=only, passage=passage, derived=derived)
    written = None if dry_run else target
    order = alf_purge_terms.AlfPurgeOrder(file, records, wanted, options, reason, requested_by, written, force)
    seal = partial(encryption_options.choose_rewrite_encryption, encrypt, recipients, passphrase)
    purged = alf_purge_terms.run_alf_purge(session, order, passphrase, seal)
    for warning in purged.warnings:
        session.output.warn(warning)
    document = alf_purge_terms.describe_planned_purge(purged) if dry_run else purged.audit
    session.output.document(
        document, lambda: alf_purge_terms.print_purged(session.output, purged, target, dry_run=dry_run)
    )


@alf.command(
    short_help="Export an agent, or its changes, to one file.",
    epilog=format_examples(
        "lifeboat alf export openclaw ~/.openclaw/workspace -o juniper.alf",
        "lifeboat alf export openclaw ~/.openclaw/workspace --since 3 -o changes.alf-delta",
        "lifeboat alf export openclaw ~/.openclaw/workspace --encrypt -o juniper.alf.age",
    ),
)
@click.argument("runtime", type=RUNTIME)
@click.argument("folder", type=FOLDER)
@click.option("-o", "--output", "target", type=NEW_FILE, required=True, help="Write the archive to this file.")
@click.option(
    "--since",
    type=click.IntRange(min=0),
    help="Write a delta with the changes since this sequence, instead of a snapshot.",
)
@click.option("--artifact-threshold", type=COUNT, help="Largest size in bytes of a file that the archive includes.")
@click.option(
    "--embeddings",
    type=click.Choice(["files", "inline"]),
    default="files",
    show_default=True,
    help="Write embedding vectors to separate files in the archive, or inside the records.",
)
@click.option("--force", is_flag=True, help="Replace the output file if it exists.")
@encryption_options.add_export_options
@session_command
def export(
    session: CommandSession,
    runtime: str,
    folder: Path,
    target: Path,
    since: int | None,
    artifact_threshold: int | None,
    embeddings: str,
    force: bool,
    encrypt: bool,
    recipients: tuple[str, ...],
    passphrase_stdin: bool,
) -> int:
    """Export the agent in FOLDER, a workspace of RUNTIME.

    If the agent is protected, the command first captures the workspace, even if captures are paused, and exports
    the new sequence. With --artifact-threshold the command captures one more sequence that also contains the larger
    files; later captures use the usual limit again. Exit 1 if a file could not be read or exceeds a limit; the
    archive then contains the rest. If the capture fails, the archive contains the newest captured sequence, and the
    exit status is 1.
    """
    from lifeboat_core import exchange
    from lifeboat_core.exchange.agent_export import ExportOptions

    seal = encryption_options.choose_export_encryption(
        encrypt, recipients, encryption_options.passphrase_from_stdin(passphrase_stdin)
    )
    with session.output.progress("Exporting"):
        report = exchange.export_agent(
            session.context,
            runtime,
            folder,
            target,
            ExportOptions(since=since, threshold=artifact_threshold, embeddings_inline=embeddings == "inline"),
            force=force,
            encryption=seal,
        )
    document = report.to_json()
    session.output.document(document, lambda: _print_export(session, target, since, document))
    return 0 if report.is_whole else 1


def _print_export(session: CommandSession, target: Path, since: int | None, document: JsonObject) -> None:
    made = "snapshot of" if since is None else f"changes after sequence {since}, up to and including"
    counted = count_text(document["records"], "record")
    session.output.line(f"{target}: {made} sequence {document['sequence']}", style="bold")
    session.output.line(f"{counted}, {size_text(document['bytes'])}")
    if document["encryption"] is not None:
        session.output.line(
            "The whole file is encrypted, including memories, "
            f"{encryption_options.describe_encryption(document['encryption'])}."
        )
    for warning in document["warnings"]:
        session.output.warn(warning)
    left = document["artifacts"]["referenced"]
    for item in left:
        session.output.line(
            f"listed in the archive, but too large to be included: {item['filename']} ({size_text(item['size_bytes'])})"
        )
    if left:
        largest = max(item["size_bytes"] for item in left)
        session.output.line(f"To include these files: --artifact-threshold {largest}")
