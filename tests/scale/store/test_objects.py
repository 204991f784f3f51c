from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import boto3
import pytest

import lifeboat_endpoint
import lifeboat_vault
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_endpoint.engines.objects import bucket_sweep, place_owner
from lifeboat_endpoint.engines.objects.blobs import ObjectBlobs
from lifeboat_endpoint.engines.objects.bucket import ListedObject
from lifeboat_endpoint.engines.objects.bucket_sweep import sweep_bucket
from lifeboat_endpoint.engines.objects.obstore_bucket import PART, ObstoreBucket
from lifeboat_vault import errors
from lifeboat_vault.bodies import body_objects
from lifeboat_vault.store.sqlite_store import SqliteStore
from lifeboat_vault.store.store_protocols import BlobStore, MetadataStore
from lifeboat_vault.testing.store_conformance import StoreConformance
from support.endpoint.object_places import SCOPE, TENANT, bodies, keys, opened, rows
from support.paths import TESTS
from support.patience import patience
from support.scale import swift_server

LATER = datetime.now(UTC) + timedelta(days=1)
CANARY = b"the-lamp-was-sold-in-may"


@pytest.fixture
def url() -> str:
    return swift_server.shared().url()


@pytest.fixture
def bucket(url: str) -> ObstoreBucket:
    return opened(url)


@pytest.fixture
def store(bucket: ObstoreBucket, tmp_path: Path) -> ObjectBlobs:
    return bodies(bucket, tmp_path)


class TestSqliteAndObjects(StoreConformance):
    def open_stores(self, folder: Path) -> tuple[MetadataStore, BlobStore]:
        place = opened(swift_server.shared().url(folder.name))
        return SqliteStore(folder / "rows.db", create=True), bodies(place, folder)


# Bodies ---------------------------------------------------------------------------------------------------------------


def test_a_key_says_nothing_of_whom_it_is(store: ObjectBlobs, bucket: ObstoreBucket) -> None:
    store.put("0a", b"body")
    (key,) = keys(bucket)
    folder, spread, name = key.split("/")
    assert (folder, len(spread), len(name)) == ("bodies", 2, 64)
    assert TENANT not in key and SCOPE not in key and "0a" not in name[:2]


def test_who_has_another_scope_sees_nothing_and_removes_nothing(
    store: ObjectBlobs, bucket: ObstoreBucket, tmp_path: Path
) -> None:
    store.put("0a", b"body")
    for tenant, scope in ((TENANT, ""), (TENANT, "agent-2"), ("tenant-2", SCOPE)):
        other = bodies(bucket, tmp_path, tenant=tenant, scope=scope)
        other.remove("0a")
        assert list(other.names()) == [] and other.size() == 0
        with pytest.raises(errors.VaultDamaged):
            other.read("0a")
    assert store.read("0a") == b"body"


def test_an_object_that_is_gone_is_damage_and_its_row_can_be_removed(store: ObjectBlobs, bucket: ObstoreBucket) -> None:
    store.put("0a", b"body")
    bucket.delete(keys(bucket)[0])
    with pytest.raises(errors.VaultDamaged, match="does not have the object"):
        store.read("0a")
    store.remove("0a")
    assert list(store.names()) == []


def test_an_object_of_another_size_is_damage(store: ObjectBlobs, bucket: ObstoreBucket) -> None:
    store.put("0a", b"body")
    bucket.put(keys(bucket)[0], b"bod")
    with pytest.raises(errors.VaultDamaged, match="has 3 bytes, expected 4"):
        store.read("0a")


def test_a_large_body_goes_and_comes_in_parts(store: ObjectBlobs, bucket: ObstoreBucket) -> None:
    body = os.urandom(64 << 20)
    store.put("0a", body)
    assert store.read("0a") == body and len(body) > 4 * PART
    store.remove("0a")
    assert keys(bucket) == []


def test_copies_are_files_as_in_a_folder_of_bodies(store: ObjectBlobs, tmp_path: Path) -> None:
    for name in ("0a", "0b"):
        store.put(name, name.encode() * 1000)
    store.copy_to(tmp_path / "copy")
    assert {path.name: path.read_bytes() for path in (tmp_path / "copy").iterdir()} == {
        "0a": b"0a" * 1000,
        "0b": b"0b" * 1000,
    }


def test_of_what_was_removed_nothing_is_left_in_the_store(store: ObjectBlobs) -> None:
    store.put("0a", CANARY * 10)
    assert _kept_with(CANARY)
    store.remove("0a")
    assert _kept_with(CANARY) == []


