"""Verification: a copy is verified when it was read back from the vault and its digest and signature were right
(docs/health.md).

A daily *sample* verifies the newest sequence's digest and signature over everything it holds, and reads back some of
its bodies. A monthly *drill*, which a user can also start, restores the copy aside and compares every byte; with
`whole` it verifies every other kept sequence too.
"""

from __future__ import annotations

import contextlib
import errno
import os
import random
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path

import msgspec

from lifeboat_adapters.stable_reads import sqlite_files
from lifeboat_adapters.stable_reads.file_reading import OverLimit, Unstable
from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.seams.file_operations import FileOperations, read_all
from lifeboat_alf.seams.files_beneath import FilesBeneath
from lifeboat_alf.states.agent_state import State
from lifeboat_core.agents.agent import Agent
from lifeboat_core.agents.locks import agent_lock
from lifeboat_core.capture import not_captured
from lifeboat_core.capture.file_capture import LARGEST
from lifeboat_core.errors import NothingToRestore
from lifeboat_core.health.status_gathering import DAMAGED, LAST_WHOLE
from lifeboat_core.home.context import Context
from lifeboat_core.processes.progress import Tell, count_units, tell_nobody
from lifeboat_core.restore import wanted_contents as contents_module
from lifeboat_core.restore.restore_plan import load_trusted_keys
from lifeboat_core.restore.restore_staging import FileStager
from lifeboat_core.restore.scratch_folders import make_scratch_folder
from lifeboat_core.restore.wanted_contents import FILE, FOLDER, LINK, WantedFile
from lifeboat_core.system_refusals import convert_system_errors
from lifeboat_core.texts.readable_json import make_printable
from lifeboat_core.verify import drill_rows
from lifeboat_core.verify.healing import Healing
from lifeboat_vault.errors import RemoteError, VaultDamaged, VaultFull, VaultUnusable
from lifeboat_vault.vault import LAST_VERIFIED, Vault, Verification
from lifeboat_vault.vault import state_inventory as inventories
from lifeboat_vault.vault.state_inventory import ProvenState


@dataclass(frozen=True, slots=True)
class LiveFiles:
    """The files of a workspace. `scratch` is a private folder for the copy of a database that is in use."""

    files: FileOperations
    workspace: Path
    scratch: Path

    @classmethod
    def of(cls, files: FileOperations, workspace: Path, scratch: Path) -> LiveFiles:
        """Return the files of a workspace, reached without following a link in it."""
        real = Path(os.path.realpath(workspace))
        return cls(FilesBeneath(files, [real]), real, scratch)

    def untouched(self, item: WantedFile) -> bytes | None:
        """Return what a capture would read of a file that has the captured size and time; None for any other."""
        path = self.workspace / item.name
        try:
            status = self.files.lstat(path)
            if not stat.S_ISREG(status.st_mode) or (status.st_size, status.st_mtime_ns) != (item.size, item.mtime_ns):
                return None
            if not sqlite_files.is_database(self.files, path):
                return read_all(self.files, path)
            return self._committed(path, item)
        except OSError:
            return None

    def _committed(self, path: Path, item: WantedFile) -> bytes | None:
        """Return the state of a database in use, whose own bytes differ from the capture. None if its log has a later
        one. Raises OSError."""
        try:
            found = sqlite_files.read_database(self.files, path, LARGEST + item.size, self.scratch)
        except (OverLimit, Unstable):
            return None
        return found.data if found.key.mtime_ns == item.mtime_ns and len(found.data) == item.size else None


BODIES = 64
"""How many entries, and how many records, a sample reads back."""
SECONDS = 20.0
"""The time limit for that."""
_ABOUT_THE_NAME = frozenset((errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ, errno.EEXIST, errno.ENOTDIR, errno.EISDIR))
"""Errors of this file system about a file's name. Other errors (no space, I/O) say nothing about the copy."""


