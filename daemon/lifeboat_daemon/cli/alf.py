"""`lifeboat alf`: work on files of the Agent Life Format. No agent needs to be protected for it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

import click

from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.state import Changes, State
from lifeboat_daemon.cli.output import Output
from lifeboat_daemon.cli.session import Session, session_command
from lifeboat_daemon.words import size_text

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
NEW_FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


class FileIsThere(LifeboatError):
    code = "file_exists"
    title = "The file is there already"
    exit_status = 3


@click.group()
def alf() -> None:
    """Archives and deltas of the Agent Life Format."""


@alf.command()
@click.argument("file", type=FILE)
@click.option("--strict", is_flag=True, help="Warnings count as errors.")
@session_command
def validate(session: Session, file: Path, strict: bool) -> int:
    """Check a snapshot or a delta against the format, its checksums and its own inventory."""
    from lifeboat_alf.validate import validate as check

    found = check(file, strict=strict)

    def text() -> None:
        for finding in (*found.errors, *found.warnings):
            session.output.line(finding)
        session.output.line(f"{file}: {'valid' if found.ok else 'not valid'}", style="bold")

    session.output.document(found.to_json(), text)
    return 0 if found.ok else 1


@alf.command()
@click.argument("file", type=FILE)
@session_command
def show(session: Session, file: Path) -> None:
    """What a file holds, without writing anything."""
    document = _describe(file)
    rows = [(key, value) for key, value in document.items() if not isinstance(value, dict | list)]
    session.output.document(document, lambda: session.output.table(("field", "value"), rows))


def _describe(file: Path) -> dict[str, object]:
    from lifeboat_alf.delta import DeltaReader
    from lifeboat_alf.snapshot import SnapshotReader

    if _is_delta(file):
        with DeltaReader(file) as delta:
            return {"kind": "delta", "manifest": delta.manifest, **_sync(delta.manifest)}
    with SnapshotReader(file) as snapshot:
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


def _is_delta(file: Path) -> bool:
    from lifeboat_alf import layout
    from lifeboat_alf.container import ArchiveReader

    with ArchiveReader(file) as archive:
        return layout.DELTA_MANIFEST in archive


@alf.command("diff")
@click.argument("first", type=FILE)
@click.argument("second", type=FILE)
@session_command
def diff_files(session: Session, first: Path, second: Path) -> None:
    """What leads from one snapshot to another."""
    from lifeboat_alf.diff import diff

    with _states(first, second) as (before, after):
        changes = diff(before, after)
        document = _changes_document(changes)
    rows = [(change["operation"], change["path"]) for change in document["entries"]]
    rows += [(change["operation"], change["id"]) for change in document["records"]]
    session.output.document(document, lambda: session.output.table(("operation", "what"), rows))


def _changes_document(changes: Changes) -> dict[str, list[dict[str, str]]]:
    return {
        "entries": [
            {"path": change.path, "operation": "remove" if change.entry is None else "put"}
            for change in changes.entries
        ],
        "records": [{"id": change.record.id, "operation": change.operation} for change in changes.records],
    }


@contextmanager
def _states(*files: Path) -> Iterator[tuple[State, ...]]:
    from lifeboat_alf.snapshot import SnapshotReader

    with ExitStack() as stack:
        yield tuple(stack.enter_context(SnapshotReader(file)) for file in files)


@alf.command()
@click.argument("snapshot", type=FILE)
@click.argument("deltas", type=FILE, nargs=-1, required=True)
@click.option("-o", "--output", "target", type=NEW_FILE, required=True, help="The snapshot to write.")
@click.option("--force", is_flag=True, help="Replace the file when it is there.")
@session_command
def apply(session: Session, snapshot: Path, deltas: tuple[Path, ...], target: Path, force: bool) -> None:
    """Apply deltas, in order, to a snapshot: the result is the snapshot at the last sequence."""
    from lifeboat_alf.apply import AppliedState
    from lifeboat_alf.delta import DeltaReader
    from lifeboat_alf.snapshot import write_snapshot

    with ExitStack() as stack, _states(snapshot) as (first,):
        state: State = first
        for file in deltas:
            state = AppliedState(state, stack.enter_context(DeltaReader(file)))
        keys = getattr(first, "keys", None)
        with new_file(target, force=force) as stream:
            write_snapshot(state, stream, keys=keys)
        number = state.sequence.number
    document = {"path": str(target), "sequence": number}
    session.output.document(document, lambda: session.output.line(f"{target}: sequence {number}"))


@contextmanager
def new_path(target: Path, *, force: bool) -> Iterator[Path]:
    """A name beside `target` to write to; it takes the target's name when all went well. Raises FileIsThere."""
    if target.exists() and not force:
        raise FileIsThere(f"{target} would be replaced", fix="add --force, or choose another name")
    scratch = target.with_name(f".{target.name}.{secrets.token_hex(6)}")
    try:
        yield scratch
        with scratch.open("rb+") as stream:
            os.fsync(stream.fileno())
        scratch.replace(target)
    finally:
        scratch.unlink(missing_ok=True)


