"""ALF §10.12: storage and transport, by two servers in turns on PostgreSQL and an object store."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_core.remotes import manage_remotes
from lifeboat_core.remotes.remote_kinds import open_remote
from spec import test_section_10_12 as promised
from spec.test_section_10_12 import Pushed, ada
from support.scale.shared_endpoint import SharedEndpoint

__all__ = ["ada"]


@pytest.fixture(scope="module")
def pushed(begun: SharedEndpoint, ada: promised.Harbour) -> Iterator[Pushed]:
    begun.all_run()
    config = manage_remotes.add_remote(
        ada.context, "shared", manage_remotes.parse_remote_access(begun.new_tenant().join)
    )[0]
    with contextlib.closing(open_remote(ada.context, config)) as remote:
        remote.register(ada.agent.id, ada.agent.name, "openclaw")
        yield Pushed(remote, list(promised._push_all(ada, remote)))


def test_pushed_deltas_get_rising_numbers(pushed: Pushed) -> None:
    promised.test_pushed_deltas_get_rising_numbers(pushed)


def test_deltas_since_a_sequence_are_those_after_it_in_order(pushed: Pushed, ada: promised.Harbour) -> None:
    promised.test_deltas_since_a_sequence_are_those_after_it_in_order(pushed, ada)


def test_a_compacted_snapshot_is_a_full_export(pushed: Pushed, ada: promised.Harbour) -> None:
    promised.test_a_compacted_snapshot_is_a_full_export(pushed, ada)


def test_a_sealed_partition_is_the_same_blob_whenever_it_is_fetched(
    pushed: Pushed, ada: promised.Harbour, tmp_path: Path
) -> None:
    promised.test_a_sealed_partition_is_the_same_blob_whenever_it_is_fetched(pushed, ada, tmp_path)


def test_a_snapshot_and_the_deltas_after_it_are_a_fresh_full_export(pushed: Pushed, ada: promised.Harbour) -> None:
    promised.test_a_snapshot_and_the_deltas_after_it_are_a_fresh_full_export(pushed, ada)
