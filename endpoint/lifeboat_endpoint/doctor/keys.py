"""Check whether each key source unwraps its key: ask it for the key of one tenant."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_alf.common.doctor_checks import DoctorFinding, DoctorLevel
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.tenancy.tenant_rows import Tenant
from lifeboat_vault.errors import EndpointError, KeyRevoked, VaultError

TITLE = "Keys of the data"
NEEDS = ("database", "schema", "objects")


def check(endpoint: Endpoint) -> Iterator[DoctorFinding]:
    """Yield a warning, not an error, for a tenant that revoked its own key: this is its right and no fault of the
    endpoint."""
    endpoint.signing_key()
    source = endpoint.key_source
    by_source: dict[str, list[Tenant]] = {source: []}
    for tenant in endpoint.control.tenants():
        if tenant.state == "active":
            by_source.setdefault(tenant.key_source or source, []).append(tenant)
    for spec, tenants in by_source.items():
        yield _asked(endpoint, spec, tenants)


def _asked(endpoint: Endpoint, spec: str, tenants: list[Tenant]) -> DoctorFinding:
    if not tenants:
        return DoctorFinding(DoctorLevel.OK, spec, "no tenant uses this key source")
    try:
        endpoint.keys(tenants[0].id).sealer()
    except KeyRevoked as error:
        level = DoctorLevel.ERROR if spec == endpoint.key_source else DoctorLevel.WARNING
        return DoctorFinding(level, spec, f"{tenants[0].name}: {error.message}", error.fix)
    except (VaultError, EndpointError) as error:
        return DoctorFinding(DoctorLevel.ERROR, spec, f"{tenants[0].name}: {error.message}", error.fix)
    return DoctorFinding(
        DoctorLevel.OK,
        spec,
        "the key source works: it can decrypt the key of one of its tenants"
        if len(tenants) > 1
        else "the key source works: it can decrypt the key of its tenant",
    )
