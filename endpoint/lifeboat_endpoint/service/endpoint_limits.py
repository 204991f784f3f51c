"""Limits of an endpoint. All sizes in bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from lifeboat_alf.archive import zip_container
from lifeboat_alf.common.json_types import JsonObject

MEGABYTE = 1 << 20
FREE_ENTRIES, BYTES_PER_ENTRY = 20_000, 128
"""An entry of a real workspace takes more bytes than this when packed: its name is in the archive three times."""


@dataclass(frozen=True, slots=True)
class EndpointLimits:
    """Limits of one tenant.

    `direct_bytes` is the largest body of one request, `part_bytes` the largest part of an upload, `bundle_bytes` the
    largest snapshot or delta by any way, `object_bytes` the largest artifact that is sent separately. A bundle unpacks
    to at most `unpacked_bytes`, one file of it to `entry_bytes`; both are in memory, never on the disk. `keys_bytes` is
    the largest document of an agent's wrapped keys. `tenant_bytes` is the quota of a tenant, None for none, `agents`
    how many agents it may have. An agent keeps the newest `uploads` unfinished uploads, for `upload_life`.
    """

    direct_bytes: int = 16 * MEGABYTE
    part_bytes: int = 8 * MEGABYTE
    bundle_bytes: int = 256 * MEGABYTE
    object_bytes: int = 64 * MEGABYTE
    entry_bytes: int = 256 * MEGABYTE
    unpacked_bytes: int = 2048 * MEGABYTE
    keys_bytes: int = MEGABYTE
    tenant_bytes: int | None = None
    agents: int = 10_000
    uploads: int = 16
    upload_life: timedelta = field(default=timedelta(hours=24))

    def entries_in(self, size: int) -> int:
        """Return how many entries a bundle of this size may have, so that a small bundle cannot cause much work."""
        return FREE_ENTRIES + size // BYTES_PER_ENTRY

    def of_container(self) -> zip_container.ContainerLimits:
        """Return the limits for the unpacked bundle."""
        return zip_container.ContainerLimits(entry_size=self.entry_bytes, total_size=self.unpacked_bytes)

    def to_json(self) -> JsonObject:
        """Return what clients are told."""
        return {
            "direct_bytes": self.direct_bytes,
            "part_bytes": self.part_bytes,
            "bundle_bytes": self.bundle_bytes,
            "object_bytes": self.object_bytes,
            "tenant_bytes": self.tenant_bytes,
        }
