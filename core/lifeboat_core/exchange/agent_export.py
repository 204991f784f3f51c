"""Export a workspace (`lifeboat alf export`): read it completely, and combine it with its history if it has one.

An exported state is signed under its number, and deltas are made from that number later. The agent's own vault
therefore has every exported state: what is read is committed before it is written. The read uses no delta, so that
comparing snapshot and deltas is a real test.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import BinaryIO

from lifeboat_adapters.errors import NotAWorkspace
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import ids
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.deltas.delta_writer import write_delta
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.snapshot import write_snapshot
from lifeboat_alf.states.agent_state import State
from lifeboat_core.agents import agent as agents
from lifeboat_core.agents import folder_explanations
from lifeboat_core.agents.agent import Agent
from lifeboat_core.agents.locks import agent_lock
from lifeboat_core.capture.capture_report import ROOT_MISSING, CaptureReport
from lifeboat_core.capture.capture_run import capture_agent, capture_into
from lifeboat_core.capture.sync_json import list_left_out
from lifeboat_core.errors import ExchangeError, NothingToRestore, SystemRefused
from lifeboat_core.exchange import alf_client, encrypted_archives
from lifeboat_core.exchange.encrypted_archives import ArchiveEncryption
from lifeboat_core.exchange.new_file import refuse_existing
from lifeboat_core.home.context import Context
from lifeboat_core.restore import restore_target
from lifeboat_core.restore.scratch_folders import make_scratch_folder
from lifeboat_core.state.state_db import StateDb
from lifeboat_core.texts.human_text import quote_argument
from lifeboat_keys.errors import NoAgentKey
from lifeboat_vault.errors import VaultFull, VaultUnusable
from lifeboat_vault.vault import Vault

THRESHOLD = "artifacts.threshold"
_EPOCH = "1970-01-01T00:00:00.000Z"


@dataclass(frozen=True, slots=True)
class ExportReport:
    """`bytes` is the file's size. `artifacts` lists those `included` in the file and those only `referenced`, each
    {filename, size_bytes}. `base` is given for a delta, `encryption` (see `ArchiveEncryption.to_json`) for an encrypted
    file. `left_out` has what the file lacks in its present version, with the reason; `warnings` has the same and other
    notes as sentences."""

    path: str
    agent: str
    sequence: int
    records: int
    bytes: int
    artifacts: dict[str, list[JsonObject]]
    base: int | None
    encryption: JsonObject | None
    left_out: JsonObject
    warnings: list[str]

    def to_json(self) -> JsonObject:
        return asdict(self)

    @property
    def is_whole(self) -> bool:
        return not self.left_out


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """What to export: a snapshot, or the delta `since` a sequence. `threshold` (bytes) replaces the setting for this
    file, which makes a separate sequence of a known workspace, and a usual one after it."""

    since: int | None = None
    threshold: int | None = None
    embeddings_inline: bool = False


_DEFAULTS = ExportOptions()
DELTA_SUFFIX, SNAPSHOT_SUFFIX = ".alf-delta", ".alf"


def export_agent(
    context: Context,
    runtime: str,
    folder: Path,
    output: Path,
    options: ExportOptions = _DEFAULTS,
    *,
    force: bool = False,
    encryption: ArchiveEncryption | None = None,
) -> ExportReport:
    """Write the agent in `folder` as a snapshot, or as the delta since a sequence.

    A known workspace keeps its ids and history, also while it is paused; an unknown one is read as if it were protected
    now. Raises ExchangeError.FILE_EXISTS, ExchangeError, ExchangeError.NOTHING_TO_EXPORT, NotAWorkspace,
    UnknownSequence, and what `check_encryption` raises.
    """
    encrypted_archives.check_encryption(output, encryption)
    refuse_existing(output, force=force)
    workspace = restore_target.resolve_target(folder)
    agent = _known(context, runtime, workspace, output)
    if agent is None and options.since is not None:
        fix = f"lifeboat agents add {quote_argument(str(workspace))}"
        raise ExchangeError(f"--since needs a history, and {workspace} has none because it is not protected", fix=fix)
    if agent is None:
        _refuse_other_runtime(context, runtime, workspace, output)
    with _reading(context, agent, runtime, workspace, options.threshold) as (vault, read):
        file = encrypted_archives.create_archive(context, output, encryption, force=force)
        command = _export_command(
            runtime, workspace, output.with_name(output.name.replace(DELTA_SUFFIX, SNAPSHOT_SUFFIX))
        )
        records = _write(context, vault, file, options, command)
        state = vault.state()
        return ExportReport(
            path=str(output),
            agent=vault.agent_id,
            sequence=state.sequence.number,
            records=records,
            bytes=output.stat().st_size,
            artifacts=_artifacts(state),
            base=options.since,
            encryption=None if encryption is None else encryption.to_json(context.keys().public),
            left_out=list_left_out(read.to_json()),
            warnings=_warnings(read),
        )


def _known(context: Context, runtime: str, workspace: Path, output: Path) -> Agent | None:
    for agent in agents.list_agents(context):
        if restore_target.resolve_target(agent.workspace) == workspace:
            if agent.runtime != runtime:
                raise NotAWorkspace.OTHER_RUNTIME(
                    f"{workspace} belongs to {agent.name}, an agent of {agent.runtime}, not of {runtime}",
                    fix=_export_command(agent.runtime, workspace, output),
                )
            return agent
    return None


def _refuse_other_runtime(context: Context, runtime: str, workspace: Path, output: Path) -> None:
    """Refuse a folder of another runtime: a typing error must not make an archive of the wrong runtime. Raises
    NotAWorkspace, with the command that works."""
    try:
        adapter = context.adapter(runtime)
        folder_explanations.refuse_other_runtime(context, adapter, workspace, claimed=folder_explanations.LIKELY)
        adapter.locate(workspace, context.environment, context.user_home)
    except NotAWorkspace as error:
        if error.code == NotAWorkspace.OTHER_RUNTIME.code:
            error.fix = _export_command(context.recognise(workspace).runtime, workspace, output)
            raise
        raise folder_explanations.explain_unknown_folder(context, workspace, error) from None


def _export_command(runtime: str, workspace: Path, output: Path) -> str:
    return f"lifeboat alf export {runtime} {quote_argument(str(workspace))} -o {quote_argument(str(output))}"


@contextmanager
def _reading(
    context: Context, agent: Agent | None, runtime: str, workspace: Path, threshold: int | None
) -> Iterator[tuple[Vault, CaptureReport]]:
    """Open a vault whose newest sequence is the completely read workspace: the agent's own, else a temporary one. If
    the agent's own vault is not writable, its newest sequence is used, and the report names the workspace as unread."""
    usual = agent or _stranger(context, runtime, workspace)
    chosen = usual if threshold is None else replace(usual, settings={**usual.settings, THRESHOLD: threshold})
    with agent_lock(context, chosen.id, "export", only_reads=True), make_scratch_folder(context, "export") as scratch:
        if agent is None:
            with _copied(context, chosen, scratch, is_known=False) as found:
                yield found
            return
        with context.vault(agent.id) as vault:
            try:
                _catch_up(context, agent)
                report = _read_into(context, chosen, vault, scratch / "chosen.db")
            except (SystemRefused, VaultFull, VaultUnusable) as error:
                yield vault, _kept_report(vault, agent, error)
                return
            try:
                yield vault, report
            finally:
                if chosen is not usual:
                    _read_into(context, usual, vault, scratch / "usual.db")


