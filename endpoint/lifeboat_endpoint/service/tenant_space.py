"""What an endpoint does for one tenant: the methods of `remote.contract.Remote`, and those that only servers need.

A space belongs to one thread. Several spaces, in threads and processes, may serve the same tenant.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime

from lifeboat_alf.common import json_codec, times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import SignatureError
from lifeboat_alf.seams.system_clock import Clock
from lifeboat_alf.states.agent_state import Leaf
from lifeboat_endpoint.engines.contract import TenantPlace
from lifeboat_endpoint.service import accident_guard
from lifeboat_endpoint.service import tenant_bodies as stored
from lifeboat_endpoint.service import tenant_statements as sql
from lifeboat_endpoint.service.agent_roster import AgentFacts, AgentRow, Roster, check_id
from lifeboat_endpoint.service.agent_vaults import AgentVaults
from lifeboat_endpoint.service.bundle_receiver import BundleReceiver, PushResult, SentBundle, make_remote_head
from lifeboat_endpoint.service.endpoint_limits import EndpointLimits
from lifeboat_endpoint.service.purge.endpoint_receipts import EndpointReceipts
from lifeboat_endpoint.service.purge.purge_policy import PurgePolicy
from lifeboat_endpoint.service.purge.tenant_redactions import TenantRedactions
from lifeboat_endpoint.service.purge.whole_agent_purge import WholeAgentPurge
from lifeboat_endpoint.service.remote_errors import as_remote
from lifeboat_endpoint.service.sealed_files import SealedFileStore
from lifeboat_endpoint.service.space_exchange import SpaceExchange
from lifeboat_endpoint.service.space_fetching import SpaceFetching, check_sha256, is_sha256
from lifeboat_endpoint.service.space_purging import SpacePurging
from lifeboat_endpoint.service.tenant_bodies import TenantBodies
from lifeboat_endpoint.service.tenant_quota import FULL_FOR, TenantQuota
from lifeboat_endpoint.service.tenant_service import TenantResources
from lifeboat_endpoint.service.tenant_tables import TenantKeys
from lifeboat_endpoint.service.uploads import ExpectedPart, Uploads, UploadState
from lifeboat_vault.errors import EpochMoved, RemoteFull, RemoteRefused, RemoteTooLarge, UnknownAtRemote
from lifeboat_vault.remote.remote_contract import TRIAL, RemoteAgent, RemoteBundle, RemoteHead
from lifeboat_vault.vault import FIRST_EPOCH, Vault


class TenantSpace(SpaceFetching, SpacePurging, SpaceExchange):
    """Everything of one tenant. Close it.

    Every method that names an agent raises UnknownAtRemote for an unknown one, AgentErased for one that was purged
    completely, RemoteRefused for a sealed one that would have to be read, and KeyRevoked if the key of the data was
    revoked.
    """

    def __init__(
        self,
        place: TenantPlace,
        tenant_id: str,
        keys: TenantKeys,
        *,
        limits: EndpointLimits,
        quota: Callable[[], int | None] | None = None,
        purging: PurgePolicy,
        clock: Clock,
    ) -> None:
        """`quota` returns how many bytes the tenant may keep now. Without it, `limits` decide."""
        roster, bodies, vaults = Roster(place.metadata, keys), TenantBodies(place.blobs, keys), AgentVaults(place, keys)
        counted = TenantQuota(tenant_id, roster, limits, quota)
        resources = TenantResources(place, keys, bodies, roster, vaults, counted, limits, purging, clock)
        super().__init__(resources)
        self.tenant_id = tenant_id
        self.place = place
        self.limits = limits
        self.roster = roster
        self._receiver = BundleReceiver(resources)
        self.uploads = Uploads(resources, self._receiver)
        self.sealed_files = SealedFileStore(resources)
        self._receipts = EndpointReceipts(resources)
        self._whole_agents = WholeAgentPurge(resources, self.uploads, self.sealed_files)
        self._redactions = TenantRedactions(resources, self.uploads, self._whole_agents)

    def close(self) -> None:
        self._vaults.close()
        self.place.close()

    def __enter__(self) -> TenantSpace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Agents -----------------------------------------------------------------------------------------------------

    def agent_ids(self) -> list[str]:
        with as_remote():
            return self.roster.ids()

    def agents(self) -> list[RemoteAgent]:
        with as_remote():
            return [self._told(row) for row in self.roster.all()]

    def agents_page(self, after: str = "", limit: int = 100) -> list[RemoteAgent]:
        """Return up to `limit` agents with larger ids than `after`."""
        with as_remote():
            return [self._told(row) for row in self.roster.page(after, limit)]

    def agent(self, agent_id: str) -> RemoteAgent:
        with as_remote():
            return self._told(self.roster.get(agent_id))

    def check_agent(self, agent_id: str) -> None:
        """Check that the agent exists. Raises UnknownAtRemote, AgentErased."""
        with as_remote():
            self.roster.get(agent_id)

    def check_known(self, agent_id: str) -> None:
        """Check that the agent exists, or was purged completely. Raises UnknownAtRemote."""
        with as_remote():
            if self.roster.purged.find(agent_id) is None:
                self.roster.get(agent_id)

    def check_whole(self, agent_id: str) -> None:
        """Refuse an agent of which only changes are here: older clients would overwrite a whole agent with it.

        Raises RemoteRefused.
        """
        with as_remote():
            facts = self.roster.get(agent_id).facts
        if facts.held is not None and facts.lacks is not None:
            raise RemoteRefused(f"the agent is incomplete at this endpoint: {facts.held['reason']}")

    def is_trial(self, agent_id: str) -> bool:
        """Whether the agent was made to test the endpoint, also after it was purged."""
        with as_remote():
            purged = self.roster.purged.find(agent_id)
            return purged.trial if purged is not None else self.roster.get(agent_id).facts.runtime == TRIAL

    def is_sealed(self, agent_id: str) -> bool:
        """Whether only the agent's own machines can read it."""
        with as_remote():
            return self.roster.get(agent_id).sealed

    def register(self, agent_id: str, name: str, runtime: str, *, sealed: bool = False) -> RemoteAgent:
        """Register an agent, or return the existing one unchanged. Raises AgentErased, RemoteRefused for an invalid id.

        `sealed`: its data is encrypted for its own machines (see `sealed_files`).
        """
        return self.register_new(agent_id, name, runtime, sealed=sealed)[0]

    def register_new(self, agent_id: str, name: str, runtime: str, *, sealed: bool = False) -> tuple[RemoteAgent, bool]:
        """Register an agent; return it, and whether it is new."""
        check_id(agent_id)
        with as_remote():
            # Look without a transaction first: most calls are for known agents.
            row = self.roster.find(agent_id)
            if row is not None:
                return self._told(row), False
            with self._metadata.transaction():
                row = self.roster.find(agent_id)
                if row is None:
                    self._check_agents()
                    self.roster.purged.check(agent_id)
                    made = self._made(agent_id, AgentFacts(name, runtime), sealed)
                    self.roster.add(made)
                    return _new(made), True
            return self._told(row), False

    def _check_agents(self) -> None:
        """Check that one more agent is allowed, while no other process writes. Raises RemoteFull."""
        self._quota.check(0)
        if self.roster.counted() >= self.limits.agents:
            raise RemoteFull(f"the tenant has reached its limit of {self.limits.agents} agents", retry_after=FULL_FOR)

    def _made(self, agent_id: str, facts: AgentFacts, sealed: bool) -> AgentRow:
        """Make the vault inside of the transaction, so that no agent gets two vaults."""
        vault, size = (None, 0) if sealed else self._vaults.create(agent_id)
        return AgentRow(agent_id, vault, times.to_text(self._clock.now()), size, facts)

    def remove_agent(self, agent_id: str) -> None:
        """Destroy everything of an agent. It does not exist any more once its row is deleted.

        The redaction of an agent that was purged completely stays, unless it was a trial.
        """
        with as_remote():
            if self._forgot_trial(agent_id):
                return
            self.uploads.drop_of(agent_id)
            with self._metadata.transaction():
                row = self.roster.get(agent_id)
                bodies = self.sealed_files.remove_agent(agent_id)
                self._whole_agents.forget_purges(agent_id)
                self.roster.drop(agent_id)
            for body in bodies:
                self._bodies.remove(body)
            if row.vault is not None:
                self._vaults.remove(agent_id, row.vault)
            self._destroy_keys(agent_id)

    def _destroy_keys(self, agent_id: str) -> None:
        """Destroy the agent's keys, unless the agent was registered again meanwhile and uses them."""
        with self._metadata.transaction():
            if self.roster.find(agent_id) is None:
                self._keys.destroy_agent(agent_id)

    def _forgot_trial(self, agent_id: str) -> bool:
        with self._metadata.transaction():
            purged = self.roster.purged.find(agent_id)
            if purged is None or not purged.trial or purged.receipt is None:
                return False
            self.roster.purged.drop(agent_id)
        return True

    def accept_held(self, agent_id: str) -> bool:
        """Release a held agent, because its owner accepts the loss; return False if it was not held."""
        with as_remote():
            row = self.roster.get(agent_id)
            if row.facts.held is None:
                return False
            vault = self._vault(row)
            if row.facts.held["previous"] is not None:
                vault.unpin(row.facts.held["previous"], accident_guard.PIN)
            head = vault.head()
            with self._metadata.transaction():
                self.roster.note(row, held=None, accepted=None if head is None else head.number)
        return True

    def _told(self, row: AgentRow) -> RemoteAgent:
        facts, vault = row.facts, None if row.sealed else self._vault(row)
        head = None if vault is None else vault.head()
        damaged = 0 if vault is None else len(vault.damage())
        broken = 0 if vault is None else len(vault.broken_states())
        return RemoteAgent(
            row.id,
            facts.name,
            facts.runtime,
            0 if vault is None else vault.epoch,
            None if head is None else make_remote_head(head, row),
            row.bytes,
            row.created_at,
            facts.held,
            damaged,
            broken,
            vault.damage_found_at() if vault is not None and (damaged or broken) else "",
        )

    # Pushing ----------------------------------------------------------------------------------------------------

    def push(self, agent_id: str, bundle: RemoteBundle, *, machine: str = "") -> RemoteHead:
        """As `Remote.push`."""
        sent = SentBundle(bundle.kind, bundle.file, bundle.size, bundle.base, bundle.number, machine)
        return self.receive(agent_id, sent).head

    def receive(self, agent_id: str, sent: SentBundle) -> PushResult:
        """Push a bundle of which less is known, and tell whether it made the head.

        A client of another service that was pointed here sends changes of an unknown agent, which is then registered.
        """
        with as_remote():
            is_known = self.roster.find(agent_id) is not None
        if not is_known and self._receiver.looks_redirected(agent_id, sent):
            self.register_unnamed(agent_id)
        return self._receiver.receive(agent_id, sent)

    def register_unnamed(self, agent_id: str) -> None:
        """Register an agent whose client registered it at another service. Raises as `register`."""
        self.register(agent_id, f"agent {agent_id[:8]}", "")

    def missing(self, agent_id: str, digests: Sequence[str], *, read: bool = False) -> list[str]:
        """Return those of these SHA-256 (hex) that kept sequences name without their bytes, for clients of earlier
        releases.

        A digest that a sequence names falsely is not among them.
        """
        with self._open(agent_id) as vault:
            if read:
                vault.check_damage()
            return vault.artifacts.missing([digest for digest in digests if is_sha256(digest)], read=read)

    def missing_leaves(self, agent_id: str, leaves: Sequence[bytes], *, read: bool = False) -> list[bytes]:
        """As `Remote.missing`, by the leaves of files."""
        with self._open(agent_id) as vault:
            if read:
                vault.check_damage()
            return vault.artifacts.missing_leaves(leaves, read=read)

    def damaged_states(self, agent_id: str, *, read: bool = False) -> list[int]:
        """As `Remote.damaged_states`."""
        with self._open(agent_id) as vault:
            if read:
                vault.check_rows()
            return vault.damaged_states()

    def put_object(self, agent_id: str, sha256: str, data: bytes, *, salt: bytes = b"") -> None:
        """As `Remote.put_object`. `salt` is that of the leaf that commits to the bytes; clients of earlier releases
        send none.

        Also raises RemoteTooLarge, RemoteFull.
        """
        if len(data) > self.limits.object_bytes:
            raise RemoteTooLarge(
                f"the file has {len(data)} bytes; the endpoint accepts at most {self.limits.object_bytes}"
            )
        with self._open(agent_id) as vault, self._quota.taking(len(data)):
            if not _fill(vault, check_sha256(sha256), data, salt):
                raise UnknownAtRemote("no sequence of the agent contains this artifact")
            with self._metadata.transaction():
                self.roster.count(self.roster.get(agent_id), vault.size())

    def put_keys(self, agent_id: str, document: JsonObject) -> None:
        self._receiver.open_row(agent_id)
        size = len(json_codec.encode_json(document))
        if size > self.limits.keys_bytes:
            raise RemoteTooLarge(f"the keys have {size} bytes; the endpoint accepts at most {self.limits.keys_bytes}")
        self._quota.check(size)
        with as_remote(), self._metadata.transaction():
            self.roster.get(agent_id)
            self.roster.set_keys(agent_id, document)

    def put_signatures(self, agent_id: str, signatures: Iterable[tuple[int, JsonObject]]) -> int:
        """As `Remote.put_signatures`; stores all of them or none."""
        with self._open(agent_id) as vault:
            try:
                return vault.resign(signatures)
            except SignatureError as error:
                raise RemoteRefused(error.message) from error

    def raise_epoch(self, agent_id: str, expected: int, *, machine: str = "") -> int:
        """As `Remote.raise_epoch`."""
        with self._open(agent_id) as vault:
            made = vault.raise_epoch(expected)
            if made is None:
                raise EpochMoved(
                    f"the current writer epoch of the agent is {vault.epoch}, expected {expected}", epoch=vault.epoch
                )
            return made

    # Uploads ----------------------------------------------------------------------------------------------------

    def receive_upload(self, upload_id: str) -> PushResult:
        """Push an upload. Repeating it is not an error while its sequence is the head. Raises as `push`."""
        upload = self.uploads.get(upload_id)
        if upload.done is not None:
            head = self.head(upload.agent_id)
            if head is None or head.number != upload.done:
                raise UnknownAtRemote("the upload was already finished")
            return PushResult(head, False)
        received = self.receive(upload.agent_id, self.uploads.sent(upload))
        self.uploads.finish(upload_id, received.head.number)
        return received

    # Maintenance ------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def vault(self, agent_id: str) -> Iterator[Vault]:
        """Yield the vault of an agent, which stays open afterwards."""
        with self._open(agent_id) as vault:
            yield vault

    def size(self) -> int:
        """Return the bytes that count for the quota."""
        with as_remote():
            return self.roster.bytes_of_all()

    def use_once(self, token_id: str, expires: datetime) -> bool:
        """Return whether a permission is used for the first time. Uses are remembered until it expires."""
        with as_remote(), self._metadata.transaction():
            if self._metadata.row(sql.USED, (token_id,)) is not None:
                return False
            self._metadata.execute(sql.ADD_USED, (token_id, times.to_text(expires)))
        return True

    def sweep(self, now: datetime) -> int:
        """Remove expired uploads and unnamed data; return how many uploads, agents and bodies."""
        done = self.uploads.sweep(now)
        with as_remote():
            with self._metadata.transaction():
                self._metadata.execute(sql.DROP_USED, (times.to_text(now),))
                done += self._vaults.sweep(self.roster.ids())
            return done + stored.sweep_orphans(self._metadata, self.place.blobs, now)

    def orphans(self) -> int:
        """Return how many bodies no row names."""
        with as_remote():
            return len(stored.find_orphans(self._metadata, self.place.blobs))

    def problems(self) -> list[str]:
        """Return what the database reports about tenant.db."""
        return self._metadata.problems()

    def recount(self, agent_id: str) -> int:
        """Measure the bytes of an agent again."""
        with self._open(agent_id) as vault, self._metadata.transaction():
            return self.roster.count(self.roster.get(agent_id), vault.size()).bytes

    def reseal(self) -> None:
        """Seal everything under the current data keys. Unfinished uploads have to begin again."""
        self.uploads.drop_all()
        for agent_id in self.agent_ids():
            with contextlib.suppress(UnknownAtRemote):
                self.reseal_agent(agent_id)
        with as_remote():
            self.sealed_files.reseal()
            self.roster.reseal()
            with self._metadata.transaction():
                self._receipts.reseal()
                self.roster.purged.reseal()
            self._metadata.compact()

    def reseal_agent(self, agent_id: str) -> None:
        """Seal the vault of an agent under its current key, if it uses another one."""
        with as_remote():
            row = self.roster.get(agent_id)
            if not row.sealed:
                # Open the vault before reading the key: a vault that is sealed under another key meanwhile refuses this
                # one.
                vault = self._vault(row)
                sealer = self._keys.sealer(agent_id)
                if vault.key_id != sealer.key_id:
                    vault.reseal(sealer)


def _new(row: AgentRow) -> RemoteAgent:
    """Return an agent that was made a moment ago."""
    epoch = 0 if row.sealed else FIRST_EPOCH
    return RemoteAgent(row.id, row.facts.name, row.facts.runtime, epoch, created_at=row.created_at)


__all__ = ["ExpectedPart", "PushResult", "SentBundle", "TenantSpace", "UploadState"]


def _fill(vault: Vault, sha256: str, data: bytes, salt: bytes) -> bool:
    """Store the bytes of an artifact. Raises RemoteRefused, and what `Artifacts.fill_leaf` raises."""
    if not salt:
        return vault.artifacts.fill(sha256, data)
    if hashlib.sha256(data).hexdigest() != sha256:
        raise RemoteRefused("the SHA-256 of the content differs from the given SHA-256")
    leaf = hashlib.sha256(salt)
    leaf.update(data)
    return vault.artifacts.fill_leaf(Leaf(leaf.digest(), salt), data)
