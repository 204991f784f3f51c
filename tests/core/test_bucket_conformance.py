"""The conformance suite of remotes over buckets: in a store that compares, and in one that ignores conditions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_vault.remote.conformance_checks import CHECKS, RemoteCheck
from support.core.buckets import BucketMachine
from support.core.object_store import Conditions, ObjectStore, object_store


@pytest.fixture(scope="module", params=[Conditions.COMPARED, Conditions.IGNORED])
def store(request: pytest.FixtureRequest) -> Iterator[ObjectStore]:
    with object_store(request.param) as running:
        yield running


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("conformance")


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name.replace(" ", "_"))
def test_a_bucket_does_what_every_remote_must(
    check: RemoteCheck, store: ObjectStore, user: Path, tmp_path: Path
) -> None:
    machine = BucketMachine(user / store.conditions, store.url())
    assert check.run(machine.log, tmp_path, machine.key) == []
    assert machine.log().agents() == []
    assert [key for key in store.objects if "/agents/" in key] == []
