"""What every change of an open vault is made in."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_vault.bodies import body_objects
from lifeboat_vault.rows import audit_chain
from lifeboat_vault.rows import vault_statements as sql
from lifeboat_vault.rows.column_sealer import DECISION
from lifeboat_vault.vault.vault_reading import VaultReading


class VaultWriting(VaultReading):
    """Transactions, and the audit row that belongs to each."""

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._metadata.transaction():
            self._columns.check(self._metadata)
            yield

    @contextlib.contextmanager
    def _writing(self) -> Iterator[body_objects.ObjectWriter]:
        """Inside a transaction. After a failure the files are removed, but only before COMMIT: after one that failed,
        the rows may still come back with the log."""
        writer = body_objects.ObjectWriter(self._metadata, self._blobs, self._columns)
        try:
            yield writer
        except BaseException:
            writer.discard()
            raise

    def _audit(self, kind: str, subject: str, details: JsonObject) -> None:
        audit_chain.append_row(self._metadata, self._clock.now(), kind, subject, details)

    def _decide(self, key: str, value: Any) -> None:
        """Inside a transaction."""
        self._metadata.execute(sql.DROP_DECISION, (key,))
        if value is not None:
            self._metadata.execute(
                sql.ADD_DECISION, (key, self._columns.text(DECISION, json_codec.encode_json(value).decode()))
            )

    def set(self, key: str, value: Any, *, kind: str = "decision") -> None:
        """Keep a small JSON value; None forgets it. The audit row names the key, not the value."""
        self.change(key, lambda _: value, kind=kind)

    def change(self, key: str, how: Callable[[Any], Any], *, kind: str = "decision") -> Any:
        """Keep what `how` makes of the value that is kept (None when there is none), whatever other processes write
        meanwhile, and give it; writes nothing when it is the same. `how` may be asked twice."""
        found = self.get(key)
        if how(found) == found:
            return found
        with self._transaction():
            found = self.get(key)
            value = how(found)
            if value != found:
                self._decide(key, value)
                self._audit(kind, key, {"set": value is not None})
        return value
