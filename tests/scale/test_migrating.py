"""An endpoint moves from its folder into PostgreSQL and an object store: everything is the same there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import moving_endpoints
import pytest
from moving_endpoints import Moving, Places, filled, is_the_same, made

pytestmark = pytest.mark.scale


@pytest.fixture(scope="module")
def places() -> Iterator[Places]:
    with moving_endpoints.places() as found:
        yield found


@pytest.fixture
def moving(tmp_path: Path, places: Places) -> Moving:
    moving = made(tmp_path, places.store())
    filled(moving)
    return moving


def test_every_row_and_every_body_is_the_same(moving: Moving) -> None:
    done = moving.move()
    assert done.problems == [] and (done.tenants, done.agents) == (2, 4)
    is_the_same(moving)
