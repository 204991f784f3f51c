"""Buckets as remotes: lost answers, two machines at once, stores without conditions, and what cannot be used."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_alf.testing.sample_states import AGENT_ID
from lifeboat_core.errors import BadSetting
from lifeboat_core.remotes.bucket import bucket_client
from lifeboat_core.remotes.bucket.bucket_address import parse_bucket_address
from lifeboat_core.remotes.bucket.bucket_kind import REMOTE_KIND
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.remotes.probed_store import writer_lease
from lifeboat_core.remotes.sealed.log_files import HeadMoved
from lifeboat_vault.errors import (
    RemoteBusy,
    RemoteDamaged,
    RemoteDenied,
    RemoteFull,
    RemoteRefused,
    RemoteUnreachable,
    UnknownAtRemote,
)
from support.core.buckets import BucketMachine, no_sleep
from support.core.object_store import BUCKET, Conditions, Kept, ObjectStore, Request, object_store
from support.core.sealed_logs import content_there
from support.scale import object_faults
from support.scale.object_faults import ObjectFaults, done_but, in_front_of, status

PREFIX = "lifeboat"
HEAD_KEY = f"{PREFIX}/agents/{AGENT_ID}/head.json"
LEASE_KEY = f"{PREFIX}/agents/{AGENT_ID}/writer.json"


@pytest.fixture
def store() -> Iterator[ObjectStore]:
    with object_store() as running:
        yield running


@pytest.fixture
def blind() -> Iterator[ObjectStore]:
    """A store that answers every conditional write as if it had no condition."""
    with object_store(Conditions.IGNORED) as running:
        yield running


@pytest.fixture(autouse=True)
def few_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bucket_client, "_SMALL", bucket_client.Waits(retries=1, retrying=5.0))


def laptop_at(store: ObjectStore, tmp_path: Path, *, through: ObjectFaults | None = None) -> BucketMachine:
    url = store.url() if through is None else store.url().replace(store.address, through.address)
    return BucketMachine(tmp_path / "laptop", url)


# Two machines that replace the same head ----------------------------------------------------------------------------


@pytest.mark.parametrize("conditions", Conditions)
def test_of_two_machines_with_the_same_head_one_is_refused(conditions: Conditions, tmp_path: Path) -> None:
    with object_store(conditions) as store:
        first = laptop_at(store, tmp_path)
        second = BucketMachine(tmp_path / "desktop", store.url(), key=first.key)
        one, other = first.files(), second.files()
        tag = one.set_head(AGENT_ID, b"first", None)
        assert other.head(AGENT_ID) == (b"first", tag)
        newer = one.set_head(AGENT_ID, b"second", tag)
        with pytest.raises(HeadMoved):
            other.set_head(AGENT_ID, b"another", tag)
        assert first.files().head(AGENT_ID) == (b"second", newer)


def test_of_many_writers_at_once_each_accepted_head_follows_the_one_it_replaced(
    store: ObjectStore, tmp_path: Path
) -> None:
    """Every writer appends its name to what it read. No accepted name is lost."""
    first = laptop_at(store, tmp_path)
    first.files().set_head(AGENT_ID, b"", None)
    accepted: list[bytes] = []

    def write(number: int) -> None:
        files = first.files()
        for turn in range(5):
            found = files.head(AGENT_ID)
            assert found is not None
            name = b"%d-%d " % (number, turn)
            try:
                files.set_head(AGENT_ID, found[0] + name, found[1])
            except HeadMoved:
                continue
            accepted.append(name)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = first.files().head(AGENT_ID)
    assert found is not None and accepted
    assert sorted(found[0].split()) == sorted(name.strip() for name in accepted)


def test_a_lost_answer_to_the_replaced_head_is_no_error_when_the_retry_meets_it(
    store: ObjectStore, tmp_path: Path
) -> None:
    with in_front_of(store.address) as faults:
        laptop = laptop_at(store, tmp_path, through=faults)
        laptop.write(1)
        faults.plan(done_but(status(500)), methods=["PUT"], key="head.json", times=1)
        laptop.put(b"later")
        assert laptop.push() == 1
        assert content_there(laptop.log(), 1) == laptop.content(1)


def test_a_push_whose_answer_never_comes_is_pushed_again_and_everything_restores(
    store: ObjectStore, tmp_path: Path
) -> None:
    with in_front_of(store.address) as faults:
        laptop = laptop_at(store, tmp_path, through=faults)
        laptop.write(2)
        laptop.put(b"later")
        faults.plan(done_but(object_faults.reset), methods=["PUT"], key="head.json")
        with pytest.raises((RemoteUnreachable, RemoteBusy)):
            laptop.push()
        faults.heal()
        assert laptop.push() == 2
        for number in range(3):
            assert content_there(laptop.log(), number) == laptop.content(number)


# A store without conditions -----------------------------------------------------------------------------------------


def test_a_machine_waits_only_when_it_takes_the_lease(blind: ObjectStore, tmp_path: Path) -> None:
    waits: list[float] = []
    laptop = BucketMachine(tmp_path / "laptop", blind.url(), sleep=waits.append)
    laptop.write(3)
    assert waits == [writer_lease.SETTLING_NEW]
    desktop = BucketMachine(tmp_path / "desktop", blind.url(), key=laptop.key, sleep=waits.append)
    assert desktop.log().raise_epoch(AGENT_ID, 1) == 2
    assert waits == [writer_lease.SETTLING_NEW, writer_lease.SETTLING]


def test_a_head_that_is_replaced_while_another_machine_takes_the_lease_is_not_lost(
    blind: ObjectStore, tmp_path: Path
) -> None:
    """The laptop read its lease before the desktop took it, and its head arrives during the wait of the desktop."""
    laptop = laptop_at(blind, tmp_path)
    laptop.write(2)
    before = blind.objects[HEAD_KEY]
    laptop.put(b"later")
    laptop.push()
    late, blind.objects[HEAD_KEY] = blind.objects[HEAD_KEY], before

    def arrives(seconds: float) -> None:
        blind.objects[HEAD_KEY] = late

    desktop = BucketMachine(tmp_path / "desktop", blind.url(), key=laptop.key, sleep=arrives)
    assert desktop.log().raise_epoch(AGENT_ID, 1) == 2
    assert content_there(desktop.log(), 2) == laptop.content(2)


def test_the_credentials_are_known_before_the_lease_is_read(blind: ObjectStore, tmp_path: Path) -> None:
    """Otherwise the one write under the lease could begin after another machine stopped waiting for it."""

    def ask_identity() -> dict[str, str | None]:
        blind.asked.append(Request("IDENTITY", "", {}))
        return {"access_key_id": "AKIAEXAMPLE", "secret_access_key": "not-a-real-secret", "expires_at": None}

    address = parse_bucket_address(blind.url())
    client = bucket_client.BucketClient(address, "", {"credential_provider": ask_identity})
    clock = laptop_at(blind, tmp_path).context.clock
    lease = writer_lease.WriterLease(client, "writer.json", "laptop", clock, no_sleep)
    lease.take()
    lease.confirm()
    client.put_once("head.json", b"1")
    methods = [each.method for each in blind.asked]
    assert "IDENTITY" in methods
    assert methods[-2:] == ["GET", "PUT"], methods


def test_a_machine_that_lost_the_lease_takes_it_again_before_it_writes(blind: ObjectStore, tmp_path: Path) -> None:
    laptop = laptop_at(blind, tmp_path)
    laptop.write(1)
    desktop = BucketMachine(tmp_path / "desktop", blind.url(), key=laptop.key)
    files = laptop.files()
    found = files.head(AGENT_ID)
    assert found is not None
    desktop.log().raise_epoch(AGENT_ID, 1)
    with pytest.raises(HeadMoved):
        files.set_head(AGENT_ID, b"of the laptop", found[1])
    assert desktop.log().agent(AGENT_ID).epoch == 2


def test_of_two_machines_that_take_the_lease_at_once_one_is_told_to_wait(blind: ObjectStore, tmp_path: Path) -> None:
    laptop = laptop_at(blind, tmp_path)
    laptop.write(1)

    def overtaken(seconds: float) -> None:
        blind.objects[LEASE_KEY] = Kept(b'{"writer":"a third machine","word":"1"}', blind.objects[LEASE_KEY].modified)

    desktop = BucketMachine(tmp_path / "desktop", blind.url(), key=laptop.key, sleep=overtaken)
    with pytest.raises(RemoteBusy, match="taking over"):
        desktop.log().raise_epoch(AGENT_ID, 1)
    assert laptop.log().agent(AGENT_ID).epoch == 1


def test_a_machine_that_slept_after_it_read_the_lease_reads_it_again(blind: ObjectStore, tmp_path: Path) -> None:
    laptop = laptop_at(blind, tmp_path)
    laptop.write(1)
    files = laptop.files()
    found = files.head(AGENT_ID)
    assert found is not None
    lease = files._lease(AGENT_ID)
    assert lease.take() is False
    blind.objects[LEASE_KEY] = Kept(b'{"writer":"another machine","word":"1"}', blind.objects[LEASE_KEY].modified)
    lease.confirm()
    laptop.context.clock.advance(seconds=60)  # type: ignore[attr-defined]
    with pytest.raises(RemoteBusy, match="took over"):
        lease.confirm()


def test_other_processes_of_this_home_wait_for_the_one_that_replaces_a_head(
    blind: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lifeboat_core.agents import locks

    monkeypatch.setattr(locks, "FILE_SECONDS", 0.1)
    laptop = laptop_at(blind, tmp_path)
    files = laptop.files()
    files.identity()
    failed: list[Exception] = []

    def push() -> None:
        try:
            laptop.files().set_head(AGENT_ID, b"other", None)
        except RemoteBusy as error:
            failed.append(error)

    with files._home.alone(AGENT_ID):
        thread = threading.Thread(target=push)
        thread.start()
        thread.join()
    assert len(failed) == 1
    assert HEAD_KEY not in blind.objects


# What is there ------------------------------------------------------------------------------------------------------


def test_an_emptied_bucket_is_unreachable_and_nothing_is_written(store: ObjectStore, tmp_path: Path) -> None:
    laptop = laptop_at(store, tmp_path)
    laptop.write(1)
    laptop.remote_id = laptop.files().identity()
    store.objects.clear()
    with pytest.raises(RemoteUnreachable, match="does not contain the remote"):
        laptop.push()
    assert store.objects == {}


def test_another_remote_in_the_same_place_is_unreachable(store: ObjectStore, tmp_path: Path) -> None:
    laptop = laptop_at(store, tmp_path)
    laptop.remote_id = laptop.files().identity()
    store.objects.clear()
    stranger = BucketMachine(tmp_path / "stranger", store.url())
    stranger.write(1)
    with pytest.raises(RemoteUnreachable, match="another remote"):
        laptop.files().agents()


def test_a_bucket_is_kept_one_way(store: ObjectStore, tmp_path: Path) -> None:
    laptop = laptop_at(store, tmp_path)
    laptop.files().identity()
    laptop.sealed = False
    with pytest.raises(RemoteRefused, match="without --plain"):
        laptop.files().identity()


@pytest.mark.parametrize("data", [b"", b"{}", b'{"kind": "lifeboat folder"}', b"[" * 100_000])
def test_a_damaged_root_is_named(data: bytes, store: ObjectStore, tmp_path: Path) -> None:
    laptop = laptop_at(store, tmp_path)
    laptop.files().identity()
    store.objects[f"{PREFIX}/lifeboat.json"] = Kept(data, store.objects[f"{PREFIX}/lifeboat.json"].modified)
    with pytest.raises(RemoteDamaged, match="does not identify a remote"):
        laptop.files().identity()


def test_a_large_file_travels_in_parts_and_comes_back_equal(
    store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bucket_client, "PART", 5 << 20)
    data = bytes(range(256)) * (12 << 12)
    files = laptop_at(store, tmp_path).files()
    files.put(AGENT_ID, "large-1.age", io.BytesIO(data))
    assert any("partNumber" in each.query for each in store.asked)
    with files.read(AGENT_ID, "large-1.age") as file:
        assert file.read() == data
    assert [(each.name, each.size) for each in files.names(AGENT_ID)] == [("large-1.age", len(data))]


def test_more_files_than_one_page_of_a_listing_are_all_found(store: ObjectStore, tmp_path: Path) -> None:
    laptop = laptop_at(store, tmp_path)
    laptop.write(1)
    moment = store.objects[HEAD_KEY].modified
    for number in range(2100):
        store.objects[f"{PREFIX}/agents/{AGENT_ID}/{number:012d}-x.alf"] = Kept(b"x", moment)
    names = [each.name for each in laptop.files().names(AGENT_ID)]
    assert len(names) == 2101 and names == sorted(names)
    assert laptop.files().agents() == [AGENT_ID]


@pytest.mark.parametrize("name", ["head.json", "writer.json", "../other", "UPPER", "a/b", ""])
def test_a_name_that_is_no_name_of_a_file_is_refused(name: str, store: ObjectStore, tmp_path: Path) -> None:
    files = laptop_at(store, tmp_path).files()
    with pytest.raises(RemoteRefused, match="not a valid file name"):
        files.put(AGENT_ID, name, io.BytesIO(b"x"))


def test_a_missing_file_is_unknown(store: ObjectStore, tmp_path: Path) -> None:
    with pytest.raises(UnknownAtRemote):
        laptop_at(store, tmp_path).files().read(AGENT_ID, "none.alf")


# What goes wrong ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "kind", "said"),
    [
        (status(403, "AccessDenied"), RemoteDenied, "permission"),
        (status(403, "ExpiredToken"), RemoteDenied, "expired"),
        (status(403, "RequestTimeTooSkewed"), RemoteDenied, "clock"),
        (status(429, "SlowDown"), RemoteBusy, "SlowDown"),
        (status(503, "SlowDown"), RemoteBusy, "SlowDown"),
        (status(500), RemoteUnreachable, "500"),
        (status(507, "InsufficientStorage"), RemoteFull, "507"),
        (status(301, "PermanentRedirect"), RemoteRefused, "region"),
        (status(404, "NoSuchBucket"), RemoteUnreachable, "no bucket"),
        (object_faults.reset, RemoteUnreachable, "did not answer"),
    ],
)
def test_what_goes_wrong_in_the_middle_is_named_and_the_next_push_mends_it(
    fault: object_faults.Fault, kind: type[Exception], said: str, store: ObjectStore, tmp_path: Path
) -> None:
    with in_front_of(store.address) as faults:
        laptop = laptop_at(store, tmp_path, through=faults)
        laptop.write(1)
        for key in ("000000000001", "head.json"):
            laptop.put(f"later {key}".encode())
            faults.plan(fault, methods=["PUT"], key=key)
            with pytest.raises(kind, match=said) as raised:
                laptop.push()
            assert "not-a-real-secret" not in str(raised.value)
            assert content_there(laptop.log(), 0) == laptop.content(0)
            faults.heal()
        assert laptop.push() == 2
        assert content_there(laptop.log(), 2) == laptop.content(2)


@pytest.mark.parametrize("fault", [object_faults.shorten, object_faults.flip, object_faults.truncate])
def test_damage_on_the_way_is_never_restored(fault: object_faults.Fault, store: ObjectStore, tmp_path: Path) -> None:
    with in_front_of(store.address) as faults:
        laptop = laptop_at(store, tmp_path, through=faults)
        laptop.write(1)
        faults.plan(fault, methods=["GET"], key="000000000000-")
        with pytest.raises((RemoteDamaged, RemoteUnreachable)):
            content_there(laptop.log(), 0)
        faults.heal()
        assert content_there(laptop.log(), 0) == laptop.content(0)


def test_an_announced_size_beyond_any_document_is_damage(store: ObjectStore, tmp_path: Path) -> None:
    with in_front_of(store.address) as faults:
        laptop = laptop_at(store, tmp_path, through=faults)
        laptop.write(1)
        faults.plan(object_faults.boast, methods=["GET"], key="head.json")
        with pytest.raises(RemoteDamaged, match="more than Lifeboat ever writes into it"):
            laptop.log().agents()


def test_an_older_head_that_is_put_back_is_noticed_by_its_number(store: ObjectStore, tmp_path: Path) -> None:
    laptop = laptop_at(store, tmp_path)
    laptop.write(1)
    before = store.objects[HEAD_KEY]
    laptop.put(b"later")
    laptop.push()
    store.objects[HEAD_KEY] = before
    head = laptop.log().agent(AGENT_ID).head
    assert head is not None and head.number == 0


# Addresses ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "normal"),
    [
        ("s3://ada/boat", "s3://ada/boat"),
        ("S3://ada/boat/", "s3://ada/boat"),
        ("s3://ada", "s3://ada"),
        (
            "s3://ada?region=eu-1&endpoint=https://S3.example.com/",
            "s3://ada?endpoint=https://s3.example.com&region=eu-1",
        ),
        ("s3://ada/x?endpoint=http://127.0.0.1:9000", "s3://ada/x?endpoint=http://127.0.0.1:9000"),
        ("gs://ada/boat", "gs://ada/boat"),
        ("az://account/container/boat", "az://account/container/boat"),
    ],
)
def test_an_address_has_one_normal_form(url: str, normal: str) -> None:
    assert REMOTE_KIND.check_url(url) == normal
    assert parse_bucket_address(normal).url == normal


@pytest.mark.parametrize(
    "url",
    [
        "s3://",
        "s3:///boat",
        "s3://key:secret@ada/boat",
        "s3://ada/boat?secret_access_key=hidden",
        "s3://ada/boat?hidden",
        "s3://ada/boat?endpoint=http://s3.example.com",
        "s3://ada/boat?endpoint=https://user:hidden@s3.example.com",
        "s3://ada/../boat",
        "s3://ada/a//b",
        "s3://ada/boat#hidden",
        "s3://ada/boat?region=EU%20one",
        "gs://ada/boat?region=eu-1",
        "az://account",
        "az://Account/container",
        "file:///boat",
    ],
)
def test_an_address_with_a_secret_or_without_a_bucket_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(BadSetting) as raised:
        parse_bucket_address(url)
    assert "hidden" not in raised.value.message and "secret@" not in raised.value.message


def test_a_proxy_is_refused_where_the_connection_has_no_tls(
    store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy.example.com:3128")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with pytest.raises(RemoteRefused, match="proxy"):
        laptop_at(store, tmp_path).files()


def test_the_network_is_needed_unless_the_store_is_on_this_machine() -> None:
    assert REMOTE_KIND.needs_network("s3://ada/boat")
    assert not REMOTE_KIND.needs_network("s3://ada/boat?endpoint=http://127.0.0.1:9000")


def test_kept_credentials_follow_to_an_address_of_the_same_store_only() -> None:
    known = RemoteConfig("b", "s3://ada/boat?endpoint=https://s3.example.com")
    assert REMOTE_KIND.may_keep_token(known, RemoteConfig("b", "s3://ada/ship?endpoint=https://s3.example.com"))
    assert not REMOTE_KIND.may_keep_token(known, RemoteConfig("b", "s3://ada/boat?endpoint=https://other.example.com"))


def test_a_bucket_that_does_not_exist_is_named_with_the_command_that_helps(store: ObjectStore, tmp_path: Path) -> None:
    laptop = BucketMachine(tmp_path / "laptop", store.url().replace(BUCKET, "another"), sleep=no_sleep)
    with pytest.raises(RemoteUnreachable, match="no bucket another") as raised:
        laptop.files().identity()
    assert raised.value.fix is not None and raised.value.fix.startswith("lifeboat remote add bucket")
