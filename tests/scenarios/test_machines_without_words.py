"""A home that has no key yet and asks an endpoint for an agent: it gets no key of its own, which would stand in the way
of the words from then on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_core.home.home_key import load_known_public
from lifeboat_keys.errors import NoKey
from support.core.machines import Machine
from support.endpoint.endpoint_servers import RunningEndpoint, running_endpoint


def _joined(machine: Machine, endpoint: RunningEndpoint) -> Machine:
    machine.add_remote("home", endpoint.url, token=endpoint.token, pin=endpoint.pin)
    return machine


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEndpoint]:
    with running_endpoint(tmp_path_factory.mktemp("endpoint"), plain=True) as running:
        yield running


@pytest.fixture(scope="module")
def laptop(tmp_path_factory: pytest.TempPathFactory, endpoint: RunningEndpoint) -> Machine:
    machine = _joined(Machine(tmp_path_factory.mktemp("machines") / "laptop"), endpoint)
    machine.add(name="Juniper")
    assert machine.push().state == "ok"
    return machine


def test_looking_without_the_words_is_refused_and_with_them_it_goes(
    laptop: Machine, endpoint: RunningEndpoint, tmp_path: Path
) -> None:
    other = _joined(Machine(tmp_path / "other"), endpoint)
    with pytest.raises(NoKey) as refused:
        other.restore_from("Juniper", tmp_path / "copy")
    assert refused.value.fix == "lifeboat keys recover"
    assert load_known_public(other.context) is None
    other.learn_words_of(laptop)
    other.restore_from("Juniper", tmp_path / "copy")
    assert (tmp_path / "copy" / "SOUL.md").read_bytes() == (laptop.workspace / "SOUL.md").read_bytes()


def test_bringing_it_back_without_the_words_is_refused_alike(
    laptop: Machine, endpoint: RunningEndpoint, tmp_path: Path
) -> None:
    other = _joined(Machine(tmp_path / "other"), endpoint)
    with pytest.raises(NoKey):
        other.bring_back("Juniper", tmp_path / "copy")
    assert load_known_public(other.context) is None


def test_who_says_so_takes_it_without_its_credentials(
    laptop: Machine, endpoint: RunningEndpoint, tmp_path: Path
) -> None:
    other = _joined(Machine(tmp_path / "other"), endpoint)
    other.restore_from("Juniper", tmp_path / "copy", accept_unsigned=True)
    assert (tmp_path / "copy" / "SOUL.md").read_bytes() == (laptop.workspace / "SOUL.md").read_bytes()
