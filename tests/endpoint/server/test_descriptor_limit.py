"""The limit of open descriptors is raised as far as the system allows, and no further."""

from __future__ import annotations

import sys

import pytest

from lifeboat_endpoint.server import descriptor_limit

if sys.platform == "win32":
    pytest.skip("Windows has no limit of descriptors", allow_module_level=True)

import resource


class Limits:
    """The limits of a process. `refused` are the values that the system does not set."""

    def __init__(self, soft: int, hard: int, refused: tuple[int, ...] = ()) -> None:
        self.soft, self.hard, self._refused = soft, hard, refused

    def get(self, kind: int) -> tuple[int, int]:
        assert kind == resource.RLIMIT_NOFILE
        return self.soft, self.hard

    def set(self, kind: int, limits: tuple[int, int]) -> None:
        assert limits[1] == self.hard
        if limits[0] in self._refused:
            raise ValueError("not allowed to raise maximum limit")
        self.soft = limits[0]


@pytest.mark.parametrize(
    ("limits", "now", "set_to"),
    [
        pytest.param(Limits(1024, 4096), 4096, 4096, id="to the hard limit"),
        pytest.param(Limits(1024, resource.RLIM_INFINITY), 65_536, 65_536, id="to what is wanted"),
        pytest.param(Limits(100_000, 200_000), 100_000, 100_000, id="high enough"),
        pytest.param(
            Limits(resource.RLIM_INFINITY, resource.RLIM_INFINITY), 65_536, resource.RLIM_INFINITY, id="without a limit"
        ),
        pytest.param(Limits(256, resource.RLIM_INFINITY, (65_536,)), 10_240, 10_240, id="as far as macOS goes"),
        pytest.param(Limits(256, resource.RLIM_INFINITY, (65_536, 10_240)), 256, 256, id="not at all"),
    ],
)
def test_the_soft_limit_is_raised_as_far_as_it_goes(
    monkeypatch: pytest.MonkeyPatch, limits: Limits, now: int, set_to: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", limits.get)
    monkeypatch.setattr(resource, "setrlimit", limits.set)
    assert descriptor_limit.raise_descriptor_limit() == now
    assert limits.soft == set_to


@pytest.mark.parametrize(("limit", "left"), [(65_536, 65_024), (1024, 512), (20, 16)])
def test_vaults_and_databases_keep_their_share(limit: int, left: int) -> None:
    assert descriptor_limit.descriptors_for_connections(limit) == left
