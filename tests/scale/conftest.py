"""One shared endpoint for all tests here; each begins with everything running, and takes tenants of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.scale import shared_endpoint
from support.scale.shared_endpoint import Joined, SharedEndpoint


@pytest.fixture(scope="session")
def begun() -> Iterator[SharedEndpoint]:
    with shared_endpoint.running() as made:
        yield made


@pytest.fixture
def shared(begun: SharedEndpoint) -> Iterator[SharedEndpoint]:
    """What the processes found wrong is shown where a test fails."""
    begun.all_run()
    before = begun.troubles()
    yield begun
    print("\n".join(begun.troubles()[len(before) :][-200:]))


@pytest.fixture
def tenant(shared: SharedEndpoint) -> Joined:
    return shared.new_tenant()
