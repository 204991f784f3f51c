"""Rotation of data keys, and moves to another key source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from lifeboat_alf.seams.file_operations import write_atomic
from lifeboat_endpoint import endpoint_config
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.tenancy.tenant_rows import Tenant
from lifeboat_vault.at_rest.key_sources import key_source_registry
from lifeboat_vault.errors import KeyRevoked, KeySourceAway, KeySourceRefused, VaultDamaged, VaultMissing
from lifeboat_vault.store.disk_blobs import translate_errors


@dataclass(frozen=True, slots=True)
class RotatedKeys:
    """The keys of a tenant after a rotation. `key_id` seals new data; `older` counts keys that still open earlier
    data."""

    tenant: Tenant
    key_id: str
    older: int
    source: str


def rotate_keys(endpoint: Endpoint, tenant: Tenant, source: str | None = None) -> RotatedKeys:
    """Make a new data key for a tenant, and ask workers, if there are any, to encrypt its data again.

    With `source` all keys of the tenant are wrapped under that source, whose key is made if it does not exist. Raises
    KeyRevoked if the present source does not give its key, KeySourceRefused, KeySourceAway.
    """
    if source is not None:
        endpoint.expect_source(source)
    keys = endpoint.keys(tenant.id)
    if source is not None:
        key_source_registry.make_key(source, outside=endpoint.folder)
        keys.move(source)
    key_id = keys.rotate()
    endpoint.control.record(None, "key.rotated", key_id, {"tenant": tenant.id})
    endpoint.ask("reencrypt", tenant.id)
    return RotatedKeys(tenant, key_id, len(keys.ids()) - 1, keys.source)


def rotate_all(
    endpoint: Endpoint, tenants: Sequence[Tenant], source: str | None = None
) -> tuple[list[RotatedKeys], list[str]]:
    """Rotate the keys of each tenant; return the results, and sentences about tenants whose keys are not available.

    Raises KeySourceRefused, KeySourceAway for a new source that cannot be used.
    """
    if source is not None:
        key_source_registry.make_key(source, outside=endpoint.folder)
    done: list[RotatedKeys] = []
    problems: list[str] = []
    for tenant in tenants:
        try:
            done.append(rotate_keys(endpoint, tenant, source))
        except (KeyRevoked, KeySourceAway, KeySourceRefused, VaultDamaged, VaultMissing) as error:
            problems.append(f"{tenant.name}: {error.message}")
    return done, problems


def move_endpoint_keys(endpoint: Endpoint, source: str) -> None:
    """Use another key source for present and future tenants without one of their own, whose keys `rotate_keys` moved
    before."""
    if endpoint.engine.shared:
        endpoint.move_secrets(source)
    endpoint.settings = msgspec.structs.replace(endpoint.settings, key_source=source)
    with translate_errors():
        write_atomic(
            endpoint.files, endpoint.folder / endpoint_config.FILE, endpoint_config.encode_config(endpoint.settings)
        )
    endpoint.control.record(None, "key.moved", endpoint.id, {})
