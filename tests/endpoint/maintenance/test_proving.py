"""`endpoint verify`: every damage becomes a finding and is never raised."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path

import pytest

from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.maintenance import trusted_time
from lifeboat_endpoint.maintenance.endpoint_verification import EndpointVerification, verify_endpoint
from lifeboat_endpoint.tenancy.tenant_rows import Tenant
from support.endpoint.keeping import (
    AGENT,
    OTHER,
    RunningClock,
    clock,
    endpoint,
    reopened,
    tenant_folder,
    with_history,
    with_large_file,
)

__all__ = ["clock", "endpoint"]


@pytest.fixture
def tenant(endpoint: Endpoint) -> Tenant:
    made = endpoint.add_tenant("home")
    with_history(endpoint, made, hours=2)
    return made


def proof_of(endpoint: Endpoint) -> EndpointVerification:
    """Verify the endpoint as a new process."""
    endpoint.control.flush()
    with Endpoint.open(endpoint.folder, clock=endpoint.clock) as again:
        return verify_endpoint(again, again.control.tenants())


def kinds(proof: EndpointVerification) -> list[str]:
    return [found.kind for found in proof.findings]


def test_what_is_whole_is_said_to_be_whole_with_figures(endpoint: Endpoint, tenant: Tenant) -> None:
    proof = proof_of(endpoint)
    assert proof.findings == [] and (proof.tenants, proof.agents, proof.sequences) == (1, 1, 3)
    assert proof.objects >= 3 and proof.bytes > 0
    with endpoint.space(tenant.id).vault(AGENT) as vault:
        assert vault.last_verified() == 2


def test_a_flipped_bit_in_a_large_body_is_found(endpoint: Endpoint, tenant: Tenant) -> None:
    with_large_file(endpoint, tenant, [os.urandom(600_000)], OTHER)
    (body,) = (tenant_folder(endpoint, tenant.id) / "agents" / OTHER / "objects").iterdir()
    data = bytearray(body.read_bytes())
    data[len(data) // 2] ^= 1
    body.write_bytes(bytes(data))
    proof = proof_of(endpoint)
    assert kinds(proof) == ["body"] and proof.findings[0].agent == OTHER


def test_a_body_that_is_gone_is_found(endpoint: Endpoint, tenant: Tenant) -> None:
    with_large_file(endpoint, tenant, [os.urandom(600_000)], OTHER)
    (body,) = (tenant_folder(endpoint, tenant.id) / "agents" / OTHER / "objects").iterdir()
    body.unlink()
    assert "body" in kinds(proof_of(endpoint))


def test_a_vault_that_cannot_be_read_is_found_and_the_others_are_looked_at(endpoint: Endpoint, tenant: Tenant) -> None:
    with_history(endpoint, tenant, OTHER)
    (tenant_folder(endpoint, tenant.id) / "agents" / AGENT / "vault.db").write_bytes(b"something else" * 1000)
    proof = proof_of(endpoint)
    assert {found.agent for found in proof.findings} == {AGENT} and proof.agents == 1


def test_a_vault_that_is_gone_is_found(endpoint: Endpoint, tenant: Tenant) -> None:
    endpoint.forget(tenant.id)
    (tenant_folder(endpoint, tenant.id) / "agents" / AGENT / "vault.db").unlink()
    assert [found.agent for found in proof_of(endpoint).findings] == [AGENT]


def test_a_tenant_whose_key_was_taken_away_is_said_to_be_unreadable(
    endpoint: Endpoint, tenant: Tenant, tmp_path: Path
) -> None:
    (tmp_path / "endpoint.key").unlink()
    proof = proof_of(endpoint)
    assert kinds(proof) == ["key"] and "contains no key" in proof.findings[0].message


@pytest.mark.skipif(os.name != "posix", reason="rights of POSIX")
def test_a_key_that_others_can_read_is_said(endpoint: Endpoint, tenant: Tenant, tmp_path: Path) -> None:
    (tmp_path / "endpoint.key").chmod(0o644)
    proof = proof_of(endpoint)
    assert kinds(proof) == ["key"] and "other users can read the key file" in proof.findings[0].message


@pytest.mark.skipif(os.name != "posix", reason="rights of POSIX")
def test_a_folder_that_others_can_read_is_said(endpoint: Endpoint, tenant: Tenant) -> None:
    endpoint.folder.chmod(0o755)
    proof = proof_of(endpoint)
    assert kinds(proof) == ["folder"] and "other users can read" in proof.findings[0].message


def test_a_key_source_in_the_folder_of_the_data_is_said(endpoint: Endpoint, tenant: Tenant) -> None:
    with reopened(endpoint, key_source=f"file:{endpoint.folder / 'endpoint.key'}") as other:
        proof = verify_endpoint(other, [])
    assert kinds(proof) == ["key"] and "the folder of the data" in proof.findings[0].message


@pytest.mark.parametrize(
    "statement", ["delete from audit where number = 2", "update audit set details = 'not json' where number = 2"]
)
def test_a_broken_audit_is_said(endpoint: Endpoint, tenant: Tenant, statement: str) -> None:
    endpoint.control.flush()
    with contextlib.closing(sqlite3.connect(endpoint.folder / "control.db")) as other:
        other.execute(statement)
        other.commit()
    assert kinds(proof_of(endpoint)) == ["audit"]


def test_a_removal_that_was_not_finished_is_said(endpoint: Endpoint, tenant: Tenant) -> None:
    endpoint.control.begin_removal(tenant.id)
    assert kinds(proof_of(endpoint)) == ["tenant"]


def test_a_body_that_nothing_names_is_counted_and_is_no_finding(endpoint: Endpoint, tenant: Tenant) -> None:
    (tenant_folder(endpoint, tenant.id) / "files" / ("ab" * 16)).write_bytes(b"left behind")
    proof = proof_of(endpoint)
    assert proof.orphans == 1 and proof.ok


def test_sealed_files_are_read_back_too(endpoint: Endpoint, tenant: Tenant) -> None:
    space = endpoint.space(tenant.id)
    space.register(OTHER, "Pine", "openclaw", sealed=True)
    space.sealed_files.put(OTHER, "0001.age", b"ciphertext of the user")
    space.sealed_files.set_head(OTHER, b"a signed head", None)
    assert proof_of(endpoint).sealed_agents == 1 and proof_of(endpoint).ok
    (body,) = (tenant_folder(endpoint, tenant.id) / "files").iterdir()
    kept = body.read_bytes()
    body.write_bytes(kept[:-1] + bytes([kept[-1] ^ 1]))
    proof = proof_of(endpoint)
    assert kinds(proof) == ["sealed"] and "0001.age" in proof.findings[0].message


def test_a_clock_that_is_not_trusted_is_said(endpoint: Endpoint, tenant: Tenant, clock: RunningClock) -> None:
    trusted_time.trust_clock(endpoint)
    clock.jump(days=-3)
    assert kinds(proof_of(endpoint)) == ["clock"]