@contextmanager
def new_file(target: Path, *, force: bool) -> Iterator[BinaryIO]:
    """Write a file whole or not at all. Raises FileIsThere."""
    with new_path(target, force=force) as scratch, scratch.open("xb") as stream:
        yield stream
        stream.flush()


@alf.command()
@click.argument("file", type=FILE)
@click.option("--record", "records", multiple=True, required=True, help="A record's id; may be given often.")
@click.option("-o", "--output", "target", type=NEW_FILE, help="The purged snapshot to write.")
@click.option("--only", is_flag=True, help="Exactly these records, not the whole chain they belong to.")
@click.option("--dry-run", is_flag=True, help="Say what would go; write nothing.")
@click.option(
    "--reason",
    type=click.Choice(["gdpr_article_17", "ccpa_deletion", "user_request", "security_incident"]),
    default="user_request",
    show_default=True,
    help="What the audit record says.",
)
@click.option("--requested-by", help="The id of the principal who asks; the primary one when it is not given.")
@click.option("--force", is_flag=True, help="Replace the file when it is there.")
@session_command
def purge(
    session: Session,
    file: Path,
    records: tuple[str, ...],
    target: Path | None,
    only: bool,
    dry_run: bool,
    reason: str,
    requested_by: str | None,
    force: bool,
) -> None:
    """Remove records for good and write a new file. The audit record goes to standard output."""
    from lifeboat_alf.purge import purge_file

    if target is None and not dry_run:
        raise click.UsageError("name the file to write with -o, or try --dry-run")
    with ExitStack() as stack:
        scratch = None
        if target is not None and not dry_run:
            scratch = stack.enter_context(new_path(target, force=force))
        purged = purge_file(
            file,
            records,
            scratch,
            dry_run=dry_run,
            only=only,
            reason=reason,
            requested_by=requested_by,
            now=session.context.clock.now(),
        )
    for warning in purged.warnings:
        session.output.warn(warning)
    session.output.document(purged.audit, lambda: _print_audit(session.output, purged.audit))


def _print_audit(output: Output, report: dict[str, object]) -> None:
    output.table(("field", "value"), ((key, value) for key, value in report.items()))


@alf.command()
@click.argument("runtime")
@click.argument("folder", type=FOLDER)
@click.option("-o", "--output", "target", type=NEW_FILE, required=True, help="The file to write.")
@click.option("--since", type=int, help="Write the delta since this sequence instead of a snapshot.")
@click.option("--artifact-threshold", type=int, help="Files up to this many bytes travel inside the archive.")
@click.option(
    "--embeddings",
    type=click.Choice(["files", "inline"]),
    default="files",
    show_default=True,
    help="Vectors in files of their own, or inside the records.",
)
@click.option("--force", is_flag=True, help="Replace the file when it is there.")
@session_command
def export(
    session: Session,
    runtime: str,
    folder: Path,
    target: Path,
    since: int | None,
    artifact_threshold: int | None,
    embeddings: str,
    force: bool,
) -> None:
    """Export the agent in FOLDER as RUNTIME left it: a complete read, reconciled with its history if it has one."""
    from lifeboat_daemon import exchange

    with session.output.progress("Exporting"):
        report = exchange.export(
            session.context,
            runtime,
            folder,
            target,
            since=since,
            threshold=artifact_threshold,
            embeddings_inline=embeddings == "inline",
            force=force,
        )
    document = report.to_json()

    def text() -> None:
        session.output.line(f"{target}: {document['records']} records, {size_text(document['bytes'])}")
        for item in document["artifacts"]["referenced"]:
            session.output.line(f"  named, not included: {item['filename']} ({size_text(item['size_bytes'])})")

    session.output.document(document, text)


@alf.command("import")
@click.argument("file", type=FILE)
@click.option("--to", "target", type=click.Path(file_okay=False, path_type=Path), required=True, help="The workspace.")
@click.option("--runtime", default="openclaw", show_default=True, help="The runtime to write for.")
@click.option("--with-credentials", is_flag=True, help="Put secrets back where they were cut out.")
@click.option("--accept-unsigned", is_flag=True, help="Write it although nobody of this home signed it.")
@click.option("--dry-run", is_flag=True, help="Say what would be written.")
@session_command
def import_file(
    session: Session,
    file: Path,
    target: Path,
    runtime: str,
    with_credentials: bool,
    accept_unsigned: bool,
    dry_run: bool,
) -> None:
    """Write an archive's agent into a workspace; what the runtime cannot hold is kept and exported again."""
    from lifeboat_daemon import exchange
    from lifeboat_daemon.cli.restore import print_report

    with session.output.progress("Importing"):
        report = exchange.import_(
            session.context,
            file,
            target,
            runtime,
            with_credentials=with_credentials,
            accept_unsigned=accept_unsigned,
            dry_run=dry_run,
        )
    session.output.document(report.to_json(), lambda: print_report(session.output, report.to_json()))
