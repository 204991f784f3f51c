"""The JSON of `lifeboat daemon log`."""

from __future__ import annotations

import msgspec

from lifeboat_alf.common.json_types import JsonObject


class ServiceLog(msgspec.Struct, frozen=True):
    """The document of `daemon log`, oldest first."""

    events: tuple[JsonObject, ...] = ()
    """`time`, `level` (`debug`, `info`, `warning`, `error`), `kind` and its fields; with `--follow` one event per line
    """
