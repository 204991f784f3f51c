"""Fill a vault with what the reference client has of an agent: the archive of its last sync, and the states of its
service."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from lifeboat_alf.common import times
from lifeboat_alf.deltas.delta_reader import DeltaReader
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.seams.system_clock import Clock
from lifeboat_alf.snapshot import SnapshotReader
from lifeboat_core.errors import ExchangeError
from lifeboat_core.exchange.alf_client import TrackedAgent
from lifeboat_core.exchange.alf_service import HostedFile
from lifeboat_core.home.context import Context
from lifeboat_vault.legacy import legacy_pushes
from lifeboat_vault.vault import Vault


@dataclass(slots=True)
class ClientHistory:
    """What a vault holds now. `name` and `runtime` are those of the newest archive, "" when there is none."""

    sequences: list[int] = field(default_factory=list)
    name: str = ""
    runtime: str = ""
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _PastClock:
    """The clock at the time of a state, so that states keep their times."""

    clock: Clock
    moment: datetime

    def now(self) -> datetime:
        return self.moment

    def since_boot(self) -> float:
        return self.clock.since_boot()

    def monotonic(self) -> float:
        return self.clock.monotonic()

    def boot_id(self) -> str:
        return self.clock.boot_id()


def fill_vault(
    context: Context, folder: Path, tracked: TrackedAgent, hosted: Sequence[HostedFile], scratch: Path
) -> ClientHistory:
    """Make a vault of an agent in `folder`, with every available state, oldest first, under the numbers of its service.
    The states are not signed.

    A file that cannot be read, and later states of the service, are left out and reported. Raises VaultError, OSError.
    """
    made = ClientHistory()
    files = _in_order(tracked, hosted, scratch, made)
    before: int | None = None
    with Vault.create(folder, tracked.id, files=context.files, clock=context.clock) as vault:
        for file in files:
            try:
                _add(context, vault, file, before, made)
            except LifeboatError as error:
                made.warnings.append(f"sequence {file.sequence} of the ALF client was not imported: {error.message}")
                if file.is_delta:
                    break
                continue
            before = file.sequence
        made.sequences = [row.number for row in vault.sequences()]
    return made


def _in_order(
    tracked: TrackedAgent, hosted: Sequence[HostedFile], scratch: Path, made: ClientHistory
) -> list[HostedFile]:
    """Return the hosted files and the client's own archive, which has more than the delta of the same number, because
    deltas carry no files."""
    files = {one.sequence: one for one in hosted}
    own = _own_file(tracked, scratch, made)
    if own is None:
        return [files[number] for number in sorted(files)]
    if not tracked.is_exact:
        if files:
            return [files[number] for number in sorted(files)]
        made.warnings.append(
            f"the ALF client restored sequence {own.sequence} after its last sync, so its archive "
            "may contain an older state"
        )
    there = files.get(own.sequence)
    if there is None or there.is_delta:
        files[own.sequence] = own
    return [files[number] for number in sorted(files)]


def _own_file(tracked: TrackedAgent, scratch: Path, made: ClientHistory) -> HostedFile | None:
    """Return a copy of the client's archive, because the client writes it in place."""
    if tracked.snapshot is None or tracked.sequence is None:
        return None
    copy = scratch / "last-sync.alf"
    try:
        shutil.copyfile(tracked.snapshot, copy)
        copy.chmod(0o600)
        SnapshotReader(copy).close()
    except OSError as error:
        made.warnings.append(f"{tracked.snapshot} cannot be read: {error.strerror}")
        return None
    except LifeboatError as error:
        made.warnings.append(f"{tracked.snapshot} was not imported: {error.message}")
        return None
    return HostedFile(tracked.sequence, tracked.synced_at or "", False, copy)


def _add(context: Context, vault: Vault, file: HostedFile, before: int | None, made: ClientHistory) -> None:
    """Add one state. `before` is the service's number of the state before it."""
    head = vault.head()
    if not file.is_delta:
        with SnapshotReader(file.file) as reader:
            clock = _clock(context, file.time or str(reader.manifest.get("created_at", "")))
            legacy_pushes.accept_snapshot(vault, reader, clock=clock, number=file.sequence)
            agent = reader.manifest["agent"]
            made.name, made.runtime = str(agent.get("name") or ""), str(agent.get("source_runtime") or "")
        return
    with DeltaReader(file.file) as delta:
        _check_base(delta.base_sequence, before)
        clock = _clock(context, file.time)
        base = -1 if head is None else head.number
        legacy_pushes.accept_delta(vault, delta, base, clock=clock, number=file.sequence)


def _check_base(base: int, before: int | None) -> None:
    """Refuse a delta whose base is not the state before it: the service lacks a state in between."""
    if base != before:
        earlier_sequence = (
            "the history has no earlier sequence" if before is None else f"the preceding sequence is {before}"
        )
        raise ExchangeError.HOSTED_HISTORY(f"the delta is based on sequence {base}, but {earlier_sequence}")


def _clock(context: Context, text: str) -> _PastClock:
    """Return the clock at a time of the client or its service; the present if there is none, or one in the future."""
    now = context.clock.now()
    try:
        return _PastClock(context.clock, min(now, times.parse_time(text)))
    except ValueError:
        return _PastClock(context.clock, now)
