"""The conformance checks catch misbehaving remotes, each by the check that describes it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lifeboat_vault.errors import StaleBase
from lifeboat_vault.remote.conformance_checks import CHECKS
from lifeboat_vault.remote.remote_contract import (
    FileKey,
    Remote,
    RemoteBundle,
    RemoteDescription,
    RemoteHead,
    RemoteVerification,
)
from support.endpoint.in_process_remote import InProcessRemote
from support.endpoint.spaces import remote_in, space_in


class TakesAnything(InProcessRemote):
    """Acknowledges pushes that it does not store."""

    def push(self, agent_id: str, bundle: RemoteBundle, *, machine: str = "") -> RemoteHead:
        try:
            return super().push(agent_id, bundle, machine=machine)
        except StaleBase:
            return RemoteHead(bundle.number, b"", 1, "")


class NamesNoHead(InProcessRemote):
    def push(self, agent_id: str, bundle: RemoteBundle, *, machine: str = "") -> RemoteHead:
        try:
            return super().push(agent_id, bundle, machine=machine)
        except StaleBase as error:
            raise StaleBase(error.message) from None


class RaisesAnyEpoch(InProcessRemote):
    def raise_epoch(self, agent_id: str, expected: int, *, machine: str = "") -> int:
        return super().raise_epoch(agent_id, self.agent(agent_id).epoch, machine=machine)


class PassesOverADelta(InProcessRemote):
    def deltas(self, agent_id: str, since: int) -> Iterator[RemoteBundle]:
        found = list(super().deltas(agent_id, since))
        yield from found[:1] + found[2:]


class GivesTheHeadOnly(InProcessRemote):
    def snapshot(self, agent_id: str, number: int | None = None) -> RemoteBundle:
        return super().snapshot(agent_id)


class LacksNothing(InProcessRemote):
    def missing(self, agent_id: str, files: Any, *, read: bool = False) -> list[FileKey]:
        return []


class IsAlwaysWell(InProcessRemote):
    def verify(self, agent_id: str, state: Any, *, bodies: int, chance: Any) -> RemoteVerification:
        return RemoteVerification(state.sequence.number, bodies, 1)


class ForgetsWho(InProcessRemote):
    def push(self, agent_id: str, bundle: RemoteBundle, *, machine: str = "") -> RemoteHead:
        return super().push(agent_id, bundle)


class IsAnotherEachTime(InProcessRemote):
    def about(self) -> RemoteDescription:
        return dataclasses.replace(super().about(), id=str(id(self)))


CAUGHT: list[tuple[type[InProcessRemote], str]] = [
    (TakesAnything, "a delta whose base is not the head is refused"),
    (TakesAnything, "a snapshot never replaces a history"),
    (NamesNoHead, "a lost acknowledgement and one more capture make nothing twice"),
    (RaisesAnyEpoch, "an epoch is raised by one of those that try"),
    (PassesOverADelta, "deltas since a state come in order without a gap"),
    (PassesOverADelta, "a snapshot and the deltas after it make the head"),
    (GivesTheHeadOnly, "every state comes back as it was signed"),
    (LacksNothing, "large artifacts travel apart and only once"),
    (IsAlwaysWell, "a copy that differs is found out"),
    (ForgetsWho, "two machines see what the other one sent"),
    (IsAnotherEachTime, "it says who it is and stays the same"),
]


@pytest.fixture
def opened() -> Iterator[list[InProcessRemote]]:
    made: list[InProcessRemote] = []
    yield made
    for remote in made:
        remote.close()


def _fresh(kind: Callable[..., InProcessRemote], folder: Path, opened: list[InProcessRemote]) -> Callable[[], Remote]:
    def fresh() -> Remote:
        opened.append(kind(space_in(folder), RemoteDescription("endpoint", "in process", "test", False)))
        return opened[-1]

    return fresh


@pytest.mark.parametrize(
    ("kind", "name"), CAUGHT, ids=lambda value: value if isinstance(value, str) else value.__name__
)
def test_who_does_otherwise_is_caught(
    kind: type[InProcessRemote], name: str, tmp_path: Path, opened: list[InProcessRemote]
) -> None:
    check = next(check for check in CHECKS if check.name == name)
    with pytest.raises(Exception):  # noqa: B017 what it raises is up to what is wrong
        check.run(_fresh(kind, tmp_path / "tenant", opened), tmp_path)


def test_every_check_has_a_name_of_its_own() -> None:
    assert len({check.name for check in CHECKS}) == len(CHECKS) >= 30


def test_a_remote_that_removes_nothing_is_told_what_stays(tmp_path: Path, opened: list[InProcessRemote]) -> None:
    class Keeps:
        def __init__(self, remote: InProcessRemote) -> None:
            self._remote = remote

        def __getattr__(self, name: str) -> Any:
            if name == "remove_agent":
                raise AttributeError(name)
            return getattr(self._remote, name)

    def fresh() -> Any:
        opened.append(remote_in(tmp_path / "tenant"))
        return Keeps(opened[-1])

    check = next(check for check in CHECKS if check.name == "an agent that was registered is known")
    left = check.run(fresh, tmp_path)
    assert left == [agent.id for agent in opened[0].agents()] != []
