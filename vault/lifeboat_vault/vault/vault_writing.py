"""Transactions and audit rows for changes of an open vault."""

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
    """The part of a vault that runs transactions, each with its audit row."""

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._metadata.transaction():
            self._columns.check(self._metadata)
            yield

    @contextlib.contextmanager
    def _writing(self) -> Iterator[body_objects.ObjectWriter]:
        """Yield a writer inside a transaction. After a failure its files are removed, but only before COMMIT: after a
        failed COMMIT the rows may still come back from the log."""
        writer = body_objects.ObjectWriter(self._metadata, self._blobs, self._columns)
        try:
            yield writer
        except BaseException:
            writer.discard()
            raise

    def _audit(self, kind: str, subject: str, details: JsonObject) -> None:
        audit_chain.append_row(self._metadata, self._clock.now(), kind, subject, details)

    def _decide(self, key: str, value: Any) -> None:
        """Store a decision inside a transaction."""
        self._metadata.execute(sql.DROP_DECISION, (key,))
        if value is not None:
            self._metadata.execute(
                sql.ADD_DECISION, (key, self._columns.text(DECISION, json_codec.encode_json(value).decode()))
            )

    def set(self, key: str, value: Any, *, kind: str = "decision") -> None:
        """Store a small JSON value; None forgets it. The audit row names the key, not the value."""
        self.change(key, lambda _: value, kind=kind)

    def change(self, key: str, how: Callable[[Any], Any], *, kind: str = "decision") -> Any:
        """Store the result of `how` on the present value (None when there is none) atomically, and return it; nothing
        is written when it is equal. `how` may be called twice."""
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