def _kept_report(vault: Vault, agent: Agent, refused: LifeboatError) -> CaptureReport:
    """Report what an export of the newest kept sequence lacks. Raises `refused` when there is none."""
    head = vault.head()
    if head is None:
        raise refused
    why = (
        "the current content could not be captured, so the archive contains the last captured content: "
        f"{refused.message}"
    )
    return CaptureReport(agent.id, sequence=head.number, unread={str(agent.workspace): why})


def _catch_up(context: Context, agent: Agent) -> None:
    """Capture first, if the agent is captured automatically, so that its caches know the present files."""
    if agent.watched and not agent.is_paused(context.now()):
        capture_agent(context, agent)


def _stranger(context: Context, runtime: str, workspace: Path) -> Agent:
    """Return an agent for this export only. The next export of the same folder makes the same one."""
    installation = context.adapter(runtime).locate(workspace, context.environment, context.user_home)
    context.keys().ensure()
    name = installation.name or workspace.name
    known = {agent.id for agent in agents.list_agents(context)}
    left = alf_client.read_agent_id(workspace)
    agent_id = left if left and left not in known else ids.mint_id(_seed_of(context, workspace), _EPOCH, "agent")
    return Agent(agent_id, name, runtime, workspace, native_id=installation.native_id, watched=False)


