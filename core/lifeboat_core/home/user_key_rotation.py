"""Replace the user's key in a whole home: first the keys, then what the vaults hold under a key that others may have.

The second part (*settling*) is needed after a compromised key only. The next command finishes it after an interruption:
every vault's history is signed again by this device, then the head's credentials are sealed to the new pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_core.agents.agent import list_agents
from lifeboat_core.agents.locks import agent_lock, home_lock
from lifeboat_core.capture import sequence_commit
from lifeboat_core.capture.overlay import Overlay
from lifeboat_core.home.context import Context
from lifeboat_core.home.folder_names import folders_in, is_there
from lifeboat_core.memories import memory_search
from lifeboat_core.purge import purge_signatures, receipt_signing
from lifeboat_core.state.state_db import StateDb
from lifeboat_core.system_refusals import convert_system_errors
from lifeboat_keys.errors import KeysError, NoAgentKey, UnsealError
from lifeboat_keys.home import device_registry
from lifeboat_keys.home.device_registry import KnownDevice
from lifeboat_keys.home.home_keys import HomeKeys
from lifeboat_keys.home.key_rotation import RotationReason, UnsettledRotation
from lifeboat_keys.pairs.agent_pair import pair_id
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.signed import credential_sealing, redaction_signatures, sequence_signatures
from lifeboat_keys.stores.store_kinds import StoreKind
from lifeboat_vault.errors import VaultDamaged, VaultError, VaultNewer
from lifeboat_vault.vault import SequenceRow, Vault
from lifeboat_vault.vault.open_vault import FILE

KIND = "rotate"
ROTATED = "rotated"
"""The vault's decision that names the compromised key from which it is free."""
_LOCK_SECONDS = 60.0
_ONE_KEY = {StoreKind.COMMAND: "key_command", StoreKind.KEY_FILE: "the file that LIFEBOAT_KEY_FILE names"}


@dataclass
class SettledVaults:
    """The result for the vaults. `vaults`: {agent, sequence of the new sealing or None, countersigned, epoch};
    `refused`: {agent, sequence} whose signature is invalid; `unfinished`: why a vault waits, by agent."""

    vaults: list[JsonObject] = field(default_factory=list)
    refused: list[JsonObject] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    unfinished: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RotationReport:
    """What a rotation did. `former` is the key that was replaced; `reissue` lists the head's credentials that a thief
    can open in old copies; `revoked` is the machine reported as lost; `remotes` those whose token of it was revoked."""

    key_id: str
    former: str
    compromised: bool
    agents: list[JsonObject]
    reissue: list[JsonObject]
    revoked: KnownDevice | None
    settled: SettledVaults
    remotes: list[JsonObject] = field(default_factory=list)

    def to_json(self) -> JsonObject:
        revoked = None if self.revoked is None else {"id": self.revoked.id, "name": self.revoked.name}
        return {
            "key_id": self.key_id,
            "former": self.former,
            "compromised": self.compromised,
            "agents": self.agents,
            "vaults": self.settled.vaults,
            "refused": self.settled.refused,
            "reissue": self.reissue,
            "revoked": revoked,
            "remotes": self.remotes,
            "unfinished": self.settled.unfinished,
            "warnings": self.settled.warnings,
        }


# Before ------------------------------------------------------------------------------------------------------------


def load_key_in_force(context: Context) -> UserKey:
    """Return the key to be replaced, with its secret.

    Refuses (exit status 3) when it is away, locked or another one, when its store cannot take a second key, or when the
    last rotation has not finished.
    """
    keys = context.keys()
    try:
        key = keys.user_key()
        _check_store(keys)
        keys.refuse_unsettled()
    except KeysError as error:
        error.exit_status = 3
        raise
    return key


def _check_store(keys: HomeKeys) -> None:
    if keys.store in _ONE_KEY:
        raise KeysError.STORE_READ_ONLY(
            f"Lifeboat cannot replace a key that comes from {_ONE_KEY[keys.store]}; change the key there yourself"
        )
    problem = keys.store_problem(keys.store)
    if problem is not None:
        raise problem


def find_lost_machine(context: Context, machine: str) -> KnownDevice:
    """Return the machine that is reported as lost. Raises UnknownMachine, which lists the known ones."""
    keys = context.keys()
    found = device_registry.find_machine(keys.machines.all(), machine)
    if found.public == keys.device.public:
        raise KeysError.UNKNOWN_MACHINE(
            f"{found.name} is this machine; to report this machine as lost, run the command on another one"
        )
    return found


