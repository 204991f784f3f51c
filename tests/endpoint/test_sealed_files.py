"""Sealed agents: files that never change, and one head per agent."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from lifeboat_endpoint.service import sealed_files
from lifeboat_endpoint.service.sealed_files import SealedFileStore
from lifeboat_endpoint.service.tenant_space import TenantSpace
from lifeboat_vault.at_rest.sealer import Sealer
from lifeboat_vault.errors import HeadMoved, RemoteDamaged, RemoteFull, RemoteRefused, RemoteTooLarge, UnknownAtRemote
from support.endpoint.spaces import TestKeys, clock, keys, space_in
from support.vault.vaults import ManualClock

__all__ = ["clock", "keys"]

AGENT = "019a0000-0000-7000-8000-00000000ada0"
SECRET = b"ciphertext of the user, which looks like nothing" * 20


@pytest.fixture
def space(tmp_path: Path, clock: ManualClock, keys: TestKeys) -> Iterator[TenantSpace]:
    with space_in(tmp_path, keys, clock=clock) as made:
        made.register(AGENT, "sealed", "sealed", sealed=True)
        yield made


@pytest.fixture
def files(space: TenantSpace) -> SealedFileStore:
    return space.sealed_files


def test_a_file_comes_back_with_its_size_and_age(files: SealedFileStore, clock: ManualClock) -> None:
    files.put(AGENT, "000-aa.alf.age", SECRET)
    clock.advance(hours=30)
    (found,) = files.names(AGENT)
    assert (found.name, found.size) == ("000-aa.alf.age", len(SECRET))
    assert found.age == timedelta(hours=30).total_seconds()
    assert files.get(AGENT, found.name) == SECRET


def test_the_same_file_again_is_no_error_and_another_one_is(files: SealedFileStore) -> None:
    files.put(AGENT, "a", SECRET)
    files.put(AGENT, "a", SECRET)
    with pytest.raises(RemoteRefused):
        files.put(AGENT, "a", SECRET + b"!")
    assert files.get(AGENT, "a") == SECRET


def test_a_file_goes_with_its_body(files: SealedFileStore, tmp_path: Path) -> None:
    files.put(AGENT, "a", SECRET)
    assert len(list((tmp_path / "files").iterdir())) == 1
    files.remove(AGENT, "a")
    files.remove(AGENT, "a")
    assert list((tmp_path / "files").iterdir()) == []
    with pytest.raises(UnknownAtRemote):
        files.get(AGENT, "a")


def test_a_head_is_replaced_by_whoever_knows_the_one_that_is_there(files: SealedFileStore) -> None:
    assert files.head(AGENT) is None
    first = files.set_head(AGENT, b"first", None)
    second = files.set_head(AGENT, b"second", first)
    for stale in (None, first):
        with pytest.raises(HeadMoved):
            files.set_head(AGENT, b"third", stale)
    assert files.head(AGENT) == (b"second", second)


def test_nothing_that_was_sent_lies_there_as_it_was_sent(files: SealedFileStore, tmp_path: Path) -> None:
    files.put(AGENT, "a", SECRET)
    files.set_head(AGENT, SECRET, None)
    every = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not [data for data in every if SECRET[:24] in data]


@pytest.mark.parametrize("name", ["", ".", "..", "../a", "a/b", "A", "a b", "a\x00", "a'--", "x" * 101, ".a"])
def test_a_name_that_is_none_is_refused(files: SealedFileStore, name: str) -> None:
    with pytest.raises(RemoteRefused):
        files.put(AGENT, name, SECRET)


def test_an_agent_that_is_not_there_has_no_files(files: SealedFileStore) -> None:
    for work in (files.names, files.head, lambda agent: files.put(agent, "a", b"")):
        with pytest.raises(UnknownAtRemote):
            work("019a0000-0000-7000-8000-00000000bbbb")


def test_an_agent_that_is_readable_keeps_no_sealed_files(space: TenantSpace) -> None:
    other = "019a0000-0000-7000-8000-00000000bbbb"
    space.register(other, "ada", "openclaw")
    with pytest.raises(RemoteRefused):
        space.sealed_files.put(other, "a", SECRET)


def test_what_is_too_large_or_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealed_files, "HEAD_BYTES", 10)
    with space_in(tmp_path, limited={"bundle_bytes": 1000, "tenant_bytes": 1500}) as space:
        space.register(AGENT, "sealed", "sealed", sealed=True)
        files = space.sealed_files
        with pytest.raises(RemoteTooLarge):
            files.put(AGENT, "a", bytes(1001))
        with pytest.raises(RemoteTooLarge):
            files.set_head(AGENT, bytes(11), None)
        files.put(AGENT, "a", bytes(1000))
        with pytest.raises(RemoteFull):
            files.put(AGENT, "b", bytes(501))
        assert [each.name for each in files.names(AGENT)] == ["a"]


def test_everything_is_read_under_a_new_data_key(
    files: SealedFileStore, keys: TestKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    files.put(AGENT, "a", SECRET)
    tag = files.set_head(AGENT, b"head", None)
    keys.rotate()
    assert (files.get(AGENT, "a"), files.head(AGENT)) == (SECRET, (b"head", tag))
    files.reseal()
    current, used = TestKeys(), list[str]()
    current.rotate()

    def sealer_of(key_id: str, agent_id: str | None = None) -> Sealer:
        used.append(key_id)
        return current.sealer_of(key_id, agent_id)

    monkeypatch.setattr(keys, "sealer_of", sealer_of)
    assert list(files.check()) == [] and set(used) <= {current.sealer().key_id}


def test_a_body_that_was_changed_is_found(files: SealedFileStore, tmp_path: Path) -> None:
    files.put(AGENT, "a", SECRET)
    assert list(files.check()) == []
    (body,) = (tmp_path / "files").iterdir()
    body.write_bytes(body.read_bytes()[:-1] + b"!")
    with pytest.raises(RemoteDamaged):
        files.get(AGENT, "a")
    (finding,) = files.check()
    assert "the sealed file a" in finding


def test_an_agent_that_is_removed_takes_its_files_along(space: TenantSpace, tmp_path: Path) -> None:
    space.sealed_files.put(AGENT, "a", SECRET)
    space.sealed_files.set_head(AGENT, b"head", None)
    space.remove_agent(AGENT)
    assert list((tmp_path / "files").iterdir()) == []
    space.register(AGENT, "sealed", "sealed", sealed=True)
    assert (space.sealed_files.names(AGENT), space.sealed_files.head(AGENT)) == ([], None)