def _seed_of(context: Context, workspace: Path) -> bytes:
    """Return a secret of this home and folder: two exports give equal memories the same ids, which reveal nothing about
    them."""
    testimony = context.keys().device.testify("export of an unprotected folder", {"workspace": str(workspace)})
    return hashlib.sha256(str(testimony["signature"]).encode()).digest()


@contextmanager
def _copied(context: Context, agent: Agent, scratch: Path, *, is_known: bool) -> Iterator[tuple[Vault, CaptureReport]]:
    folder = scratch / "vault"
    if is_known:
        with context.vault(agent.id) as own:
            own.copy_to(folder)
    else:
        seed = _seed_of(context, agent.workspace)
        Vault.create(folder, agent.id, files=context.files, clock=context.clock, seed=seed).close()
    with Vault.open(folder, files=context.files, clock=context.clock) as vault:
        yield vault, _read_into(context, agent, vault, scratch / "state.db")


def _read_into(context: Context, agent: Agent, vault: Vault, caches: Path) -> CaptureReport:
    """Read a workspace completely, with new caches, and commit what is new to a vault.

    Raises ExchangeError.
    """
    with StateDb.open(caches, vault.id) as db:
        report = capture_into(context, agent, vault, db)
    if report.outcome == ROOT_MISSING or vault.head() is None:
        raise ExchangeError("; ".join(report.every_warning) or f"the workspace {agent.workspace} is empty")
    return report


def _warnings(report: CaptureReport) -> list[str]:
    problems = {**report.left_out, **list_left_out(report.to_json())}
    return [*report.every_warning, *(f"{name}: {reason}" for name, reason in sorted(problems.items()))]


def _write(
    context: Context,
    vault: Vault,
    file: AbstractContextManager[BinaryIO],
    options: ExportOptions,
    snapshot_command: str,
) -> int:
    """Write the file; return the number of records in it."""
    state = vault.state()
    number = state.sequence.number
    if options.since == number:
        raise ExchangeError.NOTHING_TO_EXPORT(
            f"nothing has changed since sequence {number}, so a delta would be empty. For a "
            "snapshot, leave out --since",
            fix=snapshot_command,
        )
    with file as stream:
        keys = _keys(context, vault.agent_id)
        if options.since is not None:
            return write_delta(vault.changes(options.since, number), stream, keys=keys).records
        return write_snapshot(state, stream, keys=keys, embeddings_inline=options.embeddings_inline).records


def _keys(context: Context, agent_id: str) -> JsonObject | None:
    """Return what lets the owner of the user's key open the agent's credentials elsewhere; None when it has none."""
    try:
        return context.keys().export_agent(agent_id)
    except NoAgentKey:
        return None


def _artifacts(state: State) -> dict[str, list[JsonObject]]:
    """Return the inventory of ALF §3.1.9: tier 2 is included, tier 3 is only described."""
    found: dict[str, list[JsonObject]] = {"included": [], "referenced": []}
    for entry in state.entries(archive_layout.ARTIFACTS):
        attachment = entry.meta.get("attachment")
        if attachment is not None:
            tier = "referenced" if attachment.get("tier") == 3 else "included"
            name = entry.path.removeprefix(archive_layout.ARTIFACTS)
            found[tier].append({"filename": name, "size_bytes": entry.size})
    return found


@contextmanager
def read_workspace_as_sequence(context: Context, agent: Agent) -> Iterator[tuple[Vault, int, int]]:
    """Open an agent's history in a temporary copy with the present workspace on top: (vault, head, workspace).

    Both numbers are equal when nothing changed. The agent's lock is held only while the history is copied: reading a
    large workspace takes long, and would delay captures. Raises NothingToRestore, ExchangeError.
    """
    with make_scratch_folder(context, "compare") as scratch:
        folder = scratch / "vault"
        with agent_lock(context, agent.id, "compare", only_reads=True), context.vault(agent.id) as own:
            if own.head() is None:
                raise NothingToRestore("the agent has not been captured yet", fix="lifeboat sync")
            own.copy_to(folder)
        with Vault.open(folder, files=context.files, clock=context.clock) as vault:
            head = vault.state().sequence.number
            _read_into(context, agent, vault, scratch / "state.db")
            yield vault, head, vault.state().sequence.number