def test_names_come_from_rows_and_never_from_a_listing(
    store: ObjectBlobs, bucket: ObstoreBucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(ObstoreBucket, "list")
    store.put("0a", b"body")
    assert list(store.names()) == ["0a"] and store.size() == 4
    store.remove("0a")
    assert list(store.names()) == []


def test_a_body_of_which_only_the_row_came_is_removed_by_the_sweep(store: ObjectBlobs, tmp_path: Path) -> None:
    rows(tmp_path).execute(
        "insert into blob values (?, ?, '0a', 'bodies/00/ff', 4, '2026-11-01T00:00:00.000Z')", (TENANT, SCOPE)
    )
    assert body_objects.remove_orphans(_vault_rows(tmp_path), store) == 1
    assert list(store.names()) == []


# Killed in the middle -------------------------------------------------------------------------------------------------

_KILLED = 86
_PROGRAM = """
import os, sys
from pathlib import Path
sys.path[:0] = {path!r}
from lifeboat_alf.seams import crash_points
from lifeboat_endpoint.engines.objects import store_address
from support.endpoint.object_places import bodies
store = bodies(store_address.open_store(store_address.check_store_address({url!r}, {options!r})), Path({folder!r}))
crash_points.hook = lambda step: os._exit(86) if step == {step!r} else None
{work}
"""


def _ends_at(step: CrashPoint, url: str, folder: Path, work: str) -> None:
    """Do `work` on `store` in a process that ends there."""
    options = swift_server.shared().options()
    path = [str(TESTS)]
    text = _PROGRAM.format(path=path, url=url, options=options, folder=str(folder), step=step.value, work=work)
    ended = subprocess.run([sys.executable, "-c", text], check=False, timeout=patience())
    assert ended.returncode == _KILLED


@pytest.mark.parametrize("step", [CrashPoint.BLOB_NAMED, CrashPoint.BLOB_WRITTEN, CrashPoint.BLOB_COMPARED])
def test_whoever_is_killed_while_writing_leaves_nothing_after_the_sweep(
    step: CrashPoint, url: str, store: ObjectBlobs, bucket: ObstoreBucket, tmp_path: Path
) -> None:
    _ends_at(step, url, tmp_path, "store.put('0a', b'body' * 1000)")
    assert len(list(store.names())) == (step is not CrashPoint.BLOB_NAMED)
    assert len(keys(bucket)) == (step is CrashPoint.BLOB_COMPARED)
    body_objects.remove_orphans(_vault_rows(tmp_path), store)
    assert list(store.names()) == keys(bucket) == []


@pytest.mark.parametrize("step", [CrashPoint.BLOB_REMOVED, CrashPoint.BLOB_FORGOTTEN])
def test_whoever_is_killed_while_removing_leaves_nothing_after_the_sweep(
    step: CrashPoint, url: str, store: ObjectBlobs, bucket: ObstoreBucket, tmp_path: Path
) -> None:
    store.put("0a", b"body")
    _ends_at(step, url, tmp_path, "store.remove('0a')")
    assert list(store.names()) == ["0a"] and len(keys(bucket)) == (step is CrashPoint.BLOB_REMOVED)
    body_objects.remove_orphans(_vault_rows(tmp_path), store)
    assert list(store.names()) == keys(bucket) == []


def test_a_body_whose_commit_never_came_is_removed_by_the_sweep_and_others_stay(
    url: str, store: ObjectBlobs, bucket: ObstoreBucket, tmp_path: Path
) -> None:
    _vault_rows(tmp_path)
    work = """
from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_vault.store.sqlite_store import SqliteStore
from lifeboat_vault.bodies.body_objects import ObjectWriter
rows = SqliteStore(Path({0!r}) / "rows.db")
for last in (False, True):
    with rows.transaction():
        writer = ObjectWriter(rows, store)
        writer.put(os.urandom(100_000), None)
        writer.flush()
        last and reach_crash_point(CrashPoint.CAPTURE_COMMITTED)
"""
    _ends_at(CrashPoint.CAPTURE_COMMITTED, url, tmp_path, work.format(str(tmp_path)))
    metadata = _vault_rows(tmp_path)
    assert len(list(store.names())) == len(keys(bucket)) == 2
    assert body_objects.remove_orphans(metadata, store) == 1
    row = metadata.row("select id from object")
    assert row is not None and len(body_objects.ObjectReader(metadata, store).read(row[0])) == 100_000
    assert len(keys(bucket)) == 1


# Objects that no row names --------------------------------------------------------------------------------------------


def _named(folder: Path) -> bucket_sweep.Named:
    def named(some: Sequence[str]) -> set[str]:
        marks = ", ".join("?" * len(some))
        return {key for (key,) in rows(folder).rows(f"select key from blob where key in ({marks})", some)}

    return named


def test_what_no_row_names_is_removed_when_it_is_old_enough(
    store: ObjectBlobs, bucket: ObstoreBucket, tmp_path: Path
) -> None:
    store.put("0a", b"body")
    bucket.put("bodies/00/loose", b"loose")
    bucket.put("keys/00/other", b"not a body")
    earlier = datetime.now(UTC) - timedelta(hours=1)
    assert sweep_bucket(bucket, _named(tmp_path), prefix="bodies", before=earlier) == (0, 0, 0)
    assert sweep_bucket(bucket, _named(tmp_path), prefix="bodies", before=LATER) == (2, 1, 5)
    assert store.read("0a") == b"body" and bucket.get("keys/00/other") == b"not a body"
    assert len(keys(bucket)) == 1


class Listing:
    """A bucket that is only listed and deleted from."""

    def __init__(self, count: int) -> None:
        moment = datetime(2026, 11, 1, tzinfo=UTC)
        self.there = [ListedObject(f"bodies/00/{number:05}", 10, moment) for number in range(count)]
        self.deleted: list[str] = []

    def list(self, prefix: str) -> Sequence[ListedObject]:
        return self.there

    def delete(self, key: str) -> None:
        self.deleted.append(key)


def test_a_sweep_that_would_take_most_of_it_takes_nothing() -> None:
    """The database is another one, or row-level security shows nothing of it."""
    listing = Listing(2_500)
    with pytest.raises(errors.VaultUnusable, match="2500 of 2500 objects in the bucket are unknown to the database"):
        sweep_bucket(listing, lambda some: [], prefix="bodies", before=LATER)  # type: ignore[arg-type]
    assert listing.deleted == []
    done = sweep_bucket(listing, lambda some: [], prefix="bodies", before=LATER, even_most=True)  # type: ignore[arg-type]
    assert done == (2_500, 2_500, 25_000) and len(listing.deleted) == 2_500


def test_a_sweep_asks_for_a_thousand_keys_at_once() -> None:
    asked: list[int] = []

    def named(some: Sequence[str]) -> Sequence[str]:
        asked.append(len(some))
        return some

    assert sweep_bucket(Listing(2_500), named, prefix="bodies", before=LATER).removed == 0  # type: ignore[arg-type]
    assert asked == [1000, 1000, 500]


# Whose place it is ----------------------------------------------------------------------------------------------------


def test_a_place_belongs_to_one_endpoint(bucket: ObstoreBucket) -> None:
    with pytest.raises(errors.EndpointSettings, match="not prepared"):
        place_owner.check_claim(bucket, "endpoint-1")
    place_owner.claim_place(bucket, "endpoint-1")
    place_owner.claim_place(bucket, "endpoint-1")
    place_owner.check_claim(bucket, "endpoint-1")
    for take in (place_owner.claim_place, place_owner.check_claim):
        with pytest.raises(errors.EndpointSettings, match="another endpoint"):
            take(bucket, "endpoint-2")
    assert keys(bucket) == []


def test_a_marker_that_is_none_is_not_written_over(bucket: ObstoreBucket) -> None:
    bucket.put(place_owner.MARKER, b"something else")
    with pytest.raises(errors.EndpointSettings):
        place_owner.claim_place(bucket, "endpoint-1")
    assert bucket.get(place_owner.MARKER) == b"something else"


def test_nothing_stands_in_for_a_real_store_in_the_program() -> None:
    packages = [Path(package.__file__).parent for package in (lifeboat_endpoint, lifeboat_vault)]
    texts = {path: path.read_text() for package in packages for path in package.rglob("*.py")}
    assert [path.name for path, text in texts.items() if "LocalStore" in text or "MemoryStore" in text] == []


def _vault_rows(folder: Path) -> SqliteStore:
    metadata = SqliteStore(folder / "rows.db", create=True)
    metadata.prepare()
    return metadata


def _kept_with(text: bytes) -> list[Path]:
    return [path for path in swift_server.shared().kept() if text in path.read_bytes()]


# Versions -------------------------------------------------------------------------------------------------------------


def test_a_bucket_that_keeps_no_versions_is_told_from_one_that_does(bucket: ObstoreBucket) -> None:
    assert bucket.keeps_versions() is False
    swift = swift_server.shared()
    session = boto3.session.Session(swift_server.ACCESS_KEY, swift_server.SECRET_KEY, region_name=swift_server.REGION)
    client = session.client("s3", endpoint_url=swift.address)
    client.create_bucket(Bucket="versioned")
    client.put_bucket_versioning(Bucket="versioned", VersioningConfiguration={"Status": "Enabled"})
    assert opened("s3://versioned/place").keeps_versions() is True
    assert list(bucket.list("")) == []
