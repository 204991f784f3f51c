"""What must always hold, whatever happened. One function each, called after every injected fault."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.seams.system_clock import SystemClock
from lifeboat_alf.states import merkle
from lifeboat_alf.states.agent_state import BodyAbsent, State
from lifeboat_cli.demo.tree_comparison import Tree, list_differences, read_tree
from lifeboat_core.agents.agent import Agent
from lifeboat_core.capture.capture_run import capture_agent, capture_into
from lifeboat_core.home.context import Context
from lifeboat_core.purge import receipt_signing
from lifeboat_core.remotes import acknowledged_states, pulling, remote_registry
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.remotes.remote_kinds import open_remote
from lifeboat_core.remotes.replication_outcome import ReplicationOutcome
from lifeboat_core.restore import RestoreOptions, recover_restores, restore_agent
from lifeboat_core.state.state_db import StateDb, delete_cache
from lifeboat_core.verify import samples_and_drills
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_vault.errors import AgentErased, UnknownAtRemote
from lifeboat_vault.remote.remote_contract import Remote, RemoteSequence, file_key_of
from lifeboat_vault.vault import Vault
from support.adapters.canary_scan import Leak, Scanner


def always(context: Context, agent: Agent, trees: Mapping[int, Tree] | None = None) -> None:
    """I3, I4, I6, I9 and I11, and I1 for every sequence whose tree is known."""
    with capture_writes_nothing(agent.workspace):
        every_kept_sequence_has_its_digest(context, agent)
        the_audit_chain_is_whole(context, agent)
        the_same_tree_gives_the_same_ids(context, agent)
        what_was_shown_restores(context, agent, trees or {})
        caches_rebuild(context, agent)


def what_was_shown_restores(context: Context, agent: Agent, trees: Mapping[int, Tree]) -> None:
    """I1: what was shown as kept restores byte for byte, as long as the sequence is kept."""
    with context.vault(agent.id) as vault:
        kept = {row.number for row in vault.sequences()}
    for number in sorted(kept & trees.keys()):
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / "ada"
            restore_agent(context, agent, RestoreOptions(at=number, to=target, reindex=False))
            assert list_differences(trees[number], read_tree(target)) == []


def caches_rebuild(context: Context, agent: Agent) -> None:
    """I3: without state.db the next capture finds nothing new, and the one after it neither."""
    capture_agent(context, agent)
    delete_cache(context.home.state_file(agent.id))
    assert not capture_agent(context, agent).changed
    assert not capture_agent(context, agent).changed


def every_kept_sequence_has_its_digest(context: Context, agent: Agent) -> None:
    """I4: every kept sequence is what was digested and signed; no state stands twice in a row."""
    with context.vault(agent.id) as vault:
        rows = vault.sequences()
        for row in rows:
            assert merkle.state_digest(vault.state(row.number)) == row.digest
        found = vault.verify(trusted=context.keys().trusted, whole=True)
    assert found.findings == []
    assert found.unsigned == []
    digests = [row.digest for row in rows]
    assert all(one != other for one, other in pairwise(digests))


def is_all_old_or_all_new(context: Context, workspace: Path, old: Tree, new: Tree) -> str:
    """I5: once the journal has run, a restored workspace is wholly the old one or wholly the new one; says which."""
    recover_restores(context)
    assert recover_restores(context) == []
    now = read_tree(workspace)
    from_old, from_new = list_differences(old, now), list_differences(new, now)
    assert not from_old or not from_new, [*from_old, *from_new]
    return "new" if not from_new else "old"


@contextmanager
def capture_writes_nothing(workspace: Path) -> Iterator[None]:
    """I6: the workspace is the same afterwards, access times and all else that we write aside."""
    before = read_tree(workspace)
    yield
    assert list_differences(before, read_tree(workspace)) == []


def the_same_tree_gives_the_same_ids(context: Context, agent: Agent) -> None:
    """I9: two captures of one tree into two copies of one vault, at one time, mint the same ids."""
    frozen = replace(context, clock=Stopped(context.clock.now()))
    with tempfile.TemporaryDirectory() as folder:
        first, second = (_ids_of_capture(frozen, agent, Path(folder) / name) for name in ("one", "two"))
    assert first == second


class Stopped(SystemClock):
    """A clock that stands still."""

    def __init__(self, moment: datetime) -> None:
        self.moment = moment

    def now(self) -> datetime:
        return self.moment


def _ids_of_capture(context: Context, agent: Agent, folder: Path) -> list[str]:
    folder.mkdir()
    with context.vault(agent.id) as own:
        own.copy_to(folder / "vault")
    with Vault.open(folder / "vault") as vault, StateDb.open(folder / "state.db", vault.id) as db:
        capture_into(context, agent, vault, db)
        head = vault.head()
        return [] if head is None else [record.id for record in vault.state().records()]


def what_was_purged_is_gone(context: Context, agent: Agent, scanner: Scanner, *elsewhere: Path) -> None:
    """I7: after a purge no reachable object yields the content, here, `elsewhere` and in what second copies give, and
    every receipt verifies offline, with the keys of its home and without."""
    assert scanner.folders(context.home.folder, *elsewhere) == []
    if context.home.vault_folder(agent.id).exists():
        with context.vault(agent.id) as vault:
            assert list(_told_by(vault, scanner)) == []
            assert [each.id for each in vault.redactions if vault.remaining(each)] == []
    for config in remote_registry.list_usable_remotes(context):
        with closing(open_remote(context, config)) as remote:
            assert list(_given_by(remote, agent, scanner)) == []
    for receipt in receipt_signing.load_receipts(context):
        for keys in (context, None):
            found = receipt_signing.verify_receipt(keys, receipt.to_json())
            assert [each for each in found if each.level == receipt_signing.ReceiptLevel.WRONG] == []


def _told_by(vault: Vault, scanner: Scanner) -> Iterator[Leak]:
    for item in vault.history():
        with suppress(BodyAbsent):
            yield from scanner.data(vault.read_object(item.object), item.path or f"record {item.record_id}")


def _given_by(remote: Remote, agent: Agent, scanner: Scanner) -> Iterator[Leak]:
    with suppress(AgentErased):
        for row in _listed(remote, agent):
            with pulling.open_remote_state(remote, agent.id, row.number) as state:
                for name, body in _contents(state).items():
                    yield from scanner.data(body, f"{name} of {row.number}")


def the_audit_chain_is_whole(context: Context, agent: Agent) -> None:
    """I11: every audit row follows from the one before."""
    with context.vault(agent.id) as vault:
        assert vault.check_audit() == []


def a_drill_succeeds(context: Context, agent: Agent) -> None:
    """What `lifeboat verify` proves."""
    assert samples_and_drills.drill_vault(context, agent, whole=True).mismatches == []


# Second copies ----------------------------------------------------------------------------------------------------


def an_outcome_is_honest(context: Context, agent: Agent, config: RemoteConfig, outcome: ReplicationOutcome) -> None:
    """What is said and noted of a remote is so there: `ok` is said of the newest state alone, and nothing counts as
    acknowledged or verified that is not there."""
    with context.vault(agent.id) as vault, closing(open_remote(context, config)) as remote:
        known = acknowledged_states.load_acknowledged(vault)[config.id]
        there = {row.number: row.digest.hex() for row in _listed(remote, agent)}
        head = vault.head()
        assert head is not None
        if outcome.state == "ok":
            assert outcome.sequence == head.number == max(there)
            assert there[head.number] == head.digest.hex()
            assert known.number == known.files == head.number
            keys = [key for each in vault.state().entries() if (key := file_key_of(each)) is not None]
            assert not remote.missing(agent.id, keys)
        if known.number is not None:
            assert there.get(known.number) == known.digest
        assert known.verified_number is None or known.verified_number in there


def what_a_remote_lists_restores(
    context: Context, agent: Agent, config: RemoteConfig, *, newest: int | None = None, complete: bool = True
) -> None:
    """I1 and I4 there: every state that it lists, or the newest few, is the one of that number here, byte for byte.

    Large files follow their state: while the remote is not `complete`, they may not be there yet.
    """
    with context.vault(agent.id) as vault, closing(open_remote(context, config)) as remote:
        rows = _listed(remote, agent)
        assert [row.number for row in rows] == sorted({row.number for row in rows})
        assert {row.number for row in rows} <= {row.number for row in vault.sequences()}
        for row in rows if newest is None else rows[-newest:]:
            with pulling.open_remote_state(remote, agent.id, row.number, vault.redactions) as state:
                there, here = _contents(state, complete=complete), _contents(vault.state(row.number))
                assert there == {name: here[name] for name in here if name in there or complete or not _is_large(name)}
                assert merkle.state_digest(state) == row.digest == vault.sequence(row.number).digest


def _listed(remote: Remote, agent: Agent) -> list[RemoteSequence]:
    try:
        return list(remote.sequences(agent.id))
    except UnknownAtRemote:
        return []


def _contents(state: State, *, complete: bool = True) -> dict[str, bytes]:
    found = {each.id: each.line for each in state.records()}
    for each in state.entries():
        try:
            found[each.path] = state.body(each.path)
        except BodyAbsent:
            if complete or not _is_large(each.path):
                raise
    return found


def _is_large(path: str) -> bool:
    return path.startswith(archive_layout.ARTIFACTS)


def an_endpoint_is_whole(data: Path) -> None:
    """I4 and I11 in an endpoint's own data: everything of every agent, bytes, digests, signatures; the audit."""
    with Endpoint.open(data) as endpoint:
        assert endpoint.control.check_audit() == []
        for tenant in endpoint.control.tenants():
            space = endpoint.space(tenant.id)
            for agent_id in space.agent_ids():
                if space.is_sealed(agent_id):
                    continue
                with space.vault(agent_id) as vault:
                    assert vault.verify(trusted=None, whole=True).findings == []