def rotate_user_key(
    context: Context, old: UserKey, new: UserKey, *, compromised: bool, lost: KnownDevice | None
) -> RotationReport:
    """Replace the user's key by a new one, whose words the user has.

    Raises OtherKey when the old one is not in force any more, and what the keys raise: then nothing changed. What waits
    in a vault is in the report.
    """
    reason = RotationReason(compromised or lost is not None, None if lost is None else lost.public)
    with convert_system_errors(), home_lock(context, "keys rotate"):
        context.keys().rotate(old, new, reason)
        settled = _settle(context) or SettledVaults()
    agents = [{"id": agent.id, "name": agent.name} for agent in list_agents(context)]
    reissue = _to_reissue(context) if reason.compromised else []
    return RotationReport(new.key_id, old.key_id, reason.compromised, agents, reissue, lost, settled)


def _to_reissue(context: Context) -> list[JsonObject]:
    """Return every credential of every agent's newest state."""
    found = []
    for agent in list_agents(context):
        for credential in _credentials_of(context, agent.id):
            named = {name: credential.get(name) for name in ("service", "credential_type", "label")}
            found.append({"agent": agent.name, **named})
    return found


def _credentials_of(context: Context, agent_id: str) -> list[JsonObject]:
    try:
        with context.vault(agent_id) as vault:
            document = _credentials(Overlay(vault.state() if vault.head() else None))
    except VaultError:
        return []
    return [one for one in document["credentials"] if isinstance(one, dict)]


# Settling ----------------------------------------------------------------------------------------------------------


def finish_rotation(context: Context) -> list[str]:
    """Continue an interrupted rotation whose vaults had not settled; return sentences that say what was done."""
    if context.keys().settling() is None:
        return []
    with convert_system_errors(), home_lock(context, "keys rotate", timeout=0):
        settled = _settle(context)
    if settled is None:
        return []
    if settled.unfinished:
        return [f"the rotation of your key is not finished: {reason}" for reason in settled.unfinished]
    named = (f"{one['service']} {one['label'] or ''} of {one['agent']}" for one in _to_reissue(context))
    listed = ", ".join(named) or "nothing"
    return [f"the interrupted rotation of your key is finished; credentials to replace at their issuers: {listed}"]


def _settle(context: Context) -> SettledVaults | None:
    """Return the result, None if there is nothing to do. The caller holds the home's lock."""
    keys = context.keys()
    work = keys.settling()
    if work is None:
        return None
    settled = SettledVaults()
    if not work.signed:
        _sign_history(context, keys, settled)
        if settled.unfinished:
            return settled
        if work.lost is not None:
            keys.machines.revoke(work.lost, context.now())
        keys.note_signed()
    _each_vault(context, settled, lambda vault: _renew(context, keys, vault, work, settled))
    if not settled.unfinished:
        reach_crash_point(CrashPoint.ROTATE_SETTLED)
        keys.note_settled()
    return settled


def _each_vault(context: Context, settled: SettledVaults, work: Callable[[Vault], None]) -> None:
    """Work on every vault, also those of removed agents, which may be restored. A damaged vault does not stop the
    others."""
    for folder in folders_in(context.files, context.home.vaults_folder):
        if not is_there(context.files, folder / FILE):
            continue
        try:
            _with_vault(context, folder, work)
        except (VaultDamaged, VaultNewer) as error:
            said = f"the vault {folder.name} was not changed: {error.message}"
            settled.warnings += [] if said in settled.warnings else [said]
        except LifeboatError as error:
            settled.unfinished.append(f"{folder.name}: {error.message}")


def _with_vault(context: Context, folder: Path, work: Callable[[Vault], None]) -> None:
    with (
        Vault.open(folder, files=context.files, clock=context.clock) as vault,
        agent_lock(context, vault.agent_id, "keys rotate", timeout=_LOCK_SECONDS),
    ):
        work(vault)


