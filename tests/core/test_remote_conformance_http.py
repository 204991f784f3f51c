"""What every second copy must do, done by a real endpoint over HTTPS."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_core.home.context import Context
from lifeboat_core.remotes import manage_remotes
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.remotes.endpoint import endpoint_remote
from lifeboat_core.remotes.remote_kinds import open_remote
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_vault.remote.conformance_checks import CHECKS, RemoteCheck
from lifeboat_vault.remote.remote_contract import Remote
from support.cli.cli_client import run as run_command
from support.endpoint.endpoint_servers import RunningEndpoint, running_endpoint

_IN_PARTS = (
    "a first snapshot becomes the head",
    "a delta goes on top of the head",
    "a delta whose base is not the head is refused",
    "the same push again changes nothing",
    "a delta with a forged signature is refused",
)
_SEALED = (
    "it says who it is and stays the same",
    "a delta goes on top of the head",
    "two machines see what the other one sent",
    "an older epoch is refused",
    "a purged record is in no state",
    "an agent that was purged whole is taken no more",
)
SEALED = [check for check in CHECKS if check.name in _SEALED]
IN_PARTS = [check for check in CHECKS if check.name in _IN_PARTS]


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEndpoint]:
    with running_endpoint(tmp_path_factory.mktemp("served")) as made:
        yield made


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Context:
    """One home for all: a check has agents of its own."""
    return Context.open({"LIFEBOAT_HOME": str(tmp_path_factory.mktemp("home") / "lifeboat"), "HOME": "/nonexistent"})


@pytest.fixture(scope="module")
def config(endpoint: RunningEndpoint, context: Context) -> RemoteConfig:
    return manage_remotes.add_remote(context, "home", manage_remotes.parse_remote_access(endpoint.join))[0]


def run(check: RemoteCheck, context: Context, config: RemoteConfig, scratch: Path, user: UserKey | None = None) -> None:
    opened: list[Remote] = []

    def fresh() -> Remote:
        opened.append(open_remote(context, config))
        return opened[-1]

    try:
        check.run(fresh, scratch, user)
    finally:
        for remote in opened:
            remote.close()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name.replace(" ", "_"))
def test_over_https(check: RemoteCheck, context: Context, config: RemoteConfig, tmp_path: Path) -> None:
    run(check, context, config, tmp_path)


@pytest.mark.parametrize("check", IN_PARTS, ids=lambda check: check.name.replace(" ", "_"))
def test_in_parts(
    check: RemoteCheck, context: Context, config: RemoteConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything is too large for one request."""
    monkeypatch.setattr(endpoint_remote, "PART", 700)
    monkeypatch.setattr(endpoint_remote.EndpointRemote, "_limit", lambda self, name, otherwise: _limit(name, otherwise))
    run(check, context, config, tmp_path)


@pytest.mark.parametrize("check", SEALED, ids=lambda check: check.name.replace(" ", "_"))
def test_sealed(check: RemoteCheck, endpoint: RunningEndpoint, isolated_home: Path, tmp_path: Path) -> None:
    """Of what travels the endpoint can read nothing."""
    run_command("keys", "init", "--words-to", tmp_path / "words", "--no-prove", "--store", "file")
    context = Context.open()
    config = manage_remotes.add_remote(context, "home", manage_remotes.parse_remote_access(endpoint.join), sealed=True)[
        0
    ]
    run(check, context, config, tmp_path, context.keys().user_key())


def _limit(name: str, otherwise: int) -> int:
    return 0 if name == "direct_bytes" else otherwise
