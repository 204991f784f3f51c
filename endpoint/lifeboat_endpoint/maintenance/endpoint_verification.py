"""Verification of an endpoint: read everything back, decrypt it and check it.

What is wrong becomes a finding and is never raised, so that a damaged tenant does not hide the state of the others.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from lifeboat_alf.errors import LifeboatError
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.maintenance.tenant_care import do_nothing, explain_failure
from lifeboat_endpoint.maintenance.trusted_time import is_trusted
from lifeboat_endpoint.tenancy.tenant_rows import Tenant
from lifeboat_vault import errors
from lifeboat_vault.at_rest.key_sources import key_service, key_source_registry
from lifeboat_vault.vault import Verification

_CONTROL, _TENANT = "control", "tenant"
"""Names of the tables in findings, whichever database holds them."""
_READABLE_BY_OTHERS = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True, slots=True)
class EndpointFinding:
    """One problem. `kind`: folder, key, clock, audit, tenant, sealed, absent, or the kind of a vault's finding (body,
    digest, signature, rows, database). `tenant` is a name, "" for the endpoint; `agent` an id or ""."""

    kind: str
    tenant: str
    agent: str
    subject: str
    message: str


@dataclass
class EndpointVerification:
    """What was verified.

    `orphans` are bodies without a name, of uploads that ended, until they are swept. `absent` are files whose bytes
    never came: their machine may be about to send them, or the statement about them was falsified.
    """

    tenants: int = 0
    agents: int = 0
    sealed_agents: int = 0
    sequences: int = 0
    objects: int = 0
    bytes: int = 0
    orphans: int = 0
    findings: list[EndpointFinding] = field(default_factory=list)
    absent: list[EndpointFinding] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.findings

    def found(self, kind: str, message: str, *, tenant: str = "", agent: str = "", subject: str = "") -> None:
        self.findings.append(EndpointFinding(kind, tenant, agent, subject, message))


def verify_endpoint(endpoint: Endpoint, tenants: Sequence[Tenant]) -> EndpointVerification:
    """Verify the endpoint itself, and every blob of every agent of these tenants."""
    proof = EndpointVerification()
    _prove_folder(endpoint, proof)
    _prove_source(endpoint, proof, is_asked=any(tenant.key_source is None for tenant in tenants))
    _prove_control(endpoint, proof)
    for tenant in tenants:
        _TenantVerification(endpoint, tenant, proof).prove()
    return proof


def verify_tenant(
    endpoint: Endpoint, tenant: Tenant, *, agents: Sequence[str] | None = None, step: Callable[[], None] = do_nothing
) -> EndpointVerification:
    """Verify a tenant and every blob of all its agents, or of the given ones.

    `step` is called before each agent; an error that it raises ends the work.
    """
    proof = EndpointVerification()
    _TenantVerification(endpoint, tenant, proof, step).prove(agents)
    return proof


def verify_agent(endpoint: Endpoint, tenant: Tenant, agent_id: str) -> EndpointVerification:
    """Verify every blob of one agent. Does nothing if it is gone."""
    proof = EndpointVerification()
    _TenantVerification(endpoint, tenant, proof).prove_agent(agent_id)
    return proof


def _prove_folder(endpoint: Endpoint, proof: EndpointVerification) -> None:
    folder = endpoint.folder
    if os.name == "posix" and endpoint.files.lstat(folder).st_mode & _READABLE_BY_OTHERS:
        proof.found("folder", f"other users can read {folder}: chmod 700 {folder}")


def _prove_source(endpoint: Endpoint, proof: EndpointVerification, *, is_asked: bool) -> None:
    """Check where the endpoint's own key is, and that it wraps and unwraps, unless a tenant's keys prove it
    (`is_asked`)."""
    spec = endpoint.key_source
    try:
        source = key_source_registry.open_key_source(spec, outside=endpoint.folder)
        if not is_asked:
            key_service.check_key_source(source)
    except (errors.KeySourceRefused, errors.KeySourceAway) as error:
        proof.found("key", _with_fix(error), subject=spec)


def _with_fix(error: LifeboatError) -> str:
    return f"{explain_failure(error)}: {error.fix}" if error.fix else explain_failure(error)


def _prove_control(endpoint: Endpoint, proof: EndpointVerification) -> None:
    try:
        for problem in endpoint.control.problems():
            proof.found("database", problem, subject=_CONTROL)
        broken = endpoint.control.check_audit()
    except errors.VaultError as error:
        proof.found("audit", f"the audit cannot be read: {error.message}")
        return
    if not is_trusted(endpoint):
        right = "correct the clock, or run lifeboat endpoint compact --trust-clock"
        proof.found("clock", f"the clock of this machine jumped, so nothing is thinned: {right}")
    for number in broken:
        proof.found("audit", "the row was changed, or earlier rows were removed or inserted", subject=f"row {number}")


class _TenantVerification:
    """The verification of one tenant."""

    def __init__(
        self, endpoint: Endpoint, tenant: Tenant, proof: EndpointVerification, step: Callable[[], None] = do_nothing
    ) -> None:
        self._endpoint = endpoint
        self._tenant = tenant
        self._proof = proof
        self._step = step

    def prove(self, agents: Sequence[str] | None = None) -> None:
        self._proof.tenants += 1
        if self._tenant.state != "active":
            self._found("tenant", "the removal of the tenant is not finished: lifeboat endpoint tenant remove NAME")
            return
        with self._finding("key"):
            self._prove_keys()
            with self._finding("tenant"):
                self._prove_agents(agents)

    def prove_agent(self, agent_id: str) -> None:
        with self._finding("tenant", agent_id):
            space = self._endpoint.space(self._tenant.id)
            if agent_id in space.agent_ids():
                self._prove_agent(agent_id)

    def _prove_keys(self) -> None:
        keys = self._endpoint.keys(self._tenant.id)
        for key_id in keys.ids():
            keys.sealer_of(key_id)

    def _prove_agents(self, agents: Sequence[str] | None) -> None:
        space = self._endpoint.space(self._tenant.id)
        for problem in space.problems():
            self._found("database", problem, subject=_TENANT)
        for agent_id in space.agent_ids() if agents is None else agents:
            self._step()
            with self._finding("tenant", agent_id):
                self._prove_agent(agent_id)
        for problem in space.sealed_files.check():
            self._found("sealed", problem)
        self._proof.orphans += space.orphans()

    def _prove_agent(self, agent_id: str) -> None:
        if self._endpoint.space(self._tenant.id).is_sealed(agent_id):
            self._proof.sealed_agents += 1
        else:
            self._prove_vault(agent_id)

    def _prove_vault(self, agent_id: str) -> None:
        with self._endpoint.space(self._tenant.id).vault(agent_id) as vault:
            result = vault.verify(trusted=None, whole=True)
            vault.note_damage(result)
            if result.ok and result.number is not None:
                vault.mark_verified(result.number)
        self._count(result)
        for found in result.findings:
            self._found(found.kind, found.message, agent=agent_id, subject=found.subject)
        for number, first in result.lacking.items():
            message = f"the content of this file was never uploaded; the file first appears in sequence {first}"
            self._proof.absent.append(
                EndpointFinding("absent", self._tenant.name, agent_id, f"object {number}", message)
            )

    def _count(self, result: Verification) -> None:
        self._proof.agents += 1
        self._proof.sequences += result.sequences
        self._proof.objects += result.objects
        self._proof.bytes += result.bytes

    def _found(self, kind: str, message: str, *, agent: str = "", subject: str = "") -> None:
        self._proof.found(kind, message, tenant=self._tenant.name, agent=agent, subject=subject)

    @contextlib.contextmanager
    def _finding(self, kind: str, agent: str = "") -> Iterator[None]:
        """Record errors as findings."""
        try:
            yield
        except (errors.KeyRevoked, errors.KeySourceRefused, errors.KeySourceAway) as error:
            self._found("key", _with_fix(error), agent=agent)
        except LifeboatError as error:
            self._found(kind, explain_failure(error), agent=agent)
