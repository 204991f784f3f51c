"""A restore drill of a remote: fetch its newest state, restore it aside with the code of a restore, and compare it.

The files come from the remote alone: this machine contributes only the user's key. A log of bundles that cannot be
restored from gets a new snapshot, and the drill is repeated.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import AlfError
from lifeboat_alf.redaction.redactions import Redactions
from lifeboat_alf.states.agent_state import BodyAbsent, State
from lifeboat_core.agents.agent import Agent
from lifeboat_core.errors import NothingToRestore
from lifeboat_core.health import due_checks
from lifeboat_core.health.agent_status import ERROR
from lifeboat_core.home.context import Context
from lifeboat_core.machine import power_and_network
from lifeboat_core.processes.progress import Tell, tell_nobody
from lifeboat_core.remotes import (
    acknowledged_states,
    pulling,
    remote_kinds,
    remote_verification,
    vault_bundles,
)
from lifeboat_core.remotes.contract import Compactable, RemoteConfig
from lifeboat_core.remotes.redactions import purge_exchange
from lifeboat_core.remotes.remote_kinds import open_remote
from lifeboat_core.state import state_documents
from lifeboat_core.verify import samples_and_drills
from lifeboat_core.verify.samples_and_drills import Drill
from lifeboat_keys.errors import KeysError
from lifeboat_keys.signed import unopened_credentials
from lifeboat_vault.errors import RemoteDamaged, UnknownAtRemote
from lifeboat_vault.remote.remote_contract import Remote
from lifeboat_vault.vault import SequenceRow, Vault


@dataclass(frozen=True, slots=True)
class RemoteDrill:
    """What the drill of a remote found. `mended`: what was wrong until the remote got a new snapshot."""

    remote: str
    drill: Drill
    mended: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return self.drill.ok

    def to_json(self) -> JsonObject:
        return {**self.drill.to_json(), "remote": self.remote, "mended": self.mended}


def drill_remote(context: Context, agent: Agent, config: RemoteConfig, tell: Tell = tell_nobody) -> RemoteDrill:
    """Restore the newest state of a remote aside, compare every byte, and note the result.

    Raises NothingToRestore when the newest state there is not of this machine's history, KeysError when the log is
    sealed and the user's key is away, RemoteError when the remote cannot be read.
    """
    with (
        purge_exchange.heed_erasure(context, agent),
        context.vault(agent.id) as vault,
        contextlib.closing(open_remote(context, config)) as remote,
    ):
        purge_exchange.exchange_purges(context, agent, config, vault, remote)
        row = _common_row(agent, config, vault, remote)
        found = RemoteDrill(config.name, _tried(context, agent, vault, remote, row, tell))
        if not found.ok:
            found = _mended(context, agent, vault, remote, row, found, tell)
        _note(context, vault, config, found)
    return found


def _common_row(agent: Agent, config: RemoteConfig, vault: Vault, remote: Remote) -> SequenceRow:
    head = remote.agent(agent.id).head
    row = None if head is None else vault.find(head.number)
    if head is None or row is None or row.digest != head.digest:
        raise NothingToRestore(
            f"this machine does not know the newest sequence of {agent.name} on {config.name}", fix="lifeboat sync"
        )
    return row


def _tried(context: Context, agent: Agent, vault: Vault, remote: Remote, row: SequenceRow, tell: Tell) -> Drill:
    here = vault.state(row.number)
    purged = Redactions(each.redaction for each in vault.redaction_rows())
    tell("Fetching", 0, None)
    try:
        with pulling.open_remote_state(remote, agent.id, row.number, purged) as state:
            found = [
                *_missing_keys(state, remote.keys(agent.id)),
                *remote_verification.find_missing_files(here, remote),
            ]
            return samples_and_drills.drill_state(context, agent, state, found, tell, is_local=False)
    except (AlfError, RemoteDamaged, UnknownAtRemote) as error:
        return Drill(agent.id, row.number, 0, [error.message])
    except BodyAbsent as error:
        return Drill(agent.id, row.number, 0, [f"the remote has no content for the file {error.args[0]}"])


def _missing_keys(state: State, keys: JsonObject | None) -> list[str]:
    labels = unopened_credentials.find_unopened(state_documents.load_credentials(state).values(), keys)
    return [f"the key that opens the credential {label} is missing" for label in labels]


def _mended(
    context: Context, agent: Agent, vault: Vault, remote: Remote, row: SequenceRow, found: RemoteDrill, tell: Tell
) -> RemoteDrill:
    """Repeat the drill after a log of bundles got a snapshot of its newest state; an endpoint makes its own bundles."""
    if not isinstance(remote, Compactable):
        return found
    material = vault_bundles.VaultBundleSource(vault, context.keys().export_agent(agent.id))
    if not remote.compact(agent.id, material, renewed=True):
        return found  # another machine wrote meanwhile: the next drill is of its state
    again = _tried(context, agent, vault, remote, row, tell)
    return RemoteDrill(found.remote, again, found.drill.mismatches if again.ok else [])


def _note(context: Context, vault: Vault, config: RemoteConfig, found: RemoteDrill) -> None:
    now = context.now()
    if found.ok:
        verified = {"verified_number": found.drill.sequence, "verified_at": now}
        acknowledged_states.note_acknowledged(vault, config.id, drilled_at=now, drill_failed="", damaged="", **verified)
        return
    first_mismatch = found.drill.mismatches[0]
    why = {"message": f"a test restore from the remote failed: {first_mismatch}", "code": RemoteDamaged.code}
    # With `files` and `keys` forgotten, the next push sends what the remote lacks of them.
    acknowledged_states.note_acknowledged(
        vault, config.id, state=ERROR, drill_failed=first_mismatch, damaged=first_mismatch, files=None, keys="", **why
    )


def verify_or_drill(context: Context, agent: Agent, config: RemoteConfig, tell: Tell = tell_nobody) -> JsonObject:
    """Verify a remote as `remote_verification.verify_remote` does, and make a drill if one is due and possible.

    The answer also has `drill`: a `RemoteDrill`, or None. A drill waits while the user's key is away, the network is
    metered or the battery is saved; `lifeboat doctor` says for how long. Raises LifeboatError.
    """
    found = remote_verification.verify_remote(context, agent, config)
    is_comparable = found["sequence"] is not None and (found.pop("is_drill_due") or found["ok"])
    if not is_comparable or not _is_due(context, agent, config) or _is_to_wait(context, config):
        return {**found, "drill": None}
    try:
        made = drill_remote(context, agent, config, tell)
    except KeysError:
        return {**found, "drill": None}
    return {**found, "drill": made.to_json(), "findings": made.drill.mismatches, "ok": made.ok}


def _is_due(context: Context, agent: Agent, config: RemoteConfig) -> bool:
    with context.vault(agent.id) as vault:
        known = acknowledged_states.load_acknowledged(vault).get(config.id)
    every = float(context.setting("verify.whole_every", agent))
    if known is None:
        return False
    return bool(known.drill_failed) or due_checks.is_past(known.drilled_at, every, context.clock.now())


def _is_to_wait(context: Context, config: RemoteConfig) -> bool:
    return (
        remote_kinds.needs_network(config)
        and power_and_network.find_deferral_reason(power_and_network.read_conditions(context), 1, 0) is not None
    )
