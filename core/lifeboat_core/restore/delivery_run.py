"""Give credentials to the runtime itself, if only it may write them: one command each, or a file that it takes over.

Such a file holds secrets in plain text while the command runs. A note in the home says so before the file is written,
and
the next process removes what an interrupted one left behind. The runtime's own file of that name is set aside, never
replaced.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import msgspec

from lifeboat_adapters.credential_types import CredentialDelivery
from lifeboat_alf.common import json_codec, times
from lifeboat_alf.common.reason_codes import Reason
from lifeboat_alf.common.refusal_texts import describe_refusal
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.seams import crash_points
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_alf.seams.file_operations import FileOperations, read_all
from lifeboat_alf.seams.held_folder import LinkInPath
from lifeboat_core.agents.locks import agent_lock
from lifeboat_core.errors import Busy
from lifeboat_core.home.context import Context
from lifeboat_core.machine.runtime_folder import find_real_place, refuse_links
from lifeboat_core.processes import runtime_programs
from lifeboat_core.restore import restore_journal as journals
from lifeboat_core.restore.left_out_reasons import LeftOutCode
from lifeboat_core.restore.restore_journal import stat_path

FOLDER = "deliveries"
_STILL_RUNNING = timedelta(minutes=10)
"""How long the command of a killed process may go on and leave more files behind."""


@dataclass(frozen=True, slots=True)
class DeliveredFile:
    """A file in plain text: its path, where the runtime's own file waits meanwhile (None when there was none), and
    the names beside it before."""

    path: str
    kept: str | None
    before: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DeliveryNote:
    """Files that have to be removed again."""

    agent_id: str
    time: str
    written: tuple[DeliveredFile, ...]
    leftovers: tuple[str, ...]


class DeliveryEnd(NamedTuple):
    """The result of a delivery: `problem` is None for success."""

    problem: Reason | None = None
    timed_out: bool = False


def run_delivery(
    context: Context, agent_id: str, name: str, delivery: CredentialDelivery, folder: Path | None
) -> DeliveryEnd:
    """Run one delivery. `name` names its note, `folder` is the state directory. Raises LinkInPath, OSError."""
    files = refuse_links(context.files)
    note = _note(context, agent_id, name, delivery, folder)
    path = context.home.restore_folder / FOLDER / f"{name}.json"
    if note is not None:
        journals.write_document(context.files, path, note)
    try:
        crash_points.reach_crash_point(CrashPoint.RESTORE_DELIVERY_NOTED)
        _write(files, note, delivery)
        ran = runtime_programs.run_program(
            delivery.command,
            environment=context.environment,
            extra=delivery.environment,
            input=delivery.input,
            timeout_seconds=delivery.timeout_seconds,
        )
        crash_points.reach_crash_point(CrashPoint.RESTORE_DELIVERED)
    finally:
        if note is not None:
            _take_away(files, note)
            context.files.remove(path)
    return DeliveryEnd() if ran.ok else DeliveryEnd(_failure(ran), ran.timed_out)


def _failure(ran: runtime_programs.ProgramResult) -> Reason:
    """Return the reason of a failed command, without its output, because a program may print what it was given."""
    words = [word for word in ran.command[1:5] if not word.startswith("-")]
    outcome = "did not end in time" if ran.timed_out else f"ended with exit status {ran.exit_status}"
    problem = f"{Path(ran.command[0]).name} {' '.join(words)} {outcome}"
    return Reason(LeftOutCode.COMMAND_FAILED, problem=problem)


def _note(
    context: Context, agent_id: str, name: str, delivery: CredentialDelivery, folder: Path | None
) -> DeliveryNote | None:
    if not delivery.files:
        return None
    files = refuse_links(context.files)
    written = tuple(_written(files, find_real_place(path, folder), name) for path, _ in delivery.files)
    return DeliveryNote(agent_id, context.now(), written, delivery.leftovers)


def _written(files: FileOperations, path: Path, name: str) -> DeliveredFile:
    there = stat_path(files, path) is not None
    kept = path.with_name(f".{path.name}.lifeboat-kept-{name}") if there else None
    before = tuple(sorted(entry.name for entry in files.scan(path.parent))) if _is_there(files, path.parent) else ()
    return DeliveredFile(str(path), str(kept) if kept else None, before)


def _is_there(files: FileOperations, folder: Path) -> bool:
    """Return whether a folder is there. Raises LinkInPath for a link in its place, OSError."""
    found = stat_path(files, folder)
    if found is not None and stat.S_ISLNK(found.kind):
        raise LinkInPath(folder)
    return found is not None and stat.S_ISDIR(found.kind)


def _write(files: FileOperations, note: DeliveryNote | None, delivery: CredentialDelivery) -> None:
    for written, (_, data) in zip(note.written if note else (), delivery.files, strict=True):
        path = Path(written.path)
        files.make_folders(path.parent, 0o700)
        if written.kept is not None:
            files.replace(path, written.kept)
        files.write_new(path, data, mode=0o600)


def _take_away(files: FileOperations, note: DeliveryNote) -> None:
    """Remove files in plain text; this can be repeated. The runtime's own file comes back, under the name that the
    runtime
    gives to files it took over if it did that."""
    for written in note.written:
        path = Path(written.path)
        if not _is_there(files, path.parent):
            continue
        taken_over = sorted(
            entry.name
            for entry in files.scan(path.parent)
            if entry.name not in written.before and any(fnmatchcase(entry.name, glob) for glob in note.leftovers)
        )
        kept = None if written.kept is None else Path(written.kept)
        if kept is None or stat_path(files, kept) is not None:
            _remove(files, path)
        for name in taken_over:
            _remove(files, path.with_name(name))
        if kept is not None and stat_path(files, kept) is not None:
            files.replace(kept, path.with_name(taken_over[0]) if taken_over else path)
        files.sync_folder(path.parent)


def _remove(files: FileOperations, path: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        files.remove(path)


def sweep_deliveries(context: Context) -> Iterator[str]:
    """Remove files in plain text that killed processes left behind. Yield a sentence for each action."""
    folder = context.home.restore_folder / FOLDER
    if not folder.is_dir():
        return
    for entry in context.files.scan(folder):
        if entry.name.endswith(".json") and not entry.name.startswith("."):
            yield from _sweep_one(context, Path(entry.path))


def _sweep_one(context: Context, path: Path) -> Iterator[str]:
    try:
        note = msgspec.convert(json_codec.decode_json(read_all(context.files, path)), DeliveryNote)
        with agent_lock(context, note.agent_id, "restore"):
            lay = any(os.path.lexists(written.path) for written in note.written)
            _take_away(refuse_links(context.files), note)
            if times.parse_time(note.time) < context.clock.now() - _STILL_RUNNING:
                context.files.remove(path)
            if lay:
                yield "An interrupted delivery left unencrypted credentials on the disk; the file was removed."
    except (Busy, FileNotFoundError):
        return
    except (msgspec.DecodeError, msgspec.ValidationError):
        yield f"The file {path.name}, which records an interrupted restore, is damaged and was ignored."
    except (OSError, LifeboatError) as error:
        yield f"Unencrypted credentials may be on the disk and could not be removed yet: {describe_refusal(error)}"
