"""Secrets shared by the processes of an endpoint, wrapped by its key source."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lifeboat_vault.at_rest import endpoint_secrets
from lifeboat_vault.at_rest.key_sources import key_service, key_source_registry
from lifeboat_vault.at_rest.key_sources.key_source_contract import KeySource
from lifeboat_vault.errors import KeyRevoked
from support.vault.fake_transit import FakeKey, FakeTransit, fake_transit

OUTSIDE = Path("/srv/lifeboat")


class Notes:
    """Notes in memory."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}

    def get(self, name: str) -> Any:
        return self.kept.get(name)

    def set(self, name: str, value: Any) -> None:
        self.kept[name] = value


@pytest.fixture
def transit(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeTransit]:
    with fake_transit(monkeypatch) as made:
        made.keys["other"] = FakeKey()
        monkeypatch.setattr(key_service, "REFUSED_SECONDS", 0.0)
        yield made


def source(transit: FakeTransit, key: str = "customer") -> KeySource:
    return key_source_registry.open_key_source(transit.spec(key), outside=OUTSIDE)


def kept(notes: Notes, found: KeySource) -> bytes:
    return endpoint_secrets.ensure_secret(
        notes, found, "a", lambda: os.urandom(32), contextlib.nullcontext(), renews=True
    )


def test_a_secret_is_not_made_anew_while_its_key_is_withheld(transit: FakeTransit) -> None:
    notes = Notes()
    secret = kept(notes, source(transit))
    transit.denied.add("decrypt")
    with pytest.raises(KeyRevoked):
        kept(notes, source(transit))
    transit.denied.clear()
    assert kept(notes, source(transit)) == secret


def test_a_secret_that_another_key_wrapped_is_made_anew_where_it_may_be(transit: FakeTransit) -> None:
    notes = Notes()
    secret = kept(notes, source(transit))
    assert kept(notes, source(transit, "other")) != secret


def test_a_secret_that_is_under_the_new_source_already_stays_as_it_is(transit: FakeTransit) -> None:
    notes = Notes()
    kept(notes, source(transit, "other"))
    found = endpoint_secrets.rewrap_secret(notes, source(transit), source(transit, "other"), "a")
    assert found == notes.get("a")


def test_a_secret_that_opens_with_neither_source_is_said_to_be_lost(transit: FakeTransit) -> None:
    notes = Notes()
    kept(notes, source(transit))
    transit.keys["customer"] = FakeKey()
    with pytest.raises(KeyRevoked):
        endpoint_secrets.rewrap_secret(notes, source(transit), source(transit, "other"), "a")
