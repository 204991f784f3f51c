"""The conformance suite of remotes over WebDAV: WsgiDAV, a server that compares, and one that ignores conditions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_vault.remote.conformance_checks import CHECKS, RemoteCheck
from support.core.object_store import Conditions
from support.core.webdav_machines import WebdavMachine, shorten_waits
from support.core.webdav_servers import WebdavServer, small_server, wsgidav_server


@pytest.fixture(scope="module", params=["wsgidav", Conditions.COMPARED, Conditions.IGNORED])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebdavServer]:
    with pytest.MonkeyPatch.context() as patched:
        shorten_waits(patched)
        if request.param == "wsgidav":
            with wsgidav_server(tmp_path_factory.mktemp("dav")) as real:
                yield real
        else:
            with small_server(request.param) as small:
                yield small


@pytest.fixture(scope="module")
def machine(server: WebdavServer, tmp_path_factory: pytest.TempPathFactory) -> WebdavMachine:
    return WebdavMachine(tmp_path_factory.mktemp("conformance"), server.url())


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name.replace(" ", "_"))
def test_a_webdav_folder_does_what_every_remote_must(
    check: RemoteCheck, server: WebdavServer, machine: WebdavMachine, tmp_path: Path
) -> None:
    assert check.run(machine.log, tmp_path, machine.key) == []
    assert machine.log().agents() == []
    assert list(server.contents()) == ["lifeboat.json"]