@dataclass(frozen=True, slots=True)
class Drill:
    """The result of a drill.

    `files` were written and compared; `compared_live` of them also with the workspace, where the file is unchanged.
    `mismatches` are sentences, none if all is well; `absent` large files are only described; `whole` says that every
    kept sequence was verified too. `rows` of databases were made and compared. `damaged` names databases that SQLite
    finds damaged and that are the same in the workspace; `not_captured` says what is not in the newest sequence,
    `over_limit` how many of these files wait for the user and `unread` how many could not be read. `healed` says which
    damaged bytes and rows were read again, and from where.
    """

    agent: str
    sequence: int
    files: int
    mismatches: list[str]
    compared_live: int = 0
    absent: list[str] = field(default_factory=list)
    signed: bool = True
    whole: bool = False
    rows: int = 0
    healed: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    not_captured: list[str] = field(default_factory=list)
    over_limit: int = 0
    unread: int = 0

    @property
    def ok(self) -> bool:
        return not self.mismatches

    def to_json(self) -> JsonObject:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class VerificationSample:
    """The result of a sample.

    The digest and the signature of `sequence` cover everything; `files` and `records` say how many bodies of each were
    read back, `bytes` their size; `hurried`: the time was over before all chosen ones were read. `sequence` is None if
    even its row cannot be read. `healed` says which damaged bytes and rows were read again, and from where; then all of
    the sequence was verified again.
    """

    agent: str
    sequence: int | None
    files: int
    records: int
    bytes: int
    mismatches: list[str]
    signed: bool = True
    hurried: bool = False
    healed: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.mismatches

    def to_json(self) -> JsonObject:
        return asdict(self)


def sample_vault(
    context: Context,
    agent: Agent,
    *,
    bodies: int = BODIES,
    seconds: float = SECONDS,
    chance: random.Random | None = None,
) -> VerificationSample:
    """Verify the newest sequence quickly: its digest over every path, record and leaf, its signature, and up to
    `bodies` of its entries and of its records, chosen at random and compared with their leaves.

    If nothing is wrong, and nothing worse was found before, the sequence becomes the last verified one. Raises
    NothingToRestore, Busy.
    """
    begun = time.monotonic()

    def look(vault: Vault) -> Verification:
        return vault.verify_sample(
            bodies,
            trusted=load_trusted_keys(context),
            is_over=lambda: time.monotonic() - begun > seconds,
            chance=chance or random.SystemRandom(),
        )

    with convert_system_errors(), _verified(context, agent, look, tell_nobody) as (vault, found, healing):
        if found.number is None and not found.findings:
            raise NothingToRestore("the agent has not been captured yet", fix="lifeboat sync")
        if healing.healed:
            found = vault.verify(found.number, trusted=load_trusted_keys(context), whole=False)
        result = _of_sample(agent, found, healing)
        with _if_it_can_be_written():
            _remember_sample(vault, result)
    return result


@contextlib.contextmanager
def _verified(
    context: Context, agent: Agent, look: Callable[[Vault], Verification], tell: Tell
) -> Iterator[tuple[Vault, Verification, Healing]]:
    """Verify the vault under the agent's lock. What is or was damaged is mended without the lock and verified again."""
    healing = Healing(context, agent, tell)
    with contextlib.ExitStack() as held:
        vault = _hold(context, agent, held)
        found = look(vault)
        if found.damaged or found.broken or vault.damaged_states():
            held.close()
            with _if_it_can_be_written(), contextlib.suppress(VaultDamaged):  # the second verification names it
                healing.run(found)
            vault = _hold(context, agent, held)
            found = look(vault)
        yield vault, found, healing


def _hold(context: Context, agent: Agent, held: contextlib.ExitStack) -> Vault:
    held.enter_context(agent_lock(context, agent.id, "verify", only_reads=True))
    return held.enter_context(context.vault(agent.id))


def _of_sample(agent: Agent, found: Verification, healing: Healing) -> VerificationSample:
    return VerificationSample(
        agent=agent.id,
        sequence=found.number,
        files=found.entries,
        records=found.records,
        bytes=found.bytes,
        mismatches=_sentences(found, healing),
        signed=not found.unsigned,
        hurried=found.hurried,
        healed=healing.healed,
    )


def _if_it_can_be_written() -> AbstractContextManager[None]:
    """On a read-only or full disk, report the result without noting it; `status` reports the disk."""
    return contextlib.suppress(VaultFull, VaultUnusable)


def _remember_sample(vault: Vault, result: VerificationSample) -> None:
    """Note the result of a sample. Only a drill clears what a drill found, and a damaged copy is not a verified one."""
    if not result.ok:
        if vault.get(DAMAGED) is None:
            damage = {"sequence": result.sequence, "whole": False, "first": result.mismatches[0]}
            vault.set(DAMAGED, damage, kind="damaged")
    elif result.sequence is not None and vault.get(DAMAGED) is None:
        vault.mark_verified(result.sequence)


def _sentences(kept: Verification, healing: Healing) -> list[str]:
    found = [f"{finding.subject}: {finding.message}" for finding in kept.findings]
    unsigned = [f"sequence {each} is not signed, although this home signs every sequence" for each in kept.unsigned]
    return [*healing.lost, *found, *unsigned, *healing.missed]


