"""What a store does is found by trying: four kinds of stores, and what follows for the machines of a user."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lifeboat_core.home.context import Context
from lifeboat_core.remotes import remote_probe, remote_registry
from lifeboat_core.remotes.bucket.bucket_kind import REMOTE_KIND
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.remotes.manage_remotes import RemoteAccess, add_remote
from lifeboat_core.remotes.probed_store import store_probe, writer_lease
from lifeboat_core.remotes.remote_conformance import PROBE, run_conformance
from lifeboat_core.remotes.remote_probe import RemoteCandidate
from lifeboat_vault.errors import RemoteDenied, RemoteRefused
from support.core.buckets import TOKEN, BucketMachine
from support.core.object_store import Conditions, ObjectStore, object_store
from support.core.protected import SteadyClock
from support.scale.object_faults import done_but, forget, in_front_of, status


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_probe, "_PAUSE", 0.01)
    for name in ("SETTLING", "SETTLING_NEW"):
        monkeypatch.setattr(writer_lease, name, 0.01)


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return home_in(tmp_path / "home")


def home_in(folder: Path) -> Context:
    opened = Context.open({"LIFEBOAT_HOME": str(folder), "HOME": str(folder), "PATH": "/usr/bin"}, clock=SteadyClock())
    opened.keys().ensure()
    return opened


def added(context: Context, store: ObjectStore, url: str | None = None) -> RemoteConfig:
    return add_remote(context, "bucket", RemoteAccess(url or store.url(), token=TOKEN), sealed=True)[0]


@pytest.mark.parametrize(
    ("conditions", "writers"),
    [
        (Conditions.COMPARED, "several"),
        (Conditions.IGNORED, "one"),
        (Conditions.UNKNOWN, "one"),
        (Conditions.RACY, "one"),
    ],
)
def test_how_many_machines_may_write_is_found_by_trying(conditions: Conditions, writers: str, context: Context) -> None:
    with object_store(conditions) as store:
        config = added(context, store)
        assert (config.writers, config.keeps_versions) == (writers, False)
        assert remote_registry.find_remote(context, "bucket") == config
        assert list(store.objects) == ["lifeboat/lifeboat.json"]


@pytest.mark.parametrize("skip", [2, 4])
def test_a_lost_answer_does_not_make_machines_take_turns(skip: int, context: Context) -> None:
    """The retry of a conditional write meets the first try: the third write, and the winner of the race."""
    with object_store() as store, in_front_of(store.address) as faults:
        faults.plan(done_but(status(500)), methods=["PUT"], key="probes", times=1, skip=skip)
        assert added(context, store, store.url().replace(store.address, faults.address)).writers == "several"


def test_a_store_whose_listing_does_not_show_what_was_written_is_refused(context: Context) -> None:
    with object_store() as store:
        store.hides = "probes"
        with pytest.raises(RemoteRefused, match="does not show an object that was written"):
            added(context, store)
        assert remote_registry.list_remotes(context) == []
        assert remote_registry.load_token(context, "bucket") is None
        assert store.objects == {}


def test_a_store_that_does_not_keep_what_it_confirms_is_refused(context: Context) -> None:
    with object_store() as store, in_front_of(store.address) as faults:
        faults.plan(forget, methods=["PUT"])
        with pytest.raises(RemoteRefused, match="does not return the object that Lifeboat has just written"):
            added(context, store, store.url().replace(store.address, faults.address))


def test_a_store_that_denies_deleting_is_named_before_it_is_added(context: Context) -> None:
    with object_store() as store, in_front_of(store.address) as faults:
        faults.plan(status(403, "AccessDenied"), methods=["DELETE"])
        with pytest.raises(RemoteDenied, match="delete"):
            added(context, store, store.url().replace(store.address, faults.address))


def test_a_bucket_that_keeps_versions_is_named(context: Context) -> None:
    with object_store(keeps_versions=True) as store:
        config = added(context, store)
        assert config.keeps_versions
        assert store.former
        (said,) = REMOTE_KIND.describe_limits(config)
        assert "purge does not remove" in said


def test_machines_follow_what_the_first_one_found(context: Context, tmp_path: Path) -> None:
    with object_store(Conditions.IGNORED) as store:
        added(context, store)
        store.conditions = Conditions.COMPARED
        assert added(home_in(tmp_path / "second"), store).writers == "one"


def test_a_store_that_compares_no_longer_makes_every_machine_take_turns(context: Context, tmp_path: Path) -> None:
    with object_store() as store:
        config = added(context, store)
        store.conditions = Conditions.IGNORED
        first = next(iter(run_conformance(context, config, quick=True)))
        assert (first.name, first.ok) == (PROBE, False)
        assert "One machine at a time" in first.message
        assert remote_registry.find_remote(context, "bucket").writers == "one"
        machine = BucketMachine(tmp_path / "laptop", store.url())
        machine.write(1)
        assert any(key.endswith("writer.json") for key in store.objects)


def test_an_access_that_only_restores_is_not_asked_to_write(context: Context) -> None:
    with object_store(Conditions.IGNORED) as store:
        config = added(context, store)
        store.asked.clear()
        met = remote_probe.probe_remote(context, RemoteCandidate(config, TOKEN), frozenset({remote_probe.PULL}))
        assert (met.about.id, met.about.writers, met.store) == (config.id, "one", None)
        assert {each.method for each in store.asked} == {"GET"}


def test_the_findings_of_a_remote_survive_its_file(context: Context) -> None:
    config = RemoteConfig("bucket", "s3://ada/boat", writers="one", keeps_versions=True, sealed=True)
    assert remote_registry.save_remote(context, config) == config
    assert remote_registry.save_remote(context, replace(config, writers="several", keeps_versions=False)) == replace(
        config, writers="several", keeps_versions=False
    )
