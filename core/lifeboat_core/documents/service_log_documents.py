"""`lifeboat daemon log`."""

from __future__ import annotations

import msgspec

from lifeboat_alf.common.json_types import JsonObject


class ServiceLog(msgspec.Struct, frozen=True):
    """Oldest first. An event has `time`, `level`, `kind`, and fields of the kind."""

    events: tuple[JsonObject, ...] = ()