def drill_vault(
    context: Context, agent: Agent, number: int | None = None, *, whole: bool = False, tell: Tell = tell_nobody
) -> Drill:
    """Try a restore of a sequence (default: the newest). `whole` verifies every other kept one as well.

    If nothing is wrong the sequence becomes the last verified one. Raises NothingToRestore, UnknownSequence, Busy.
    """
    tell("Reading every sequence", 0, None)
    chosen = number

    def look(vault: Vault) -> Verification:
        nonlocal chosen
        chosen = _chosen(vault, chosen)
        return vault.verify(chosen, trusted=load_trusted_keys(context), whole=whole)

    with convert_system_errors(), _verified(context, agent, look, tell) as (vault, kept, healing):
        assert chosen is not None
        found = _sentences(kept, healing)
        tried = drill_state(context, agent, vault.state(chosen), found, tell, whole=whole)
        result = replace(tried, healed=healing.healed)
        with _if_it_can_be_written():
            _remember(vault, result, context.now())
        head = vault.head()
    if head is None or head.number != chosen:
        return result
    left = not_captured.read_not_captured(context, agent)
    return replace(result, not_captured=list(left.named), over_limit=left.over_limit, unread=left.unread)


def _remember(vault: Vault, result: Drill, now: str) -> None:
    """Note for `status` which sequence was verified, or what is wrong; only an equally thorough check clears that."""
    if not result.ok:
        found = {"sequence": result.sequence, "whole": result.whole, "first": result.mismatches[0]}
        vault.set(DAMAGED, found, kind="damaged")
        return
    damage: JsonObject = vault.get(DAMAGED) or {}
    if result.whole or (not damage.get("whole") and result.sequence >= (damage.get("sequence") or 0)):
        vault.set(DAMAGED, None, kind="damaged")
    if result.whole:
        vault.set(LAST_WHOLE, {"sequence": result.sequence, "time": now}, kind="verified_whole")
    if result.sequence >= (vault.last_verified() or 0):
        vault.mark_verified(result.sequence)


def _chosen(vault: Vault, number: int | None) -> int:
    if number is not None:
        return vault.sequence(number).number
    head = vault.head()
    if head is None:
        raise NothingToRestore("the agent has not been captured yet", fix="lifeboat sync")
    return head.number


def drill_state(
    context: Context,
    agent: Agent,
    state: State,
    found: list[str],
    tell: Tell,
    *,
    whole: bool = False,
    is_local: bool = True,
) -> Drill:
    """Restore a state into a temporary folder with the code of a restore, and compare every byte with the state.
    `found`: known mismatches. `is_local`: the state is of this machine, so unchanged files of the workspace are
    compared too. Raises RemoteError for a remote that cannot be asked now."""
    signed = state.sequence.signature is not None
    try:
        return _restore_and_compare(context, agent, state, found, tell, whole=whole, is_local=is_local)
    except LifeboatError as error:
        if isinstance(error, RemoteError) and error.retryable:
            raise
        return Drill(agent.id, state.sequence.number, 0, [*found, error.message], signed=signed, whole=whole)
    except (msgspec.DecodeError, KeyError, TypeError, ValueError) as error:
        problem = f"the state contains a document that Lifeboat cannot read ({type(error).__name__})"
        return Drill(agent.id, state.sequence.number, 0, [*found, problem], signed=signed, whole=whole)


def _restore_and_compare(
    context: Context, agent: Agent, state: State, found: list[str], tell: Tell, *, whole: bool, is_local: bool
) -> Drill:
    inventory = inventories.take_inventory(state)
    inventories.check_signature(state, inventory, load_trusted_keys(context))
    inventory = inventories.prove_entries(state, inventory)
    proven = ProvenState(state, inventory)
    adapter = context.adapter(agent.runtime)
    wanted = contents_module.gather_contents(proven, inventory, adapter)
    with make_scratch_folder(context, "verify") as folder:
        items = [*_under(folder / "workspace", wanted.workspace), *_under(folder / "home", wanted.home)]
        found += _write_and_compare(context.files, proven, items, tell)
        live_files = LiveFiles.of(context.files, agent.workspace, folder / "live")
        damaged, in_both = _check_databases(context.files, items, folder / "workspace", live_files)
        rows = drill_rows.compare_databases(context, proven, wanted, adapter, folder / "databases")
        live, differing = 0, list[str]()
        if is_local:
            live, differing = _compare_live(live_files, wanted.workspace.values())
    absent = [make_printable(each.filename) for each in wanted.absent]
    lost = [f"{make_printable(each.wanted.name)}: {each.reason}" for each in wanted.left_out]
    lost += [f"the memory {each} was changed" for each in inventory.damaged_records]
    return Drill(
        agent=agent.id,
        sequence=state.sequence.number,
        files=len(items),
        mismatches=[*found, *lost, *damaged, *rows.mismatches, *differing],
        compared_live=live,
        absent=absent,
        signed=state.sequence.signature is not None,
        whole=whole,
        rows=rows.rows,
        damaged=in_both,
    )


