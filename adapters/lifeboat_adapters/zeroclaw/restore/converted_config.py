"""A configuration converted to another schema, with the origin of each value."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

from lifeboat_adapters.credential_types import CredentialRefusal
from lifeboat_adapters.secrets.parsed_leaves import Path
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.reason_codes import Reason

RETIRED = Reason(CredentialRefusal.RETIRED, runtime="ZeroClaw")
TAKEN = Reason(CredentialRefusal.SET_BY_ANOTHER)


@dataclass(slots=True)
class ConvertedConfig:
    """A configuration in another schema. `origins` maps a path to the former path of its value and of everything below
    it. `refused` gives reasons for values that have no place. Paths in `refused`, and values of `origins`, are former
    paths."""

    values: JsonObject
    origins: dict[Path, Path] = field(default_factory=dict)
    refused: dict[Path, Reason | None] = field(default_factory=dict)

    def original(self, path: Path) -> Path:
        """Return the former path of the value at a path."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.origins:
                return (*self.origins[path[:length]], *path[length:])
        return path

    def put(self, path: Path, value: Any, origin: Path | None = None) -> None:
        """Set a value that is not set yet."""
        values: dict[Any, Any] = self.values
        for step in path[:-1]:
            inner = values.setdefault(step, {})
            if not isinstance(inner, dict):
                return self._refuse(origin)
            values = inner
        if path[-1] in values:
            return self._refuse(origin)
        values[path[-1]] = copy.deepcopy(value)
        if origin is not None and origin != path:
            self.origins[path] = origin
        return None

    def _refuse(self, origin: Path | None) -> None:
        if origin is not None:
            self.refused[origin] = TAKEN
