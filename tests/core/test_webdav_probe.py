"""What a WebDAV server does is found by trying."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from lifeboat_core.home.context import Context
from lifeboat_core.remotes import remote_probe, remote_registry
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.remotes.manage_remotes import RemoteAccess, add_remote
from lifeboat_core.remotes.remote_conformance import PROBE, run_conformance
from lifeboat_core.remotes.remote_probe import RemoteCandidate
from lifeboat_core.remotes.webdav.webdav_kind import REMOTE_KIND
from lifeboat_vault.errors import RemoteBusy, RemoteDamaged, RemoteDenied, RemoteRefused, RemoteUnreachable
from support.core.object_store import Conditions
from support.core.protected import SteadyClock
from support.core.webdav_machines import TOKEN, WebdavMachine, shorten_waits
from support.core.webdav_servers import SmallServer, WebdavServer, small_server, wsgidav_server
from support.scale.object_faults import done_but, forget, in_front_of, status


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten_waits(monkeypatch)


@pytest.fixture
def server() -> Iterator[SmallServer]:
    with small_server() as running:
        yield running


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return home_in(tmp_path / "home")


def home_in(folder: Path) -> Context:
    opened = Context.open({"LIFEBOAT_HOME": str(folder), "HOME": str(folder), "PATH": "/usr/bin"}, clock=SteadyClock())
    opened.keys().ensure()
    return opened


def added(context: Context, server: WebdavServer, address: str = "") -> RemoteConfig:
    return add_remote(context, "cloud", RemoteAccess(server.url(address), token=TOKEN), sealed=True)[0]


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
    with small_server(conditions) as server:
        config = added(context, server)
        assert (config.writers, config.keeps_versions) == (writers, False)
        assert remote_registry.find_remote(context, "cloud") == config
        assert list(server.contents()) == ["lifeboat.json"]


def test_a_server_that_shows_interrupted_writes_lets_one_machine_write(context: Context) -> None:
    with small_server(writes_in_place=True) as server:
        assert added(context, server).writers == "one"


def test_wsgidav_lets_one_machine_write(context: Context, tmp_path: Path) -> None:
    """It compares, but two files of the same size have one version within a second, and it writes in place."""
    with wsgidav_server(tmp_path / "dav") as server:
        assert added(context, server).writers == "one"
        assert list(server.contents()) == ["lifeboat.json"]


def test_a_lost_answer_does_not_make_machines_take_turns(server: SmallServer, context: Context) -> None:
    with in_front_of(server.address) as faults:
        faults.plan(done_but(status(500)), methods=["PUT"], key="probes", times=1, skip=3)
        assert added(context, server, faults.address).writers == "several"


def test_a_server_whose_listing_does_not_show_what_was_written_is_refused(
    server: SmallServer, context: Context
) -> None:
    server.hides = "probes"
    with pytest.raises(RemoteRefused, match="does not show a file that was written"):
        added(context, server)
    assert remote_registry.list_remotes(context) == []
    assert remote_registry.load_token(context, "cloud") is None
    assert server.contents() == {}


def test_a_server_that_does_not_keep_what_it_confirms_is_refused(server: SmallServer, context: Context) -> None:
    with in_front_of(server.address) as faults:
        faults.plan(forget, methods=["PUT"])
        with pytest.raises(RemoteUnreachable, match="lost a file that it had accepted"):
            added(context, server, faults.address)
        faults.heal()
        faults.plan(forget, methods=["MOVE"])
        with pytest.raises(RemoteRefused, match="does not return the file that Lifeboat has just written"):
            added(context, server, faults.address)


def test_a_user_who_must_not_delete_is_named_before_the_remote_is_added(server: SmallServer, context: Context) -> None:
    with in_front_of(server.address) as faults:
        faults.plan(status(403), methods=["DELETE"])
        with pytest.raises(RemoteDenied, match="deleting: the server answered 403"):
            added(context, server, faults.address)


def test_a_missing_folder_is_made_below_an_existing_one_only(server: SmallServer, context: Context) -> None:
    with pytest.raises(RemoteRefused, match="the folder above does not exist"):
        add_remote(context, "cloud", RemoteAccess(f"{server.url()}/a/b", token=TOKEN), sealed=True)
    assert server.folders == {""}
    add_remote(context, "cloud", RemoteAccess(server.url(), token=TOKEN), sealed=True)
    assert "boat" in server.folders


def test_machines_follow_what_the_first_one_found(context: Context, tmp_path: Path) -> None:
    with small_server(Conditions.IGNORED) as server:
        added(context, server)
        server.conditions = Conditions.COMPARED
        assert added(home_in(tmp_path / "second"), server).writers == "one"


def test_a_server_that_compares_no_longer_makes_every_machine_take_turns(
    server: SmallServer, context: Context, tmp_path: Path
) -> None:
    config = added(context, server)
    server.conditions = Conditions.IGNORED
    first = next(iter(run_conformance(context, config, quick=True)))
    assert (first.name, first.ok) == (PROBE, False)
    assert "One machine at a time" in first.message
    assert remote_registry.find_remote(context, "cloud").writers == "one"
    WebdavMachine(tmp_path / "laptop", server.url()).write(1)
    assert any(path.endswith("writer.json") for path in server.contents())


def test_an_access_that_only_restores_is_not_asked_to_write(context: Context) -> None:
    with small_server(Conditions.IGNORED) as server:
        config = added(context, server)
        server.asked.clear()
        met = remote_probe.probe_remote(context, RemoteCandidate(config, TOKEN), frozenset({remote_probe.PULL}))
        assert (met.about.id, met.about.writers, met.store) == (config.id, "one", None)
        assert {each.method for each in server.asked} == {"GET"}


def test_a_clock_that_is_twenty_minutes_off_changes_nothing(context: Context, tmp_path: Path) -> None:
    for minutes in (-20, 20):
        with small_server(Conditions.IGNORED) as server:
            server.ahead = timedelta(minutes=minutes)
            machine = WebdavMachine(tmp_path / f"laptop{minutes}", server.url())
            machine.write(2)
            assert machine.log().agents()
            ages = [each.age for each in machine.files().names(machine.log().agents()[0].id)]
            assert all(age is not None and abs(age) < 600 for age in ages)


@pytest.mark.parametrize(
    ("code", "kind", "said"),
    [
        (301, RemoteRefused, "redirect"),
        (404, RemoteUnreachable, "no such folder"),
        (405, RemoteRefused, "not a folder that WebDAV may change"),
        (429, RemoteBusy, "too many requests"),
        (503, RemoteBusy, "maintenance"),
    ],
)
def test_an_address_that_is_no_webdav_folder_is_named(
    code: int, kind: type[Exception], said: str, server: SmallServer, context: Context
) -> None:
    with in_front_of(server.address) as faults:
        faults.plan(status(code), methods=["PUT", "MKCOL", "PROPFIND", "MOVE"])
        with pytest.raises(kind, match=said):
            added(context, server, faults.address)


@pytest.mark.parametrize(
    "listing",
    [
        b"<html><body>Welcome</body></html>",
        b"no XML at all",
        b"<?xml version='1.0'?><D:multistatus xmlns:D='DAV:'>",
        b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
        b'<D:multistatus xmlns:D="DAV:"><D:response><D:href>&b;</D:href></D:response></D:multistatus>',
        b'<!DOCTYPE x SYSTEM "file:///etc/hostname"><D:multistatus xmlns:D="DAV:"/>',
    ],
    ids=["html", "rubbish", "cut", "bomb", "external"],
)
def test_a_listing_that_is_none_is_damage(listing: bytes, server: SmallServer, context: Context) -> None:
    server.listing = listing
    with pytest.raises(RemoteDamaged):
        added(context, server)
    assert remote_registry.list_remotes(context) == []


def test_what_was_found_is_said_to_people(server: SmallServer, context: Context) -> None:
    config = added(context, server)
    said = " ".join(REMOTE_KIND.describe_store(config))
    assert "Several machines may write to the WebDAV folder" in said and "trash" in said
    assert REMOTE_KIND.describe_limits(config) == []
