"""`endpoint prepare` where something is not as it should be: an endpoint has one place for its objects and one key, and
a process that would have others does not begin."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.endpoint_config import SharedStore
from lifeboat_endpoint.engines.endpoint_preparation import PreparedEndpoint, prepare_endpoint
from lifeboat_endpoint.engines.objects import store_address
from lifeboat_endpoint.engines.objects.bucket import MARKER
from lifeboat_endpoint.server.asgi_app import make_app
from lifeboat_endpoint.server.server_settings import ServerSettings
from lifeboat_vault import errors
from support.scale import object_faults
from support.scale.shared_endpoint import SharedEndpoint

Beginning = Callable[..., PreparedEndpoint]
_NUMBERS = itertools.count(1)


@pytest.fixture
def store(shared: SharedEndpoint) -> SharedStore:
    """An empty database, and an empty place for objects."""
    name = f"prepared-{next(_NUMBERS)}"
    shared.database.make(name)
    return replace(shared.store, database=shared.database.address(name), objects=shared.objects.url())


@pytest.fixture
def begin(store: SharedStore, tmp_path: Path) -> Beginning:
    """Prepares a folder of a name; with another key, or another place for objects."""

    def begun(folder: str, *, key: str = "key", objects: str | None = None) -> PreparedEndpoint:
        wanted = store if objects is None else replace(store, objects=objects)
        return prepare_endpoint(tmp_path / folder, wanted, key_source=f"file:{tmp_path / f'{key}.key'}")

    return begun


def test_another_place_for_objects_is_refused(begin: Beginning, shared: SharedEndpoint, tmp_path: Path) -> None:
    begin("one")
    with pytest.raises(errors.EndpointSettings, match="stores its objects at"):
        begin("two", objects=shared.objects.url())
    assert not (tmp_path / "two" / "endpoint.json").exists()
    assert begin("two").joined


def test_a_place_of_the_same_name_at_another_store_is_refused(
    begin: Beginning, store: SharedStore, tmp_path: Path
) -> None:
    begin("one")
    bucket = store_address.open_store(store_address.check_store_address(store.objects, store.object_options))
    bucket.delete(MARKER)
    with object_faults.in_front_of(str(store.object_options["endpoint"])) as proxy:
        elsewhere = replace(store, object_options={**store.object_options, "endpoint": proxy.address})
        with pytest.raises(errors.EndpointSettings, match="stores its objects at"):
            prepare_endpoint(tmp_path / "two", elsewhere, key_source=f"file:{tmp_path / 'key.key'}")
    assert begin("two").joined


def test_a_place_to_which_all_objects_were_copied_is_taken(
    begin: Beginning, shared: SharedEndpoint, store: SharedStore
) -> None:
    begin("one")
    copied = shared.objects.url()
    before, after = (
        store_address.open_store(store_address.check_store_address(url, store.object_options))
        for url in (store.objects, copied)
    )
    after.put(MARKER, before.get(MARKER))
    assert begin("two", objects=copied).joined


def test_a_place_of_another_endpoint_is_refused_and_another_one_taken_instead(
    begin: Beginning, shared: SharedEndpoint
) -> None:
    with pytest.raises(errors.EndpointSettings, match="another endpoint"):
        begin("one", objects=shared.store.objects)
    assert begin("one").joined


def test_another_key_is_refused_before_anything_is_sealed_under_it(begin: Beginning, tmp_path: Path) -> None:
    begin("one")
    with pytest.raises(errors.KeyRevoked, match="a different key"):
        begin("two", key="other")
    assert not (tmp_path / "two" / "endpoint.json").exists()


def test_tables_are_brought_up_also_where_the_former_key_is_gone(begin: Beginning, tmp_path: Path) -> None:
    """The endpoint moved to another key source, and the endpoint.json of this machine still names the former one."""
    begin("one")
    (tmp_path / "key.key").unlink()
    again = begin("one")
    assert not again.made and not again.joined and not (tmp_path / "key.key").exists()


def test_a_process_whose_key_became_another_one_says_so(begin: Beginning, tmp_path: Path) -> None:
    begin("one")
    (tmp_path / "key.key").write_text("11" * 32)
    with Endpoint.open(tmp_path / "one") as endpoint, pytest.raises(errors.KeyRevoked, match="a different key"):
        endpoint.check_key()


@pytest.mark.parametrize("other", [None, "11" * 32], ids=["withheld", "another one"])
def test_a_process_that_takes_the_place_of_another_without_the_key_answers_and_is_not_ready(
    other: str | None, begin: Beginning, tmp_path: Path
) -> None:
    begin("one")
    key = (tmp_path / "key.key").rename(tmp_path / "withheld")
    if other is not None:
        (tmp_path / "key.key").touch(0o600)
        (tmp_path / "key.key").write_text(other)
    app = make_app(tmp_path / "one", ServerSettings("https://endpoint.example.com"))
    assert app.state.server.readiness.missing() == ("key",)
    key.rename(tmp_path / "key.key")
    assert app.state.server.endpoint.signing_key().public
    app.state.handler.close()


def test_a_database_into_which_an_endpoint_is_being_moved_is_joined_by_nobody(
    begin: Beginning, shared: SharedEndpoint, store: SharedStore
) -> None:
    begin("one")
    name = store.database.partition("?")[0].rpartition("/")[2]
    shared.database.run("update lifeboat_control.control set endpoint = 'unfinished:' || endpoint", name=name)
    with pytest.raises(errors.EndpointSettings, match="is being moved"):
        begin("two")