def _under(folder: Path, wanted: dict[str, WantedFile]) -> Iterator[tuple[Path, WantedFile]]:
    return ((folder / name, item) for name, item in wanted.items())


def _write_and_compare(
    files: FileOperations, state: ProvenState, items: list[tuple[Path, WantedFile]], tell: Tell
) -> list[str]:
    """Write and compare files. Files with cuts are compared cut, so that no secret is needed and none is written."""
    stage = FileStager(files, state, None, count_units(tell, "Restoring into a temporary folder", len(items)))
    found = []
    for path, item in items:
        try:
            files.make_folders(path.parent)
            stage.write(path, item)
        except OSError as error:
            if error.errno not in _ABOUT_THE_NAME:
                raise
            found.append(f"{make_printable(item.name)}: {error.strerror}")
    stage.settle_folders()
    compared = count_units(tell, "Comparing every byte", len(items))
    for path, item in items:
        found += _differences(files, path, item)
        compared()
    return found


def _check_databases(
    files: FileOperations, items: list[tuple[Path, WantedFile]], scratch: Path, live: LiveFiles
) -> tuple[list[str], list[str]]:
    """Open every database that was written aside. Return what SQLite finds wrong with the copy, then with databases
    that are the same in the workspace."""
    copies: list[str] = []
    in_both: list[str] = []
    for path, item in items:
        if item.kind == FILE and not item.cuts and sqlite_files.is_database(files, path):
            damage = sqlite_files.find_damage(path)
            if damage is not None:
                is_same = path.is_relative_to(scratch) and live.untouched(item) == read_all(files, path)
                (in_both if is_same else copies).append(f"{make_printable(item.name)}: SQLite reports damage: {damage}")
    return copies, in_both


def _differences(files: FileOperations, path: Path, item: WantedFile) -> Iterator[str]:
    """Yield what of a restored file differs from the state."""
    try:
        status = files.lstat(path)
        problem = _problem(files, path, item, status)
    except OSError as error:
        problem = error.strerror or "cannot be read"
    if problem:
        yield f"{make_printable(item.name)}: {problem}"


def _problem(files: FileOperations, path: Path, item: WantedFile, status: os.stat_result) -> str:
    if _kind(status) != item.kind:
        return f"is not a {item.kind}"
    if item.kind == LINK:
        return "" if files.read_link(path) == item.target else "points elsewhere"
    if stat.S_IMODE(status.st_mode) != item.mode:
        return "has different permissions"
    if item.mtime_ns is not None and status.st_mtime_ns != item.mtime_ns:
        return "has another modification time"
    if item.kind == FILE and not _holds(item, read_all(files, path)):
        return "has other content"
    return ""


def _kind(status: os.stat_result) -> str:
    kinds = {stat.S_IFREG: FILE, stat.S_IFDIR: FOLDER, stat.S_IFLNK: LINK}
    return kinds.get(stat.S_IFMT(status.st_mode), "file, link or folder")


def _holds(item: WantedFile, data: bytes) -> bool:
    if item.data is not None:
        return data == item.data
    return item.entry is not None and inventories.has_same_bytes(item.entry, data)


def _compare_live(live: LiveFiles, items: Iterable[WantedFile]) -> tuple[int, list[str]]:
    """Compare with the workspace where size and time say that a file is unchanged since its capture."""
    compared, found = 0, []
    for item in items:
        if item.kind == FILE and not item.cuts and item.entry is not None and item.data is None:
            data = live.untouched(item)
            compared += data is not None
            if data is not None and not _holds(item, data):
                found.append(
                    f"{make_printable(item.name)}: the file in the workspace has other content, "
                    "although its modification time is unchanged"
                )
    return compared, found


def find_last_verified(context: Context, agent: Agent) -> tuple[int, datetime] | None:
    """Return the sequence that last passed a drill or sample, and when; None for none."""
    with context.vault(agent.id) as vault:
        found = vault.get(LAST_VERIFIED)
    return None if found is None else (int(found["sequence"]), times.parse_time(found["time"]))


def measure_verified_age(context: Context, agent: Agent) -> float | None:
    """Return the age of the last verified copy; None when there is none."""
    found = find_last_verified(context, agent)
    return None if found is None else max(0.0, (context.clock.now() - found[1]).total_seconds())
