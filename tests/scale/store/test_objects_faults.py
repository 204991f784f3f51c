"""What a store that fails, stalls, lies or lists late does to bodies: nothing is lost, nothing is named that is not
there, every wait ends, and the error says whether to try again."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_alf.seams.system_clock import SystemClock
from lifeboat_alf.testing.sample_states import AGENT_ID
from lifeboat_endpoint.engines.objects.blobs import ObjectBlobs
from lifeboat_endpoint.engines.objects.bucket_sweep import sweep_bucket
from lifeboat_endpoint.engines.objects.obstore_bucket import ObstoreBucket
from lifeboat_vault import errors
from lifeboat_vault.at_rest.sealed_blobs import SealedBlobs
from lifeboat_vault.bodies import body_objects
from lifeboat_vault.errors import VaultBusy, VaultDamaged, VaultFull, VaultUnusable
from lifeboat_vault.store.sqlite_store import SqliteStore
from lifeboat_vault.testing.store_conformance import a_day, time_of_day
from lifeboat_vault.vault import Vault
from lifeboat_vault.vault.vault_creation import create_tables
from support.core.authorities import Authority
from support.endpoint.object_places import QUICK, bodies, keys, opened, rows
from support.endpoint.sealed import new_sealer
from support.scale import object_faults as faults
from support.scale import swift_server
from support.scale.object_faults import ObjectFaults

BODY = b"body" * 1000
SECRET = "not-a-real-secret"
PART = "partNumber"


@pytest.fixture
def store_faults() -> Iterator[ObjectFaults]:
    with faults.in_front_of(swift_server.shared().address) as proxy:
        yield proxy


@pytest.fixture
def url() -> str:
    return swift_server.shared().url()


@pytest.fixture
def bucket(url: str) -> ObstoreBucket:
    """Without faults."""
    return opened(url)


@pytest.fixture
def store(url: str, store_faults: ObjectFaults, tmp_path: Path) -> ObjectBlobs:
    """Through the proxy; with one body that was written before."""
    found = bodies(opened(url, through=store_faults.address, waits=QUICK), tmp_path)
    found.put("00", BODY)
    return found


WRITING = [
    ("fails", faults.status(500), VaultBusy),
    ("is overloaded", faults.status(503, "SlowDown"), VaultBusy),
    ("asks to wait", faults.status(429, "TooManyRequests"), VaultBusy),
    ("is full", faults.status(507, "InsufficientStorage"), VaultFull),
    ("has a quota", faults.status(403, "QuotaExceeded"), VaultFull),
    ("forbids", faults.status(403, "AccessDenied"), VaultUnusable),
    ("has another time", faults.status(403, "RequestTimeTooSkewed"), VaultUnusable),
    ("does not know the bucket", faults.status(404, "NoSuchBucket"), VaultUnusable),
    ("does not know the request", faults.status(400, "InvalidRequest"), VaultUnusable),
    ("breaks the connection", faults.reset, VaultBusy),
    ("breaks it after the write", faults.done_but(faults.reset), VaultBusy),
    ("stalls", faults.stall, VaultBusy),
    ("stalls after the write", faults.done_but(faults.stall), VaultBusy),
    ("keeps nothing of it", faults.forget, VaultBusy),
]

READING = [
    ("fails", faults.status(500), VaultBusy),
    ("is overloaded", faults.status(503, "SlowDown"), VaultBusy),
    ("forbids", faults.status(403, "AccessDenied"), VaultUnusable),
    ("does not know the bucket", faults.status(404, "NoSuchBucket"), VaultUnusable),
    ("breaks the connection", faults.reset, VaultBusy),
    ("stalls", faults.stall, VaultBusy),
    ("gives byte by byte", faults.trickle, VaultBusy),
    ("breaks in the middle", faults.truncate, VaultBusy),
]


def _each(cases: list[tuple[str, faults.Fault, type[LifeboatError]]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("fault", "kind"), [case[1:] for case in cases], ids=[case[0] for case in cases])


@_each(WRITING)
def test_what_could_not_be_written_is_named_by_nothing(
    fault: faults.Fault,
    kind: type[LifeboatError],
    store: ObjectBlobs,
    store_faults: ObjectFaults,
    bucket: ObstoreBucket,
) -> None:
    store_faults.plan(fault, methods=["PUT"])
    with pytest.raises(kind) as caught:
        store.put("01", BODY)
    assert store_faults.outwaited == 0
    assert type(caught.value) is kind and caught.value.retryable is (kind in (VaultBusy, VaultFull))
    assert list(store.names()) == ["00"] and store.read("00") == BODY
    assert len(keys(bucket)) == 1
    store_faults.heal()
    store.put("02", BODY)
    assert store.read("02") == BODY


@_each([*READING, ("gives half as if it were all", faults.shorten, VaultBusy), ("damages it", faults.flip, VaultBusy)])
def test_what_could_not_be_read_back_counts_as_not_written(
    fault: faults.Fault,
    kind: type[LifeboatError],
    store: ObjectBlobs,
    store_faults: ObjectFaults,
    bucket: ObstoreBucket,
) -> None:
    store_faults.plan(fault, methods=["GET"])
    with pytest.raises(kind) as caught:
        store.put("01", BODY)
    assert store_faults.outwaited == 0 and type(caught.value) is kind
    assert list(store.names()) == ["00"] and len(keys(bucket)) == 1


@_each([*READING, ("gives half as if it were all", faults.shorten, VaultDamaged)])
def test_what_could_not_be_read_is_an_error_and_stays(
    fault: faults.Fault, kind: type[LifeboatError], store: ObjectBlobs, store_faults: ObjectFaults
) -> None:
    store_faults.plan(fault, methods=["GET"])
    with pytest.raises(kind) as caught:
        store.read("00")
    assert store_faults.outwaited == 0 and type(caught.value) is kind
    store_faults.heal()
    assert store.read("00") == BODY


def test_of_an_object_that_is_too_large_nothing_is_read(
    store: ObjectBlobs, store_faults: ObjectFaults, bucket: ObstoreBucket
) -> None:
    """The library would end the process where there is no room for as much as is announced."""
    store_faults.plan(faults.boast, methods=["GET"])
    with pytest.raises(VaultDamaged, match="more than"):
        store.read("00")
    with pytest.raises(VaultBusy):
        store.put("01", BODY)
    store_faults.heal()
    (key,) = keys(bucket)
    with pytest.raises(VaultDamaged, match="more than 10 bytes"):
        bucket.get(key, 10)
    assert store.read("00") == BODY


def test_a_sealed_body_that_was_damaged_is_not_opened(store: ObjectBlobs, store_faults: ObjectFaults) -> None:
    sealed = SealedBlobs(store, new_sealer())
    sealed.put("01", BODY)
    store_faults.plan(faults.flip, methods=["GET"])
    with pytest.raises(VaultDamaged):
        sealed.read("01")


@pytest.mark.parametrize(
    "fault",
    [
        faults.status(500),
        faults.status(403, "AccessDenied"),
        faults.status(404, "NoSuchBucket"),
        faults.reset,
        faults.stall,
        faults.done_but(faults.reset),
    ],
    ids=["fails", "forbids", "does not know the bucket", "breaks", "stalls", "breaks after it"],
)
def test_what_could_not_be_deleted_is_still_named(
    fault: faults.Fault, store: ObjectBlobs, store_faults: ObjectFaults, bucket: ObstoreBucket
) -> None:
    store_faults.plan(fault, methods=["DELETE"])
    with pytest.raises((VaultBusy, VaultUnusable)):
        store.remove("00")
    assert store_faults.outwaited == 0 and list(store.names()) == ["00"]
    store_faults.heal()
    store.remove("00")
    assert list(store.names()) == keys(bucket) == []


def test_an_object_that_is_gone_because_its_bucket_is_stays_named(
    store: ObjectBlobs, store_faults: ObjectFaults
) -> None:
    store_faults.plan(faults.status(404, "BlobNotFound"), methods=["DELETE"])
    store_faults.plan(faults.status(404, "ContainerNotFound"), methods=["GET"])
    with pytest.raises(VaultUnusable, match="ContainerNotFound"):
        store.remove("00")
    assert list(store.names()) == ["00"]


def test_where_nothing_works_the_row_waits_for_the_sweep(
    store: ObjectBlobs, store_faults: ObjectFaults, bucket: ObstoreBucket
) -> None:
    store_faults.plan(faults.done_but(faults.reset), methods=["PUT"])
    store_faults.plan(faults.reset)
    with pytest.raises(VaultBusy):
        store.put("01", BODY)
    assert list(store.names()) == ["00", "01"] and len(keys(bucket)) == 2
    store_faults.heal()
    store.remove("01")
    assert list(store.names()) == ["00"] and len(keys(bucket)) == 1


@pytest.mark.parametrize("fault", [faults.status(503, "SlowDown"), faults.reset, faults.done_but(faults.reset)])
def test_what_passes_soon_is_not_noticed(fault: faults.Fault, store: ObjectBlobs, store_faults: ObjectFaults) -> None:
    for method in ("PUT", "GET", "DELETE"):
        store_faults.plan(fault, methods=[method], times=1)
    store.put("01", BODY)
    assert store.read("01") == BODY
    store.remove("01")
    assert list(store.names()) == ["00"]


def test_a_store_that_answers_late_is_waited_for(store: ObjectBlobs, store_faults: ObjectFaults) -> None:
    store_faults.plan(faults.slow(0.5))
    store.put("01", BODY)
    assert store.read("01") == BODY


def test_a_store_that_nobody_serves_is_busy(url: str, tmp_path: Path) -> None:
    store = bodies(opened(url, through="http://127.0.0.1:9", waits=QUICK), tmp_path)
    with pytest.raises(VaultBusy, match="did not answer"):
        store.put("01", BODY)
    assert list(store.names()) == ["01"]


# Large bodies ---------------------------------------------------------------------------------------------------------


def test_a_large_body_is_written_in_parts_of_which_one_may_fail_once(
    store: ObjectBlobs, store_faults: ObjectFaults
) -> None:
    body = random.Random(1).randbytes(20 << 20)
    store_faults.plan(faults.reset, methods=["PUT"], times=1, skip=1)
    store.put("01", body)
    parts = [asked for asked in store_faults.asked if PART in asked.query]
    assert sorted({asked.query[PART][0] for asked in parts}) == ["1", "2", "3"] and len(parts) == 4
    assert store.read("01") == body


@pytest.mark.parametrize("fault", [faults.status(500), faults.stall], ids=["fails", "stalls"])
def test_a_large_body_that_cannot_be_finished_is_not_there(
    fault: faults.Fault, store: ObjectBlobs, store_faults: ObjectFaults, bucket: ObstoreBucket
) -> None:
    store_faults.plan(fault, methods=["PUT"], skip=1)
    with pytest.raises(VaultBusy):
        store.put("01", random.Random(1).randbytes(20 << 20))
    assert list(store.names()) == ["00"] and len(keys(bucket)) == 1
    ended = [asked.method for asked in store_faults.asked if "uploadId" in asked.query and PART not in asked.query]
    assert ended == ["DELETE"]


# Listings -------------------------------------------------------------------------------------------------------------


def test_a_listing_that_is_late_takes_nothing_away_and_names_nothing(
    url: str, store: ObjectBlobs, store_faults: ObjectFaults, bucket: ObstoreBucket, tmp_path: Path
) -> None:
    late = opened(url, through=store_faults.address)
    store_faults.late_since = time.monotonic()
    store.put("01", BODY)
    before = {each.key for each in late.list("bodies")}
    store.remove("00")
    assert len(before) == 1 and {each.key for each in late.list("bodies")} == before != set(keys(bucket))
    assert list(store.names()) == ["01"] and store.size() == len(BODY)
    done = sweep_bucket(late, _named(tmp_path), prefix="bodies", before=datetime.now(UTC) + timedelta(days=1))
    assert done.removed == 1  # what was deleted already, and is listed still
    assert store.read("01") == BODY and len(keys(bucket)) == 1


def test_an_object_whose_deletion_was_a_lie_is_removed_by_the_sweep_of_the_bucket(
    store: ObjectBlobs, store_faults: ObjectFaults, bucket: ObstoreBucket, tmp_path: Path
) -> None:
    store_faults.plan(faults.status(204, ""), methods=["DELETE"])
    store.put("01", BODY)
    store.remove("00")
    assert list(store.names()) == ["01"] and len(keys(bucket)) == 2
    sweep_bucket(bucket, _named(tmp_path), prefix="bodies", before=datetime.now(UTC) + timedelta(days=1))
    assert store.read("01") == BODY and len(keys(bucket)) == 1


@pytest.mark.parametrize("fault", [faults.status(403, "AccessDenied"), faults.stall], ids=["forbids", "stalls"])
def test_a_listing_that_cannot_be_had_removes_nothing(
    fault: faults.Fault, url: str, store: ObjectBlobs, store_faults: ObjectFaults, bucket: ObstoreBucket
) -> None:
    store_faults.plan(fault, methods=["GET"])
    through = opened(url, through=store_faults.address, waits=QUICK)
    with pytest.raises((VaultBusy, VaultUnusable)):
        sweep_bucket(through, lambda some: [], prefix="bodies", before=datetime.now(UTC) + timedelta(days=1))
    assert len(keys(bucket)) == 1


def _named(folder: Path):  # type: ignore[no-untyped-def]
    return lambda some: {key for (key,) in rows(folder).rows("select key from blob")}


# Who answers, and who asks --------------------------------------------------------------------------------------------


def test_a_wrong_secret_is_refused_in_words_that_do_not_repeat_it(url: str, tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    file.write_text(f"[default]\naws_access_key_id = {swift_server.ACCESS_KEY}\naws_secret_access_key = {SECRET}\n")
    file.chmod(0o600)
    bucket = opened(url, options={"credentials_file": str(file)}, waits=QUICK)
    for ask in (bucket.check, lambda: bucket.put("a", b"x"), lambda: bucket.delete("a"), lambda: list(bucket.list(""))):
        with pytest.raises(VaultUnusable, match="403 SignatureDoesNotMatch") as caught:
            ask()
        assert "AWS_SECRET_ACCESS_KEY" in str(caught.value.fix)
        assert SECRET not in repr(caught.value) and caught.value.__context__ is None is caught.value.__cause__


def test_keys_that_were_exchanged_are_taken_up_and_none_is_an_error(url: str, tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    right = Path(swift_server.shared().options()["credentials_file"]).read_text()
    file.write_text(right)
    file.chmod(0o600)
    bucket = opened(url, options={"credentials_file": str(file)}, waits=QUICK)
    file.write_text("")
    with pytest.raises(VaultUnusable, match="credentials"):
        bucket.check()
    file.write_text(right)
    bucket.check()


def test_the_environment_decides_neither_where_bytes_go_nor_that_they_go_unsigned(
    url: str, monkeypatch: pytest.MonkeyPatch, store_faults: ObjectFaults
) -> None:
    for name in ("AWS_ENDPOINT", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.setenv(name, store_faults.address)
    for name in ("AWS_ALLOW_HTTP", "AWS_SKIP_SIGNATURE", "AWS_ALLOW_INVALID_CERTIFICATES"):
        monkeypatch.setenv(name, "true")
    monkeypatch.setenv("AWS_BUCKET", "other")
    bucket = opened(url)
    bucket.put("a", b"x")
    assert bucket.get("a") == b"x" and store_faults.asked == []


def test_a_store_is_believed_by_its_certificate_alone(url: str, tmp_path: Path) -> None:
    ours, theirs = Authority(), Authority()
    (tmp_path / "ca.pem").write_bytes(ours.pem)
    trusting = {"root_certificate": str(tmp_path / "ca.pem")}
    behind = swift_server.shared().address
    with faults.in_front_of(behind, tls=ours.serving()) as proxy:
        opened(url, through=proxy.address, options=trusting, waits=QUICK).put("a", b"x")
        with pytest.raises(VaultUnusable, match="certificate"):
            opened(url, through=proxy.address, waits=QUICK).check()
    for context in (theirs.serving(), ours.serving("s3.example.com"), ours.serving(expired=True)):
        with faults.in_front_of(behind, tls=context) as proxy:
            with pytest.raises(VaultUnusable, match="certificate"):
                opened(url, through=proxy.address, options=trusting, waits=QUICK).check()
            assert proxy.asked == []


def test_a_bucket_that_is_not_there_is_named(url: str) -> None:
    bucket = opened(url.replace("lifeboat", "nowhere"), waits=QUICK)
    for ask in (bucket.check, lambda: bucket.get("a"), lambda: bucket.put("a", b"x"), lambda: bucket.delete("a")):
        with pytest.raises(VaultUnusable, match="NoSuchBucket"):
            ask()


# A whole history ------------------------------------------------------------------------------------------------------


def test_a_history_on_a_store_that_fails_every_third_time_is_whole(
    url: str, store_faults: ObjectFaults, bucket: ObstoreBucket, tmp_path: Path
) -> None:
    metadata = SqliteStore(tmp_path / "rows.db", create=True)
    metadata.prepare()
    create_tables(metadata, AGENT_ID, SystemClock())
    store = bodies(opened(url, through=store_faults.address, waits=QUICK), tmp_path)
    vault = Vault(metadata, store, files=SystemFiles(), clock=SystemClock())
    chance = random.Random(7)
    kinds = [faults.status(500), faults.status(403, "AccessDenied"), faults.forget, faults.flip, faults.truncate]
    kinds += [faults.reset, faults.done_but(faults.reset), faults.done_but(faults.status(500))]
    failed = 0
    for day in range(20):
        while True:
            store_faults.heal()
            if chance.random() < 0.4:
                store_faults.plan(chance.choice(kinds), methods=[chance.choice(["PUT", "GET", "DELETE"])])
            try:
                vault.commit(a_day(day), kind="capture", writer="test", time=time_of_day(day))
                break
            except errors.VaultError:
                failed += 1
    store_faults.heal()
    assert failed > 3 and len(vault.sequences()) == 20
    body_objects.remove_orphans(metadata, store)
    assert vault.verify(trusted=None).findings == []
    assert len(list(store.names())) == len(keys(bucket)) == 20