def _sign_history(context: Context, keys: HomeKeys, settled: SettledVaults) -> None:
    before, after, device = keys.trusted, keys.trusted_when_settled, keys.device

    def sign(vault: Vault) -> None:
        reach_crash_point(CrashPoint.ROTATE_HISTORY_SIGNED)
        done = vault.countersign(
            lambda sequence: sequence_signatures.sign_sequence(sequence, device), before=before, after=after
        )
        vault.sign_redactions(
            lambda redaction: redaction_signatures.sign_redaction(redaction, device), before=before, after=after
        )
        settled.refused += [{"agent": vault.agent_id, "sequence": row.number} for row in done.refused]
        settled.vaults.append(
            {"agent": vault.agent_id, "countersigned": len(done.signed), "sequence": None, "epoch": vault.epoch}
        )

    _each_vault(context, settled, sign)
    purge_signatures.sign_purges_again(context, before, after)
    receipt_signing.sign_receipts_again(context, before)


def _renew(context: Context, keys: HomeKeys, vault: Vault, work: UnsettledRotation, settled: SettledVaults) -> None:
    """Begin a new epoch if a machine was lost, then seal the head's credentials to the new pairs."""
    replaced = sorted(work.compromised)
    if vault.get(ROTATED) == replaced:
        return
    if work.lost is not None:
        reach_crash_point(CrashPoint.ROTATE_EPOCH_RAISED)
        vault.raise_epoch()
    row = _seal_again(context, keys, vault, settled)
    vault.set(ROTATED, replaced, kind=ROTATED)
    for said in settled.vaults:
        if said["agent"] == vault.agent_id:
            said.update(sequence=None if row is None else row.number, epoch=vault.epoch)


def _seal_again(context: Context, keys: HomeKeys, vault: Vault, settled: SettledVaults) -> SequenceRow | None:
    """Commit one sequence in which no credential is sealed to a pair that others may open; return None if there is
    none."""
    overlay = Overlay(vault.state() if vault.head() else None)
    document = _credentials(overlay)
    sealer = _Sealer(keys, settled.warnings)
    again = [sealer.sealed(one) if isinstance(one, dict) else one for one in document["credentials"]]
    if again == document["credentials"]:
        return None
    body = json_codec.encode_json({**document, "credentials": again})
    overlay.put(archive_layout.CREDENTIALS, overlay.meta(archive_layout.CREDENTIALS) or {}, body)
    reach_crash_point(CrashPoint.ROTATE_SEALED_AGAIN)
    row = sequence_commit.commit_sequence(context, vault, overlay, (), kind=KIND, time=context.now(), counts={})
    if row is not None and context.home.state_file(vault.agent_id).exists():
        with StateDb.open(context.home.state_file(vault.agent_id), vault.id) as db:
            sequence_commit.advance_stat_cache(db, row)
            memory_search.update_index(db, vault)
    return row


def _credentials(overlay: Overlay) -> JsonObject:
    """Return the credentials' document of the newest state, an empty one if there is none."""
    body = overlay.old_body(archive_layout.CREDENTIALS)
    document = None if body is None else json_codec.decode_json(body)
    if isinstance(document, dict) and isinstance(document.get("credentials"), list):
        return document
    return {"credentials": []}


class _Sealer:
    """Seals credentials to the current pairs of their agents. Each pair's secret is fetched once."""

    def __init__(self, keys: HomeKeys, warnings: list[str]) -> None:
        self._keys = keys
        self._warnings = warnings
        self._secrets: dict[tuple[str, str], bytes] = {}

    def sealed(self, credential: JsonObject) -> JsonObject:
        """Return the credential for the current pair. One that does not open here stays, and is reported."""
        encryption, agent_id = credential.get("encryption"), str(credential.get("agent_id"))
        recipient = encryption.get("recipient") if isinstance(encryption, dict) else None
        try:
            secret = self._secret(agent_id, str(recipient))
            public = self._keys.agent_public(agent_id)
            if recipient == pair_id(public):
                return credential
            payload = credential_sealing.unseal_credential(credential, secret)
        except (NoAgentKey, UnsealError) as error:
            name = credential.get("label") or credential.get("id")
            self._warnings.append(f"the credential {name} could not be sealed again: {error.message}")
            return credential
        fields = credential_sealing.seal_credential(
            payload,
            agent_public=public,
            agent_id=agent_id,
            credential_id=str(credential["id"]),
            service=str(credential["service"]),
            credential_type=str(credential["credential_type"]),
            key_id=self._keys.public.key_id,
        )
        return {**credential, **fields}

    def _secret(self, agent_id: str, recipient: str) -> bytes:
        place = agent_id, recipient
        if place not in self._secrets:
            self._secrets[place] = self._keys.agent_secret(agent_id, recipient)
        return self._secrets[place]
